// Where each lowering launches sends and receives, by hand, and what check_operations() refuses.

#include "ppsim/base/error.hpp"
#include "ppsim/operations/slots.hpp"
#include "ppsim/schedule/generators.hpp"
#include "support/lowered.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::test::lowering_test {

using namespace std::chrono_literals;

namespace {

TaskGraph graph_of(std::string_view csv) {
  const Schedule schedule = traces::read_schedule(csv, "s.csv").schedule;
  return lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms));
}

TaskGraph generated(std::string_view name, const Shape& shape, std::optional<std::size_t> group_size = {}) {
  ScheduleRequest request;
  request.shape = shape;
  request.group_size = group_size;
  return lower(make_schedule(find_generator(name), request), uniform_scenario(shape, 1ms, 2ms));
}

std::vector<std::string> faults_of(const TaskGraph& graph, std::vector<CommOp> first, std::vector<CommOp> second) {
  const auto middle = static_cast<std::uint32_t>(first.size());
  first.insert(first.end(), second.begin(), second.end());
  const auto end = static_cast<std::uint32_t>(first.size());
  try {
    check_operations(graph.schedule(), {std::move(first), {0, middle, end}}, "s.csv");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    std::vector<std::string> faults;
    for (const Problem& problem : error.problems()) faults.push_back(problem.what);
    return faults;
  }
  return {};
}

} // namespace

TEST_CASE("The lowering pytorch places the cells of pytorch#172668 as PyTorch printed them") {
  const TaskGraph graph = generated("interleaved", {.stages = 2, .microbatches = 4, .vpp = 2});
  const std::string csv = test::csv_with_operations(graph);
  // pytorch#175572 prints the whole of it, in groups
  CHECK(csv.starts_with(
      "0UNSHARD,2UNSHARD,0F0,0SEND_F0,2RECV_F0,0F1,0SEND_F1,2RECV_F1,2F0,2SEND_F0,2F1,2SEND_F1,2RECV_B0,0F2,0SEND_F2,"
      "2B0,2SEND_B0,2RECV_B1,0F3,0SEND_F3,2RECV_F2,2B1,2SEND_B1,0RECV_B0,2F2,2SEND_F2,2RECV_F3,0B0,0RECV_B1,2F3,"
      "2SEND_F3,0B1,2RECV_B2,2B2,2SEND_B2,2RECV_B3,2B3,2SEND_B3,2REDUCE_GRAD,2RESHARD,0RECV_B2,0B2,0RECV_B3,0B3,"
      "0REDUCE_GRAD,0RESHARD\n1UNSHARD,3UNSHARD,1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,"));
}

TEST_CASE("In the lowering pytorch, REDUCE_GRAD and RESHARD take turns") {
  const TaskGraph graph = generated("zb-v", {.stages = 2, .microbatches = 3, .vpp = 2});
  // After 3W2 stage 0 is done with chunk 3: its REDUCE_GRAD and RESHARD are two turns, in which stage 1 runs 1I2,
  // whose receive therefore is before 0I1.
  const std::string row = text_of(graph, test::operations(graph, "pytorch"), 0);
  CHECK(row.ends_with("3I2 3SEND_B2 0RECV_B1 3W2 0RECV_B2 0I1 0W1 0I2 0W2"));
  // Without REDUCE_GRAD stage 0 is ahead by a turn.
  const TaskGraph newer = generated("zb-v", {.stages = 3, .microbatches = 6, .vpp = 2});
  CHECK(text_of(newer, test::operations(newer, "pytorch"), 0).ends_with("0RECV_B4 0I3 0RECV_B5 0W3 0I4 0W4 0I5 0W5"));
  Scenario scenario = newer.scenario();
  scenario.network.streams.reduce_grad = false;
  const TaskGraph older = lower(newer.schedule(), scenario);
  CHECK(text_of(older, test::operations(older, "pytorch"), 0).ends_with("0RECV_B4 0I3 0W3 0RECV_B5 0I4 0W4 0I5 0W5"));
}

