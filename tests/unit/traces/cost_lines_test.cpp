// Costs as a scenario file.

#include "ppsim/base/words.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/traces/import.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

namespace ppsim::test::cost_lines_test {

using namespace std::chrono_literals;

TEST_CASE("Costs of a run are lines of a scenario file, with spread and drift in comments") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2}, 1ms, 2ms, 20us);
  scenario.costs.forward[1] = Duration{1'500'001};
  scenario.network.model = TransferModel::blocking;
  const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
  MeasuredRun run = run_of(schedule, {simulate(lower(schedule, scenario))});
  run.stages[1].peak_bytes = Bytes{2048};
  const CostModel model = cost_model(run, 0, 1);
  CHECK(traces::cost_lines(model).text() ==
        "stages = 2\nmb = 2\nschedule = \"1f1b\"\n# Means by chunk: 2 runs each; spread 0 ns, 0 ns\nforward = [\"1 "
        "ms\", \"1.500001 ms\"]\n# Means by chunk: 2 runs each; spread 0 ns, 0 ns\nbackward = [\"2 ms\", \"2 ms\"]\n# "
        "By boundary between chunks, using the lowest quarter of both directions: 4 runs each; spread 0 ns\ncomm = "
        "[\"20 us\"]\n# As the recorded stages sent\ntransfer = \"blocking\"\n# Peak memory by stage: 0 B, 2 KiB\n# "
        "The run that these costs are from, for 'ppsim validate'\nmeasured.run = \"" +
            model.run + "\"\n");
  const std::string each = traces::cost_lines(model, traces::CostForm::by_microbatch).text();
  CHECK(each.find("forward = [\"1 ms\", \"1 ms\", \"1.500001 ms\", \"1.500001 ms\"]\n") != std::string::npos);
}

TEST_CASE("If a boundary has no recorded transfer, the costs have no comm, with a note") {
  const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2B0 2F1 2B1"});
  const Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms, 20us);
  const TaskGraph graph = lower(schedule, scenario);
  MeasuredRun run = run_of(schedule, {simulate(graph)});
  run.unrecorded.assign(1, std::vector<bool>(schedule.size(), false));
  const auto text = [&](traces::CostForm form) { return traces::cost_lines(cost_model(run, 0, 1), form).text(); };
  const auto lose = [&](std::size_t chunk) {
    for (std::size_t id = 0; id < schedule.size(); ++id)
      if (const Task& task = schedule.tasks()[id];
          task.chunk_index + (task.pass == Pass::forward ? 1U : 0U) == chunk && graph.receiver(make_id<TaskId>(id)))
        run.unrecorded[0][id] = true;
  };
  run.unrecorded[0][position_of(schedule, "0F0")] = true;
  CHECK(text(traces::CostForm::by_chunk)
            .find("lowest quarter of both directions: 3 to 4 runs; spread 0 ns, 0 ns; 1 were not recorded\ncomm = "
                  "[\"20 us\", \"20 us\"]") != std::string::npos);
  lose(2);
  CHECK(text(traces::CostForm::by_chunk).find("comm =") == std::string::npos);
  CHECK(text(traces::CostForm::by_chunk)
            .find("# No transfer of boundary 1 between chunks was recorded, so comm lacks a value: give --comm (the "
                  "mean of the others: 20 us)\n") != std::string::npos);
  CHECK(text(traces::CostForm::mean_stage).find("5 were not recorded\ncomm = \"20 us\"") != std::string::npos);
  lose(1);
  for (const traces::CostForm form : {traces::CostForm::by_chunk, traces::CostForm::mean_stage}) {
    CHECK(text(form).find("comm =") == std::string::npos);
    CHECK(text(form).find("# No transfer was recorded, so comm is not known: give --comm\n") != std::string::npos);
  }
}

TEST_CASE("Costs of an order without a name have a note, and halves of a backward are separate lines") {
  const Schedule schedule = order({"0F0 0F1 0I1 0I0 0W0 0W1"});
  const Timeline step = simulate(lower(schedule, uniform_scenario(schedule.shape(), 1ms, 3ms)));
  const std::string text = traces::cost_lines(cost_model(run_of(schedule, {step}), 0, 1)).text();
  CHECK(text.find("# No schedule by name has the order of this run") != std::string::npos);
  CHECK(text.find("input-grad = [\"1.5 ms\"]\n") != std::string::npos);
  CHECK(text.find("weight-grad = [\"1.5 ms\"]\n") != std::string::npos);
  CHECK(text.find("backward =") == std::string::npos);
  CHECK(text.find("comm") == std::string::npos);
}

