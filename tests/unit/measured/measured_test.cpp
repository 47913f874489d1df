// Measured timelines: what released what, where the time went, and which runs say anything. By hand.

#include "ppsim/measured/measured.hpp"
#include "ppsim/study/run_report.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <map>
#include <string>

namespace ppsim::test::measured_test {

using namespace std::chrono_literals;

namespace {

const Rows one_f_one_b{"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"};

TaskGraph graph_of(const Rows& rows) {
  const Schedule schedule = order(rows);
  return lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms, 0ns));
}

/// What released a task and why: "1B0 gradient".
std::string release_of(const TaskGraph& graph, const Timeline& timeline, std::string_view task) {
  const std::size_t id = position_of(graph.schedule(), task);
  const TaskId by = timeline.released_by[id];
  return (by == no_task ? "nothing" : to_string(graph.schedule().task(by))) + " " +
         std::string{to_string(timeline.cause[id])};
}

std::map<std::string, std::int64_t> time_of(const RunReport& report, std::size_t stage) {
  std::map<std::string, std::int64_t> table;
  for (std::size_t label = 0; label < label_count; ++label)
    if (const Duration time = report.stages[stage].time[label]; time != 0ns)
      table.emplace(to_string(label_at(label)), time.count());
  return table;
}
using Table = std::map<std::string, std::int64_t>;

/// 1F1B on two stages, in nanoseconds, with 50 ns of the host's here and there and transfers that take their time:
///   stage 0  0F0[0,1000) 0F1[1050,2050)               0B0[4400,6400)       0B1[7900,9900)
///            0F0 is there at 1200, 0F1 at 2100; 1B0 at 4300, 1B1 at 7700
///   stage 1          1F0[1200,2200) 1B0[2200,4200) 1F1[4250,5250) 1B1[5250,7300)
Timeline by_hand(const TaskGraph& graph) {
  Timeline timeline = timeline_of({{{0, 1000}, {1050, 2050}, {4400, 6400}, {7900, 9900}},
                                   {{1200, 2200}, {2200, 4200}, {4250, 5250}, {5250, 7300}}});
  const auto send = [&](std::string_view task, std::int64_t start, std::int64_t end) {
    timeline.transfers[position_of(graph.schedule(), task)] = between(start, end);
  };
  send("0F0", 1000, 1200);
  send("0F1", 2050, 2100);
  send("1B0", 4200, 4300);
  send("1B1", 7300, 7700);
  return timeline;
}

} // namespace

TEST_CASE("A measured task is released by the last to end of the task before and its inputs") {
  const TaskGraph graph = graph_of(one_f_one_b);
  Timeline timeline = by_hand(graph);
  attribute(graph, timeline);
  CHECK(release_of(graph, timeline, "0F0") == "nothing none");
  CHECK(release_of(graph, timeline, "0F1") == "0F0 order");
  CHECK(release_of(graph, timeline, "1F0") == "0F0 activation");
  CHECK(release_of(graph, timeline, "1B0") == "1F0 order");
  CHECK(release_of(graph, timeline, "1F1") == "1B0 order"); // its activation was there long before
  CHECK(release_of(graph, timeline, "0B0") == "1B0 gradient");
  CHECK(release_of(graph, timeline, "0B1") == "1B1 gradient");
}

TEST_CASE("A wait of a measured run ends when its input arrives, and the rest is the host's") {
  const TaskGraph graph = graph_of(one_f_one_b);
  Timeline timeline = by_hand(graph);
  attribute(graph, timeline);
  const RunReport report = run_report(graph, timeline);
  // Stage 0 waits 2050 to 4200 for 1B0, 100 for its transfer and 100 for itself; 6400 to 7300, 400 and 200; and 50
  // before 0F1.
  CHECK(time_of(report, 0) ==
        Table{{"F", 2000}, {"B", 4000}, {"downstream", 2150 + 900}, {"transfer", 100 + 400}, {"host", 50 + 100 + 200}});
  CHECK(time_of(report, 1) == Table{{"warmup", 1200}, {"F", 2000}, {"B", 4050}, {"host", 50}, {"drain", 2600}});
  CHECK(report.makespan == 9900ns);
}

TEST_CASE("The critical path of a measured run goes through what released each task") {
  const TaskGraph graph = graph_of(one_f_one_b);
  Timeline timeline = by_hand(graph);
  attribute(graph, timeline);
  const RunReport report = run_report(graph, timeline);
  std::string path;
  for (const PathStep& step : report.critical_path)
    path += (step.is_transfer() ? " send " : " ") + to_string(graph.schedule().task(step.task));
  CHECK(path == " 0F0 send 0F0 1F0 1B0 1F1 1B1 send 1B1 0B1");
}

