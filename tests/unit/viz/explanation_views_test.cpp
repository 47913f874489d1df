// An explanation in words: the answer, the findings with their figures, and what makes it worth little.

#include "ppsim/traces/json.hpp"
#include "ppsim/viz/explanation.hpp"
#include "support/faulty_runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <sstream>

#include <nlohmann/json.hpp>

namespace ppsim::test::explanation_views_test {

using namespace std::chrono_literals;

namespace {

std::string text_of(const std::vector<MeasuredRun>& replicas, std::size_t width = 300) {
  return viz::explanation_text(replicas, explain(replicas), {.width = width, .colour = false});
}

bool says(const std::string& text, std::string_view words) {
  INFO(text);
  INFO(words);
  return text.find(words) != std::string::npos;
}

nlohmann::json json_of(const std::vector<MeasuredRun>& replicas) {
  return nlohmann::json::parse(traces::explanation_json(replicas, explain(replicas)));
}

} // namespace

TEST_CASE("The first line of an explanation has the step, its bubble and the largest reason") {
  const auto first = [](const std::vector<MeasuredRun>& replicas) {
    const std::string text = text_of(replicas);
    return text.substr(0, text.find('\n'));
  };
  CHECK(first({replica_with({})}) == "a step takes 330 ms on average; 27.3 % of the devices' time is bubble; the "
                                     "largest part: the order's own bubble, 90 ms "
                                     "of a step");
  CHECK(first({replica_with(slow_stage_0), replica_with({})}) ==
        "a step takes 615 ms on average; 53.7 % of the devices' time is bubble; the largest part: slow workers, 285 ms "
        "of a step");
  CHECK(first({replica({step_with({}), step_with({}), step_with(slow_stage_0)})})
            .starts_with("a step takes 425 ms on average; ")); // the median is 330 ms
}

TEST_CASE("For a balanced run, an explanation says that only another order can help") {
  const std::string text = text_of({replica_with({})});
  CHECK(says(text, "nothing but the order, reductions and the optimizer costs more than 1.00 % of a step\n"));
  CHECK(says(text, "order       leaves 27.3 % idle by itself"));
  CHECK_FALSE(says(text, "what makes steps longer"));
  CHECK_FALSE(says(text, "replica"));
}

TEST_CASE("A slow worker is shown with its tasks, its replica and those that wait") {
  const std::string text = text_of({replica_with({}), replica_with(slow_stage_0), replica_with({})});
  CHECK(says(text,
             "1. 46.3 %  stage 0 of replica 1 takes 2.50 times as long as in the other replicas; like them, a step "
             "takes 330 ms instead of 615 ms\n"));
  CHECK(says(text, "F 25 ms, 10 ms elsewhere (2.50 times); B 50 ms, 20 ms elsewhere (2.50 times)\n"));
  CHECK(says(text, "it makes them 1.86 times as long\n"));
  CHECK(says(text, "replica 1 ends last in 2 of 2 steps; replicas 0 and 2 wait 285 ms a step on average\n"));
}

TEST_CASE("A heavy stage is shown with its passes, and as a possible slow device if nothing distinguishes them") {
  const std::string loss = text_of({replica_with(heavy_last_stage)});
  CHECK(says(loss, "stage 3, the last, has 1.63 times the work of the others; spread evenly over all, a step takes "
                   "382.2 ms instead of 482 ms\n"));
  CHECK(says(loss, "F 21 ms, 10 ms on the others (2.10 times); B 28 ms, 20 ms on the others (1.40 times)\n"));
  CHECK_FALSE(says(loss, "may be slow"));
  CHECK(says(text_of({replica_with(slow_stage_0)}), "its device may be slow instead"));
}

TEST_CASE("Drift comes after the other findings and is not a part of the step") {
  std::vector<Timeline> steps;
  for (std::int64_t step = 0; step < 8; ++step)
    steps.push_back(step_with({.length = [step](const Task&, std::size_t stage, Duration length) {
      return length * (100 + 5 * step) * (stage == 3 ? 2 : 1) / 100;
    }}));
  const std::string text = text_of({replica(std::move(steps))});
  const std::size_t heavy = text.find("  1. ");
  const std::size_t heading = text.find("what made them longer during the run");
  const std::size_t drift = text.find("tasks got slower after the first quarter of the steps");
  INFO(text);
  CHECK(text.find("what makes steps longer") < heavy);
  CHECK(heavy < heading);
  CHECK(heading < drift);
  CHECK(drift < text.find("of a step  "));
}

TEST_CASE("Contended cores and unaligned clocks are reported") {
  MeasuredRun run = replica_with({});
  CHECK_FALSE(says(text_of({run}), "CONTENDED"));
  CHECK_FALSE(says(text_of({run}), "clocks"));
  run.stages[0].cpu = Duration{500};
  run.clock_error = 5us;
  run.unaligned = true;
  const std::string text = text_of({run});
  CHECK(says(text, "cores       CONTENDED"));
  CHECK(says(text, "clocks      aligned within 5 us; but a transfer ended before it started: NOT aligned"));
}

TEST_CASE("Lines of an explanation stay within the width of the terminal") {
  for (const std::size_t width : {60U, 80U, 100U}) {
    std::istringstream lines{text_of({replica_with(heavy_last_stage), replica_with(slow_stage_0)}, width)};
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.size() <= width);
    }
  }
}

TEST_CASE("An explanation as JSON has every finding with its figures, and parts that add up to the step") {
  const nlohmann::json json = json_of({replica_with({}), replica_with(slow_stage_0)});
  CHECK(json["schema"] == 1);
  CHECK(json["step"]["median_ns"] == 615'000'000);
  REQUIRE(json["findings"].size() == 1);
  const nlohmann::json& finding = json["findings"][0];
  CHECK(finding["reason"] == "slow_worker");
  CHECK(finding["gain_ns"] == 285'000'000);
  CHECK(finding["suspects"][0]["replica"] == 1);
  CHECK(finding["suspects"][0]["passes"][1]["mean_ns"] == 50'000'000);
  CHECK(finding["suspects"][0]["tasks"]["after_ns"] == 330'000'000);
  std::int64_t sum = 0;
  for (const nlohmann::json& part : json["parts"]) sum += part["time_ns"].get<std::int64_t>();
  CHECK(sum == 615'000'000);
  CHECK(json["per_replica"][0]["per_stage"][3]["waits_for_replicas_ns"] == 285'000'000);
  CHECK(json["clock_error_ns"].is_null());
}

} // namespace ppsim::test::explanation_views_test
