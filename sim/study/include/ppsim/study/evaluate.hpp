#pragma once
// Evaluation: simulates one spec and reports on it.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/jitter.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/study/run_spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// A run with its report.
struct Evaluation {
  TaskGraph graph;
  Timeline timeline;
  RunReport report;
  std::vector<std::string> notes; ///< for users
};

/// A run before its analysis, with the inputs of its report.
struct SimulatedRun {
  Evaluation run;                 ///< without its report
  std::optional<CommOrder> order; ///< under `streams`
  std::optional<Balance> balance;
  std::optional<CopiesReport> copies;
};
/// The first half of evaluate(): builds, balances if requested, lowers and simulates.
[[nodiscard]] SimulatedRun simulate_spec(const RunSpec& spec);
/// The second half: analyses; `thorough` as in find_bound(). The graph and the timeline are not moved.
void add_report(const RunSpec& spec, SimulatedRun& simulated, bool thorough);

/// Builds the run, balances if requested, lowers, simulates and analyses. Finds the step time and the closed form, but
/// not what-if figures and alternatives. Throws Error as build_run(), lower() and simulate().
[[nodiscard]] Evaluation evaluate(const RunSpec& spec);

/// The requested jitter, for `copies` copies.
[[nodiscard]] Jitter jitter_of(const UnevenSpec& spec, std::size_t copies);

/// A note if a schedule that searches ends at more than twice the proven bound of its memory (under
/// TransferModel::latency; not where the run's limit is not the one that it searched in).
void note_far_search(Evaluation& run);

/// Samples steps with the requested jitter; adds a note if that is not supported for the run. Throws Error as
/// find_spread().
void sample_steps(const RunSpec& spec, Evaluation& run, const SampleWatch& watch = {});

/// Adds the results of other runs: what-if figures, alternatives, and with `with_sensitivity` the sensitivity.
void add_others(const RunSpec& spec, Evaluation& run, bool with_sensitivity);

/// evaluate(), sample_steps() and add_others().
[[nodiscard]] Evaluation evaluate_fully(const RunSpec& spec, bool with_sensitivity, const SampleWatch& watch = {});

} // namespace ppsim
