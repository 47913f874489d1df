// Schedule: rows of tasks, where each stands, and every way to be malformed.

#include "ppsim/schedule/schedule.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace ppsim::test::schedule_test {

namespace {

std::vector<std::string> faults(const Schedule& schedule) {
  const Refusal refusal = refusal_of([&] { ScheduleIndex{schedule, "s.csv"}; });
  if (refusal.code) CHECK(refusal.code == ExitCode::bad_input);
  return refusal.lines;
}

Schedule with_shape(const Rows& rows, const Shape& shape) {
  ScheduleBuilder builder{"mine", shape};
  for (const std::string& text : rows) {
    for (const Task& task : row(text)) builder.add(task);
    builder.end_stage();
  }
  return builder.build();
}

const Rows one_f_one_b{"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"};

} // namespace

TEST_CASE("A task is written as chunk, pass, microbatch") {
  CHECK(to_string(make_task(Pass::forward, 0, 0)) == "0F0");
  CHECK(to_string(make_task(Pass::backward, 3, 12)) == "3B12");
  CHECK(to_string(make_task(Pass::input_grad, 65534, 7)) == "65534I7");
  CHECK(to_string(make_task(Pass::weight_grad, 1, 4'000'000)) == "1W4000000");
}

TEST_CASE("B and I send a gradient, B and W free an activation") {
  CHECK((gives_gradient(Pass::backward) && gives_gradient(Pass::input_grad)));
  CHECK((!gives_gradient(Pass::forward) && !gives_gradient(Pass::weight_grad)));
  CHECK((frees_activation(Pass::backward) && frees_activation(Pass::weight_grad)));
  CHECK((!frees_activation(Pass::forward) && !frees_activation(Pass::input_grad)));
}

TEST_CASE("A schedule holds its stages one after another") {
  const Schedule schedule = order({"0F0 0B0", "", "2F0 2B0 1F0 1B0"});
  CHECK(schedule.shape() == Shape{.stages = 3, .microbatches = 1, .vpp = 1});
  CHECK(schedule.size() == 6);
  CHECK(schedule.stage(StageId{1}).empty());
  CHECK(schedule.stage(StageId{2})[2] == make_task(Pass::forward, 1, 0));
  CHECK(schedule.first_task(StageId{2}) == TaskId{2});
  CHECK(schedule.first_task(StageId{3}) == TaskId{6});
  CHECK(schedule.end_task(StageId{0}) == TaskId{2});
  CHECK(schedule.task_ids(StageId{1}).empty());
  const IdRange<TaskId> last = schedule.task_ids(StageId{2});
  CHECK(std::vector<TaskId>{last.begin(), last.end()} == std::vector{TaskId{2}, TaskId{3}, TaskId{4}, TaskId{5}});
  CHECK((last.front() == TaskId{2} && last.back() == TaskId{5}));
  CHECK(
      (!last.contains(TaskId{1}) && last.contains(TaskId{2}) && last.contains(TaskId{5}) && !last.contains(TaskId{6})));
  CHECK(schedule.stage_of(TaskId{1}) == StageId{0});
  CHECK(schedule.stage_of(TaskId{2}) == StageId{2});
  CHECK(schedule.stage_of(TaskId{5}) == StageId{2});
}

TEST_CASE("Two schedules are equal when shape and order are, whatever their names") {
  CHECK(order(one_f_one_b, "a") == order(one_f_one_b, "b"));
  CHECK(!(order(one_f_one_b) == order({"0F0 0F1 0B1 0B0", "1F0 1B0 1F1 1B1"})));
  CHECK(!(order({"0F0 0B0"}) == order({"(0F0;0B0)"})));
}

TEST_CASE("Loop placement puts chunk c on stage c mod p, local index c div p") {
  const Shape shape{.stages = 3, .microbatches = 1, .vpp = 2};
  const std::vector<StageId> stages{StageId{0}, StageId{1}, StageId{2}, StageId{0}, StageId{1}, StageId{2}};
  CHECK(loop_placement(shape) == stages);
  const Schedule schedule = generate("interleaved", {.stages = 3, .microbatches = 3, .vpp = 2});
  CHECK(placement_of(schedule) == stages);
  const HeldChunks held{schedule};
  CHECK(held.most() == 2);
  for (std::size_t chunk = 0; chunk < 6; ++chunk)
    CHECK(held.local_index(stages[chunk], make_id<ChunkId>(chunk)) == chunk / 3);
}

