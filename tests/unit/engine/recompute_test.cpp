// Recomputation: which forwards drop their activation, what it costs in time, and what it saves in memory.

#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/viz/svg.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::recompute_test {

using namespace std::chrono_literals;

namespace {

constexpr Shape two_by_two{.stages = 2, .microbatches = 2, .vpp = 1};

/// F = 10, B = 20, and 10 more to recompute; of activations of 100 bytes a forward keeps 10.
///   stage 0  0F0[0,10) 0F1[10,20)  . 0B0[50,80) . 0B1[90,120)
///   stage 1  . 1F0[10,20) 1B0[20,50) 1F1[50,60) 1B1[60,90)
Scenario full_recompute(const Shape& shape = two_by_two) {
  Scenario scenario = uniform_scenario(shape, 10ns, 20ns);
  scenario.memory.activation.assign(shape.chunks(), Bytes{100});
  scenario.memory.activation_for_weight = scenario.memory.activation;
  scenario.recompute.kind = RecomputeKind::full;
  scenario.recompute.time.assign(shape.chunks(), 10ns);
  scenario.recompute.checkpoint.assign(shape.chunks(), Bytes{10});
  return scenario;
}

Duration time_under(const StageReport& stage, Label label) {
  return stage.time[static_cast<std::size_t>(label)];
}

/// Microbatches of `stage` with a recomputed forward; forward and backward must agree.
std::vector<std::size_t> recomputed_on(const TaskGraph& graph, std::size_t stage) {
  std::vector<std::size_t> forwards;
  std::vector<std::size_t> backwards;
  std::size_t id = index(graph.schedule().first_task(make_id<StageId>(stage)));
  for (const Task& task : graph.schedule().stage(make_id<StageId>(stage))) {
    if (graph.is_recomputed(make_id<TaskId>(id)))
      (task.pass == Pass::forward ? forwards : backwards).push_back(index(task.microbatch));
    ++id;
  }
  CHECK(forwards == backwards);
  return forwards;
}

using Microbatches = std::vector<std::size_t>;

} // namespace

TEST_CASE("A backward takes longer by its recomputation, and its first part has the label recompute") {
  const Outcome outcome = run(generate("1f1b", two_by_two), full_recompute());
  CHECK(outcome.task("1B0") == between(20, 50));
  CHECK(outcome.task("0B1") == between(90, 120));
  CHECK(recompute_span(outcome.graph, outcome.timeline, outcome.id("1B0")) == between(20, 30));
  CHECK(recompute_span(outcome.graph, outcome.timeline, outcome.id("1F0")).length() == 0ns);
  const StageReport& stage = outcome.report.stages[0];
  CHECK(time_under(stage, Label::forward) == 20ns);
  CHECK(time_under(stage, Label::backward) == 40ns);
  CHECK(time_under(stage, Label::recompute) == 20ns);
  CHECK(time_under(stage, Label::downstream) == 40ns);
  CHECK(stage.busy == 80ns);
}

TEST_CASE("In a split backward, I recomputes") {
  const Outcome outcome = run(order({"0F0 0I0 0W0"}), full_recompute({.stages = 1, .microbatches = 1, .vpp = 1}));
  CHECK(outcome.task("0I0") == between(10, 30));
  CHECK(outcome.task("0W0") == between(30, 40));
}

TEST_CASE("A forward keeps its checkpoint, and the backward holds the whole activation while it runs") {
  const Outcome outcome = run(generate("1f1b", two_by_two), full_recompute());
  CHECK(points(outcome, 0) ==
        std::vector<Point>{{0, 0, 0}, {0, 10, 1}, {10, 20, 2}, {50, 110, 2}, {80, 10, 1}, {90, 100, 1}, {120, 0, 0}});
  CHECK(outcome.report.stages[0].peak_activation_bytes == Bytes{110});
  CHECK(outcome.report.stages[0].peak_task == outcome.id("0B0"));
}