TEST_CASE("Costs of a run of forwards alone have a note") {
  const Schedule schedule = order({"0F0 0F1", "1F0 1F1"}).forwards();
  const Timeline step = simulate(lower(schedule, uniform_scenario(schedule.shape(), 1ms, 3ms)));
  const std::string text = traces::cost_lines(cost_model(run_of(schedule, {step}), 0, 1)).text();
  CHECK(text.find("forward-only = true\n") != std::string::npos);
  CHECK(text.find("backward =") == std::string::npos);
}

namespace {

/// Costs of the mean stage of a run with these forward times of chunks, and backwards of twice the time.
std::string of_mean_stage(const Schedule& schedule, const std::vector<Duration>& forwards) {
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms, 20us);
  scenario.costs.forward = scenario.costs.input_grad = scenario.costs.weight_grad = forwards;
  const MeasuredRun run = run_of(schedule, {simulate(lower(schedule, scenario))});
  return traces::cost_lines(cost_model(run, 0, 1), traces::CostForm::mean_stage).text();
}

bool has(const std::string& text, std::string_view line) {
  return text.find(line) != std::string::npos;
}

} // namespace

TEST_CASE(
    "Costs of the mean stage are one value for all its chunks, and what the ends take beyond as embedding and head") {
  const std::string four =
      of_mean_stage(order({"0F0 2F0 2B0 0B0", "1F0 3F0 3B0 1B0"}), {1500us, 1ms, 2ms, 3ms}); // mean of 1 and 2: 1.5
  CHECK(has(four, "\nforward = \"3 ms\"\n"));
  CHECK(has(four, "\nbackward = \"6 ms\"\n"));
  CHECK(has(four, "\nhead = [\"1.5 ms\", \"3 ms\"]\n"));
  CHECK_FALSE(has(four, "embedding"));
  CHECK(has(four, "\ncomm = \"20 us\"\n"));
  const std::string two = of_mean_stage(order({"0F0 0B0", "1F0 1B0"}), {3ms, 2ms});
  CHECK(has(two, "\nforward = \"2 ms\"\n"));
  CHECK(has(two, "\nembedding = [\"1 ms\", \"2 ms\"]\n"));
  CHECK_FALSE(has(two, "head"));
  const std::string one = of_mean_stage(order({"0F0 0B0"}), {3ms});
  CHECK(has(one, "\nforward = \"3 ms\"\n"));
  CHECK_FALSE(has(one, "comm"));
}

TEST_CASE("Extra time of an end within the spread of its own runs does not count") {
  const Schedule schedule = order({"0F0 0F1 0B1 0B0", "1F0 1F1 1B1 1B0"});
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
  scenario.costs.forward_by_microbatch = {1ms, 1ms, 1ms, 3ms}; // of the last chunk: 2 ms, with a spread of 1 ms
  scenario.costs.input_grad_by_microbatch = scenario.costs.weight_grad_by_microbatch = std::vector<Duration>(4, 1ms);
  const MeasuredRun run = run_of(schedule, {simulate(lower(schedule, scenario))});
  const std::string text = traces::cost_lines(cost_model(run, 0, 1), traces::CostForm::mean_stage).text();
  CHECK(has(text, "\nforward = \"1.5 ms\"\n"));
  CHECK_FALSE(has(text, "head"));
}

TEST_CASE("An end that takes less than the other stages counts as one of them: it has fewer layers") {
  const std::string text =
      of_mean_stage(order({"0F0 0B0", "1F0 1B0", "2F0 2B0"}), {1ms, 3ms, 4ms}); // mean of 1 and 3: 2
  CHECK(has(text, "\nforward = \"2 ms\"\n"));
  CHECK(has(text, "\nhead = [\"2 ms\", \"4 ms\"]\n"));
  CHECK_FALSE(has(text, "embedding"));
}

TEST_CASE("A TOML string is one line of UTF-8 for any input") {
  CHECK(toml_string("plain \xC3\xBC") == "\"plain \xC3\xBC\"");
  CHECK(toml_string("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(toml_string("line\nend\x7F") == "\"line\\u000aend\\u007f\"");
  CHECK(toml_string("\xFF cut \xC3") == "\"? cut ?\"");
  CHECK(toml_string("") == "\"\"");
}

} // namespace ppsim::test::cost_lines_test