TEST_CASE("PyTorch gathers the next three chunks, and drops and reduces finished ones") {
  const TaskGraph graph = graph_of("0F0,1F0,2F0,3F0,0F1,1F1,(2F1;3B0)OVERLAP_F_B,3F1,3B1,2B0,2B1,1B0,1B1,0B0,0B1\n");
  // Ahead of 0F1 there are four: the pair brings two.
  CHECK(test::csv_with_operations(graph) ==
        "0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,1RESHARD,0UNSHARD,2F0,2RESHARD,1UNSHARD,3F0,2UNSHARD,0F1,"
        "0RESHARD,1F1,(2F1;3B0)OVERLAP_F_B,3F1,3B1,3REDUCE_GRAD,3RESHARD,0UNSHARD,2B0,2B1,2REDUCE_GRAD,2RESHARD,1B0,"
        "1B1,1REDUCE_GRAD,1RESHARD,0B0,0B1,0REDUCE_GRAD,0RESHARD\n");
}

TEST_CASE("Actions on whole chunks are added after sends and receives, or kept as the schedule has them") {
  const auto completed = [](std::string_view csv, bool reduce_grad = true, std::string_view lowering = "edge") {
    const Schedule schedule = traces::read_schedule(csv, "s.csv").schedule;
    Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
    scenario.network.streams.reduce_grad = reduce_grad;
    scenario.network.streams.lowering = lowering;
    const TaskGraph graph = lower(schedule, scenario);
    return traces::write_schedule_csv_comms(schedule, with_chunk_actions(graph, operations_of(graph)));
  };
  const std::string second = "1RECV_F0,1UNSHARD,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n";
  CHECK(completed("0F0,0B0\n1F0,1B0\n") == "0RECV_B0,0UNSHARD,0F0,0SEND_F0,0B0,0REDUCE_GRAD,0RESHARD\n" + second);
  CHECK(completed("0F0,0B0\n1F0,1B0\n", false) ==
        "0RECV_B0,0UNSHARD,0F0,0SEND_F0,0B0\n1RECV_F0,1UNSHARD,1F0,1B0,1SEND_B0\n");
  // Actions from the file: those of chunk 0 stay, chunk 1 lacks REDUCE_GRAD.
  const std::string_view own = "0F0,0RESHARD,0B0,0RESHARD,0REDUCE_GRAD\n1F0,1B0,1RESHARD\n";
  CHECK(completed(own) == "0RECV_B0,0F0,0SEND_F0,0RESHARD,0B0,0RESHARD,0REDUCE_GRAD\n"
                          "1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n");
  CHECK(completed(own, false) == "0RECV_B0,0F0,0SEND_F0,0RESHARD,0B0,0RESHARD\n1RECV_F0,1F0,1B0,1SEND_B0,1RESHARD\n");
  // The lowering that places them itself gives a file's own their turns: 1SEND_B0 leaves when stage 0 has dropped 0.
  CHECK(completed("0UNSHARD,0F0,0RESHARD,0UNSHARD,0B0,0REDUCE_GRAD,0RESHARD\n1UNSHARD,1F0,1B0,1RESHARD\n", true,
                  "pytorch") == "0UNSHARD,0F0,0SEND_F0,0RESHARD,0RECV_B0,0UNSHARD,0B0,0REDUCE_GRAD,0RESHARD\n"
                                "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n");
}

TEST_CASE("The default lowering posts receives in the order of the sends as soon as a slot is free") {
  CHECK(lowerings().front()->name == "edge");
  const TaskGraph graph = graph_of("0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n");
  // 0F0 to 0F3 end at 1, 2, 3, 4 ms, 1F0 at 2 and 1F1 at 5: at 4 ms three have not been used up, so there are four
  // slots. Each gradient is used up before the next one is made: two slots.
  const CommOrder order = test::operations(graph, "edge");
  CHECK(text_of(graph, order, 0) ==
        "0RECV_B0 0RECV_B1 0F0 0SEND_F0 0F1 0SEND_F1 0F2 0SEND_F2 0F3 0SEND_F3 0B0 0RECV_B2 0B1 0RECV_B3 0B2 0B3");
  CHECK(text_of(graph, order, 1) == "1RECV_F0 1RECV_F1 1RECV_F2 1RECV_F3 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1 1F2 1B2 "
                                    "1SEND_B2 1F3 1B3 1SEND_B3");
}

