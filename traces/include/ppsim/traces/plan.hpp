#pragma once
// A plan as JSON and CSV.

#include "ppsim/plan/answers.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ppsim::traces {

/// What runs a configuration as `ppsim ...`: word by word, and as a shell takes it.
struct RunWords {
  std::vector<std::string> arguments;
  std::string line;
};
using RunWordsOf = std::function<RunWords(const Configuration&)>;

/// JSON, schema 1: how many configurations there are and were simulated, and the `rows`, each with its `arguments`
/// (what runs as `ppsim ...`), its options and its metrics; the answers have the same.
[[nodiscard]] std::string plan_json(const PlanRequest& request, const RankedPlan& plan, const PlanAnswers& answers,
                                    const RunWordsOf& words_of);
/// The rows, with a head; `ranked_by` is the figure by which they are, in ns or bytes.
[[nodiscard]] std::string plan_csv(const RankedPlan& plan);

} // namespace ppsim::traces
