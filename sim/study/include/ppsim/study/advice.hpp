#pragma once
// Advice: what costs a run most, and what to try next. Not in words: those are in viz.

#include "ppsim/study/run_report.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// What to look at next.
enum class NextStep : std::uint8_t {
  nothing,       ///< no stage is ever idle
  host,          ///< much of the idle time passed before tasks that could have run
  run_together,  ///< stages run one at a time
  even_out,      ///< some stages compute much longer than the mean
  transfers,     ///< much of the idle time waits for them
  reductions,    ///< or for reductions and optimizer steps
  pipeline_waits ///< fill, drain and waits for other stages: the schedule's own
};

/// How much a stage needs beyond the limit.
struct Excess {
  StageId stage{};
  Bytes over{};
};

/// Something that was tried, and takes less time per microbatch.
struct Remedy {
  std::string fields;
  double gain = 0; ///< of the time per microbatch
};

struct Advice {
  std::optional<Excess> excess; ///< to be fixed first
  NextStep next = NextStep::nothing;
  double share = 0;                 ///< that `next` has of the idle time; `pipeline_waits`: of device time
  std::vector<std::size_t> busiest; ///< `even_out`: these stages
  double imbalance = 1;             ///< `even_out`: how many times the mean they compute
  bool can_balance = false;         ///< `even_out`: there are layers to move
  std::vector<Remedy> remedies;     ///< `transfers`, `reductions` and `pipeline_waits`
  bool try_others = false;          ///< `pipeline_waits`: so much that another schedule may be worth a look
};

/// Of a run of `graph`.
[[nodiscard]] Advice advice_for(const TaskGraph& graph, const RunReport& report);

} // namespace ppsim
