#pragma once
// Profiles of the PyTorch profiler, one file per rank, as tasks and transfers.

#include <vector>

#include "imports/recorded.hpp"
#include "kineto_trace.hpp"

namespace ppsim::traces {

/// What one rank did; replica and stage are not set yet.
struct KinetoRank : KinetoFacts {
  std::vector<TaskEvent> tasks;
  std::vector<TransferEvent> transfers;
  std::vector<UpdateEvent> updates;
  std::vector<std::uint32_t> chunks; ///< that it runs, by rising id
  bool has_steps = false;            ///< it has ProfilerStep annotations
  bool repeats = false;              ///< an action occurs twice in one of them
  std::size_t on_processor = 0;      ///< tasks of a rank without kernels, which have the times of the processor
  std::size_t without_kernels = 0;   ///< tasks that launched none, and take no time
  std::size_t waits = 0;             ///< receives of a rank without kernels: the processor waits for them
  std::size_t endless = 0;           ///< of those, the ones that nothing says the end of
};

/// Steps of a KinetoRank: the profiler's number times this, and how often actions had begun to repeat in it before.
inline constexpr std::int64_t repeats_per_step = std::int64_t{1} << 20U;

/// Finds where on the device each action of a rank ran.
[[nodiscard]] KinetoRank kineto_rank(const KinetoTrace& trace);

} // namespace ppsim::traces
