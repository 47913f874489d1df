// Real 1F1B training runs, if their operation traces are available: predictions from their first quarter, and their
// peculiarities.

#include "ppsim/base/percentile.hpp"
#include "ppsim/measured/cost_model.hpp"
#include "ppsim/measured/explanation.hpp"
#include "ppsim/measured/variable_work.hpp"
#include "ppsim/study/jitter.hpp"
#include "ppsim/traces/import.hpp"
#include "support/golden.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>

namespace ppsim::test::production_test {

namespace {

traces::Imported read(std::string_view name) {
  const char* folder = std::getenv("PPSIM_REFERENCE_DIR");
  const std::filesystem::path shared = folder == nullptr ? source_path("../shared") : folder;
  std::ifstream stream{shared / "production-traces" / name, std::ios::binary};
  REQUIRE(stream);
  const std::string bytes{std::istreambuf_iterator<char>{stream}, {}};
  const traces::ImportFile file{std::string{name}, bytes};
  return traces::find_import_format("op-trace")->read({&file, 1}, {});
}

/// Means over all replicas and steps; every run has as many steps.
HeldOut held_out(const traces::Imported& imported) {
  HeldOut mean;
  const auto runs = static_cast<double>(imported.runs.size());
  for (const MeasuredRun& run : imported.runs) {
    const HeldOut held = hold_out(run, 0.25);
    CHECK(held.transfer == TransferModel::blocking); // Megatron-LM's sends, not overlapped
    mean.mean_error += held.mean_error / runs;
    mean.own_error += held.own_error / runs;
    mean.step_mean_error += held.step_mean_error / runs;
    mean.after_tasks += held.after_tasks / runs;
  }
  return mean;
}

double ratio(Duration a, Duration b) {
  return static_cast<double>(a.count()) / static_cast<double>(b.count());
}

/// Checks by how much forwards and backwards of a stage take longer than elsewhere.
void check_ratios(const Suspect& suspect, double forward, double backward) {
  REQUIRE(suspect.passes.size() == 2);
  CHECK(suspect.passes[0].ratio() == Approx(forward).margin(0.01));
  CHECK(suspect.passes[1].ratio() == Approx(backward).margin(0.01));
}

} // namespace

TEST_CASE("A production run with an uneven last stage is predicted from its first quarter") {
  const traces::Imported imported = read("trace-ST.csv.gz");
  REQUIRE(imported.runs.size() == 2);
  for (const MeasuredRun& run : imported.runs) {
    CHECK(run.schedule.name() == "1f1b");
    CHECK(run.schedule.shape() == Shape{.stages = 4, .microbatches = 4, .vpp = 1});
    CHECK(run.steps.size() == 32);
    const CostModel model = cost_model(run, 0, run.steps.size());
    CHECK(ratio(model.chunks[3].forward.mean, model.chunks[1].forward.mean) == Approx(2.1).margin(0.1)); // the loss
  }
  const HeldOut held = held_out(imported);
  CHECK(held.mean_error <= 0.03);
  CHECK(held.own_error <= 0.002);
  CHECK(held.step_mean_error <= 0.003); // the rest of the error is drift between steps
}

TEST_CASE("A production run with a slow worker is predicted from its first quarter") {
  const traces::Imported imported = read("trace-AR.csv.gz");
  REQUIRE(imported.runs.size() == 4);
  for (const MeasuredRun& run : imported.runs) {
    CHECK(run.schedule.shape() == Shape{.stages = 4, .microbatches = 32, .vpp = 1});
    CHECK(run.steps.size() == 44);
  }
  const CostModel slow = cost_model(imported.runs[0], 0, 44);
  const CostModel other = cost_model(imported.runs[1], 0, 44);
  CHECK(ratio(slow.chunks[0].forward.mean, other.chunks[0].forward.mean) > 2);
  CHECK(ratio(slow.chunks[1].forward.mean, other.chunks[1].forward.mean) == Approx(1).margin(0.05));
  const HeldOut held = held_out(imported);
  CHECK(held.mean_error <= 0.018);
  CHECK(held.own_error <= 0.002);
  CHECK(hold_out(imported.runs[0], 0.25).after_tasks < 0.1);
  CHECK(hold_out(imported.runs[1], 0.25).after_tasks > 0.9); // it waits for the slow one
}

TEST_CASE("Means and percentiles of production steps are predicted from the first half of them") {
  const auto check = [](std::string_view name, std::size_t first, double mean, double percentiles) {
    const traces::Imported imported = read(name);
    const VariableWork found = predict_variable_work(imported.runs, 0.5, 2).value();
    CHECK(found.first == first);
    CHECK_FALSE(found.apart); // too few steps to decide
    CHECK(std::abs(found.mean.error()) <= mean);
    CHECK(found.mean_error <= 0.005);
    for (const ComparedTime& figure : {found.p50, found.p95, found.p99}) CHECK(std::abs(figure.error()) <= percentiles);
    for (const double share : {0.25, 1.0 / 3, 2.0 / 3}) { // also with other splits
      const VariableWork other = predict_variable_work(imported.runs, share, 2).value();
      for (const ComparedTime& figure : {other.mean, other.p50, other.p95, other.p99})
        CHECK(std::abs(figure.error()) <= 0.016);
    }
  };
  check("trace-ST.csv.gz", 5, 0.003, 0.003); // the first five are 4 % faster, two of them with long gaps after them
  check("trace-AR.csv.gz", 4, 0.003, 0.0035);
}

TEST_CASE("Steps with task times drawn from a production run vary like those of the run") {
  const auto check = [](std::string_view name, std::size_t replica) {
    const traces::Imported imported = read(name);
    const MeasuredRun& run = imported.runs[replica];
    Scenario costs = scenario_of(cost_model(run, 0, run.steps.size()));
    std::ranges::fill(costs.update.optimizer, Duration{0}); // to the last task
    const StepSpread drawn =
        find_spread(lower(run.schedule, std::move(costs)),
                    {.measured = std::make_shared<const MeasuredJitter>(measured_jitter(run, std::string{name}))});
    std::vector<Duration> steps;
    for (const Timeline& step : run.steps)
      steps.push_back(std::ranges::max(step.tasks, {}, &Span::end).end - SimTime{});
    CHECK(ratio(drawn.p50, percentile(steps, 50)) == Approx(1).margin(0.005));
    CHECK(ratio(drawn.p95, percentile(steps, 95)) == Approx(1).margin(0.005));
  };
  check("trace-ST.csv.gz", 0);
  check("trace-AR.csv.gz", 0);
  check("trace-AR.csv.gz", 1);
}

TEST_CASE("The last stage of a production run is explained by its work, not by a slow device") {
  const traces::Imported imported = read("trace-ST.csv.gz");
  const auto check = [](const Explanation& found, double forward, double backward) {
    REQUIRE_FALSE(found.findings.empty());
    const Finding& first = found.findings.front();
    CHECK(first.reason == Reason::heavy_stage);
    CHECK_FALSE(first.may_be_slow); // the loss: forwards more than backwards
    CHECK(first.share == Approx(0.137).margin(0.003));
    REQUIRE(first.suspects.size() == 1);
    CHECK(index(first.suspects[0].stage) == 3);
    check_ratios(first.suspects[0], forward, backward);
  };
  check(explain(imported.runs), 2.09, 1.43);
  check(explain(std::span{imported.runs}.first(1)), 2.07, 1.41);
}

TEST_CASE(
    "The slow worker of a production run is found by comparison with other replicas, and suspected without them") {
  const traces::Imported imported = read("trace-AR.csv.gz");
  const Explanation all = explain(imported.runs);
  REQUIRE_FALSE(all.findings.empty());
  const Finding& told = all.findings.front();
  CHECK(told.reason == Reason::slow_worker);
  CHECK(told.share == Approx(0.508).margin(0.003));
  REQUIRE(told.suspects.size() == 1);
  CHECK(told.suspects[0].replica == 0);
  CHECK(index(told.suspects[0].stage) == 0);
  CHECK(told.suspects[0].ratio() == Approx(2.36).margin(0.01));
  CHECK(ratio(told.suspects[0].before, told.suspects[0].after) ==
        Approx(2.07).margin(0.01)); // the steps of its replica
  check_ratios(told.suspects[0], 2.51, 2.27);

  const Explanation alone = explain(std::span{imported.runs}.first(1));
  REQUIRE_FALSE(alone.findings.empty());
  const Finding& suspected = alone.findings.front();
  CHECK(suspected.reason == Reason::heavy_stage);
  CHECK(suspected.may_be_slow);
  CHECK(suspected.share == Approx(0.355).margin(0.003));
  CHECK(index(suspected.suspects.at(0).stage) == 0);
  check_ratios(suspected.suspects[0], 2.46, 2.24);
  const Explanation healthy = explain(std::span{imported.runs}.subspan(1, 1));
  for (const Finding& finding : healthy.findings) CHECK(finding.share < 0.05);
}

} // namespace ppsim::test::production_test
