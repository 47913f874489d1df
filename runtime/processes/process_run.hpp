#pragma once
// ProcessRun: a program on one process per stage. Backends mpi and nccl differ only in the processes' devices and
// transports.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/transport.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "process_group.hpp"

namespace ppsim::runtime {

/// Inputs for making RankParts.
struct RankContext {
  const Program& program;
  const RunOptions& options;
  ProcessGroup& group;
  StageId stage{};
  /// Throws Error (failed) if this process has to give up: the run makes no progress, or another process failed. For
  /// waits; only on the main thread.
  GiveUp give_up;
};

/// The backend's part of a run of processes.
struct RankKind {
  std::string_view backend;
  std::function<std::unique_ptr<RankParts>(const RankContext&)> make_parts;
  std::function<std::unique_ptr<Device>(const Workload&)> make_reference_device; ///< for the proof; on rank 0
  double tolerance = 0;                                                          ///< of the proof
};

/// Throws Error (bad_input) unless a launcher started one process for each of `stages`. Call it before MPI starts, as
/// far as the launcher reports their number.
void check_launch(std::string_view backend, std::size_t stages);

/// Bytes that are equal for two processes exactly if they run the same: tasks, transfers and communicators, the
/// optimizer's synchronisation, the workload. Otherwise processes could wait for each other forever.
[[nodiscard]] Message fingerprint(const Program& program, const RunOptions& options);

/// Starts MPI if necessary, trains, and gathers the stages' records on rank 0, which proves the results. The result is
/// on rank 0.
[[nodiscard]] std::optional<MeasuredRun> run_processes(const Program& program, const RunOptions& options,
                                                       const RankKind& kind);

/// Runs `body`, which uses the given GiveUp for waits. If it throws, or another process reports a failure, throws the
/// Error to report (Failures::conclude).
void run_together(ProcessGroup& group, Duration limit, const std::function<void(const GiveUp&)>& body);

} // namespace ppsim::runtime
