#pragma once
// Runs of 1F1B that differ from a balanced one by a planted fault, for the tests of explanations.

#include "support/measured.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace ppsim::test {

/// F = 10 ms, B = 20 ms, p = 4, m = 8: a step of 1F1B takes (8 + 3) * 30 ms.
inline constexpr Shape balanced_shape{.stages = 4, .microbatches = 8, .vpp = 1};
inline constexpr Duration balanced_step = std::chrono::milliseconds{330};

/// What of the run is not as in a balanced one.
struct Fault {
  std::function<Duration(const Task&, std::size_t stage, Duration length)> length =
      [](const Task&, std::size_t, Duration usual) { return usual; };
  std::function<Duration(const Task&, std::size_t stage)> way = [](const Task&, std::size_t) { return Duration{0}; };
  std::function<Duration(const Task&, std::size_t stage)> pause = [](const Task&, std::size_t) { return Duration{0}; };
};

inline Timeline step_with(const Fault& fault) {
  const TaskGraph graph =
      lower(generate("1f1b", balanced_shape),
            uniform_scenario(balanced_shape, std::chrono::milliseconds{10}, std::chrono::milliseconds{20}));
  const Schedule& schedule = graph.schedule();
  return played(
      graph,
      {.length =
           [&](TaskId id) { return fault.length(schedule.task(id), index(schedule.stage_of(id)), graph.duration(id)); },
       .way = [&](TaskId id) { return fault.way(schedule.task(id), index(schedule.stage_of(id))); },
       .pause = [&](TaskId id) { return fault.pause(schedule.task(id), index(schedule.stage_of(id))); }});
}

inline MeasuredRun replica(std::vector<Timeline> steps) {
  return run_of(generate("1f1b", balanced_shape), std::move(steps));
}

inline MeasuredRun replica_with(const Fault& fault, std::size_t steps = 2) {
  return replica(std::vector<Timeline>(steps, step_with(fault)));
}

/// It takes 25 and 50 ms.
inline const Fault slow_stage_0{
    .length = [](const Task&, std::size_t stage, Duration length) { return stage == 0 ? length * 5 / 2 : length; }};

/// It takes 21 and 28 ms.
inline const Fault heavy_last_stage{.length = [](const Task& task, std::size_t stage, Duration length) {
  if (stage != 3) return length;
  return task.pass == Pass::forward ? length * 21 / 10 : length * 14 / 10;
}};

} // namespace ppsim::test
