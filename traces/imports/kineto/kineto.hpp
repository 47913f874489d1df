#pragma once
// Profiles of the PyTorch profiler, one file per rank, as tasks and transfers.

#include <vector>

#include "imports/recorded.hpp"
#include "kineto_trace.hpp"

namespace ppsim::traces {

/// The events of one rank; replica and stage are not set yet.
struct KinetoRank : KinetoFacts {
  std::vector<TaskEvent> tasks;
  std::vector<TransferEvent> transfers;
  std::vector<UpdateEvent> updates;
  std::vector<std::uint32_t> chunks; ///< its chunks, by rising id
  bool has_steps = false;            ///< it has ProfilerStep annotations
  bool repeats = false;              ///< an action is repeated in one of them
  std::size_t on_processor = 0;      ///< tasks of a rank without kernels, with the processor's times
  std::size_t without_kernels = 0;   ///< tasks that launched none, of zero length
  std::size_t waits = 0;             ///< receives of a rank without kernels: the processor waits for them
  std::size_t endless = 0;           ///< those without a known end
};

/// Steps of a KinetoRank: the profiler's number times this, plus the number of repetitions of actions in it.
inline constexpr std::int64_t repeats_per_step = std::int64_t{1} << 20U;

/// Finds when each action of a rank ran on the device.
[[nodiscard]] KinetoRank kineto_rank(const KinetoTrace& trace);

} // namespace ppsim::traces
