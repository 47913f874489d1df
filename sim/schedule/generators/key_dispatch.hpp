#pragma once
// A list scheduler over the board of dispatch.hpp: whenever a stage is free it runs the task whose input is there, that
// fits in memory and has the least key. Keys are the ideal times of an endlessly repeated pattern (Qi et al., Pipeline
// Parallelism with Controllable Memory, arXiv 2405.15362, section 3), so that real costs bend the pattern instead of
// breaking it.

#include "dispatch.hpp"

namespace ppsim::generator {

/// When each task ought to run, by chunk and then microbatch; only their order counts, and differences within `window`.
struct TaskKeys {
  std::vector<std::int64_t> forward;
  std::vector<std::int64_t> input_grad;
  std::vector<std::int64_t> weight_grad;
};

/// What a forward leaves room for on its stage, beyond what keeps the stage from waiting for itself.
enum class Reserve : std::uint8_t {
  nothing,
  one,       ///< forward of each later chunk
  all_before ///< forwards of later chunks that have lesser keys
};

/// Which task a free stage prefers.
struct KeyPolicy {
  /// How far a task may run ahead, in keys, of the stage's F or I with the least key.
  std::int64_t window = 0;
  Reserve reserves = Reserve::nothing;
  /// A W longer than the wait for the next input runs all the same.
  bool overruns = false;
  /// A W takes its turn by its key; else it only fills gaps and makes room.
  bool keyed_weights = false;
};

/// Places all tasks; false where the window lets every stage wait for another one. Memory alone never does: a forward
/// runs only if the stage could still finish all microbatches that it has taken on, one after another.
[[nodiscard]] bool dispatch_by_keys(Dispatch& board, const TaskKeys& keys, const KeyPolicy& policy);

} // namespace ppsim::generator
