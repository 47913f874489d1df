#pragma once
// Replaying: from inputs to a program, its run, and the figures. Shared by the commands that run schedules for real.

#include "ppsim/base/error.hpp"
#include "ppsim/measured/validation.hpp"
#include "ppsim/runtime/backend.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inputs.hpp"

namespace ppsim::cli {

/// The backend that the inputs name, default `threads`. Throws Error: `failed` if it cannot be used here, with the
/// reason and the remedy; `bad_input` for a backend of a single process if several were started.
[[nodiscard]] runtime::Backend& backend_of(const Inputs& inputs);

/// How to run `schedule` on the backend. `predicts`: the time limit follows from costs; otherwise it allows work of any
/// length. Throws Error if the inputs contradict each other.
[[nodiscard]] runtime::RunOptions run_options(const Inputs& inputs, runtime::Backend& backend, const Schedule& schedule,
                                              bool predicts);

/// Whether the inputs have task times.
[[nodiscard]] bool knows_costs(const Inputs& inputs);

/// A size of the workload, by its option.
struct WorkloadSize {
  std::string_view option;
  std::size_t runtime::Workload::*member;
};
inline constexpr std::array workload_sizes{
    WorkloadSize{"tokens", &runtime::Workload::tokens}, WorkloadSize{"width", &runtime::Workload::width},
    WorkloadSize{"heads", &runtime::Workload::heads}, WorkloadSize{"layers-per-chunk", &runtime::Workload::layers}};

/// Chunks per stage; by default those of the schedule.
[[nodiscard]] std::size_t chunks_of_stage(const Inputs& inputs);

/// Throws Error if the scenario file's costs are of another workload than `ran`, or of another backend. Ignores what
/// either does not specify.
void require_same_work(const Inputs& inputs, const Settings& ran, std::string_view backend);

/// Sets the memory of a scenario to the sizes of a workload's chunks.
void use_sizes(const runtime::ChunkSizes& sizes, Scenario& scenario);

/// The order of a run with the costs of the inputs, for its prediction. If tasks were timed, memory is unknown, because
/// the scenario's was not used. Adds notes about features that no backend has and that are left out.
[[nodiscard]] TaskGraph graph_of(const Inputs& inputs, const Schedule& schedule, bool timed,
                                 std::vector<std::string>& notes);

/// A prepared replay: its prediction and its program.
struct Replay {
  runtime::Backend* backend = nullptr;
  TaskGraph graph;
  Timeline prediction;
  runtime::Program program;
  runtime::RunOptions options;
  bool predicts = true;                   ///< false if task times are not given: the prediction is then only an order
  std::vector<std::string> notes;         ///< for users, on stderr
  std::vector<Duration> drawn_steps = {}; ///< with jitter: the predicted time of each timed step
};

/// Resolves as simulate, predicts and compiles. Throws Error as those, and if flags set another workload than the
/// scenario was calibrated with.
[[nodiscard]] Replay prepare_replay(const Inputs& inputs);

/// Runs it, with a note and a progress line if it takes long. None in processes that are not the leader. Throws Error
/// as Backend::run().
[[nodiscard]] std::optional<MeasuredRun> run_replay(const Replay& replay);

} // namespace ppsim::cli
