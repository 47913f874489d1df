// Simulates 1F1B with the installed libraries: 4 stages, 8 microbatches, forward 1 ms, backward 2 ms.
#include <chrono>
#include <iostream>

#include <ppsim/engine/simulate.hpp>
#include <ppsim/schedule/generators.hpp>
#include <ppsim/study/run_report.hpp>
#include <ppsim/traces/schedule_file.hpp>
#include <ppsim/viz/text.hpp>

int main() {
  using namespace std::chrono_literals;
  const ppsim::Shape shape{.stages = 4, .microbatches = 8};
  const ppsim::Schedule schedule = ppsim::make_schedule(ppsim::find_generator("1f1b"),
                                                        {.shape = shape, .group_size = {}, .descending_backward = {}});
  const ppsim::TaskGraph graph = ppsim::lower(schedule, ppsim::uniform_scenario(shape, 1ms, 2ms));
  const ppsim::Timeline timeline = ppsim::simulate(graph);
  const ppsim::RunReport report = ppsim::run_report(ppsim::analyse(graph, timeline));

  std::cout << ppsim::viz::text_report(graph, timeline, report, {});
  // Read back what was written: the CSV holds the same order.
  const std::string csv = ppsim::traces::write_schedule_csv(schedule);
  const ppsim::traces::ScheduleFile file = ppsim::traces::read_schedule(csv, "1f1b.csv");
  std::cout << "makespan " << ppsim::format_duration(report.makespan) << '\n';
  return report.makespan == 33ms && ppsim::traces::write_schedule_csv(file.schedule) == csv ? 0 : 1;
}
