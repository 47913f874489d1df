// Calibration: what comes out when tasks and transfers take what we say.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/runtime/calibration.hpp"
#include "ppsim/schedule/generators.hpp"

#include <catch2/catch.hpp>

namespace ppsim::runtime::calibration_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// A backend whose task times come from a simulated scenario.
class SimulatedBackend final : public Backend {
public:
  explicit SimulatedBackend(Scenario scenario) : scenario_{std::move(scenario)} {}
  [[nodiscard]] std::string_view name() const override { return "simulated"; }
  [[nodiscard]] std::vector<std::string_view> transports() const override { return {"direct"}; }
  [[nodiscard]] Usability usability() override { return {true, "always", ""}; }
  [[nodiscard]] ChunkSizes sizes(const Workload&) override { return {.parameters = 1, .boundary = Bytes{1000}}; }
  [[nodiscard]] std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) override {
    Scenario scenario = scenario_;
    scenario.shape = program.schedule.shape();
    const TaskGraph graph = lower(program.schedule, scenario);
    MeasuredRun run{.schedule = program.schedule, .facts = {.backend = "simulated"}, .steps = {}, .stages = {}};
    run.steps.assign(options.steps, simulate(graph));
    run.stages.resize(scenario.shape.stages);
    return run;
  }
  [[nodiscard]] std::vector<TransferSample> time_transfers(std::size_t stages, const RunOptions&) override {
    std::vector<TransferSample> samples;
    for (std::size_t stage = 0; stage + 1 < stages; ++stage)
      for (const std::int64_t bytes : {1000, 100'000, 10'000'000})
        for (const bool back : {false, true})
          samples.push_back({make_id<StageId>(stage + (back ? 1 : 0)), make_id<StageId>(stage + (back ? 0 : 1)),
                             Bytes{bytes}, microseconds{5} + Duration{bytes / 10}});
    return samples;
  }

private:
  Scenario scenario_;
};

std::vector<Duration> medians(const std::vector<ChunkTimes>& times, Spread ChunkTimes::*pass) {
  std::vector<Duration> result;
  for (const ChunkTimes& chunk : times) result.push_back((chunk.*pass).median);
  return result;
}

TransferSample sample(std::int64_t bytes, Duration time) {
  return {StageId{0}, StageId{1}, Bytes{bytes}, time};
}

} // namespace

