#pragma once
// A plan as JSON and CSV.

#include "ppsim/plan/analysis.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ppsim::traces {

/// The arguments of `ppsim` that run a configuration: word by word, and as a shell command.
struct RunWords {
  std::vector<std::string> arguments;
  std::string line;
};
using RunWordsOf = std::function<RunWords(const Configuration&)>;

/// JSON, schema 1: the number of configurations and of simulated ones, and the `rows`, each with its `arguments` (for
/// `ppsim ...`), its options and its metrics. The answers have the same.
[[nodiscard]] std::string plan_json(const PlanRequest& request, const RankedPlan& plan, const PlanAnalysis& analysis,
                                    const RunWordsOf& words_of);
/// The rows, with a header; `ranked_by` is the ranking figure, in ns or bytes.
[[nodiscard]] std::string plan_csv(const RankedPlan& plan);

} // namespace ppsim::traces
