#include "ppsim/study/run_report.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/engine/steady.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ppsim {

StepTime find_step_time(const TaskGraph& graph, Duration makespan) {
  if (!has_steady_state(graph)) return {makespan};
  if (steady_tasks(graph) > most_tasks_for_step_time) return {makespan, StepTime::Kind::unknown};
  return {steady_interval(graph), StepTime::Kind::steady_state};
}

RunReport run_report(const TaskGraph& graph, const Timeline& timeline, std::string measured) {
  Report report = analyse(graph, timeline);
  const StepTime step{report.makespan};
  return {std::move(report), step, {}, {}, {}, {}, {}, {}, std::move(measured)};
}

std::span<const Metric> metrics() {
  static constexpr std::array table{
      Metric{"makespan_ns", "makespan",
             "end of the last task, transfer, reduction or optimizer step - start of the first",
             "how long one step takes by itself", [](const RunReport& report) { return report.makespan; }, nullptr},
      Metric{"step_time_ns", "step time",
             "makespan; with an optimizer step per stage, or without a flush, the steady interval between steps",
             "what one training step costs in the long run", [](const RunReport& report) { return report.step_time; },
             nullptr},
      Metric{"ideal_ns", "ideal", "max over stages of compute time",
             "the busiest stage's compute time: no order is faster",
             [](const RunReport& report) { return report.ideal; }, nullptr},
      Metric{"bubble_ratio", "bubble ratio", "idle / (p x makespan)", "the share of device time lost", nullptr,
             [](const RunReport& report) { return report.bubble_ratio; }},
      Metric{"bubble_overhead", "bubble overhead", "(makespan - ideal) / ideal", "Megatron-LM's bubble time fraction",
             nullptr, [](const RunReport& report) { return report.bubble_overhead; }},
      Metric{"stage_span_bubble", "stage span bubble",
             "(s - w) / s, s = longest first start to last end of any stage, w its work",
             "the Zero Bubble papers' bubble rate", nullptr,
             [](const RunReport& report) { return report.stage_span_bubble; }},
  };
  return table;
}

const Metric& find_metric(std::string_view tag) {
  const auto found = std::ranges::find(metrics(), tag, &Metric::tag);
  PPSIM_ASSERT(found != metrics().end());
  return *found;
}

} // namespace ppsim
