#pragma once
// A prediction, and runs that differ from it as a test requires.

#include "support/measured.hpp"

#include <chrono>
#include <string_view>

namespace ppsim::test {

/// 1F1B, F = 1 ms, B = 2 ms, with sizes: stage 0 is predicted to hold 100 and two activations of 50, stage 1 one.
inline Outcome predicted(const Shape& shape = {.stages = 2, .microbatches = 2, .vpp = 1}) {
  Scenario scenario = uniform_scenario(shape, std::chrono::milliseconds{1}, std::chrono::milliseconds{2});
  scenario.memory.activation.assign(shape.chunks(), Bytes{50});
  scenario.memory.parameters.assign(shape.chunks(), Bytes{100});
  return run(generate("1f1b", shape), scenario);
}

/// One that ran as predicted, but for `more` of the task's time.
inline MeasuredRun measured(const Outcome& outcome, std::string_view slow = "", Duration more = Duration{0}) {
  const std::size_t id = slow.empty() ? outcome.graph.size() : position_of(outcome.graph.schedule(), slow);
  const auto length = [&](TaskId task) {
    return outcome.graph.duration(task) + (index(task) == id ? more : Duration{0});
  };
  MeasuredRun run = run_of(outcome.graph.schedule(), {played(outcome.graph, {.length = length})});
  for (std::size_t stage = 0; stage < run.stages.size(); ++stage)
    run.stages[stage].peak_bytes = outcome.report.stages[stage].peak_bytes();
  return run;
}

} // namespace ppsim::test
