#pragma once
// Replaying: from what a user said to a program, its run, and the figures to show. Shared by the commands that run
// things for real.

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

/// The backend that the inputs name, or `threads`. Throws Error: failed where it cannot be used here, saying why and
/// what to install; bad_input for one of a single process where several were started.
[[nodiscard]] runtime::Backend& backend_of(const Inputs& inputs);

/// How to run `schedule`: as the inputs say, on the backend. `predicts`: the time limit can follow from costs; else it
/// is one for work of any length. Throws Error where the inputs contradict each other.
[[nodiscard]] runtime::RunOptions run_options(const Inputs& inputs, runtime::Backend& backend, const Schedule& schedule,
                                              bool predicts);

/// Whether the inputs say what tasks take.
[[nodiscard]] bool knows_costs(const Inputs& inputs);

/// A size of what tasks compute, by its option.
struct WorkloadSize {
  std::string_view option;
  std::size_t runtime::Workload::*member;
};
inline constexpr std::array workload_sizes{
    WorkloadSize{"tokens", &runtime::Workload::tokens}, WorkloadSize{"width", &runtime::Workload::width},
    WorkloadSize{"heads", &runtime::Workload::heads}, WorkloadSize{"layers-per-chunk", &runtime::Workload::layers}};

/// Chunks of a stage; where the inputs do not say, as their schedule has them.
[[nodiscard]] std::size_t chunks_of_stage(const Inputs& inputs);

/// Throws Error where the scenario file says that its costs are of other work than what `ran`, or of another backend:
/// such costs tell nothing about the run. What either does not say is not compared.
void require_same_work(const Inputs& inputs, const Settings& ran, std::string_view backend);

/// Sets what the chunks of a workload hold as the memory of a scenario.
void use_sizes(const runtime::ChunkSizes& sizes, Scenario& scenario);

/// The order of a run with the costs that the inputs give: what the prediction for it is made from. Where tasks were
/// timed, the memory of the scenario is not what ran, and none is known. Adds notes of what no backend does, and so is
/// left out.
[[nodiscard]] TaskGraph graph_of(const Inputs& inputs, const Schedule& schedule, bool timed,
                                 std::vector<std::string>& notes);

/// A replay made ready: what is predicted, and what is to run.
struct Replay {
  runtime::Backend* backend = nullptr;
  TaskGraph graph;
  Timeline prediction;
  runtime::Program program;
  runtime::RunOptions options;
  bool predicts = true;           ///< false if the times of tasks are not given: the prediction then only orders them
  std::vector<std::string> notes; ///< for people, on stderr
  std::vector<Duration> drawn_steps = {}; ///< with jitter: what each step that counts is predicted to take
};

/// Resolves as simulate does, predicts and compiles. Throws Error as those do, and where flags ask for other work than
/// the scenario was calibrated with.
[[nodiscard]] Replay prepare_replay(const Inputs& inputs);

/// Runs it, with a note and a line of progress where it takes long. Nothing in processes that do not lead the run.
/// Throws Error as Backend::run() does.
[[nodiscard]] std::optional<MeasuredRun> run_replay(const Replay& replay);

} // namespace ppsim::cli