TEST_CASE("An input that is noticed right after the end of the task before was in time") {
  const TaskGraph graph = graph_of(one_f_one_b);
  Timeline timeline = by_hand(graph);
  const std::size_t sender = position_of(graph.schedule(), "0F1");
  timeline.transfers[sender].end = SimTime{4210ns}; // 1F1 lasts 1000, so a hundredth is 10
  attribute(graph, timeline);
  CHECK(release_of(graph, timeline, "1F1") == "1B0 order");
  timeline.transfers[sender].end = SimTime{4211ns};
  attribute(graph, timeline);
  CHECK(release_of(graph, timeline, "1F1") == "0F1 activation");
}

TEST_CASE("A transfer that ended before its sender, or after its receiver began, makes no time negative") {
  const TaskGraph graph = graph_of(one_f_one_b);
  for (const std::int64_t end : {0, 900, 1200, 1250, 4000}) {
    Timeline timeline = by_hand(graph);
    timeline.transfers[position_of(graph.schedule(), "0F0")] = between(1000, end);
    attribute(graph, timeline);
    CHECK(release_of(graph, timeline, "1F0") == "0F0 activation");
    const RunReport report = run_report(graph, timeline);
    for (const StageReport& stage : report.stages) CHECK(stage.busy + stage.idle == report.makespan);
    for (const PathStep& step : report.critical_path) CHECK(span_of(timeline, step).length() >= 0ns);
  }
}

