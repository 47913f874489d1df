#pragma once
// A plan as JSON and CSV.

#include "ppsim/plan/answers.hpp"

#include <span>
#include <string>
#include <vector>

namespace ppsim::traces {

/// JSON, schema 1: how many configurations there are and were simulated, and the `rows`, each with its `arguments`
/// (what runs as `ppsim ...`), its options and its metrics. `arguments`, `lines`: by row, what runs it, word by
/// word and as a shell takes it.
[[nodiscard]] std::string plan_json(const PlanRequest& request, const RankedPlan& plan, const PlanAnswers& answers,
                                    std::span<const std::vector<std::string>> arguments,
                                    std::span<const std::string> lines);
/// The rows, with a head; `ranked_by` is the figure by which they are, in ns or bytes.
[[nodiscard]] std::string plan_csv(const RankedPlan& plan);

} // namespace ppsim::traces
