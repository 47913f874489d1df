#pragma once
// Backends: what a program can run on. To add one: a file with its Backend, a line in the table of backends.cpp.

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

/// Whether a backend can be used on this machine and, if not, why and what to do.
struct Usability {
  bool usable = false;
  std::string why;    ///< "2 processors", or why not
  std::string remedy; ///< empty where it is usable
};

/// Thrown where the system starts no thread for a stage: fewer would not do, as stages wait for each other.
struct NoThread : Error {
  explicit NoThread(Problem problem) : Error{ExitCode::failed, std::move(problem)} {}
};

/// How a program is to be run.
struct RunOptions {
  Workload workload{};
  Compute compute = Compute::real;
  std::string transport = "direct"; ///< one of the backend's
  std::size_t warmup = 2;           ///< steps before the first that counts
  std::size_t steps = 5;
  bool prove = true;   ///< compare gradients and losses with a run that does one task at a time
  Duration timeout{0}; ///< without progress; zero: ten predicted steps and ten seconds
  std::optional<Fault> fault = std::nullopt;
};

/// Time of a transfer against its size, as a backend measures them.
struct TransferSample {
  StageId from{}, to{};
  Bytes bytes{};
  Duration time{0}; ///< median, one way
};

/// What a program can run on.
class Backend : public Interface {
public:
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Its ways to move data, the default first: "direct" (hand-over, copy, send and receive), "paced" (emulated links).
  [[nodiscard]] virtual std::vector<std::string_view> transports() const = 0;
  [[nodiscard]] virtual Usability usability() = 0;
  /// Whether this process is the one that reads, prints and writes. Of one process: always.
  [[nodiscard]] virtual bool is_leader() { return true; }
  /// Runs all steps. Every process of a run calls it; only the leader gets the result. Throws Error (failed) when
  /// something goes wrong, after every stage has ended; (bad_input) where the program does not fit the backend.
  [[nodiscard]] virtual std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) = 0;
  /// Transfers between stages over a range of sizes. Only the leader gets the result.
  [[nodiscard]] virtual std::vector<TransferSample> time_transfers(std::size_t stages, const RunOptions& options) = 0;
  /// What a chunk of the workload takes here.
  [[nodiscard]] virtual ChunkSizes sizes(const Workload& workload) = 0;
};

/// A backend by name, known before its plugin is loaded.
struct BackendEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view plugin; ///< empty: part of the program
  bool processes;          ///< one of several, which mpirun or srun starts
};
[[nodiscard]] std::span<const BackendEntry> backends();
/// Throws Error (bad_input) for an unknown name (did you mean).
[[nodiscard]] const BackendEntry& find_backend(std::string_view name);
/// Loads it. Throws Error: bad_input for an unknown name (did you mean), failed where its plugin cannot be loaded,
/// saying why and what to install.
[[nodiscard]] Backend& load_backend(std::string_view name);
/// Usability without throwing.
[[nodiscard]] Usability usability_of(const BackendEntry& entry);

} // namespace ppsim::runtime