TEST_CASE("Calibration measures the times that tasks take", "[calibration]") {
  const Shape shape{.stages = 2, .microbatches = 8};
  Scenario scenario = uniform_scenario(shape, milliseconds{3}, milliseconds{8}, microseconds{20});
  scenario.costs.forward = {milliseconds{3}, milliseconds{4}};
  scenario.costs.input_grad = {milliseconds{5}, milliseconds{7}};
  scenario.costs.weight_grad = {milliseconds{1}, milliseconds{3}};
  SimulatedBackend backend{scenario};
  const Schedule schedule = make_schedule(find_generator("1f1b"), {.shape = shape});
  const auto found = calibrate(backend, schedule, {.steps = 3});
  REQUIRE(found);
  CHECK(medians(found->busy, &ChunkTimes::forward) == scenario.costs.forward);
  CHECK(medians(found->busy, &ChunkTimes::input_grad) == scenario.costs.input_grad);
  CHECK(medians(found->busy, &ChunkTimes::weight_grad) == scenario.costs.weight_grad);
  CHECK(medians(found->alone, &ChunkTimes::forward) == scenario.costs.forward);
  CHECK(medians(found->alone, &ChunkTimes::input_grad) == scenario.costs.input_grad); // 6 ms divided as 5 : 1
  CHECK(medians(found->alone, &ChunkTimes::weight_grad) == scenario.costs.weight_grad);
  CHECK(found->overhead.median == Duration{0});
  REQUIRE(found->edges.size() == 2);
  CHECK(found->edges[0].latency == microseconds{5});
  CHECK(found->edges[0].bandwidth == Bandwidth{10'000'000'000});
}

TEST_CASE("A calibrated scenario has times by chunk, transfers by boundary and memory by stage", "[calibration]") {
  const Shape shape{.stages = 2, .microbatches = 4, .vpp = 2};
  SimulatedBackend backend{uniform_scenario(shape, milliseconds{4}, milliseconds{6})};
  const Schedule schedule = make_schedule(find_generator("interleaved"), {.shape = shape});
  const auto found = calibrate(backend, schedule, {.steps = 1});
  REQUIRE(found);
  const std::string text = calibration_toml(*found);
  CHECK(text.find("stages = 2\nvpp = 2\n") != std::string::npos);
  CHECK(text.find("forward = [\"2 ms\", \"2 ms\", \"2 ms\", \"2 ms\"]\n") != std::string::npos);
  CHECK(text.find("input-grad = [\"1.5 ms\", \"1.5 ms\", \"1.5 ms\", \"1.5 ms\"]\n") != std::string::npos);
  CHECK(text.find("comm = [\"5.1 us\", \"5.1 us\", \"5.1 us\"]\n") != std::string::npos); // 5 us + 1000 B at 10 GB/s
  CHECK(text.find("boundary-bytes = \"1000B\"\n") != std::string::npos);
  CHECK(text.find("[calibration]\n") != std::string::npos);
}

TEST_CASE("Boundary times are those of the slower direction, and zero within a stage", "[calibration]") {
  const auto edge = [](StageId from, StageId to, Duration latency) {
    return TransferFit{
        .from = from, .to = to, .latency = latency, .bandwidth = Bandwidth{1'000'000'000}, .samples = {}};
  };
  const std::vector<TransferFit> edges{edge(StageId{0}, StageId{1}, microseconds{1}),
                                       edge(StageId{1}, StageId{0}, microseconds{2})};
  const std::vector<StageId> placement{StageId{0}, StageId{1}, StageId{1}, StageId{0}}; // a V
  const std::vector<Duration> expected{microseconds{5}, Duration{0}, microseconds{5}};
  CHECK(boundary_times(edges, placement, Bytes{3000}) == expected); // 2 us + 3000 B at 1 GB/s
}

TEST_CASE("Latency and bandwidth are fitted exactly to times on a line", "[calibration]") {
  const TransferFit fit = fit_transfers(std::vector{sample(1000, microseconds{11}), sample(2000, microseconds{12})});
  CHECK(fit.latency == microseconds{10});
  CHECK(fit.bandwidth == Bandwidth{1'000'000'000}); // 1 us per 1000 B
  CHECK(fit.largest_residual == Approx(0).margin(1e-9));
}

TEST_CASE("Times that do not grow with size are all latency", "[calibration]") {
  const TransferFit same = fit_transfers(std::vector{sample(1000, microseconds{3}), sample(9000, microseconds{3})});
  CHECK(same.latency == microseconds{3});
  CHECK_FALSE(same.bandwidth);
  const TransferFit shrinks = fit_transfers(std::vector{sample(1000, microseconds{4}), sample(9000, microseconds{2})});
  CHECK_FALSE(shrinks.bandwidth);
  CHECK(shrinks.largest_residual > 0.2); // no constant is near both
  CHECK(fit_transfers(std::vector{sample(0, Duration{0})}).latency <= Duration{1});
}

TEST_CASE("Latency is never negative", "[calibration]") {
  const TransferFit fit = fit_transfers(std::vector{sample(1000, microseconds{1}), sample(2000, microseconds{4})});
  CHECK(fit.latency == Duration{0});
  REQUIRE(fit.bandwidth);
  CHECK(fit.largest_residual > 0.1);
}

TEST_CASE("A spread is the lower median and nearest ranks", "[calibration]") {
  std::vector<Duration> values;
  for (int i = 1; i <= 100; ++i) values.emplace_back(i);
  const Spread spread = spread_of(values);
  CHECK(spread.median == Duration{50});
  CHECK(spread.p5 == Duration{5});
  CHECK(spread.p95 == Duration{95});
  CHECK(spread.runs == 100);
  CHECK(spread_of({}).runs == 0);
}

TEST_CASE("Backwards are split in place, and pairs are separated", "[calibration]") {
  ScheduleBuilder builder{"pairs", {.stages = 1, .microbatches = 2}};
  builder.add(Pass::forward, 0, 0);
  builder.add_pair(make_task(Pass::forward, 0, 1), make_task(Pass::backward, 0, 0));
  builder.add(Pass::backward, 0, 1);
  builder.end_stage();
  const Schedule split = split_backwards(builder.build());
  std::string order;
  for (const Task& task : split.tasks()) {
    order += to_string(task) + " ";
    CHECK(task.pairing == Pairing::alone);
  }
  CHECK(order == "0F0 0F1 0I0 0W0 0I1 0W1 ");
}

TEST_CASE("Busy times are measured while every stage is at work", "[calibration]") {
  // Stage 1 works from 10 to 30. Stage 0's first forward (0 to 10) ran while it was idle.
  ScheduleBuilder builder{"two", {.stages = 2, .microbatches = 2}};
  for (std::size_t stage = 0; stage < 2; ++stage) {
    builder.add(Pass::forward, stage, 0);
    builder.add(Pass::forward, stage, 1);
    builder.end_stage();
  }
  MeasuredRun run{.schedule = builder.build().forwards(), .facts = {}, .steps = {}, .stages = {}};
  const auto span = [](std::int64_t from, std::int64_t to) {
    return Span{SimTime{Duration{from}}, SimTime{Duration{to}}};
  };
  Timeline step;
  step.tasks = {span(0, 10), span(10, 25), span(10, 20), span(20, 30)};
  run.steps = {step};
  const std::vector<ChunkTimes> times = chunk_times(run);
  CHECK(times[0].forward.runs == 1);
  CHECK(times[0].forward.median == Duration{15});
  CHECK(times[1].forward.runs == 1); // its second one ends after stage 0 has
  CHECK(times[1].forward.median == Duration{10});
}

} // namespace ppsim::runtime::calibration_test
