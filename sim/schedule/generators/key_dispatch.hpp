#pragma once
// A list scheduler on the board of dispatch.hpp: a free stage runs the task whose input has arrived, that fits in
// memory and has the least key. Keys are the ideal times of an endlessly repeated pattern (Qi et al., Pipeline
// Parallelism with Controllable Memory, arXiv 2405.15362, section 3), so the order adapts to real costs.

#include "dispatch.hpp"

namespace ppsim::generator {

/// The ideal time of each task, by chunk and then microbatch; only their order counts, and differences within `window`.
struct TaskKeys {
  std::vector<std::int64_t> forward;
  std::vector<std::int64_t> input_grad;
  std::vector<std::int64_t> weight_grad;
};

/// The memory that a forward leaves free on its stage, beyond what prevents the stage from waiting for itself.
enum class Reserve : std::uint8_t {
  nothing,
  one,       ///< forward of each later chunk
  all_before ///< forwards of later chunks with lesser keys
};

/// The preference of a free stage.
struct KeyPolicy {
  /// How far a task may run ahead, in keys, of the stage's F or I with the least key.
  std::int64_t window = 0;
  Reserve reserves = Reserve::nothing;
  /// A W longer than the wait for the next input may still run.
  bool overruns = false;
  /// A W runs by its key; otherwise it only fills gaps and frees memory.
  bool keyed_weights = false;
};

/// Places all tasks; false if the window makes all stages wait for each other. Memory alone never does: a forward runs
/// only if the stage could still finish all its active microbatches, one after another.
[[nodiscard]] bool dispatch_by_keys(Dispatch& board, const TaskKeys& keys, const KeyPolicy& policy);

} // namespace ppsim::generator