TEST_CASE("Slots are freed in order, and one is spare") {
  const auto at = [](std::initializer_list<int> milliseconds) {
    std::vector<SimTime> times;
    for (const int time : milliseconds) times.emplace_back(std::chrono::milliseconds{time});
    return times;
  };
  CHECK(slots_needed(at({1, 2, 3}), at({2, 3, 4})) == 3);       // the one used up at 2 counts beside the one made then
  CHECK(slots_needed(at({1, 3, 5}), at({2, 4, 6})) == 2);       // one at a time
  CHECK(slots_needed(at({1, 3, 5, 7}), at({9, 4, 6, 8})) == 5); // the first is held to the end, and those after it
  CHECK(slots_needed({}, {}) == 1);
}

TEST_CASE("Just in time, a receive is right before its task, or before an earlier one of its edge") {
  const TaskGraph graph = graph_of("0F0,0F1,0B0,0B1\n1F1,1B1,1F0,1B0\n"); // the stages disagree about the order
  const CommOrder order = test::operations(graph, "just-in-time");
  CHECK(text_of(graph, order, 0) == "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B1 0RECV_B0 0B0 0B1");
  CHECK(text_of(graph, order, 1) == "1RECV_F0 1RECV_F1 1F1 1B1 1SEND_B1 1F0 1B0 1SEND_B0");
}

