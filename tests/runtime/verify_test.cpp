// What verify() finds: each fault planted by hand in a program that is right otherwise.

#include <functional>
#include <utility>

#include "runtime/compiled.hpp"

namespace ppsim::test::verify_test {

using namespace ppsim::runtime;

namespace {

/// Two stages, two microbatches, I and W on their own.
Program split_program(P2p p2p = P2p::edge) {
  return compiled(order({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1F1 1I1 1W0 1W1"}), {.p2p = p2p});
}

/// Faults found in split_program() after `plant`.
Refusal found(const std::function<void(Program&)>& plant, P2p p2p = P2p::edge) {
  Program program = split_program(p2p);
  plant(program);
  const Refusal refusal = refusal_of([&] { verify(program); });
  if (refusal.code) CHECK(refusal.code == ExitCode::no);
  return refusal;
}

bool has(const Refusal& refusal, const std::string& what) {
  for (const std::string& line : refusal.lines) {
    UNSCOPED_INFO(line);
    if (line.find(what) != std::string::npos) return true;
  }
  return false;
}

ProgramTask& at(Program& program, std::string_view name) {
  const TaskId id = task_named(program, name).id;
  const StageId stage = program.schedule.stage_of(id);
  return program.stages[index(stage)].tasks[index(id) - index(program.schedule.first_task(stage))];
}

} // namespace

TEST_CASE("A compiled program is valid", "[verify]") {
  for (const P2p p2p : {P2p::edge, P2p::pair, P2p::batched})
    CHECK(found([](Program&) {}, p2p).first() == "nothing was refused");
}

TEST_CASE("The tasks must be those of the schedule", "[verify]") {
  CHECK(has(found([](Program& program) { std::swap(program.stages[1].tasks[0], program.stages[1].tasks[1]); }),
            "stage 1 does not have the tasks of the schedule"));
  CHECK(has(found([](Program& program) { program.stages[0].tasks.pop_back(); }),
            "stage 0 does not have the tasks of the schedule"));
  CHECK(has(found([](Program& program) { program.stages.pop_back(); }), "1 stages, but the schedule has 2"));
}

TEST_CASE("References must be valid", "[verify]") {
  CHECK(has(found([](Program& program) {
              at(program, "1F0").input = TransferRef{ChannelId{0}, 2};
            }),
            "1F0 names transfer 2 of channel 0, which does not exist"));
  CHECK(has(found([](Program& program) {
              at(program, "0F0").output = TransferRef{ChannelId{7}, 0};
            }),
            "0F0 names transfer 0 of channel 7"));
  CHECK(has(found([](Program& program) { program.channels[0].to = StageId{2}; }), "between stages that do not exist"));
  CHECK(has(found([](Program& program) { program.channels[1].transfers[0].consumer = no_task; }),
            "channel 1 is for tasks that do not exist"));
  CHECK(has(found([](Program& program) { program.channels[1].slots = 0; }), "channel 1 has no slot"));
  CHECK(has(found([](Program& program) {
              program.lanes[0].transfers.push_back({ChannelId{0}, 9});
            }),
            "a lane names transfer 9 of channel 0"));
}

TEST_CASE("Every input is produced once and used once", "[verify]") {
  CHECK(has(found([](Program& program) { at(program, "1F0").input.reset(); }), "1F0 has no input"));
  CHECK(has(found([](Program& program) {
              at(program, "0W0").input = TransferRef{ChannelId{1}, 0};
            }),
            "0W0 has an input"));
  CHECK(has(found([](Program& program) { at(program, "1F0").input = at(program, "1F1").input; }),
            "1F0 has the input of 1F1"));
  CHECK(has(found([](Program& program) { at(program, "0F1").output = at(program, "0F0").output; }),
            "0F1 has the output of 0F0"));
  CHECK(has(found([](Program& program) { program.channels[0].transfers[0].consumer = make_id<TaskId>(7); }),
            "0F0 for 1I0 is sent to a task that does not need it"));
  CHECK(has(found([](Program& program) { std::swap(program.channels[0].from, program.channels[0].to); }),
            "0F0 for 1F0 goes from stage 1 to stage 0, not from 0 to 1"));
  CHECK(has(found([](Program& program) { program.channels[0].transfers.push_back(program.channels[0].transfers[1]); }),
            "only one end knows transfer 0F1 for 1F1"));
  CHECK(has(found([](Program& program) { program.stages[1].in.clear(); }), "stage 1 does not list its channels"));
}

TEST_CASE("A channel has its sender's order", "[verify]") {
  CHECK(has(found([](Program& program) {
              std::swap(program.channels[0].transfers[0], program.channels[0].transfers[1]);
              std::swap(at(program, "0F0").output, at(program, "0F1").output);
              std::swap(at(program, "1F0").input, at(program, "1F1").input);
            }),
            "0F0 for 1F0 is sent after 0F1, which is made later"));
}

TEST_CASE("Every stash is made once, exists when it is used, and is freed once", "[verify]") {
  CHECK(has(found([](Program& program) { at(program, "0F0").allocates = false; }), "0F0 makes no stash"));
  CHECK(has(found([](Program& program) { at(program, "0F0").allocates = false; }),
            "0I0 uses a stash that does not exist"));
  CHECK(has(found([](Program& program) { at(program, "0I0").allocates = true; }), "0I0 makes its stash again"));
  CHECK(has(found([](Program& program) { at(program, "0F0").frees_for_input = true; }),
            "0I0 uses a stash that does not exist"));
  CHECK(has(found([](Program& program) { at(program, "0I0").frees_for_weight = true; }),
            "0W0 uses a stash that does not exist"));
  CHECK(has(found([](Program& program) { at(program, "0W0").frees_for_input = true; }),
            "0W0 frees a stash that does not exist"));
  CHECK(has(found([](Program& program) { at(program, "1W1").frees_for_weight = false; }),
            "stage 1: a stash is never freed"));
  CHECK(has(found([](Program& program) { program.stages[0].chunks = {1}; }),
            "0F0 is of a chunk that the stage does not hold"));
}

TEST_CASE("No more stashes exist at the same time than predicted", "[verify]") {
  CHECK(split_program().stages[0].peak_stashes == 2);
  CHECK(has(found([](Program& program) { program.stages[0].peak_stashes = 1; }),
            "stage 0: 2 stashes at once, but 1 are predicted"));
}

TEST_CASE("Every transfer is on the lane of its stages, once and in order", "[verify]") {
  CHECK(has(found([](Program& program) { program.lanes[0].transfers.pop_back(); }),
            "transfers on lanes of channel 0 are 1, but it has 2"));
  CHECK(has(found([](Program& program) { std::swap(program.lanes[0].transfers[0], program.lanes[0].transfers[1]); }),
            "a lane is out of order: transfer 1 of channel 0, but 0 is next"));
  CHECK(has(found([](Program& program) { std::swap(program.lanes[0].transfers, program.lanes[1].transfers); }),
            "the lane of stages 0 and 1 has a transfer from stage 1 to stage 0"));
  CHECK(has(found([](Program& program) {
              program.lanes.push_back({StageId{0}, StageId{1}, {}});
            }),
            "stages 0 and 1 have one lane too many"));
  CHECK(has(found(
                [](Program& program) {
                  program.lanes.push_back({StageId{1}, StageId{0}, {}});
                },
                P2p::pair),
            "stages 1 and 0 have one lane too many"));
}

TEST_CASE("Every transfer is in a batch of each of its stages", "[verify]") {
  CHECK(has(found([](Program& program) { program.stages[0].batches.front().sends.clear(); }, P2p::batched),
            "sends are out of order: transfer 1 of channel 0, but 0 is next"));
  CHECK(has(found([](Program& program) { program.stages[1].batches.front().receives.clear(); }, P2p::batched),
            "receives of channel 0 are 1, but it has 2"));
  CHECK(has(found([](Program& program) { program.stages[0].batches.front().before = 0; }, P2p::batched),
            "a batch of stage 0 sends data that is not made yet"));
  CHECK(has(found([](Program& program) { program.stages[1].batches.front().before = 1; }, P2p::batched),
            "a batch of stage 1 receives data that was needed earlier"));
  CHECK(has(found([](Program& program) { program.stages[1].batches.front().before = 99; }, P2p::batched),
            "stage 1: a batch before task 99 of 6"));
}

TEST_CASE("A stage posts the sends of one task and the receives of the next as one batch", "[verify]") {
  // 0F0 [send 0F0] 0F1 [send 0F1, receive 1B0] 0B0 [receive 1B1] 0B1
  const Program program = compiled(order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}), {.p2p = P2p::batched});
  const std::vector<Batch>& batches = program.stages[0].batches;
  REQUIRE(batches.size() == 3);
  CHECK(batches[0].before == 1);
  CHECK(batches[0].sends == std::vector{TransferRef{ChannelId{0}, 0}});
  CHECK(batches[0].receives.empty());
  CHECK(batches[1].before == 2);
  CHECK(batches[1].sends == std::vector{TransferRef{ChannelId{0}, 1}});
  CHECK(batches[1].receives == std::vector{TransferRef{ChannelId{1}, 0}});
  CHECK(batches[2].before == 3);
  CHECK(batches[2].sends.empty());
  // 1B1's gradient leaves behind the last task.
  CHECK(program.stages[1].batches.back().before == 4);
  CHECK(program.stages[1].batches.back().sends == std::vector{TransferRef{ChannelId{1}, 1}});
}

TEST_CASE("An overlapped pair posts both its receives before it, and both its sends after it", "[verify]") {
  const Program program =
      compiled(order({"0F0 0F1 (0F2;0B0) 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}), {.p2p = P2p::batched});
  const std::vector<Batch>& batches = program.stages[0].batches;
  REQUIRE(batches.size() == 4);
  CHECK(batches[1].before == 2); // the pair; its second half needs 1B0's gradient
  CHECK(batches[1].receives == std::vector{TransferRef{ChannelId{1}, 0}});
  CHECK(batches[2].before == 4); // after the pair; its first half has an output
  CHECK(batches[2].sends == std::vector{TransferRef{ChannelId{0}, 2}});
}

TEST_CASE("A batch receives from a stage in the order in which that stage sends", "[verify]") {
  // Microbatch 1 goes the other way. Stage 0 needs 0F1's activation before 1B0's gradient, which is sent first.
  const Program program = compiled(order({"0F0 (1F1;0B0) 1B1", "1F0 (1B0;0F1) 0B1"}), {.p2p = P2p::batched});
  CHECK(words(program, channel_between(program, 1, 0).transfers) == "1B0>0B0 0F1>1F1");
  CHECK(program.stages[0].batches[0].receives == std::vector<TransferRef>{{ChannelId{1}, 0}, {ChannelId{1}, 1}});
}

TEST_CASE("Both directions between two stages share a lane in the order of the prediction", "[verify]") {
  const Program program = compiled(order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}), {.p2p = P2p::pair});
  REQUIRE(program.lanes.size() == 1);
  CHECK(program.lanes[0].first == StageId{0});
  CHECK(program.lanes[0].second == StageId{1});
  // 0F0 ends at 10, 0F1 at 20, 1B0 at 40, 1B1 at 70.
  const ChannelId there{0};
  const ChannelId back{1};
  CHECK(program.lanes[0].transfers == std::vector<TransferRef>{{there, 0}, {there, 1}, {back, 0}, {back, 1}});
}

TEST_CASE("A cycle over slots is reported operation by operation, with the number of slots that suffices", "[verify]") {
  // Stage 0 sends all of chunk 0 before it takes anything back, and stage 1 has room for one.
  const Schedule schedule =
      order({"0F0 0F1 0F2 2F0 2F1 2F2 2B0 2B1 2B2 0B0 0B1 0B2", "1F0 1F1 1F2 3F0 3F1 3F2 3B0 3B1 3B2 1B0 1B1 1B2"})
          .forwards();
  const Refusal refusal = refusal_of([&] { (void)compiled(schedule, {.slots = 1}); });
  CHECK(refusal.code == ExitCode::no);
  REQUIRE(refusal.lines.size() == 1);
  CHECK(refusal.first() == "schedule: deadlock: stage 1: 1F2 waits for a free slot to stage 0, where 2F1 must end "
                           "first; stage 0: 2F1 waits for a free slot to stage 1, where 3F0 must end first; stage 1: "
                           "3F0 waits for 1F2, which is before it -- --slots 2 suffices");
  CHECK(!refusal_of([&] { (void)compiled(schedule, {.slots = 2}); }).code);
}

TEST_CASE("A cycle over batches is reported, and edges have none", "[verify]") {
  // Stage 0 cannot run 0F3 before 0F2 is taken; stage 1 takes that when stage 0, after 0F3, has taken 1B0's gradient.
  const Schedule schedule = order({"0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3", "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"});
  CHECK(!refusal_of([&] { (void)compiled(schedule, {.p2p = P2p::edge}); }).code);
  const Refusal refusal = refusal_of([&] { (void)compiled(schedule, {.p2p = P2p::batched, .slots = 4}); });
  CHECK(refusal.code == ExitCode::no);
  CHECK(
      refusal.first() ==
      "schedule: deadlock: stage 0: 0SEND_F2 waits for stage 1 to come to 1RECV_F2; stage 1: 1RECV_F2 waits for "
      "1SEND_B0, which is before it on the same communicator; stage 1: 1SEND_B0 waits for stage 0 to come to "
      "0RECV_B0; stage 0: 0RECV_B0 waits for 0SEND_F2, which is before it on the same communicator -- use --p2p edge: "
      "a communicator for each direction between two stages");
}

TEST_CASE("A lane whose order no program can run is a cycle", "[verify]") {
  // The gradient of 1I0 before the activation that it follows from.
  const Refusal refusal = found(
      [](Program& program) {
        program.lanes[0].transfers = {{ChannelId{1}, 0}, {ChannelId{0}, 0}, {ChannelId{0}, 1}, {ChannelId{1}, 1}};
      },
      P2p::pair);
  CHECK(refusal.first() ==
        "schedule: deadlock: stage 1: 1F0 waits for its input, 1RECV_F0; stage 1: 1RECV_F0 waits for 1F0, which is "
        "before it -- use --p2p edge: a communicator for each direction between two stages");
}

TEST_CASE("One thread can issue the tasks in issue order", "[verify]") {
  CHECK(has(found([](Program& program) { std::swap(program.issue_order[0], program.issue_order[1]); }),
            "0F1 is issued before 0F0, which it waits for"));
  CHECK(has(found([](Program& program) { program.issue_order.pop_back(); }),
            "the order of issue does not have every task once"));
  CHECK(has(found([](Program& program) { program.issue_order.back() = program.issue_order.front(); }),
            "the order of issue does not have every task once"));
}

} // namespace ppsim::test::verify_test
