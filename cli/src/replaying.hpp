#pragma once
// Replaying: from what a user said to a program, its run, and the figures to show. Shared by the commands that run
// things for real.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/sim/error.hpp"
#include "ppsim/sim/validation.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inputs.hpp"

namespace ppsim::cli {

/// The backend that the inputs name, or `threads`. Throws Error: failed where it can not be used here, saying why and
/// what to install.
[[nodiscard]] runtime::Backend& backend_of(const Inputs& inputs);

/// How to run: as the inputs say, on the backend. `predicts`: the time limit can follow from costs; else it is one for
/// work of any length. Throws Error where the inputs contradict each other.
[[nodiscard]] runtime::RunOptions run_options(const Inputs& inputs, runtime::Backend& backend, bool predicts);

/// Whether the inputs say what tasks take.
[[nodiscard]] bool knows_costs(const Inputs& inputs);

/// That the costs of a scenario are those of `calibrated`, which tells nothing about what else is run: `other`, as in
/// "the run computed '...'".
[[nodiscard]] Error other_work(const Inputs& inputs, std::string_view calibrated, std::string_view other);

/// Sets what the chunks of a workload hold as the memory of a scenario.
void use_sizes(const runtime::ChunkSizes& sizes, Scenario& scenario);

/// The order of a run with the costs that the inputs give: what the prediction for it is made from. Of the run only its
/// order is used, and whether it was timed: then the memory of the scenario is not what ran, and none is known.
[[nodiscard]] TaskGraph graph_of(const Inputs& inputs, const MeasuredRun& run);

/// A replay made ready: what is predicted, and what is to run.
struct Replay {
  runtime::Backend* backend = nullptr;
  TaskGraph graph;
  Timeline prediction;
  runtime::Program program;
  runtime::RunOptions options;
  bool predicts = true;           ///< false where nobody said what tasks take: the prediction then only orders them
  std::vector<std::string> notes; ///< for people, on stderr
};

/// Resolves as simulate does, predicts and compiles. Throws Error as those do, and where flags ask for other work than
/// the scenario was calibrated with.
[[nodiscard]] Replay prepare_replay(const Inputs& inputs);

/// Runs it, with a note and a line of progress where it takes long. Nothing in processes that do not lead the run.
/// Throws Error as Backend::run() does.
[[nodiscard]] std::optional<MeasuredRun> run_replay(const Replay& replay);

} // namespace ppsim::cli