TEST_CASE("The restored activation is freed in parts, at the end of I and of W") {
  Scenario scenario = full_recompute({.stages = 1, .microbatches = 1, .vpp = 1});
  scenario.memory.activation_for_weight = {Bytes{40}};
  CHECK(points(run(order({"0F0 0I0 0W0"}), scenario), 0) ==
        std::vector<Point>{{0, 0, 0}, {0, 10, 1}, {10, 100, 1}, {30, 40, 1}, {40, 0, 0}});
}

TEST_CASE("A backward that recomputes can exceed the memory limit") {
  Scenario scenario = full_recompute();
  scenario.memory.limit = Bytes{109};
  const Outcome outcome = run(generate("1f1b", two_by_two), scenario);
  REQUIRE(outcome.report.overflow);
  CHECK(outcome.report.overflow->task == outcome.id("0B0"));
  CHECK(outcome.report.overflow->at == SimTime{50ns});
}

TEST_CASE("Of every w+1 forwards the first N are not recomputed, as in Megatron-LM") {
  // p = 4: w = 3, 2, 1, 0
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 1};
  Scenario scenario = full_recompute(shape);
  const auto recomputed = [&](std::size_t without) {
    scenario.recompute.microbatches_without = without;
    const TaskGraph graph = lower(generate("1f1b", shape), scenario);
    std::vector<Microbatches> stages;
    for (std::size_t stage = 0; stage < 4; ++stage) stages.push_back(recomputed_on(graph, stage));
    return stages;
  };
  CHECK(recomputed(1) == std::vector<Microbatches>{{1, 2, 3, 5, 6, 7}, {1, 2, 4, 5, 7}, {1, 3, 5, 7}, {}});
  CHECK(recomputed(2) == std::vector<Microbatches>{{2, 3, 6, 7}, {2, 5}, {}, {}});
  CHECK(recomputed(9) == std::vector<Microbatches>{{}, {}, {}, {}});
}

TEST_CASE("Forwards are counted over all chunks of a stage, and w is counted in an order from elsewhere") {
  // 0F0 1F0 | pairs: w = 1, so every second forward is recomputed
  Scenario scenario = full_recompute({.stages = 1, .microbatches = 2, .vpp = 2});
  scenario.recompute.microbatches_without = 1;
  const TaskGraph graph = lower(order({"0F0 1F0 1B0 0F1 0B0 1F1 1B1 0B1"}), scenario);
  const auto recomputed = [&](std::size_t id) { return graph.is_recomputed(make_id<TaskId>(id)); };
  CHECK((!recomputed(0) && recomputed(1) && recomputed(2) && !recomputed(3) && !recomputed(4)));
  CHECK((recomputed(5) && recomputed(6) && !recomputed(7)));
}

TEST_CASE("An overlapped pair takes longer by its backward's recomputation, and keeps one label") {
  const Outcome outcome = run(order({"0F0 (0F1;0B0) 0B1"}), full_recompute({.stages = 1, .microbatches = 2, .vpp = 1}));
  CHECK(outcome.task("0F1") == between(10, 50));
  CHECK(time_under(outcome.report.stages[0], Label::overlap) == 40ns);
  CHECK(time_under(outcome.report.stages[0], Label::recompute) == 10ns); // 0B1
}

TEST_CASE("Without recomputation the step takes as long as if every forward kept its activation") {
  Scenario scenario = full_recompute();
  CHECK(what_if(lower(generate("1f1b", two_by_two), scenario)).no_recompute == 90ns);
  scenario.recompute.microbatches_without = 2;
  CHECK(!what_if(lower(generate("1f1b", two_by_two), scenario)).no_recompute);
  CHECK(!what_if(lower(generate("1f1b", two_by_two), uniform_scenario(two_by_two, 10ns, 20ns))).no_recompute);
}

TEST_CASE("With equal stages, all recompute for the same time") {
  Scenario scenario = full_recompute();
  scenario.recompute.time = {0ns, 20ns};
  CHECK(what_if(lower(generate("1f1b", two_by_two), scenario)).equal_stages == 120ns);
}

