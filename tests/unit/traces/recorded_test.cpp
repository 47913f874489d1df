// What readers of measured formats find, put together: by hand.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/measured/explanation.hpp"
#include "support/measured.hpp"
#include "support/recorded.hpp"

#include <catch2/catch.hpp>

#include <chrono>

#include "traces/imports/pp_action.hpp"
#include "traces/imports/recorded_steps.hpp"

namespace ppsim::test::recorded_test {

using namespace std::chrono_literals;
using traces::Imported;
using traces::Recorded;

namespace {

/// 1F1B on two stages, in microseconds; transfers take 20.
///   stage 0  0F0[0,1000) 0F1[1000,2000)               0B0[4040,6040)       0B1[7100,9100)
///   stage 1          1F0[1020,2020) 1B0[2020,4020) 1F1[4020,5020) 1B1[5020,7080)
struct Example {
  TaskGraph graph = [] {
    const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
    return lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms, 20us));
  }();
  Timeline timeline = simulate(graph);
  Recorded recorded;
  Example() { recorded.one_clock = true; }
  void add(std::int64_t step, std::vector<std::int64_t> late = {}) {
    record(graph, timeline, {0, step, std::move(late)}, recorded);
  }
  /// Of another replica, with a last task that takes as many nanoseconds longer as the step's number.
  void add_longer(std::uint32_t replica, std::int64_t step) {
    Timeline longer = timeline;
    longer.tasks[3].end += Duration{step};
    record(graph, longer, {replica, step, {}}, recorded);
  }
  [[nodiscard]] Imported assembled() const { return traces::assemble(recorded, {}, "here"); }
};

void require_same(const Timeline& found, const Timeline& expected) {
  CHECK(found.tasks == expected.tasks);
  CHECK(found.transfers == expected.transfers);
}

std::size_t dropped(const Imported& imported, std::string_view what) {
  for (const traces::Dropped& each : imported.dropped)
    if (each.what == what) return each.count;
  return 0;
}

} // namespace

TEST_CASE("Recorded steps become a run with their order, its name and times from the first task") {
  Example example;
  example.add(7, {1'000'000'000, 1'000'000'000});
  example.add(8);
  const Imported imported = example.assembled();
  REQUIRE(imported.runs.size() == 1);
  const MeasuredRun& run = imported.runs.front();
  CHECK(run.schedule == example.graph.schedule());
  CHECK(run.schedule.name() == "1f1b");
  REQUIRE(run.steps.size() == 2);
  require_same(run.steps[0], example.timeline);
  require_same(run.steps[1], example.timeline);
  CHECK_FALSE(run.clock_error);
  CHECK(run.stages[0].busy == 12ms); // two steps of two forwards and two backwards
  CHECK(imported.dropped.empty());
}

TEST_CASE("A transfer takes the time of the side that did not wait, and does not begin before its content is made") {
  Example example;
  example.add(0);
  for (traces::TransferEvent& event : example.recorded.transfers) {
    if (event.stage != 0 || event.task.pass != Pass::forward) continue;
    event.end -= 5'000;                                            // the sender ends before the receiver
    if (index(event.task.microbatch) == 1) event.start -= 400'000; // and was ready too early
  }
  const Timeline step = example.assembled().runs.front().steps.front();
  const auto transfer = [&](std::string_view name) {
    return step.transfers[position_of(example.graph.schedule(), name)];
  };
  CHECK(transfer("0F0") == between(1'005'000, 1'020'000));
  CHECK(transfer("0F1") == between(2'000'000, 2'020'000));
}

TEST_CASE("The transfers between stages align their clocks") {
  Example example;
  example.recorded.one_clock = false;
  example.add(0, {0, 123'456'789});
  example.add(1, {5'000'000, -77'000'000});
  const Imported imported = example.assembled();
  const MeasuredRun& run = imported.runs.front();
  REQUIRE(run.steps.size() == 2);
  require_same(run.steps[0], example.timeline);
  require_same(run.steps[1], example.timeline);
  REQUIRE(run.clock_error);
  CHECK(*run.clock_error == 0ns);
  CHECK(imported.notes.size() == 1);
}

