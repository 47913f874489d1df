#pragma once
// Backends: where a program can run. To add one: a file with its Backend and a line in the table of backends.cpp.

#include "ppsim/base/error.hpp"
#include "ppsim/measured/measured.hpp"
#include "ppsim/runtime/fault.hpp"
#include "ppsim/runtime/interface.hpp"
#include "ppsim/runtime/pipeline_stage.hpp"
#include "ppsim/runtime/program.hpp"
#include "ppsim/runtime/workload.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::runtime {

/// Whether a backend can be used on this machine. If not: why, and the remedy.
struct Usability {
  bool usable = false;
  std::string why;    ///< "2 processors", or the reason
  std::string remedy; ///< empty if it is usable
};

/// Thrown if the system cannot start a thread for a stage. Fewer threads do not suffice, because stages wait for each
/// other.
struct NoThread : Error {
  explicit NoThread(Problem problem) : Error{ExitCode::failed, std::move(problem)} {}
};

/// How to run a program.
struct RunOptions {
  Workload workload{};
  Compute compute = Compute::real;
  std::string transport = "direct"; ///< one of Backend::transports()
  std::size_t warmup = 2;           ///< steps before the first timed one
  std::size_t steps = 5;
  bool prove = true;   ///< compare gradients and losses with a run that executes one task at a time
  Duration timeout{0}; ///< stop after this long without progress; 0: ten predicted steps and 10 s
  std::optional<Fault> fault = std::nullopt;
};

/// The measured time of a transfer of one size.
struct TransferSample {
  StageId from{}, to{};
  Bytes bytes{};
  Duration time{0}; ///< median, one way
};

/// Runs programs: threads, MPI processes, or GPUs.
class Backend : public Interface {
public:
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Its transports, the default first: "direct" (hand-over, copy, send and receive), "paced" (emulated links).
  [[nodiscard]] virtual std::vector<std::string_view> transports() const = 0;
  [[nodiscard]] virtual Usability usability() = 0;
  /// Whether this process reads, prints and writes. Always true if the run has one process.
  [[nodiscard]] virtual bool is_leader() { return true; }
  /// Runs all steps. Every process of a run calls it; only the leader gets the result. Throws Error after every stage
  /// has ended: `failed` on failures at run time, `bad_input` if the program does not fit the backend.
  [[nodiscard]] virtual std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) = 0;
  /// Times transfers between stages over a range of sizes. Only the leader gets the result.
  [[nodiscard]] virtual std::vector<TransferSample> time_transfers(std::size_t stages, const RunOptions& options) = 0;
  /// Memory of one chunk of the workload on this backend.
  [[nodiscard]] virtual ChunkSizes sizes(const Workload& workload) = 0;
};

/// A backend's table entry, available before its plugin is loaded.
struct BackendEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view plugin; ///< empty: part of the program
  bool processes;          ///< runs as several processes, started by mpirun or srun
};
[[nodiscard]] std::span<const BackendEntry> backends();
/// Throws Error (bad_input) for an unknown name, with the nearest name as hint.
[[nodiscard]] const BackendEntry& find_backend(std::string_view name);
/// Loads the backend. Throws Error: `bad_input` for an unknown name; `failed` if its plugin cannot be loaded, with the
/// reason and what to install.
[[nodiscard]] Backend& load_backend(std::string_view name);
/// Usability of the backend; never throws.
[[nodiscard]] Usability usability_of(const BackendEntry& entry);

} // namespace ppsim::runtime
