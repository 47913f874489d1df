#pragma once
// --fail-if: a condition on a metric of the report.

#include "ppsim/study/run_report.hpp"

#include <optional>
#include <string_view>

namespace ppsim::cli {

/// METRIC > NUMBER or METRIC < NUMBER.
struct Condition {
  const Metric* metric = nullptr;
  bool above = true;
  double threshold = 0;
  /// The metric must be known.
  [[nodiscard]] bool holds(const RunReport& report) const {
    const std::optional<double> value = metric->value(report);
    return value && (above ? *value > threshold : *value < threshold);
  }
};

/// Parses a condition; none if `text` is not one.
[[nodiscard]] std::optional<Condition> parse_condition(std::string_view text);

} // namespace ppsim::cli
