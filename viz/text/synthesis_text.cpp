#include "ppsim/study/run_report.hpp"
#include "ppsim/study/synthesize.hpp"
#include "ppsim/viz/synthesis.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim::viz {
namespace {

/// "proven: none of this placement is shorter"; of a split of layers that was sought too the bound says nothing about
/// others.
std::string proof_words(const SynthesizedOrder& order) {
  const bool is_any = order.bound_of == Backwards::any;
  const std::string whose = fmt::format("{}{}", order.balance ? "of this split" : "of this placement",
                                        is_any ? "" : fmt::format(" with {} backwards", to_string(order.bound_of)));
  const std::string_view orders = order.by_microbatch ? ", in any order of microbatches" : "";
  if (order.length == order.bound)
    return fmt::format("proven: {} {} is shorter{}", is_any ? "none" : "no order", whose, orders);
  return fmt::format("proven: at most {:.2f} % above the shortest {}{} ({} at least)", 100 * order.gap(), whose, orders,
                     format_duration(order.bound));
}

std::string named_words(const SynthesizedOrder& order) {
  if (!order.best_named) return "no schedule by name has this placement and fits";
  const Duration over = order.best_named->length - order.length;
  if (over == Duration{0}) return fmt::format("{} takes as long", order.best_named->name);
  const bool is_more = over > Duration{0}; // less: another order is shorter with the requested transfers
  return fmt::format("{} takes {} ({:.1f} % {})", order.best_named->name, format_duration(order.best_named->length),
                     100 * fraction(is_more ? over : -over, order.length), is_more ? "more" : "less, by latency");
}

/// Kind of the lengths; all have the same objective.
std::string_view length_name(std::span<const FrontPoint> front) {
  const auto has_order = [](const FrontPoint& point) { return !point.synthesis.orders.empty(); };
  const auto point = std::ranges::find_if(front, has_order);
  return in_words(point == front.end() ? Objective::makespan : point->synthesis.orders.front().objective);
}

} // namespace

std::string synthesis_text(const Synthesis& synthesis, const RunReport& simulated) {
  std::string text;
  for (const SynthesizedOrder& order : synthesis.orders) {
    text += fmt::format("  {:<10}  {}; {}\n  {:<10}  {}\n", order.placement.name, format_duration(order.length),
                        proof_words(order), "", named_words(order));
    if (order.simulated)
      text += fmt::format("  {:<10}  {}\n", "",
                          *order.simulated == Duration::max()
                              ? "deadlocks with the requested transfers"
                              : format_duration(*order.simulated) + " with the requested transfers");
  }
  const SynthesizedOrder& best = synthesis.orders.front();
  const Duration as_simulated = length_of(best.objective, simulated);
  if (as_simulated != best.length)
    text +=
        fmt::format("  {:<10}  {} with the transfers and updates simulated below\n", "", format_duration(as_simulated));
  return text;
}

std::string front_text(std::span<const FrontPoint> front, const Axis& axis) {
  std::string text = fmt::format("  {:<20}  {:>10}  {:>10}  {:>7}  {:<9}  {}\n", axis.option, length_name(front),
                                 "at least", "gap", "placement", "best by name");
  for (const FrontPoint& point : front) {
    text += fmt::format("  {:<20}  ", axis.format(point.value));
    if (point.synthesis.orders.empty()) {
      text += point.refusal + "\n";
      continue;
    }
    const SynthesizedOrder& order = point.synthesis.orders.front();
    const std::string named =
        order.best_named ? fmt::format("{} {}", order.best_named->name, format_duration(order.best_named->length))
                         : "-";
    text += fmt::format("{:>10}  {:>10}  {:>5.2f} %  {:<9}  {}\n", format_duration(order.length),
                        format_duration(order.bound), 100 * order.gap(), order.placement.name, named);
  }
  return text;
}

} // namespace ppsim::viz