TEST_CASE("The placement of an order follows from its forwards, including a V") {
  //  stage 0: chunks 0 and 3; stage 1: chunks 1 and 2
  const Schedule schedule = order({"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"});
  CHECK(placement_of(schedule) == std::vector<StageId>{StageId{0}, StageId{1}, StageId{1}, StageId{0}});
  const HeldChunks held{schedule};
  CHECK(held.local_index(StageId{0}, ChunkId{3}) == 1);
  CHECK(held.local_index(StageId{1}, ChunkId{1}) == 0);
  CHECK(held.local_index(StageId{1}, ChunkId{2}) == 1);
  CHECK(wave_placement({.stages = 2, .microbatches = 1, .vpp = 2}) == placement_of(schedule));
}

TEST_CASE("A stage of a bidirectional order holds two chunks of the model, by rising id on both of its stages") {
  //  microbatch 0 goes down, microbatch 1 comes up: chunk 0 is on stages 0 and 1
  const HeldChunks held{order({"0F0 1F1 1B1 0B0", "0F1 1F0 1B0 0B1"})};
  for (const StageId stage : {StageId{0}, StageId{1}}) {
    CHECK(std::vector<std::uint16_t>(held.of(stage).begin(), held.of(stage).end()) == std::vector<std::uint16_t>{0, 1});
    CHECK(held.local_index(stage, ChunkId{1}) == 1);
  }
}

TEST_CASE("Wave placement goes down and up the stages alternately") {
  const std::vector<StageId> stages{StageId{0}, StageId{1}, StageId{1}, StageId{0},
                                    StageId{0}, StageId{1}, StageId{1}, StageId{0}};
  CHECK(wave_placement({.stages = 2, .microbatches = 1, .vpp = 4}) == stages);
}

TEST_CASE("The index has the task of each pass of a chunk and microbatch") {
  const ScheduleIndex whole{order(one_f_one_b)};
  CHECK(whole.forward(0, 1) == TaskId{1});
  CHECK(whole.backward(0, 1) == TaskId{3});
  CHECK(whole.forward(1, 1) == TaskId{6});
  CHECK(whole.backward(1, 0) == TaskId{5});
  CHECK(whole.weight_grad(1, 0) == no_task);

  const ScheduleIndex mixed{order({"0F0 0I0 0F1 0B1 0W0"})};
  CHECK(mixed.backward(0, 0) == TaskId{1});
  CHECK(mixed.weight_grad(0, 0) == TaskId{4});
  CHECK(mixed.backward(0, 1) == TaskId{3});
  CHECK(mixed.weight_grad(0, 1) == no_task);
}

TEST_CASE("A repeated pass is refused with both places") {
  CHECK(faults(order({"0F0 0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"})) ==
        Rows{"s.csv: 0F0 appears twice on stage 0 -- keep one of them"});
  CHECK(
      faults(order({"0F0 0B0", "0F0 1F0 1B0"})) ==
      Rows{"s.csv: 0F0 appears twice, on stage 0 and on stage 1 -- keep one of them; chunks count through all stages, "
           "not on each"});
  CHECK(faults(order({"0F0 0I0 0W0 0W0"})) == Rows{"s.csv: 0W0 appears twice on stage 0 -- keep one of them"});
}

TEST_CASE("A missing pass is refused") {
  const std::string hint = " -- every chunk needs one F and one B (or I and W) per microbatch";
  CHECK(faults(order({"0F0 0F1 0B0", "1F0 1B0 1F1 1B1"})) == Rows{"s.csv: 0B1 is missing (or its I and W)" + hint});
  CHECK(faults(order({"0F0 0B0 0B1", "1F0 1B0 1F1 1B1"})) == Rows{"s.csv: 0F1 is missing" + hint});
  CHECK(faults(order({"0F0 0I0"})) == Rows{"s.csv: 0W0 is missing" + hint});
  CHECK(faults(order({"0F0 0B0", "1F0 1B0 1F1 1B1"})).size() == 2);
}

TEST_CASE("A W without its I is refused") {
  CHECK(faults(order({"0F0 0W0"})) ==
        Rows{"s.csv: 0W0 without 0I0 -- a W needs the I of the same chunk and microbatch"});
}

