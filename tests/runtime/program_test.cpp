// Programs: what compile() makes of a schedule, by hand.

#include "ppsim/engine/simulate.hpp"

#include <algorithm>

#include "runtime/compiled.hpp"

namespace ppsim::test::program_test {

using namespace ppsim::runtime;

TEST_CASE("A channel's transfers have the sender's order", "[program]") {
  const Program program = compiled(order({"0F0 0F1 0B1 0B0", "1F0 1F1 1B1 1B0"}));
  REQUIRE(program.channels.size() == 2);
  CHECK(words(program, channel_between(program, 0, 1).transfers) == "0F0>1F0 0F1>1F1");
  CHECK(words(program, channel_between(program, 1, 0).transfers) == "1B1>0B1 1B0>0B0");
  CHECK(program.stages[0].out == std::vector{ChannelId{0}});
  CHECK(program.stages[0].in == std::vector{ChannelId{1}});
}

TEST_CASE("The first chunk makes its input, the last one's gradient is in its stash, and W has no channel",
          "[program]") {
  const Program program = compiled(order({"0F0 0I0 0W0", "1F0 1I0 1W0"}));
  CHECK(!task_named(program, "0F0").input);
  CHECK(task_named(program, "0F0").output == TransferRef{ChannelId{0}, 0});
  CHECK(task_named(program, "1F0").input == TransferRef{ChannelId{0}, 0});
  CHECK(!task_named(program, "1F0").output);
  CHECK(!task_named(program, "1I0").input);
  CHECK(task_named(program, "1I0").output == task_named(program, "0I0").input);
  CHECK(!task_named(program, "0I0").output);
  CHECK(!task_named(program, "1W0").input);
  CHECK(!task_named(program, "1W0").output);
}

TEST_CASE("F makes a stash, I frees its part and W the rest, B frees both", "[program]") {
  const Program split = compiled(order({"0F0 0I0 0W0"}));
  CHECK(task_named(split, "0F0").allocates);
  CHECK(!task_named(split, "0F0").frees_for_input);
  CHECK(!task_named(split, "0I0").allocates);
  CHECK(task_named(split, "0I0").frees_for_input);
  CHECK(!task_named(split, "0I0").frees_for_weight);
  CHECK(!task_named(split, "0W0").frees_for_input);
  CHECK(task_named(split, "0W0").frees_for_weight);
  const Program whole = compiled(order({"0F0 0B0"}));
  CHECK(task_named(whole, "0B0").frees_for_input);
  CHECK(task_named(whole, "0B0").frees_for_weight);
  const Program forwards = compiled(order({"0F0 0F1 0B0 0B1"}).forwards());
  CHECK(task_named(forwards, "0F0").frees_for_input);
  CHECK(task_named(forwards, "0F0").frees_for_weight);
  CHECK(forwards.stages[0].peak_stashes == 1);
}

TEST_CASE("Without backwards no gradients are sent", "[program]") {
  const Program program = compiled(generate("gpipe", {.stages = 3, .microbatches = 2}).forwards());
  CHECK(program.channels.size() == 2);
  CHECK(words(program, program.channels[1].transfers) == "1F0>2F0 1F1>2F1");
}

TEST_CASE("Neighbouring chunks on one stage use a local channel", "[program]") {
  // Stage 1 has the bottom of the V: chunk 1's output is chunk 2's input.
  const Program program = compiled(order({"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"}));
  const Channel& local = channel_between(program, 1, 1);
  CHECK(local.is_local());
  CHECK(words(program, local.transfers) == "1F0>2F0 2B0>1B0");
  CHECK(local.slots == 1);
}

TEST_CASE("A task between two others of its stage has separate buffers for input and output", "[program]") {
  CHECK(channel_between(compiled(order({"0F0 1F0 2F0 2B0 1B0 0B0"})), 0, 0).slots == 2);
}

TEST_CASE("There are as many slots as the prediction has waiting transfers, and one more", "[program]") {
  Schedule schedule = generate("gpipe", {.stages = 2, .microbatches = 8}).forwards();
  Scenario scenario = uniform_scenario(schedule.shape(), Duration{10}, Duration{20});
  scenario.costs.forward[1] = Duration{30};
  scenario.costs.forward[0] = Duration{30};
  // In step: the next is made in the moment in which one is used up.
  CHECK(channel_between(compiled(schedule, scenario), 0, 1).slots == 3);
  scenario.costs.forward[0] = Duration{20};
  // Made at 20, 40, ..., 160, used up at 50, 80, ...: at 160 four are gone.
  CHECK(channel_between(compiled(schedule, scenario), 0, 1).slots == 5);
}

TEST_CASE("Slots can be set, but are never more than transfers", "[program]") {
  const Schedule schedule = generate("1f1b", {.stages = 2, .microbatches = 3});
  CHECK(channel_between(compiled(schedule, {.slots = 2}), 0, 1).slots == 2);
  CHECK(channel_between(compiled(schedule, {.slots = 9}), 0, 1).slots == 3);
  CHECK(refusal_of([&] { (void)compiled(schedule, {.slots = 0}); }).first() ==
        "--slots: 0 slots: no transfer could arrive -- give at least 1");
}

TEST_CASE("Tasks are issued by predicted start, as far as their dependencies allow", "[program]") {
  const Program program = compiled(generate("1f1b", {.stages = 2, .microbatches = 2}));
  std::string issued;
  for (const TaskId id : program.issue_order) issued += name_of(program, id) + " ";
  CHECK(issued == "0F0 0F1 1F0 1B0 1F1 0B0 1B1 0B1 ");
}

TEST_CASE("A program has the scenario's times", "[program]") {
  Schedule schedule = generate("1f1b", {.stages = 2, .microbatches = 2});
  Scenario scenario = uniform_scenario(schedule.shape(), Duration{10}, Duration{20}, Duration{3});
  scenario.update.optimizer = {Duration{5}, Duration{6}};
  scenario.update.step = OptimizerStep::per_stage;
  const Program program = compiled(schedule, scenario);
  CHECK(task_named(program, "1F1").length == Duration{10});
  CHECK(task_named(program, "1B1").length == Duration{20});
  CHECK(program.channels[0].transfers[1].time == Duration{3});
  CHECK(program.stages[1].optimizer == Duration{6});
  CHECK(!program.synchronous_optimizer);
  // 0F0, transfer, 1F0, 1B0, 1F1, 1B1, transfer, 0B1, optimizer
  CHECK(program.predicted_step == Duration{10 + 3 + 10 + 20 + 10 + 20 + 3 + 20 + 5});
}

TEST_CASE("The holders of a chunk are the stages that run it", "[program]") {
  const Program program = compiled(generate("chimera", {.stages = 4, .microbatches = 4}));
  CHECK(program.holders(ChunkId{1}) == std::vector{StageId{1}, StageId{2}});
  CHECK(compiled(generate("gpipe", {.stages = 4, .microbatches = 1})).holders(ChunkId{1}) == std::vector{StageId{1}});
}

TEST_CASE("Schedules that no backend replays are refused", "[program]") {
  ScheduleRequest request{.shape = {.stages = 3, .microbatches = 4, .vpp = 1, .shared = 1}, .replicas = {2, 1}};
  Schedule replicated = make_schedule(find_generator("pipedream"), request);
  const Scenario plain = uniform_scenario(replicated.shape(), Duration{10}, Duration{20});
  CHECK(refusal_of([&] { (void)compiled(replicated, plain); }).code == ExitCode::bad_input);

  const Schedule schedule = generate("gpipe", {.stages = 2, .microbatches = 2});
  Scenario recomputing = uniform_scenario(schedule.shape(), Duration{10}, Duration{20});
  recomputing.recompute = {
      .kind = RecomputeKind::full, .time = {Duration{10}, Duration{10}}, .checkpoint = {Bytes{0}, Bytes{0}}};
  CHECK(refusal_of([&] { (void)compiled(schedule, recomputing); }).code == ExitCode::bad_input);
  CHECK(task_named(compiled(schedule, recomputing, {.timed = true}), "0B0").length == Duration{30});

  const Schedule paired = order({"0F0 (0F1;0B0) 0B1"});
  const TaskGraph graph = lower(paired, uniform_scenario(paired.shape(), Duration{10}, Duration{20}));
  const Refusal refusal = refusal_of([&] { (void)compile(graph, simulate(graph)); });
  CHECK(refusal.code == ExitCode::bad_input);
  CHECK(refusal.first() == "schedule: the prediction overlaps its pairs (pair rule 'sum'), but every backend runs one "
                           "half after the other -- predict the same with --pair serial");
}

} // namespace ppsim::test::program_test