TEST_CASE("The halves of a measured pair that ran one after the other have their own releases") {
  // Stage 0 runs F1 beside B0, but one after the other, and B0's gradient comes while F1 runs.
  const TaskGraph graph = graph_of({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"});
  Timeline timeline =
      timeline_of({{{0, 100}, {110, 210}, {330, 500}, {700, 900}}, {{100, 200}, {200, 300}, {300, 400}, {400, 600}}});
  add_instant_transfers(graph, timeline);
  attribute(graph, timeline);
  CHECK(release_of(graph, timeline, "0F1") == "0F0 order");
  CHECK(release_of(graph, timeline, "0B0") == "1B0 gradient");
  const RunReport report = run_report(graph, timeline);
  // 10 before 0F1, 210 to 300 for 1B0, 30 more, 500 to 600 for 1B1, and 100 more.
  CHECK(time_of(report, 0) ==
        Table{{"F", 100}, {"overlap", 100 + 170}, {"B", 200}, {"downstream", 90 + 100}, {"host", 10 + 30 + 100}});
}

TEST_CASE("A measured pair that ran in one piece is released by the later of its halves' inputs") {
  const TaskGraph graph = graph_of({"0F0 0F1 0B0 0B1", "1F0 (1F1;1B0) 1B1", "2F0 2B0 2F1 2B1"});
  Timeline timeline = timeline_of({{{0, 10}, {10, 20}, {80, 100}, {130, 150}},
                                   {{10, 20}, {50, 80}, {50, 80}, {110, 130}},
                                   {{20, 30}, {30, 50}, {80, 90}, {90, 110}}});
  add_instant_transfers(graph, timeline);
  attribute(graph, timeline);
  CHECK(release_of(graph, timeline, "1F1") == "2B0 gradient");
  CHECK(release_of(graph, timeline, "1B0") == "1F1 pair");
  CHECK(time_of(run_report(graph, timeline), 1) ==
        Table{{"warmup", 10}, {"F", 10}, {"overlap", 30}, {"B", 20}, {"downstream", 30 + 30}, {"drain", 20}});
}

TEST_CASE("A measured optimizer step is released by its stage's last task or reduction") {
  const TaskGraph graph = graph_of(one_f_one_b);
  Timeline timeline = by_hand(graph);
  timeline.reductions = {
      {.stage = StageId{0}, .chunk = ChunkId{0}, .tied = false, .span = between(9910, 9950), .released_by = {}},
      {.stage = StageId{1}, .chunk = ChunkId{1}, .tied = false, .span = between(7300, 7350), .released_by = {}}};
  timeline.optimizer = {{between(9960, 10000), {}}, {between(7355, 7400), {}}};
  attribute(graph, timeline);
  CHECK(timeline.optimizer[0].released_by.reduction == 0);
  CHECK(timeline.optimizer[1].released_by.reduction == 1);
  CHECK(timeline.reductions[0].released_by.task == make_id<TaskId>(position_of(graph.schedule(), "0B1")));
  CHECK(timeline.reductions[1].released_by.task == make_id<TaskId>(position_of(graph.schedule(), "1B1")));
  const RunReport report = run_report(graph, timeline);
  CHECK(report.makespan == 10000ns);
  CHECK(report.critical_path.back().kind == PathKind::optimizer);
  CHECK(report.critical_path[report.critical_path.size() - 2].kind == PathKind::reduction);
  for (const StageReport& stage : report.stages) CHECK(stage.busy + stage.idle == report.makespan);
}

TEST_CASE("The median step is the lower of two middle ones") {
  const Schedule schedule = order({"0F0 0B0"});
  const auto step = [](std::int64_t end) { return timeline_of({{{0, 1}, {1, end}}}); };
  CHECK(median_step(run_of(schedule, {step(7)})) == 0);
  CHECK(median_step(run_of(schedule, {step(7), step(5)})) == 1);
  CHECK(median_step(run_of(schedule, {step(9), step(5), step(7)})) == 2);
  CHECK(median_step(run_of(schedule, {step(9), step(5), step(7), step(6)})) == 3);
}

TEST_CASE("A run is contended if a stage had less than nine tenths of a core, unless its tasks sleep") {
  const Schedule schedule = order(one_f_one_b);
  MeasuredRun run = run_of(schedule, {});
  run.stages[0] = {.busy = 1000ns, .cpu = 1000ns};
  run.stages[1] = {.busy = 1000ns, .cpu = 900ns};
  CHECK(core_share(run) == 0.9);
  CHECK_FALSE(is_contended(run));
  run.stages[1].cpu = 899ns;
  CHECK(is_contended(run));
  CHECK(describe(run).find("contended: a stage had 90 % of a core") != std::string::npos);
  run.facts.timed = true;
  CHECK_FALSE(is_contended(run));
  run.stages[0].cpu = run.stages[1].cpu = std::nullopt;
  CHECK(core_share(run) == std::nullopt);
}

TEST_CASE("A step whose first task does not start at zero is refused, because its end would not be its duration") {
  const MeasuredRun run =
      run_of(order({"0F0 0B0"}), {timeline_of({{{0, 1}, {1, 3}}}), timeline_of({{{7, 8}, {8, 10}}})});
  CHECK(refusal_of([&] { check_run(run, "run.json"); }).lines ==
        Rows{"run.json: step 1: its first task starts at 7 ns, not at 0 -- count from there: take 7 from all times of "
             "the step"});
}

TEST_CASE("An output that arrives before it was made, or is used before it arrives, is refused beyond 10 us") {
  const Schedule schedule = order({"0F0 0B0", "1F0 1B0"});
  const auto lines = [&](auto change) {
    // 0F0 sends from 100 to 120 us, 1B0 from 300 to 320 us
    MeasuredRun run =
        run_of(schedule, {timeline_of({{{0, 100'000}, {320'000, 400'000}}, {{120'000, 200'000}, {200'000, 300'000}}})});
    run.steps[0].transfers[0] = between(100'000, 120'000);
    run.steps[0].transfers[3] = between(300'000, 320'000);
    change(run);
    return refusal_of([&] { check_run(run, "run.json"); }).lines;
  };
  CHECK(lines([](MeasuredRun&) {}).empty());
  const std::string remedy =
      " -- stages that share a clock must show causes first; give 'clock_error_ns' if they do not share one";
  const auto sent_by = [](std::int64_t end) {
    return [end](MeasuredRun& run) { run.steps[0].transfers[0] = between(0, end); };
  };
  CHECK(lines(sent_by(90'000)).empty());
  CHECK(lines(sent_by(89'999)) == Rows{"run.json: step 0, transfer of 0F0 on stage 0: it ends at 89999 ns, before "
                                       "100000 ns, when its task made the data" +
                                       remedy});
  const auto used_at = [](std::int64_t start) {
    return [start](MeasuredRun& run) { run.steps[0].tasks[1].start = SimTime{Duration{start}}; };
  };
  CHECK(lines(used_at(310'000)).empty());
  CHECK(lines(used_at(309'999)) == Rows{"run.json: step 0, 0B0 on stage 0: it starts at 309999 ns, before 320000 ns, "
                                        "when the output of 1B0 on stage 1 had arrived" +
                                        remedy});
  const auto with_clocks = [&](Duration error, auto change) {
    return lines([&](MeasuredRun& run) {
      run.clock_error = error;
      change(run);
    });
  };
  CHECK(with_clocks(1us, used_at(309'000)).empty());
  CHECK(with_clocks(1us, used_at(308'999)) ==
        Rows{"run.json: step 0, 0B0 on stage 0: it starts at 308999 ns, before 320000 ns, when the output of 1B0 on "
             "stage 1 had arrived -- clocks may differ by at most 'clock_error_ns'; otherwise set 'unaligned'"});
  CHECK(lines([&](MeasuredRun& run) { // the file itself marks its times as inconsistent
          run.unaligned = true;
          sent_by(1)(run);
          used_at(200'000)(run);
        })
            .empty());
}

TEST_CASE("An order that cannot run is refused, however short its tasks were") {
  const Schedule deadlock = order({"0F0 0B0", "1B0 1F0"});
  const Schedule gap = order({"0F0 0B0", "1F0 1F1"});
  const Timeline step = timeline_of({{{0, 1}, {1, 2}}, {{0, 1}, {1, 2}}});
  for (const bool unaligned : {false, true}) {
    MeasuredRun run = run_of(deadlock, {step});
    run.unaligned = unaligned;
    const Refusal refusal = refusal_of([&] { check_run(run, "run.json"); });
    CHECK(refusal.code == ExitCode::bad_input);
    CHECK(refusal.first().starts_with("run.json: deadlock: "));
    CHECK(refusal.first().ends_with(" -- on stage 1, 1F0 must come before 1B0"));
  }
  const Refusal refusal = refusal_of([&] { check_run(run_of(gap, {step}), "run.json"); });
  CHECK(refusal.code == ExitCode::bad_input);
  CHECK(refusal.first().starts_with("run.json: 0F1 is missing"));
}

TEST_CASE("An impossible run is refused with all its problems") {
  const Schedule schedule = order({"0F0 0B0", "1F0 1B0"});
  const auto lines = [&](auto change) {
    MeasuredRun run = run_of(schedule, {timeline_of({{{0, 10}, {40, 50}}, {{10, 20}, {20, 40}}})});
    run.steps[0].transfers[0] = between(10, 10);
    change(run);
    return refusal_of([&] { check_run(run, "run.json"); }).lines;
  };
  CHECK(lines([](MeasuredRun&) {}).empty());
  CHECK(lines([](MeasuredRun& run) { run.steps.clear(); }) ==
        Rows{"run.json: the run: no step was recorded -- record at least one step"});
  CHECK(
      lines([](MeasuredRun& run) { run.steps[0].tasks[1] = between(9, 50); }) ==
      Rows{"run.json: step 0, 0B0 on stage 0: it starts at 9 ns, before 10 ns, when its stage is free -- a stage runs "
           "its tasks in its order, one after the other"});
  CHECK(lines([](MeasuredRun& run) { run.steps[0].tasks[3] = between(40, 30); }).size() == 1);
  CHECK(lines([](MeasuredRun& run) { run.steps[0].tasks[0] = between(-1, 10); }).size() ==
        2); // and before its stage is
  CHECK(lines([](MeasuredRun& run) { run.steps[0].tasks.pop_back(); }).size() == 1);
  CHECK(lines([](MeasuredRun& run) { run.steps[0].optimizer.resize(1); }).size() == 1);
  CHECK(lines([](MeasuredRun& run) {
          run.steps[0].optimizer = {{between(50, 60), {}}, {between(39, 60), {}}};
        }).size() == 1);
  CHECK(lines([](MeasuredRun& run) { run.stages.pop_back(); }).size() == 1);
  CHECK(lines([](MeasuredRun& run) { run.stages[0].peak_bytes = Bytes{-1}; }).size() == 1);
  CHECK(lines([](MeasuredRun& run) { run.stages[0].busy = -1ns; }).size() == 1);
  const auto turn_back = [](MeasuredRun& run) { run.steps[0].transfers[0] = between(10, 9); };
  CHECK(lines(turn_back).size() == 1);
  CHECK(lines([&](MeasuredRun& run) {
          turn_back(run);
          run.clock_error = 5ns;
        }).empty()); // the clocks of two stages may differ
  const auto reduce = [](std::size_t stage, std::size_t chunk) {
    return Reduction{make_id<StageId>(stage), make_id<ChunkId>(chunk), false, between(50, 60), {}};
  };
  CHECK(lines([&](MeasuredRun& run) { run.steps[0].reductions = {reduce(2, 0)}; }).size() == 1);
  CHECK(lines([&](MeasuredRun& run) { run.steps[0].reductions = {reduce(0, 0), reduce(0, 0)}; }).size() == 1);
}

} // namespace ppsim::test::measured_test