TEST_CASE("Late polling in both directions does not move a receiver's clock, but is within the error") {
  Example example;
  example.recorded.one_clock = false;
  example.add(0, {0, 1'000'000});
  for (traces::TransferEvent& event : example.recorded.transfers)
    if (!event.is_send) event.end += 3'000;
  const MeasuredRun run = example.assembled().runs.front();
  CHECK(run.steps.front().tasks == example.timeline.tasks);
  CHECK(*run.clock_error == 3us);
}

TEST_CASE("Without transfers, a clock is set to the middle of the interval that causality allows") {
  Example example;
  example.recorded.one_clock = false;
  example.add(0, {0, 1'000'000'000});
  example.recorded.transfers.clear();
  const MeasuredRun run = example.assembled().runs.front();
  CHECK(run.steps.front().tasks == example.timeline.tasks); // 20 us on the way there, and 20 us back
  CHECK(*run.clock_error == 20us);
  for (std::size_t id = 0; id < 4; ++id) CHECK(run.steps.front().transfers[id].length() == 0ns);
}

TEST_CASE("The run says how its clocks were aligned") {
  const auto notes = [](bool with_transfers, std::int64_t late) {
    Example example;
    example.recorded.one_clock = false;
    example.add(0, {0, late});
    if (!with_transfers) example.recorded.transfers.clear();
    return example.assembled().notes;
  };
  CHECK(notes(true, 5'000).back() == "the clocks of stages were aligned by transfers, step by step (1 step)");
  CHECK(notes(false, 5'000).back() == "the clocks of stages were aligned by the order of tasks, step by step (1 step)");
  Recorded alone;
  for (const auto& [pass, start] : {std::pair{Pass::forward, 0}, std::pair{Pass::backward, 20}})
    alone.tasks.push_back({0, 0, 0, make_task(pass, 0, 0), start, start + 10});
  CHECK(traces::assemble(alone, {}, "here").notes.empty());
}

TEST_CASE("Clocks stated to be one are aligned if something is used before it was made") {
  Example example;
  example.add(0, {0, -2'000'000});
  const Imported imported = example.assembled();
  require_same(imported.runs.front().steps.front(), example.timeline);
  CHECK(imported.notes.size() == 1);
}

TEST_CASE("Steps that are incomplete, contain a task twice, or have another order are dropped and counted") {
  Example example;
  for (std::int64_t step = 0; step < 5; ++step) example.add(step);
  const auto task_of = [&](std::int64_t step, std::size_t id) -> traces::TaskEvent& {
    return example.recorded.tasks[static_cast<std::size_t>(step) * 8 + id];
  };
  task_of(1, 3).task = task_of(1, 2).task;           // 0B0 twice
  std::swap(task_of(2, 0).task, task_of(2, 1).task); // 0F1 before 0F0
  task_of(3, 7).step = 9;                            // 1B1 is missing
  const Imported imported = example.assembled();
  CHECK(imported.runs.front().steps.size() == 2);
  CHECK(dropped(imported, "steps in which a task appears twice") == 1);
  CHECK(dropped(imported, "steps with another order than most") == 1);
  CHECK(dropped(imported, "incomplete steps") == 2); // 3, and the rest of 9
}

TEST_CASE("Tasks of a stage that overlap by less than the time error are moved apart, others are an error") {
  Example example;
  example.add(0);
  example.recorded.tasks[0].end += 3'000; // 0F0 ends after 0F1 has started
  const Refusal refusal = refusal_of([&] { (void)example.assembled(); });
  CHECK(refusal.code == ExitCode::bad_input);
  CHECK(refusal.first() == "here: no step is complete; step 0 of replica 0: 0F1 on stage 0 starts 3000 ns before 0F0 "
                           "has ended -- give the files of all stages, and record complete steps");
  example.recorded.time_error = 3'000;
  const Timeline step = example.assembled().runs.front().steps.front();
  CHECK(step.tasks[0] == between(0, 1'003'000));
  CHECK(step.tasks[1] == between(1'003'000, 2'000'000));
}

TEST_CASE("Tasks with equal start and end are sorted by rising position") {
  Recorded recorded;
  recorded.one_clock = true;
  const auto add = [&](std::string_view name, std::int64_t start, std::int64_t end) {
    const Task task = traces::parse_pp_action(name).value().task;
    recorded.tasks.push_back({0, 0, 0, task, start, end, recorded.tasks.size()});
  };
  add("0F0", 0, 10);
  add("0F1", 10, 20);
  add("0I1", 20, 20);
  add("0W1", 20, 20);
  add("0I0", 20, 20);
  add("0W0", 20, 30);
  const Imported imported = traces::assemble(recorded, {}, "here");
  CHECK(imported.runs.front().schedule.tasks()[2] == make_task(Pass::input_grad, 0, 1));
  CHECK(imported.runs.front().schedule.tasks()[3] == make_task(Pass::weight_grad, 0, 1));
}

TEST_CASE("The missing parts are named if no step is complete") {
  Example example;
  example.add(3);
  std::erase_if(example.recorded.tasks, [](const traces::TaskEvent& event) { return to_string(event.task) == "1B1"; });
  CHECK(refusal_of([&] { (void)example.assembled(); }).first() ==
        "here: no step is complete; step 3 of replica 0: 1B1 is missing -- give the files of all stages, and record "
        "complete steps");
  CHECK(refusal_of([] { (void)traces::assemble({}, {}, "here"); }).first() ==
        "here: no forward or backward was found -- record the passes of the pipeline");
}

TEST_CASE("A stage beyond the number that the user gave is an error") {
  Example example;
  example.add(0);
  CHECK(refusal_of([&] {
          (void)traces::assemble(example.recorded, {.stages = 1, .vpp = {}, .progress = {}}, "here");
        }).first() ==
        "here: stage 1 has tasks, but --stages says 1 -- leave --stages out, or give the run's number of stages");
}

TEST_CASE("A stage without tasks, within the number that the user gave, is an error") {
  Example example;
  example.add(0);
  CHECK(refusal_of([&] {
          (void)traces::assemble(example.recorded, {.stages = 3, .vpp = {}, .progress = {}}, "here");
        }).first() ==
        "here: stage 2 has no task -- give the files of all stages, and the run's number of stages as --stages");
}

TEST_CASE("Unrecorded transfers are counted, and are part of no mean") {
  Example example;
  example.add(0);
  example.add(1);
  const auto cut = [&](std::size_t kept) {
    Recorded part = example.recorded;
    part.transfers.resize(kept);
    return traces::assemble(part, {}, "here");
  };
  const std::size_t all = example.recorded.transfers.size(); // both sides of four in two steps
  REQUIRE(all == 16);
  CHECK(cut(all).notes.empty());
  CHECK(cut(all).runs.front().unrecorded.empty());
  CHECK(cut(all - 1).notes.empty()); // one side is enough
  CHECK(cut(all - 1).runs.front().unrecorded.empty());

  const Imported some = cut(4);
  const MeasuredRun& run = some.runs.front();
  CHECK(some.notes == std::vector<std::string>{"6 of 8 transfers were not recorded"});
  CHECK(unrecorded_transfers(run) == 6);
  const CostModel model = cost_model(run, 0, 2);
  CHECK(model.transfers[0].mean == 20us);
  CHECK(model.transfers[0].runs == 2);
  CHECK(model.unrecorded == std::vector<std::size_t>{6});
  const Explanation explanation = explain(some.runs);
  CHECK(explanation.parts[static_cast<std::size_t>(Reason::transfers)].time > 0us); // not the zeros of those
  CHECK(describe(run).ends_with("6 transfers were not recorded: tasks that waited for them seem to start late"));

  const Imported none = cut(0);
  CHECK(none.notes == std::vector<std::string>{"8 of 8 transfers were not recorded"});
  CHECK(cost_model(none.runs.front(), 0, 2).transfers[0].runs == 0);
}

TEST_CASE("Reductions and optimizer steps follow the tasks, and memory peaks are the stage's") {
  using Kind = traces::UpdateEvent::Kind;
  Example example;
  example.add(0);
  const auto add = [&](std::uint32_t stage, Kind kind, std::int64_t start, std::int64_t end) {
    example.recorded.updates.push_back({0, stage, 0, kind, stage, start, end});
  };
  add(0, Kind::reduction, 9'000'000, 9'500'000);
  add(1, Kind::tied_reduction, 8'000'000, 9'200'000);
  add(0, Kind::optimizer, 9'600'000, 9'700'000);
  add(0, Kind::optimizer, 9'700'000, 9'800'000);
  example.recorded.peak_bytes[{0, 1}] = 4096;
  const Imported without = example.assembled();
  CHECK(without.runs.front().steps.front().optimizer.empty());
  CHECK(dropped(without, "optimizer steps of some stages only") == 1);
  add(1, Kind::optimizer, 7'000'000, 9'900'000);
  const MeasuredRun run = example.assembled().runs.front();
  const Timeline& step = run.steps.front();
  REQUIRE(step.reductions.size() == 2);
  CHECK(step.reductions[0].span == between(9'000'000, 9'500'000));
  CHECK(step.reductions[1].tied);
  REQUIRE(step.optimizer.size() == 2);
  CHECK(step.optimizer[0].span == between(9'600'000, 9'800'000));
  CHECK(step.optimizer[1].span.start == step.tasks.back().end); // it cannot begin before the last task has ended
  CHECK(run.stages[1].peak_bytes == Bytes{4096});
}

TEST_CASE("Events with impossible times or numbers are dropped, and extreme ones do not overflow") {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  Example example;
  example.add(0);
  example.recorded.tasks.push_back({0, 0, 0, make_task(Pass::forward, 0, 0), 5, 4});
  example.recorded.tasks.push_back({0, 0, 0, make_task(Pass::forward, 0, 0), -huge, huge});
  example.recorded.tasks.push_back({0, 1U << 31U, 0, make_task(Pass::forward, 0, 0), 0, 1});
  example.recorded.transfers.push_back({0, 0, 0, make_task(Pass::forward, 0, 1), true, -huge / 4, huge / 4});
  example.recorded.updates.push_back({0, 0, 0, traces::UpdateEvent::Kind::reduction, 0, -huge / 4, huge / 4});
  const Imported imported = example.assembled();
  CHECK(dropped(imported, "events with impossible times or numbers") == 3);
  CHECK(imported.runs.front().steps.front().tasks == example.timeline.tasks);
}

TEST_CASE("Only the steps that all replicas have are kept, so that equal step numbers are compared") {
  Example example;
  for (const std::int64_t step : {1, 2, 3}) example.add_longer(0, step);
  for (const std::int64_t step : {1, 3, 4, 5}) example.add_longer(1, step);
  const Imported imported = example.assembled();
  REQUIRE(imported.runs.size() == 2);
  for (const MeasuredRun& run : imported.runs) {
    REQUIRE(run.steps.size() == 2);
    CHECK(run.steps[0].tasks[3].length() == 2ms + 1ns);
    CHECK(run.steps[1].tasks[3].length() == 2ms + 3ns);
    CHECK(run.stages[0].busy == 12ms + 4ns); // of the two steps alone
  }
  CHECK(dropped(imported, "steps that another replica lacks") == 3);
}

TEST_CASE("A replica without any step of the others is dropped") {
  Example example;
  example.add_longer(0, 9);
  for (const std::int64_t step : {1, 2}) example.add_longer(1, step);
  for (const std::int64_t step : {2, 3}) example.add_longer(2, step);
  const Imported imported = example.assembled();
  CHECK(imported.replicas == std::vector<std::uint32_t>{1, 2});
  CHECK(dropped(imported, "replicas without any step that the others have") == 1);
  CHECK(dropped(imported, "steps that another replica lacks") == 2);
  CHECK(imported.runs[1].steps.front().tasks[3].length() == 2ms + 2ns);
}

TEST_CASE("Each run is of a replica with a complete step, by rank") {
  Example example;
  for (const std::uint32_t replica : {2U, 3U, 7U}) example.add_longer(replica, 0);
  std::erase_if(example.recorded.tasks,
                [](const traces::TaskEvent& event) { return event.replica == 3 && to_string(event.task) == "1B1"; });
  const Imported imported = example.assembled();
  CHECK(imported.runs.size() == 2);
  CHECK(imported.replicas == std::vector<std::uint32_t>{2, 7});
  CHECK(dropped(imported, "replicas without a complete step") == 1);
}

TEST_CASE("Steps with impossible orders are dropped, however many there are, and the others are kept") {
  Example example;
  for (std::int64_t step = 0; step < 3; ++step) example.add(step);
  for (const std::size_t step : {0U, 2U})
    std::swap(example.recorded.tasks[step * 8].task, example.recorded.tasks[step * 8 + 2].task); // 0B0 before 0F0
  const Imported imported = example.assembled();
  REQUIRE(imported.runs.size() == 1);
  CHECK(imported.runs.front().schedule == example.graph.schedule());
  CHECK(imported.runs.front().steps.size() == 1);
  CHECK(dropped(imported, "steps whose order cannot have run") == 2);
}

TEST_CASE("If every order is impossible, that is bad input, with the reason") {
  Example example;
  example.add(0);
  std::swap(example.recorded.tasks[0].task, example.recorded.tasks[2].task);
  const Refusal refusal = refusal_of([&] { (void)example.assembled(); });
  CHECK(refusal.code == ExitCode::bad_input);
  CHECK(refusal.first().starts_with("here: deadlock: 0B0 on stage 0 waits for "));
}

TEST_CASE("Steps whose tasks do not form a schedule are dropped, however many there are, and the others are kept") {
  Example example;
  for (std::int64_t step = 0; step < 3; ++step) example.add(step);
  for (const std::int64_t step : {0, 1}) { // 1B1, away from its forward
    traces::TaskEvent& moved = example.recorded.tasks[static_cast<std::size_t>(step) * 8 + 7];
    moved = {0, 0, step, moved.task, 10'000'000, 12'000'000};
  }
  const Imported imported = example.assembled();
  CHECK(imported.runs.front().steps.size() == 1);
  CHECK(dropped(imported, "steps whose tasks do not make a schedule") == 2);
}

TEST_CASE("Nothing bounds the clock of a stage that only sends, and the run says so") {
  Example example;
  example.graph = [] {
    const Schedule schedule = order({"0F0 0F1", "1F0 1F1"}).forwards();
    return lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms, 20us));
  }();
  example.timeline = simulate(example.graph);
  example.recorded.one_clock = false;
  example.add(0, {0, 123'456'789});
  const Imported imported = example.assembled();
  const MeasuredRun& run = imported.runs.front();
  CHECK_FALSE(run.clock_error);
  CHECK(run.unaligned);
  CHECK(run.steps.front().tasks == example.timeline.tasks);
  REQUIRE(imported.notes.size() == 2);
  CHECK(imported.notes.back() ==
        "in 1 step some stages only send to others, or only receive: the difference of their clocks has no bound");
}

TEST_CASE("Halves of a pair that never ran alone share its time by pass, and those with times keep them") {
  const auto half = [](Pass pass, Pairing pairing, std::int64_t start, std::int64_t end) {
    Task task = make_task(pass, 0, 0);
    task.pairing = pairing;
    return traces::TaskEvent{.task = task, .start = start, .end = end};
  };
  std::vector<traces::TaskEvent> tasks{
      half(Pass::forward, Pairing::first, 0, 300),      half(Pass::backward, Pairing::second, 0, 300),
      half(Pass::input_grad, Pairing::first, 300, 500), half(Pass::forward, Pairing::second, 300, 500),
      half(Pass::forward, Pairing::first, 500, 510),    half(Pass::backward, Pairing::second, 510, 900)};
  CHECK(traces::part_pairs(tasks) == 2);
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const traces::TaskEvent& event : tasks) times.emplace_back(event.start, event.end);
  CHECK(times == std::vector<std::pair<std::int64_t, std::int64_t>>{
                     {0, 100}, {100, 300}, {300, 400}, {400, 500}, {500, 510}, {510, 900}});
}

} // namespace ppsim::test::recorded_test
