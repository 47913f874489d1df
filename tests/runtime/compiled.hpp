#pragma once
// Short ways to a program, for the tests of the runtime.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/runtime/program.hpp"
#include "support/runs.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ppsim::test {

/// Predicts and compiles. An overlapped pair runs one half after the other, as a program wants it.
inline runtime::Program compiled(Schedule schedule, Scenario scenario, const runtime::ProgramOptions& options = {}) {
  scenario.pair.kind = PairRule::Kind::serial;
  const TaskGraph graph = lower(std::move(schedule), std::move(scenario));
  return runtime::compile(graph, simulate(graph), options);
}

/// Equal stages: F 10 ns, B 20 ns.
inline runtime::Program compiled(Schedule schedule, const runtime::ProgramOptions& options = {},
                                 Duration comm = Duration{0}) {
  Scenario scenario = uniform_scenario(schedule.shape(), Duration{10}, Duration{20}, comm);
  return compiled(std::move(schedule), std::move(scenario), options);
}

inline std::string name_of(const runtime::Program& program, TaskId id) {
  return to_string(program.schedule.task(id));
}

inline const runtime::Channel& channel_between(const runtime::Program& program, std::size_t from, std::size_t to) {
  for (const runtime::Channel& channel : program.channels)
    if (index(channel.from) == from && index(channel.to) == to) return channel;
  FAIL("no channel from stage " << from << " to stage " << to);
  return program.channels.front();
}

/// "0F0>1F0 0F1>1F1": its transfers in order, producer and consumer.
inline std::string words(const runtime::Program& program, const std::vector<runtime::Transfer>& transfers) {
  std::string text;
  for (const runtime::Transfer& transfer : transfers)
    text += (text.empty() ? "" : " ") + name_of(program, transfer.producer) + ">" + name_of(program, transfer.consumer);
  return text;
}

inline const runtime::ProgramTask& task_named(const runtime::Program& program, std::string_view name) {
  for (const runtime::StageProgram& stage : program.stages)
    for (const runtime::ProgramTask& task : stage.tasks)
      if (to_string(task.task) == name) return task;
  FAIL("no task " << name);
  return program.stages.front().tasks.front();
}

} // namespace ppsim::test
