// Uses the installed libraries from another project: simulates 1F1B, compares all schedules for the same work, and
// finds the transfer time from which another one is the best. 4 stages, 8 microbatches, forward 1 ms, backward 2 ms.
#include <algorithm>
#include <chrono>
#include <iostream>

#include <ppsim/engine/simulate.hpp>
#include <ppsim/schedule/generators.hpp>
#include <ppsim/study/run_report.hpp>
#include <ppsim/study/vary.hpp>
#include <ppsim/traces/schedule_file.hpp>
#include <ppsim/viz/text.hpp>

namespace {

using namespace std::chrono_literals;

bool simulates() {
  const ppsim::Shape shape{.stages = 4, .microbatches = 8};
  const ppsim::Schedule schedule = ppsim::make_schedule(ppsim::find_generator("1f1b"),
                                                        {.shape = shape, .group_size = {}, .descending_backward = {}});
  const ppsim::TaskGraph graph = ppsim::lower(schedule, ppsim::uniform_scenario(shape, 1ms, 2ms));
  const ppsim::Timeline timeline = ppsim::simulate(graph);
  const ppsim::RunReport report = ppsim::run_report(graph, timeline);

  std::cout << ppsim::viz::text_report(graph, timeline, report, {});
  // The CSV reads back as the same order.
  const std::string csv = ppsim::traces::write_schedule_csv(schedule);
  const ppsim::traces::ScheduleFile file = ppsim::traces::read_schedule(csv, "1f1b.csv");
  std::cout << "makespan " << ppsim::format_duration(report.makespan) << '\n';
  return report.makespan == 33ms && ppsim::traces::write_schedule_csv(file.schedule) == csv;
}

ppsim::RunSpec spec() {
  ppsim::RunSpec spec;
  spec.stages = 4;
  spec.microbatches = 8;
  spec.forward = {1ms};
  spec.backward = {2ms};
  spec.schedules = {"gpipe", "1f1b", "interleaved"};
  spec.vpp = {2};
  return spec;
}

/// Interleaved with 2 chunks: (8 + 3 / 2) * 3 ms.
bool compares() {
  const ppsim::Comparison comparison = ppsim::compare(spec(), 2).comparison;
  for (const ppsim::Contender& contender : comparison.contenders)
    std::cout << contender.name << ' ' << ppsim::format_duration(contender.report.step_time) << '\n';
  return comparison.contenders.size() == 3 && comparison.contenders.front().name == "interleaved" &&
         comparison.contenders.front().report.step_time == 28500us;
}

/// It has more transfers: from some transfer time on another schedule is the best.
bool varies() {
  ppsim::RunSpec varied = spec();
  varied.vary = ppsim::Axis{.option = "comm", .unit = ppsim::Axis::Unit::time, .from = 0, .to = 2'000'000};
  const ppsim::Variation variation = ppsim::vary(varied, {.threads = 2}).variation;
  for (const ppsim::BestStretch& stretch : variation.best)
    std::cout << "from " << variation.axis.format(stretch.from) << ": " << variation.lines[stretch.line.value()].name
              << '\n';
  return variation.best.size() > 1 && variation.lines[variation.best.front().line.value()].name == "interleaved";
}

} // namespace

int main() {
  return simulates() && compares() && varies() ? 0 : 1;
}
