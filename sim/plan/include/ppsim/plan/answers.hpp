#pragma once
// Answers: why the first row of a plan wins, what less memory or a simpler schedule costs, and how sure that is.

#include "ppsim/plan/plan.hpp"

#include <array>
#include <string>
#include <string_view>

namespace ppsim {

/// A part of a step, as the mean over its stages; all of a row add up to the makespan.
struct PlanTerm {
  std::string_view name;
  Duration time{0};
};
inline constexpr std::size_t plan_term_count = 5;
[[nodiscard]] std::array<PlanTerm, plan_term_count> terms_of(const RunReport& report);

/// "cp 2, dp 16 and microbatches of 2; cp 4, dp 8 and microbatches of 4": those that the row stands for besides.
[[nodiscard]] std::string equals_words(const PlanRow& row);

/// The fastest of the space within so much memory.
struct PlanFrontPoint {
  Bytes limit;
  PlanRow row;
};

/// What would be if constants were other ones.
struct OtherConstants {
  std::string_view what;         ///< "computing 10 % slower"
  std::optional<PlanRow> best;   ///< then; none where nothing fits
  std::optional<PlanRow> winner; ///< the first row; none where it does not fit
  /// Whether the first row is as fast as any.
  [[nodiscard]] bool stays() const { return winner && best && winner->figure <= best->figure; }
};

/// A row with the best split of its layers that balance() finds; its configuration has the layout.
struct BalancedRow {
  std::size_t position = 0; ///< among the rows
  PlanRow row;
};

/// Of a plan with at least one row; of one that is ranked by memory neither `front` nor `changes`. Schedules that
/// search for their order take part where the first row has one.
struct PlanAnswers {
  std::optional<PlanRow> simpler; ///< the fastest whose schedule asks less of the runtime than that of the first row
  std::optional<BalancedRow> balanced; ///< the fastest of the first five, where it is faster than all rows
  std::vector<PlanFrontPoint> front;   ///< by rising limits, the last that of the plan
  std::vector<OtherConstants> changes;
};
[[nodiscard]] PlanAnswers answer(const PlanRequest& request, const RankedPlan& plan, const PlanWorkers& workers);

} // namespace ppsim
