#pragma once
// Shared by 1F1B, its eager form and PipeDream: the order of one stage; they differ in the warm-up.

#include "ppsim/schedule/schedule.hpp"

namespace ppsim::generator {

/// Adds a stage that runs `warmup` (at most `count`) forwards, then alternates one forward and one backward, then runs
/// the remaining backwards. `microbatch_at(i)` is the i-th of the `count` microbatches of the stage.
template <class MicrobatchAt>
void add_one_f_one_b_stage(ScheduleBuilder& builder, std::size_t chunk, std::size_t count, std::size_t warmup,
                           MicrobatchAt microbatch_at) {
  for (std::size_t i = 0; i < warmup; ++i) builder.add(Pass::forward, chunk, microbatch_at(i));
  builder.end_warmup();
  for (std::size_t i = warmup; i < count; ++i) {
    builder.add(Pass::forward, chunk, microbatch_at(i));
    builder.add(Pass::backward, chunk, microbatch_at(i - warmup));
  }
  for (std::size_t i = count - warmup; i < count; ++i) builder.add(Pass::backward, chunk, microbatch_at(i));
}

} // namespace ppsim::generator