TEST_CASE("A closed form includes recomputation in the backward if every activation is recomputed") {
  const Generator& gpipe = find_generator("1f1b");
  Scenario scenario = full_recompute();
  for (Duration& latency : scenario.network.latency) latency = 4ns;
  // (p-1)/m + 2c(p-1 + floor((m-1)(p-1)/p))/(m(F+B)), with B = 30
  const auto form = closed_form(gpipe, {.shape = two_by_two}, scenario);
  REQUIRE(form);
  CHECK(form->value == Approx(0.5 + 8.0 / 80.0));
  scenario.recompute.microbatches_without = 1;
  CHECK(!closed_form(gpipe, {.shape = two_by_two}, scenario));
}

TEST_CASE("Restoring layer by layer limits the restored memory, except for the W of a split backward") {
  // Of 100 a forward keeps 10; B brings back 30 at a time.
  const Schedule whole = order({"0F0 0B0"});
  const Schedule halves = order({"0F0 0I0 0W0"});
  for (const auto& [schedule, peak] : {std::pair{&whole, 40}, {&halves, 100}}) {
    Scenario scenario = full_recompute(schedule->shape());
    scenario.recompute.restored.assign(1, Bytes{30});
    CHECK(run(*schedule, scenario).report.peak_bytes() == Bytes{peak});
  }
}

TEST_CASE("A scenario with a checkpoint larger than the activation, or lists of the wrong length, is refused") {
  Scenario scenario = full_recompute();
  scenario.recompute.checkpoint[1] = Bytes{101};
  CHECK(refusal_of([&] { validate(scenario); }).first() ==
        "`checkpoint-bytes`: chunk 1: checkpoint (by default the input) of 101 B is more than its activation of 100 B "
        "-- it must be part of the activation");
  scenario = full_recompute();
  scenario.recompute.time.pop_back();
  CHECK(
      refusal_of([&] { validate(scenario); }).first() ==
      "`recompute-time`: 1 values, but 2 are needed -- one value per chunk (or per boundary between chunks), by global "
      "id");
}

TEST_CASE("The chart hatches recomputation, and its legend explains it") {
  const Outcome outcome = run(generate("1f1b", two_by_two), full_recompute());
  const std::string svg = viz::svg_gantt(outcome.graph, outcome.timeline, outcome.report);
  // 0B0 begins at 50 of 120: from there a twelfth of the plot
  CHECK(svg.find(R"x(<path class="recompute" fill="url(#recompute)")x") != std::string::npos);
  CHECK(svg.find(R"(<pattern id="recompute")") != std::string::npos);
  CHECK(svg.find("recomputation of an activation") != std::string::npos);
  CHECK(svg.find("(30 ns, of which 10 ns recompute its activation)") != std::string::npos);
  Scenario scenario = full_recompute();
  scenario.recompute = {};
  const Outcome plain = run(generate("1f1b", two_by_two), scenario);
  CHECK(viz::svg_gantt(plain.graph, plain.timeline, plain.report).find("recompute") == std::string::npos);
}

TEST_CASE("With too many cells, the chart shows the share of time that is recomputation") {
  const Shape shape{.stages = 16, .microbatches = 1024, .vpp = 1};
  const Outcome outcome = run(generate("1f1b", shape), full_recompute(shape));
  CHECK(viz::svg_gantt(outcome.graph, outcome.timeline, outcome.report)
            .find(R"x(<path class="cells" fill="url(#recompute)")x") != std::string::npos);
}

TEST_CASE("In a trace the recomputation is a slice inside its task's") {
  const Outcome outcome = run(generate("1f1b", two_by_two), full_recompute());
  const std::string trace = traces::chrome_trace(outcome.graph, outcome.timeline, outcome.report);
  const std::size_t task = trace.find(R"("cat":"B","name":"1B0","pid":1,"tid":0,"ts":0.020,"dur":0.030)");
  const std::size_t inside =
      trace.find(R"("cat":"recompute","name":"recompute","pid":1,"tid":0,"ts":0.020,"dur":0.010})");
  CHECK(task != std::string::npos);
  CHECK(inside != std::string::npos);
  CHECK(task < inside);
}

} // namespace ppsim::test::recompute_test
