// Programs of any schedule: they verify, and verify() agrees with an executor that knows nothing of graphs.

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "runtime/compiled.hpp"
#include <rapidcheck.h>

namespace ppsim::test::program_property {

using namespace ppsim::runtime;

namespace {

/// Runs whatever task could run next, with nothing but counters, until nothing can: whether all have run. A task needs
/// its input, which arrives when its turn on its lane has come, and room for its output.
bool executes(const Program& program) {
  std::vector<std::size_t> next(program.stages.size(), 0);
  std::vector<std::size_t> turn(program.lanes.size(), 0);
  std::vector<std::size_t> made(program.channels.size(), 0);
  std::vector<std::size_t> used(program.channels.size(), 0);
  std::vector<std::vector<bool>> arrived;
  for (const Channel& channel : program.channels) arrived.emplace_back(channel.transfers.size(), false);
  const auto move_all = [&] {
    bool moved = false;
    for (std::size_t id = 0; id < program.channels.size(); ++id)
      for (std::size_t position = 0; program.channels[id].is_local() && position < made[id]; ++position)
        arrived[id][position] = true;
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
      for (; turn[lane] < program.lanes[lane].transfers.size(); ++turn[lane]) {
        const TransferRef ref = program.lanes[lane].transfers[turn[lane]];
        if (ref.position >= made[index(ref.channel)]) break;
        arrived[index(ref.channel)][ref.position] = moved = true;
      }
    return moved;
  };
  const auto can_run = [&](const ProgramTask& task) {
    if (task.input && !arrived[index(task.input->channel)][task.input->position]) return false;
    if (!task.output) return true;
    const std::size_t channel = index(task.output->channel);
    return made[channel] - used[channel] < program.channels[channel].slots;
  };
  for (bool moved = true; moved;) {
    moved = move_all();
    for (std::size_t stage = 0; stage < next.size(); ++stage) {
      const auto& tasks = program.stages[stage].tasks;
      if (next[stage] == tasks.size() || !can_run(tasks[next[stage]])) continue;
      if (tasks[next[stage]].output) ++made[index(tasks[next[stage]].output->channel)];
      if (tasks[next[stage]].input) ++used[index(tasks[next[stage]].input->channel)];
      ++next[stage];
      moved = true;
    }
  }
  for (std::size_t stage = 0; stage < next.size(); ++stage)
    if (next[stage] < program.stages[stage].tasks.size()) return false;
  return true;
}

/// Any order and costs that a program can be made of.
struct ProgramInput {
  Schedule schedule;
  Scenario scenario;
};

ProgramInput draw_input() {
  ProgramInput drawn{draw_order(), {}};
  drawn.scenario = draw_scenario(drawn.schedule.shape(), one_in(2) ? TransferModel::latency : TransferModel::link);
  if (one_in(3)) drawn.scenario = uniform_scenario(drawn.schedule.shape(), Duration{6}, Duration{12});
  if (one_in(6)) drawn.scenario = uniform_scenario(drawn.schedule.shape(), zero, zero);
  if (one_in(3)) drawn.scenario.network.slices = draw(2, 4);
  return drawn;
}

Program compiled(const ProgramInput& drawn, P2p p2p, std::optional<std::size_t> slots = std::nullopt) {
  return test::compiled(drawn.schedule, drawn.scenario, {.p2p = p2p, .timed = true, .slots = slots});
}

std::optional<Error> deadlock_of(const ProgramInput& drawn, P2p p2p, std::optional<std::size_t> slots) {
  try {
    (void)compiled(drawn, p2p, slots);
    return std::nullopt;
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ExitCode::no);
    RC_ASSERT(error.problems().size() == 1U);
    RC_ASSERT(error.problems()[0].what.starts_with("deadlock: "));
    return error;
  }
}

P2p draw_lanes() {
  return one_in(2) ? P2p::edge : P2p::pair;
}

/// With all buffers one could wish for.
constexpr std::size_t plenty = 1'000'000;

} // namespace

TEST_CASE("Every schedule compiles, verifies and executes", "[program][property]") {
  rc::prop("with the slots that compile() chooses", [] {
    const ProgramInput drawn = draw_input();
    const Program program = compiled(drawn, draw_lanes());
    RC_ASSERT(executes(program));
    std::size_t tasks = 0;
    for (const StageProgram& stage : program.stages) tasks += stage.tasks.size();
    RC_ASSERT(tasks == drawn.schedule.size());
  });
}

TEST_CASE("Every schedule by name compiles, verifies and executes", "[program][property]") {
  rc::prop("with an edge per direction", [] {
    for (const Generator* generator : generators()) {
      const Schedule schedule = make_schedule(*generator, draw_request(*generator));
      RC_ASSERT(executes(test::compiled(schedule)));
    }
  });
}

