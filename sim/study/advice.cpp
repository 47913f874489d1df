#include "ppsim/study/advice.hpp"

#include <algorithm>
#include <numeric>

namespace ppsim {
namespace {

/// The idle share of device time from which another schedule may help.
constexpr double worth_comparing = 0.05;
/// The ratio of the busiest stages' compute time to the mean from which evening out helps.
constexpr double uneven = 1.1;
/// A cause matters if it has more than 1 / `much` of the idle time.
constexpr std::int64_t much = 3;
/// The gap to the bound from which a search may help.
constexpr double worth_searching = 0.01;
/// A smaller gain does not count.
constexpr double least_gain = 0.001;

double ratio_of(Duration part, Duration whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

double per_microbatch(Duration time, std::size_t microbatches) {
  return static_cast<double>(time.count()) / static_cast<double>(microbatches);
}

/// Idle time of all stages, by cause.
struct IdleTime {
  Duration all, moving, flush, host;
};

IdleTime idle_time_of(const RunReport& report) {
  const auto time = report.time_by_label();
  const auto of = [&](Label label) { return time[static_cast<std::size_t>(label)]; };
  return {.all = std::accumulate(time.begin() + first_idle_label, time.end(), Duration{0}),
          .moving = of(Label::link) + of(Label::transfer),
          .flush = of(Label::flush),
          .host = of(Label::host)};
}

double busiest_over_mean(const RunReport& report) {
  Duration sum{0};
  for (const StageReport& stage : report.stages) sum += stage.busy;
  return sum == Duration{0} ? 1.0 : ratio_of(report.ideal, sum) * static_cast<double>(report.stages.size());
}

std::vector<std::size_t> busiest_stages(const RunReport& report) {
  std::vector<std::size_t> found;
  for (std::size_t stage = 0; stage < report.stages.size(); ++stage)
    if (report.stages[stage].busy == report.ideal) found.push_back(stage);
  return found;
}

NextStep next_step(const TaskGraph& graph, const RunReport& report, const IdleTime& idle) {
  if (idle.all == Duration{0}) return NextStep::nothing;
  if (idle.host * much > idle.all) return NextStep::host;
  if (graph.schedule().name() == "sequential") return NextStep::run_together;
  if (busiest_over_mean(report) > uneven && !report.balance)
    return NextStep::even_out; // a searched split cannot be improved
  if (idle.moving * much > idle.all) return NextStep::transfers;
  if (idle.flush * much > idle.all) return NextStep::reductions;
  return NextStep::pipeline_waits;
}

std::vector<Remedy> remedies_for(const TaskGraph& graph, const RunReport& report) {
  std::vector<Remedy> remedies;
  for (const Alternative& other : report.alternatives) {
    const double gain = 1 - per_microbatch(other.step_time, other.microbatches) /
                                per_microbatch(report.step_time, graph.scenario().shape.microbatches);
    if (other.fits && gain > least_gain) remedies.push_back({other.change, gain});
  }
  return remedies;
}

} // namespace

Advice advice_for(const TaskGraph& graph, const RunReport& report) {
  Advice advice;
  if (const auto limit = graph.scenario().memory.limit; report.overflow && limit) {
    const StageId stage = report.overflow->stage;
    advice.excess = Excess{stage, report.stages[index(stage)].peak_bytes() - *limit};
  }
  advice.search = find_metric("gap").value(report).value_or(0) >= worth_searching;
  const IdleTime idle = idle_time_of(report);
  const Duration device_time = static_cast<std::int64_t>(report.stages.size()) * report.makespan;
  const bool others_may_help = idle.all != Duration{0} && ratio_of(idle.all, device_time) >= worth_comparing;
  advice.next = next_step(graph, report, idle);
  switch (advice.next) {
  case NextStep::nothing:
  case NextStep::run_together:
    break;
  case NextStep::host:
    advice.share = ratio_of(idle.host, idle.all);
    break;
  case NextStep::even_out:
    advice.busiest = busiest_stages(report);
    advice.imbalance = busiest_over_mean(report);
    advice.can_balance = !graph.scenario().layout.empty();
    break;
  case NextStep::transfers:
    advice.share = ratio_of(idle.moving, idle.all);
    advice.remedies = remedies_for(graph, report);
    advice.try_others = others_may_help;
    break;
  case NextStep::reductions:
    advice.share = ratio_of(idle.flush, idle.all);
    advice.remedies = remedies_for(graph, report);
    break;
  case NextStep::pipeline_waits:
    advice.share = ratio_of(idle.all - idle.moving - idle.flush, device_time);
    advice.remedies = remedies_for(graph, report);
    advice.try_others = others_may_help;
  }
  return advice;
}

} // namespace ppsim