TEST_CASE("A backward that is both whole and split is refused") {
  const std::string rule = ": a backward is either whole (B) or split (I and W) -- keep the B, or the I and the W";
  CHECK(faults(order({"0F0 0B0 0I0 0W0"})).front() == "s.csv: both 0B0 (stage 0) and 0I0 (stage 0)" + rule);
  CHECK(faults(order({"0F0 0B0 0W0"})) == Rows{"s.csv: both 0B0 (stage 0) and 0W0 (stage 0)" + rule});
}

TEST_CASE("A backward on another stage than its forward is refused") {
  CHECK(faults(order({"0F0", "1F0 1B0 0B0"})) == Rows{"s.csv: 0B0 is on stage 1, but its forward is on stage 0 -- all "
                                                      "passes of one chunk and microbatch belong on one stage"});
  CHECK(faults(order({"0F0 0I0", "1F0 1B0 0W0"})).size() == 1);
}

TEST_CASE("Chunks of different microbatches may be on different stages, as in DualPipe") {
  CHECK(faults(order({"0F0 1F1 0B0 1B1", "0F1 1F0 1B0 0B1"})).empty());
}

TEST_CASE("A chunk or microbatch beyond the shape is refused") {
  const Schedule schedule = with_shape({"0F0 0B0 7F0 0F9"}, {.stages = 1, .microbatches = 1, .vpp = 1});
  CHECK(faults(schedule) == Rows{"s.csv: stage 0: 7F0 is outside 1 chunks x 1 microbatches -- ",
                                 "s.csv: stage 0: 0F9 is outside 1 chunks x 1 microbatches -- "});
}

TEST_CASE("A shape with too few tasks is refused before tables are allocated for it") {
  const Schedule schedule = with_shape({"0F0 0B0"}, {.stages = 1, .microbatches = 100'000'000, .vpp = 1});
  CHECK(faults(schedule) == Rows{"s.csv: 2 tasks, but 1 chunks x 100000000 microbatches need at least 200000000 -- is "
                                 "a chunk or microbatch number wrong?"});
}

TEST_CASE("An overlapped pair is one forward with one B or I, one after the other") {
  CHECK(faults(order({"0F0 (0F1;0B0) 0B1"})).empty());
  CHECK(faults(order({"0F0 (0I0;0F1) 0W0 0B1"})).empty());
  CHECK(faults(order({"(0F0;0F1) 0B0 0B1"})) ==
        Rows{"s.csv: stage 0: pair (0F0;0F1) is not one forward with one backward -- "});
  CHECK(faults(order({"0F0 0F1 (0B0;0B1)"})) ==
        Rows{"s.csv: stage 0: pair (0B0;0B1) is not one forward with one backward -- "});
  CHECK(faults(order({"0F0 0I0 (0F1;0W0) 0B1"})) ==
        Rows{"s.csv: stage 0: 0W0 cannot be part of an overlapped pair -- "});
}

TEST_CASE("Half a pair is refused") {
  std::vector<Task> tasks = row("0F0 0B0");
  const Shape shape{.stages = 1, .microbatches = 1, .vpp = 1};
  const auto faults_with = [&](Pairing forward, Pairing backward) {
    tasks[0].pairing = forward;
    tasks[1].pairing = backward;
    return faults(Schedule{"mine", shape, tasks, {0, 2}});
  };
  CHECK(faults_with(Pairing::alone, Pairing::alone).empty());
  CHECK(faults_with(Pairing::alone, Pairing::first) ==
        Rows{"s.csv: stage 0: 0B0 is half of an overlapped pair without the other half -- "});
  CHECK(faults_with(Pairing::alone, Pairing::second).size() == 1);
  CHECK(faults_with(Pairing::first, Pairing::alone).size() == 1);
  CHECK(faults_with(Pairing::second, Pairing::first).size() == 2);
}

TEST_CASE("All faults of a schedule are reported, the first twenty in full") {
  ScheduleBuilder builder{"mine", {.stages = 1, .microbatches = 50, .vpp = 1}};
  for (std::size_t microbatch = 0; microbatch < 50; ++microbatch) builder.add(Pass::forward, 0, microbatch);
  builder.end_stage();
  const auto lines = faults(builder.build());
  REQUIRE(lines.size() == 21);
  CHECK(lines[0].starts_with("s.csv: 0B0 is missing"));
  CHECK(lines[19].starts_with("s.csv: 0B19 is missing"));
  CHECK(lines[20].find("30 more") != std::string::npos);
}

} // namespace ppsim::test::schedule_test