TEST_CASE("verify() finds a deadlock exactly if an executor blocks", "[program][property]") {
  rc::prop("with few slots", [] {
    const ProgramInput drawn = draw_input();
    Program program = compiled(drawn, draw_lanes());
    const std::size_t slots = draw(1, 3);
    for (Channel& channel : program.channels)
      if (!channel.is_local()) channel.slots = std::min(slots, channel.transfers.size());
    // The order of issue is one for the slots that there were.
    const bool runs = executes(program);
    RC_CLASSIFY(!runs, "deadlock");
    const Refusal refusal = refusal_of([&] { verify(program); });
    RC_ASSERT(runs == !refusal.first().starts_with(program.place + ": deadlock: "));
  });
  rc::prop("with any order of lanes", [] {
    Program program = compiled(draw_input(), P2p::pair);
    for (Lane& lane : program.lanes)
      for (std::size_t tries = draw(0, 3); tries > 0 && lane.transfers.size() > 1; --tries) {
        const std::size_t at = draw(1, lane.transfers.size() - 1);
        if (lane.transfers[at - 1].channel != lane.transfers[at].channel)
          std::swap(lane.transfers[at - 1], lane.transfers[at]);
      }
    const bool runs = executes(program);
    RC_CLASSIFY(!runs, "deadlock");
    RC_ASSERT(runs == !refusal_of([&] { verify(program); }).code);
  });
}

TEST_CASE("The number of slots suggested against a deadlock suffices, and one less does not", "[program][property]") {
  rc::prop("--slots", [] {
    const ProgramInput drawn = draw_input();
    const P2p p2p = draw_lanes();
    const std::size_t slots = draw(1, 2);
    const std::optional<Error> deadlock = deadlock_of(drawn, p2p, slots);
    RC_CLASSIFY(deadlock.has_value(), "deadlock");
    if (!deadlock) return;
    const std::string hint = deadlock->problems()[0].hint;
    constexpr std::string_view option = "--slots ";
    RC_ASSERT(hint.starts_with(option));
    std::size_t enough = 0;
    std::from_chars(hint.data() + option.size(), hint.data() + hint.size(), enough);
    RC_ASSERT(enough > slots);
    RC_ASSERT(!deadlock_of(drawn, p2p, enough));
    RC_ASSERT(deadlock_of(drawn, p2p, enough - 1).has_value());
  });
}

TEST_CASE("Batches deadlock exactly if the simulator's blocking transfers do", "[program][property]") {
  rc::prop("with room for every transfer", [] {
    const ProgramInput drawn = draw_input();
    Scenario blocking = drawn.scenario;
    blocking.network.model = TransferModel::blocking;
    blocking.network.slices = 1;
    blocking.pair.kind = PairRule::Kind::serial;
    const bool runs = try_run(drawn.schedule, blocking).has_value();
    RC_CLASSIFY(!runs, "deadlock");
    RC_ASSERT(runs == !deadlock_of(drawn, P2p::batched, plenty).has_value());
  });
}

TEST_CASE("The most stashes at one time equal the simulator's report", "[program][property]") {
  rc::prop("on every stage", [] {
    ProgramInput drawn = draw_input();
    drawn.scenario.pair.kind = PairRule::Kind::serial;
    const Outcome outcome = run(drawn.schedule, drawn.scenario);
    const Program program = compiled(drawn, P2p::edge);
    for (std::size_t stage = 0; stage < program.stages.size(); ++stage)
      RC_ASSERT(program.stages[stage].peak_stashes == outcome.report.stages[stage].peak_live_activations);
  });
}

TEST_CASE("With the slots that compile() chooses, no task starts later than predicted", "[program][property]") {
  rc::prop("under latency, where a slot is taken from the start of its producer to the end of its consumer", [] {
    ProgramInput drawn{draw_order(false), {}};
    drawn.scenario = draw_scenario(drawn.schedule.shape());
    const Outcome outcome = run(drawn.schedule, drawn.scenario);
    const Program program = compiled(drawn, P2p::edge);
    for (const Channel& channel : program.channels) {
      if (channel.is_local()) continue;
      std::vector<SimTime> used;
      for (const Transfer& transfer : channel.transfers)
        used.push_back(outcome.timeline.tasks[index(transfer.consumer)].end);
      std::ranges::sort(used);
      for (std::size_t k = channel.slots; k < channel.transfers.size(); ++k)
        RC_ASSERT(used[k - channel.slots] <= outcome.timeline.tasks[index(channel.transfers[k].producer)].start);
    }
  });
}

} // namespace ppsim::test::program_property