TEST_CASE("Eager receives follow the order of their communicator") {
  const Schedule schedule = traces::read_schedule("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "s.csv").schedule;
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
  const auto rows = [&](std::optional<Communicators> communicators) {
    scenario.network.streams.communicators = communicators;
    const TaskGraph graph = lower(schedule, scenario);
    const CommOrder order = test::operations(graph, "eager");
    return std::pair{text_of(graph, order, 0), text_of(graph, order, 1)};
  };
  CHECK(rows({}) == std::pair<std::string, std::string>{"0RECV_B0 0RECV_B1 0F0 0SEND_F0 0F1 0SEND_F1 0B0 0B1",
                                                        "1RECV_F0 1RECV_F1 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1"});
  // Both directions share one: the sends at 1 and 2 ms come before the receives of what leaves at 4 and 7 ms.
  CHECK(rows(Communicators::pair) ==
        std::pair<std::string, std::string>{"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0RECV_B1 0B0 0B1",
                                            "1RECV_F0 1RECV_F1 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1"});
  CHECK(rows(Communicators::group) == rows(Communicators::pair)); // the two stages are the whole group
}

TEST_CASE("Megatron-LM's 1F1B receives before each warm-up forward, then exchanges after each task") {
  const TaskGraph graph = generated("1f1b", {.stages = 2, .microbatches = 3, .vpp = 1});
  const CommOrder order = test::operations(graph, "megatron");
  // Sends and receives of one call are a group, and the stage waits for all of it. A call for nothing is none.
  CHECK(text_of(graph, order, 0) == "0F0 0SEND_F0! 0F1 0SEND_F1!+0RECV_B0 0B0 0F2 0SEND_F2!+0RECV_B1 0B1 "
                                    "0RECV_B2 0B2");
  CHECK(text_of(graph, order, 1) == "1RECV_F0 1F0 1B0 1RECV_F1+1SEND_B0! 1F1 1B1 1RECV_F2+1SEND_B1! 1F2 1B2 "
                                    "1SEND_B2!");
  CHECK(order == test::operations(graph, "megatron", Overlap::all)); // it does not overlap without interleaving
}

TEST_CASE("Megatron-LM's interleaved schedule exchanges both directions after each step") {
  const TaskGraph graph = generated("interleaved", {.stages = 3, .microbatches = 3, .vpp = 2});
  const CommOrder order = test::operations(graph, "megatron");
  // The last stage: 3 warm-up forwards, then pairs of both.
  CHECK(text_of(graph, order, 2) ==
        "2RECV_F0 2F0 2RECV_F1+2SEND_F0! 2F1 2RECV_F2+2SEND_F1! 2F2 5RECV_F0+2SEND_F2! 5F0 5B0 5RECV_F1+5SEND_B0! "
        "5F1 5B1 5RECV_F2+5SEND_B1! 5F2 5B2 2RECV_B0+5SEND_B2! 2B0 2RECV_B1+2SEND_B0! 2B1 2RECV_B2+2SEND_B1! 2B2 "
        "2SEND_B2!");
}

TEST_CASE("With groups larger than p, Megatron-LM's first stage receives when the last one sends") {
  const TaskGraph graph = generated("interleaved", {.stages = 3, .microbatches = 4, .vpp = 2}, 4);
  // 3F0 runs after 0F3, but the last stage sends its input after the first stage's third forward.
  CHECK(text_of(graph, test::operations(graph, "megatron"), 0)
            .starts_with("0F0 0SEND_F0! 0F1 0SEND_F1! 0F2 0SEND_F2!+3RECV_F0! 0F3 0SEND_F3!+3RECV_F1! 3F0 "));
}

TEST_CASE("With overlap, Megatron-LM launches each direction after its pass and waits only for forward sends") {
  const TaskGraph graph = generated("interleaved", {.stages = 3, .microbatches = 3, .vpp = 2});
  const CommOrder order = test::operations(graph, "megatron", Overlap::steady);
  // An even stage sends first, and each direction has its own call.
  CHECK(text_of(graph, order, 2) ==
        "2RECV_F0 2F0 2SEND_F0! 2RECV_F1 2F1 2SEND_F1! 2RECV_F2 2F2 2SEND_F2! 5RECV_F0 5F0 5RECV_F1 5B0 5SEND_B0 "
        "5F1 5RECV_F2 5B1 5SEND_B1 ~5SEND_B0 5F2 5B2 5SEND_B2 2RECV_B0 ~5SEND_B1 2B0 2SEND_B0! 2RECV_B1 2B1 "
        "2SEND_B1! 2RECV_B2 2B2 2SEND_B2! ~5SEND_B2");
}

TEST_CASE("In batches, Megatron-LM refuses two stages of several chunks, but not one chunk") {
  const TaskGraph two_chunks = generated("interleaved", {.stages = 2, .microbatches = 2, .vpp = 2});
  try {
    (void)test::operations(two_chunks, "megatron", Overlap::none);
    FAIL("Megatron-LM asserts p > 2");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK(error.problems().front().where == "lowering megatron");
  }
  CHECK_NOTHROW(test::operations(two_chunks, "megatron", Overlap::steady));
  CHECK_NOTHROW(test::operations(generated("1f1b", {.stages = 2, .microbatches = 2, .vpp = 1}), "megatron"));
}

TEST_CASE("An order that is not Megatron-LM's is exchanged between one task or pair and the next") {
  const TaskGraph graph = graph_of("0F0,0I0,0F1,0W0,0I1,0W1\n1F0,1I0,1W0,1F1,1I1,1W1\n");
  const CommOrder order = test::operations(graph, "megatron");
  CHECK(text_of(graph, order, 0) == "0F0 0SEND_F0!+0RECV_B0 0I0 0F1 0SEND_F1! 0W0 0RECV_B1 0I1 0W1");
  CHECK(text_of(graph, order, 1) == "1RECV_F0 1F0 1I0 1SEND_B0! 1W0 1RECV_F1 1F1 1I1 1SEND_B1! 1W1");
}

TEST_CASE("The inputs of both halves come before the pair, and the outputs of both after it") {
  const TaskGraph graph = graph_of("0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  CHECK(text_of(graph, test::operations(graph, "just-in-time"), 0) ==
        "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0F2 0B0 0SEND_F2 0RECV_B1 0B1 0RECV_B2 0B2");
  CHECK(text_of(graph, test::operations(graph, "megatron"), 0) ==
        "0F0 0SEND_F0! 0F1 0SEND_F1!+0RECV_B0 0F2 0B0 0SEND_F2!+0RECV_B1 0B1 0RECV_B2 0B2");
  for (const Lowering* const lowering : lowerings())
    for (const Overlap overlap : {Overlap::none, Overlap::steady, Overlap::all})
      check_operations(graph.schedule(), lowering->place(graph, overlap), lowering->name);
}

TEST_CASE("A schedule's own operations are used, unless a lowering is named") {
  const std::string_view csv = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";
  const Schedule schedule = traces::read_schedule(csv, "s.csv").schedule;
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
  const TaskGraph as_it_is = lower(schedule, scenario);
  CHECK(text_of(as_it_is, operations_of(as_it_is), 0) == "0F0 0SEND_F0 0RECV_B0 0B0");
  CHECK(communicators_of(as_it_is) == Communicators::group);
  scenario.network.streams.lowering = "edge";
  const TaskGraph named = lower(schedule, scenario);
  CHECK(text_of(named, operations_of(named), 0) == "0RECV_B0 0F0 0SEND_F0 0B0");
  CHECK(communicators_of(named) == Communicators::edge);
  scenario.network.streams.lowering = "megatron";
  CHECK(communicators_of(lower(schedule, scenario)) == Communicators::group); // it overlaps two chunks or more only
  scenario.network.streams.communicators = Communicators::edge;
  CHECK(communicators_of(lower(schedule, scenario)) == Communicators::edge);
}

TEST_CASE(
    "Megatron-LM's overlapped operations have a communicator per pair of stages, and with two stages per direction") {
  const auto used = [](std::size_t stages, Overlap overlap) {
    const Shape shape{.stages = stages, .microbatches = stages, .vpp = 2};
    Scenario scenario = uniform_scenario(shape, 1ms, 2ms);
    scenario.network.streams.lowering = "megatron";
    scenario.network.streams.overlap = overlap;
    return communicators_of(lower(make_schedule(find_generator("interleaved"), {.shape = shape}), scenario));
  };
  CHECK(used(3, Overlap::steady) == Communicators::pair);
  CHECK(used(3, Overlap::all) == Communicators::pair);
  CHECK(used(3, Overlap::none) == Communicators::group);
  CHECK(used(2, Overlap::steady) == Communicators::edge);
}

TEST_CASE("Operations that do not fit their schedule are all refused") {
  const TaskGraph graph = graph_of("0F0,0B0\n1F0,1B0\n"); // tasks 0, 1 and 2, 3
  const CommOp send{.sender = TaskId{0}, .before = 1, .is_send = true};
  const CommOp back{.sender = TaskId{3}, .before = 1};
  const CommOp receive{.sender = TaskId{0}, .before = 0};
  const CommOp send_back{.sender = TaskId{3}, .before = 2, .is_send = true};
  const auto moved = [](CommOp op, std::uint32_t before) {
    op.before = before;
    return op;
  };
  using Lines = std::vector<std::string>;
  CHECK(faults_of(graph, {send, back}, {receive, send_back}).empty());
  CHECK(faults_of(graph, {send}, {receive, send_back}) == Lines{"the receive of 1B0's output is missing on stage 0"});
  CHECK(faults_of(graph, {moved(send, 0), back}, {receive, send_back}) ==
        Lines{"the send of 0F0's output of stage 0 is before the task or pair that makes its data"});
  CHECK(faults_of(graph, {send, moved(back, 2)}, {receive, send_back}) ==
        Lines{"the receive of 1B0's output of stage 0 is after the task, or inside the pair, that needs its data"});
  CHECK(faults_of(graph, {send, back, back}, {receive, send_back}) ==
        Lines{"the receive of 1B0's output appears twice on stage 0"});
  CHECK(faults_of(graph, {send, back, receive}, {send_back}) ==
        Lines{"the receive of 0F0's output is on stage 0, where its task does not run",
              "the receive of 0F0's output of stage 0 is after an operation that belongs later among its tasks",
              "the receive of 0F0's output is missing on stage 1"});
  CHECK(faults_of(graph, {send, back}, {receive, moved(send_back, 3)}) ==
        Lines{"the send of 1B0's output is after more tasks than stage 1 has"});
  CHECK(faults_of(graph, {send, back, {.sender = TaskId{1}, .before = 2, .is_send = true}}, {receive, send_back}) ==
        Lines{"the send of 0B0's output of stage 0 belongs to no transfer between two stages"});
  CHECK(faults_of(graph, {send, back, {.sender = TaskId{9}, .before = 2}}, {receive, send_back}) ==
        Lines{"the operation for task number 9 of stage 0 belongs to no transfer between two stages"});
  CommOp joined = back;
  joined.joins = true;
  CHECK(faults_of(graph, {send, joined}, {receive, send_back}).empty());
  joined.before = 0;
  CHECK(faults_of(graph, {joined, send}, {receive, send_back}) ==
        Lines{"the receive of 1B0's output of stage 0 joins a group, but no operation stands right before it"});
  try {
    check_operations(graph.schedule(), {}, "s.csv");
    FAIL("no stages at all");
  } catch (const Error& error) {
    CHECK(error.problems().front().what == "has sends and receives for 0 stages, but tasks for 2");
  }
}

} // namespace ppsim::test::lowering_test
