#pragma once
// ProcessRun: a program on one process per stage. Backends mpi and nccl differ in the devices and transports that each
// process has.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/transport.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "process_group.hpp"

namespace ppsim::runtime {

/// What RankParts are made of.
struct RankContext {
  const Program& program;
  const RunOptions& options;
  ProcessGroup& group;
  StageId stage{};
  /// Throws Error (failed) once this process has to give up: the run stands still, or another process failed. For
  /// waits; from the main thread only.
  GiveUp give_up;
};

/// What a backend adds to a run of processes.
struct RankKind {
  std::string_view backend;
  std::function<std::unique_ptr<RankParts>(const RankContext&)> make_parts;
  std::function<std::unique_ptr<Device>(const Workload&)> make_reference_device; ///< for the proof; on rank 0
  double tolerance = 0;                                                          ///< of the proof
};

/// Throws Error (bad_input) unless a launcher started one process for each of `stages`. Before MPI starts, as far as
/// the launcher says how many there are.
void check_launch(std::string_view backend, std::size_t stages);

/// Bytes that two processes share exactly if they run the same: tasks, transfers and how they share communicators, when
/// the optimizer steps, the workload. Where they differ, processes could wait for one another for ever.
[[nodiscard]] Message fingerprint(const Program& program, const RunOptions& options);

/// Starts MPI if need be; trains; gathers what the stages recorded on rank 0, which proves it. The result is on rank 0.
[[nodiscard]] std::optional<MeasuredRun> run_processes(const Program& program, const RunOptions& options,
                                                       const RankKind& kind);

/// Runs `body`, which waits by the GiveUp that it is given. If it throws, or another process says that it failed,
/// throws what is to be said (Failures::conclude).
void run_together(ProcessGroup& group, Duration limit, const std::function<void(const GiveUp&)>& body);

} // namespace ppsim::runtime
