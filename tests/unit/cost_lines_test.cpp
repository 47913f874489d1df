// Costs as a scenario file.

#include "ppsim/traces/import.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

using namespace ppsim;
using namespace ppsim::test;
using namespace std::chrono_literals;

TEST_CASE("Costs of a run are lines of a scenario file, with spread and drift in comments") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2}, 1ms, 2ms, 20us);
  scenario.costs.forward[1] = Duration{1'500'001};
  scenario.network.model = TransferModel::blocking;
  const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
  MeasuredRun run = run_of(schedule, {simulate(lower(schedule, scenario))});
  run.stages[1].peak_bytes = Bytes{2048};
  const CostModel model = cost_model(run, 0, 1);
  CHECK(traces::write_scenario(traces::cost_lines(model), "a \"file\"\n\xFF.csv") ==
        "source = \"a \\\"file\\\"??.csv\"\n"
        "stages = 2\n"
        "mb = 2\n"
        "schedule = \"1f1b\"\n"
        "# Means by chunk: 2 runs each; spread 0 ns, 0 ns\n"
        "forward = [\"1 ms\", \"1.500001 ms\"]\n"
        "# Means by chunk: 2 runs each; spread 0 ns, 0 ns\n"
        "backward = [\"2 ms\", \"2 ms\"]\n"
        "# By boundary between chunks, of both directions the lowest quarter: 4 runs each; spread 0 ns\n"
        "comm = [\"20 us\"]\n"
        "# As stages were seen to send\n"
        "transfer = \"blocking\"\n"
        "# Peak memory by stage: 0 B, 2 KiB\n");
  const std::string each = traces::write_scenario(traces::cost_lines(model, true), "");
  CHECK(each.find("forward = [\"1 ms\", \"1 ms\", \"1.500001 ms\", \"1.500001 ms\"]\n") != std::string::npos);
}

TEST_CASE("Costs of an order without a name say so, and halves of a backward are lines of their own") {
  const Schedule schedule = order({"0F0 0F1 0I1 0I0 0W0 0W1"});
  const Timeline step = simulate(lower(schedule, uniform_scenario(schedule.shape(), 1ms, 3ms)));
  const std::string text = traces::write_scenario(traces::cost_lines(cost_model(run_of(schedule, {step}), 0, 1)), "");
  CHECK(text.find("# No schedule by name has the order of this run") != std::string::npos);
  CHECK(text.find("input-grad = [\"1.5 ms\"]\n") != std::string::npos);
  CHECK(text.find("weight-grad = [\"1.5 ms\"]\n") != std::string::npos);
  CHECK(text.find("backward =") == std::string::npos);
  CHECK(text.find("comm") == std::string::npos);
}

TEST_CASE("Costs of a run of forwards alone say so") {
  const Schedule schedule = order({"0F0 0F1", "1F0 1F1"}).forwards();
  const Timeline step = simulate(lower(schedule, uniform_scenario(schedule.shape(), 1ms, 3ms)));
  const std::string text = traces::write_scenario(traces::cost_lines(cost_model(run_of(schedule, {step}), 0, 1)), "");
  CHECK(text.find("forward-only = true\n") != std::string::npos);
  CHECK(text.find("backward =") == std::string::npos);
}
