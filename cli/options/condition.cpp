#include "condition.hpp"

#include "ppsim/base/units.hpp"
#include "ppsim/study/run_report.hpp"

#include "setters.hpp"

namespace ppsim::cli {
namespace {

/// A plain number; a percentage for a ratio; a duration for a metric in nanoseconds; a rate for one in TFLOP/s.
std::optional<double> parse_threshold(std::string_view text, const Metric& metric) {
  if (metric.unit() == "ns")
    if (const auto duration = parse_duration(text)) return static_cast<double>(duration->count());
  if (metric.unit() == "TFLOP/s")
    if (const auto rate = parse_flops(text)) return static_cast<double>(*rate) / 1e12;
  const bool percent = metric.unit() == "ratio" && text.ends_with('%');
  if (percent) text = trimmed(text.substr(0, text.size() - 1));
  const auto number = parse_number(text);
  return number && percent ? *number / 100 : number;
}

} // namespace

std::optional<Condition> parse_condition(std::string_view text) {
  const std::size_t comparison = text.find_first_of("<>");
  if (comparison == std::string_view::npos) return std::nullopt;
  const std::string_view tag = trimmed(text.substr(0, comparison));
  for (const Metric& metric : metrics()) {
    if (metric.tag != tag) continue;
    const auto threshold = parse_threshold(trimmed(text.substr(comparison + 1)), metric);
    if (!threshold) return std::nullopt;
    return Condition{&metric, text[comparison] == '>', *threshold};
  }
  return std::nullopt;
}

} // namespace ppsim::cli
