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
  if (!order.best_named)
    return order.simulated ? "no schedule by name has this placement, fits and runs with these transfers"
                           : "no schedule by name has this placement and fits";
  const Duration over = order.best_named->length - order.run_length();
  if (over == Duration{0}) return fmt::format("{} takes as long", order.best_named->name);
  return fmt::format("{} takes {} ({:.1f} % more)", order.best_named->name, format_duration(order.best_named->length),
                     100 * fraction(over, order.run_length()));
}

std::string simulated_words(const SynthesizedOrder& order) {
  return order.deadlocks() ? "deadlocks" : format_duration(order.run_length());
}

/// Of what runs; a bound of split backwards says nothing of whole ones.
std::string gap_words(const SynthesizedOrder& order) {
  const auto is_whole = [](const Task& task) { return task.pass == Pass::backward; };
  const bool is_other =
      order.bound_of == Backwards::split && std::ranges::any_of(order.spec.order->schedule.tasks(), is_whole);
  if (order.deadlocks() || is_other) return "-";
  return fmt::format("{:.2f} %", 100 * fraction(order.run_length() - order.bound, order.bound));
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
    text += fmt::format("  {:<10}  {}{}; {}\n", order.placement.name, format_duration(order.length),
                        order.simulated ? " with transfers by latency" : "", proof_words(order));
    if (order.simulated) text += fmt::format("  {:<10}  {} with the requested transfers\n", "", simulated_words(order));
    text += fmt::format("  {:<10}  {}\n", "", named_words(order));
  }
  const SynthesizedOrder& best = synthesis.orders.front();
  const Duration as_simulated = length_of(best.objective, simulated);
  if (as_simulated != best.run_length() && !best.deadlocks())
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
    text += fmt::format("{:>10}  {:>10}  {:>7}  {:<9}  {}\n", simulated_words(order), format_duration(order.bound),
                        gap_words(order), order.placement.name, named);
  }
  return text;
}

} // namespace ppsim::viz
