#pragma once
// Evaluation: one run from its spec to its report.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/jitter.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/study/run_spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// A run from spec to report.
struct Evaluation {
  TaskGraph graph;
  Timeline timeline;
  RunReport report;
  std::vector<std::string> notes; ///< for people
};

/// A run before anything is said of it, and what its report is made of.
struct SimulatedRun {
  Evaluation run;                 ///< without its report
  std::optional<CommOrder> order; ///< under `streams`
  std::optional<Balance> balance;
  std::optional<CopiesReport> copies;
};
/// The first half of evaluate(): builds, balances where that is asked for, lowers and simulates.
[[nodiscard]] SimulatedRun simulate_spec(const RunSpec& spec);
/// The second half: analyses. The graph and the timeline stay where they are.
void add_report(const RunSpec& spec, SimulatedRun& simulated);

/// Builds the run, balances where that is asked for, lowers, simulates and analyses. The step time and the closed form
/// are there; what-if figures and alternatives are not. Throws Error as build_run(), lower() and simulate() do.
[[nodiscard]] Evaluation evaluate(const RunSpec& spec);

/// What is asked for, of so many copies.
[[nodiscard]] Jitter jitter_of(const UnevenSpec& spec, std::size_t copies);

/// Samples steps with the jitter that is asked for; a note where that is not known of such a run. Throws Error as
/// find_spread() does.
void sample_steps(const RunSpec& spec, Evaluation& run, const SampleWatch& watch = {});

/// What other runs say of it: what if, alternatives, and on demand the sensitivity.
void add_others(const RunSpec& spec, Evaluation& run, bool with_sensitivity);

/// evaluate() with those samples, and what other runs say: what if, alternatives, and on demand the sensitivity.
[[nodiscard]] Evaluation evaluate_fully(const RunSpec& spec, bool with_sensitivity, const SampleWatch& watch = {});

} // namespace ppsim
