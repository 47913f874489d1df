#pragma once
// Analysis: why the first row of a plan wins, the cost of less memory or a simpler schedule, and how certain the winner
// is.

#include "ppsim/plan/plan.hpp"

#include <array>
#include <string>
#include <string_view>

namespace ppsim {

/// A part of a step, as the mean over its stages. The parts of a row add up to the makespan.
struct PlanTerm {
  std::string_view name;
  Duration time{0};
};
inline constexpr std::size_t plan_term_count = 5;
[[nodiscard]] std::array<PlanTerm, plan_term_count> terms_of(const RunReport& report);

/// "cp 2, dp 16 and microbatches of 2; cp 4, dp 8 and microbatches of 4": the equal configurations that the row also
/// represents.
[[nodiscard]] std::string equals_words(const PlanRow& row);

/// The fastest configuration within a memory limit.
struct PlanFrontPoint {
  Bytes limit;
  PlanRow row;
};

/// The winners if constants were different.
struct OtherConstants {
  std::string_view what;         ///< "computing 10 % slower"
  std::optional<PlanRow> best;   ///< the best row then; none if nothing fits
  std::optional<PlanRow> winner; ///< the first row then; none if it does not fit
  /// Whether the first row is still among the fastest.
  [[nodiscard]] bool stays() const { return winner && best && winner->figure <= best->figure; }
};

/// A row with the best split of its layers that balance() finds; its configuration contains the layout.
struct BalancedRow {
  std::size_t position = 0; ///< among the rows
  PlanRow row;
};

/// Needs a plan with at least one row. A plan ranked by memory has neither `front` nor `changes`. Schedules that search
/// for their order are included if the first row has one.
struct PlanAnalysis {
  std::optional<PlanRow> simpler; ///< the fastest row whose schedule demands less of the runtime than the first row's
  std::optional<BalancedRow> balanced; ///< the fastest of the first five, if it is faster than all rows
  std::vector<PlanFrontPoint> front;   ///< by rising limit; the last is that of the plan
  std::vector<OtherConstants> changes;
};
[[nodiscard]] PlanAnalysis analyse_plan(const PlanRequest& request, const RankedPlan& plan, const PlanWorkers& workers);

} // namespace ppsim
