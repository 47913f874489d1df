// What many validations say together, by hand: medians, the worst, and which runs measured in another order.

#include "ppsim/measured/accuracy.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/accuracy.hpp"
#include "support/svg.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ppsim::test::accuracy_test {

using namespace std::chrono_literals;

namespace {

ValidatedRun held(std::string group, std::string schedule, Duration predicted, Duration measured, std::size_t mb = 8) {
  ValidatedRun run;
  run.name = schedule + "-m" + std::to_string(mb);
  run.group = std::move(group);
  run.schedule = std::move(schedule);
  run.shape = {.stages = 4, .microbatches = mb, .vpp = 1};
  run.validation.step = {predicted, measured};
  run.validation.tolerance = 0.05;
  run.validation.start_error_p95 = 0.01;
  run.validation.holds = run.validation.in_tolerance();
  return run;
}

/// Errors -1 %, +4 %, +2 % in a, -3 % in b.
std::vector<ValidatedRun> four_runs() {
  return {held("a", "gpipe", 198ms, 200ms), held("a", "1f1b", 104ms, 100ms), held("a", "zb-h1", 102ms, 100ms),
          held("b", "1f1b", 97ms, 100ms)};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

} // namespace

TEST_CASE("Errors of many runs: the median of their sizes, and the worst with its sign") {
  const Accuracy accuracy = accuracy_of(four_runs());
  CHECK(accuracy.holds());
  CHECK(accuracy.all.runs == 4);
  CHECK(accuracy.all.worst == 1);
  CHECK(accuracy.all.median_error == Approx(0.02)); // of 1, 2, 3 and 4 % the nearest rank
  REQUIRE(accuracy.groups.size() == 2);
  CHECK(accuracy.groups[0].group == "a");
  CHECK(accuracy.groups[0].runs == 3);
  CHECK(accuracy.groups[0].median_error == Approx(0.02));
  CHECK(accuracy.groups[1].worst == 3);
  CHECK(accuracy.groups[1].median_error == Approx(0.03));
}

TEST_CASE("A single prediction that does not hold is enough") {
  std::vector<ValidatedRun> runs = four_runs();
  runs[3].validation.step.predicted = 90ms;
  runs[3].validation.holds = runs[3].validation.in_tolerance();
  CHECK_FALSE(accuracy_of(std::move(runs)).holds());
}

TEST_CASE("Errors with a run's own times are summarised over the runs that have them") {
  std::vector<ValidatedRun> runs = four_runs();
  runs[0].validation.own_times = ComparedTime{99ms, 100ms};
  runs[2].validation.own_times = ComparedTime{203ms, 200ms};
  const Accuracy accuracy = accuracy_of(runs);
  CHECK(accuracy.all.own == 2);
  CHECK(accuracy.all.median_own_error == Approx(0.01));
  CHECK(accuracy.all.worst_own_error == Approx(0.015));
  CHECK(accuracy.groups[1].own == 0);
  CHECK_THAT(viz::accuracy_text(accuracy, {.width = 200, .colour = false}),
             Catch::Contains("step times are predicted within 1.50 % (median 1.00 %), 2 of 4 runs: the other"));
}

TEST_CASE("Start errors have their own worst run") {
  std::vector<ValidatedRun> runs = four_runs();
  runs[2].validation.start_error_p95 = 0.025;
  const Accuracy accuracy = accuracy_of(std::move(runs));
  CHECK(accuracy.all.worst == 1);
  CHECK(accuracy.all.worst_start == 2);
  CHECK(accuracy.all.median_start_error == Approx(0.01));
  CHECK(accuracy.groups[1].worst_start == 3);
}

TEST_CASE("Runs of the same work are ranked, each pair once") {
  // Predicted zb-h1 < 1f1b < gpipe; 1f1b measured shortest.
  const Accuracy accuracy = accuracy_of({held("a", "gpipe", 200ms, 190ms), held("a", "1f1b", 110ms, 100ms),
                                         held("a", "zb-h1", 100ms, 104ms), held("a", "1f1b", 60ms, 61ms, 4)});
  CHECK(accuracy.all.pairs == 3);
  CHECK(accuracy.all.inverted == 1);
  REQUIRE(accuracy.inversions.size() == 1);
  CHECK(accuracy.inversions[0].first == 2);
  CHECK(accuracy.inversions[0].second == 1);
  CHECK(accuracy.inversions[0].predicted_gap == Approx(0.10));
  CHECK(accuracy.inversions[0].measured_gap == Approx(0.04));
}

TEST_CASE("Runs with other links, microbatches, layers or of the same schedule are not ranked") {
  ValidatedRun deeper = held("a", "gpipe", 1ms, 9ms);
  deeper.work = "layers=2";
  const Accuracy accuracy =
      accuracy_of({held("a", "1f1b", 2ms, 2ms), held("b", "gpipe", 1ms, 9ms), held("a", "gpipe", 1ms, 9ms, 16),
                   held("a", "1f1b", 1ms, 9ms), std::move(deeper)});
  CHECK(accuracy.all.pairs == 0);
  CHECK(accuracy.inversions.empty());
}

TEST_CASE("Two runs with equal predictions have no order") {
  const Accuracy accuracy = accuracy_of({held("a", "1f1b", 100ms, 104ms), held("a", "gpipe", 100ms, 100ms)});
  CHECK(accuracy.all.pairs == 0);
  CHECK(accuracy.all.inverted == 0);
}

TEST_CASE("Runs that are not a validation do not count") {
  std::vector<ValidatedRun> runs = four_runs();
  runs[1].validation.contended = true; // the worst
  runs[3].validation.unaligned = true; // the only one of its group
  for (const std::size_t i : {1U, 3U}) runs[i].validation.holds = false;
  const Accuracy accuracy = accuracy_of(runs);
  CHECK(accuracy.all.runs == 2);
  CHECK(accuracy.all.not_counted == 2);
  CHECK(accuracy.all.worst == 2);
  CHECK(accuracy.all.pairs == 1);
  CHECK(accuracy.groups[1].runs == 0);
  const std::string text = viz::accuracy_text(accuracy, {.width = 200, .colour = false});
  CHECK(text.starts_with("no validation: 2 of 4 runs are no validation (cores shared, or clocks apart); the other step "
                         "times are predicted within 2.00 % (median 1.00 %), 5 % is tolerated\n"));
  CHECK_THAT(viz::svg_accuracy(accuracy), Catch::Contains("fill-opacity=\"0\"") && Catch::Contains("hollow: 2"));
  CHECK(nlohmann::json::parse(traces::accuracy_json(accuracy)).at("groups")[1].at("worst_error").is_null());
}

TEST_CASE("Without any validation, no errors are reported") {
  std::vector<ValidatedRun> runs = four_runs();
  for (ValidatedRun& run : runs) {
    run.validation.contended = true;
    run.validation.holds = false;
  }
  const Accuracy accuracy = accuracy_of(runs);
  const std::string text = viz::accuracy_text(accuracy, {.width = 200, .colour = false});
  CHECK(text.starts_with("no validation: 4 of 4 runs are no validation (cores shared, or clocks apart)\n"));
  CHECK_THAT(text, !Catch::Contains("\n  worst  "));
  CHECK_THAT(viz::svg_accuracy(accuracy), !Catch::Contains("median error"));
}

TEST_CASE("Inverted pairs are sorted by gap, the widest first") {
  const Accuracy accuracy =
      accuracy_of({held("a", "x", 100ms, 103ms), held("a", "y", 101ms, 102ms), held("a", "z", 102ms, 100ms)});
  REQUIRE(accuracy.inversions.size() == 3);
  CHECK(accuracy.inversions[0].first == 0);
  CHECK(accuracy.inversions[0].second == 2);
  CHECK(accuracy.inversions[2].measured_gap == Approx(1.0 / 102));
}

TEST_CASE("Many validations in words: the headline, the worst, the order, the runs") {
  std::vector<ValidatedRun> runs = four_runs();
  runs[0].validation.proved = true;
  runs[1].validation.proved = true;
  const std::string text = viz::accuracy_text(accuracy_of(std::move(runs)), {.width = 100, .colour = false});
  INFO(text);
  CHECK(text.starts_with("valid: 4 step times are predicted within 4.00 % (median 2.00 %), 5 % is tolerated\n"));
  CHECK_THAT(text, Catch::Contains("1f1b-m8 of a: 104 ms predicted, 100 ms measured (+4.00 %)"));
  CHECK_THAT(text, Catch::Contains("correct in all 2; not compared in 2"));
  CHECK_THAT(text, Catch::Contains("memory      not compared"));
}

TEST_CASE("If some do not hold, a text names them and says why") {
  std::vector<ValidatedRun> runs = four_runs();
  runs[0].validation.proved = false;
  runs[0].validation.holds = false;
  runs[1].validation.contended = true;
  runs[1].validation.holds = false;
  const std::string text = viz::accuracy_text(accuracy_of(std::move(runs)), {.width = 120, .colour = false});
  INFO(text);
  CHECK(text.starts_with("not valid: 1 of 3 predictions do not hold, 1 of 4 runs is no validation (cores shared, or "));
  CHECK_THAT(text, Catch::Contains("NOT correct in 1 of 1; not compared in 3"));
  CHECK_THAT(text, Catch::Contains(" results\n") && Catch::Contains(" contended\n"));
}

TEST_CASE("For many runs, a text shows the worst and a table all") {
  std::vector<ValidatedRun> runs;
  for (std::size_t mb = 1; mb <= 50; ++mb)
    runs.push_back(held("a", "1f1b", Duration{100'000'000 + static_cast<std::int64_t>(mb) * 1'000'000}, 100ms, mb));
  const Accuracy accuracy = accuracy_of(std::move(runs));
  const std::string text = viz::accuracy_text(accuracy, {.width = 100, .colour = false});
  INFO(text);
  CHECK_THAT(text, Catch::Contains("the 10 worst"));
  CHECK_THAT(text, Catch::Contains("1f1b-m50 ") && Catch::Contains("1f1b-m41 ") && !Catch::Contains("1f1b-m40 "));
  CHECK(count(viz::accuracy_markdown(accuracy), "1f1b-m") == 50 + 2); // two in the lines above the table
}

TEST_CASE("A plot of errors has a marker for every run and one for every schedule, and is well-formed") {
  std::vector<ValidatedRun> runs = four_runs();
  runs[3].group = "b & <c>";
  runs[3].name = "\"quoted\"";
  const std::string svg = viz::svg_accuracy(accuracy_of(std::move(runs)));
  CHECK(xml_fault(svg).empty());
  CHECK(count(svg, "<title>") == 4 + 1); // the picture has one as well
  CHECK_THAT(svg, Catch::Contains("b &amp; &lt;c&gt;"));
  CHECK_THAT(svg, Catch::Contains("zb-h1-m8: 102 ms predicted, 100 ms measured (+2.00 %)"));
}

TEST_CASE("Many validations as JSON: sums, groups, inverted pairs, runs") {
  const auto json = nlohmann::json::parse(traces::accuracy_json(
      accuracy_of({held("a", "x", 100ms, 104ms), held("b", "x", 99ms, 100ms), held("a", "y", 102ms, 100ms)})));
  CHECK(json.at("schema") == 1);
  CHECK(json.at("holds") == true);
  CHECK(json.at("tolerance") == 0.05);
  CHECK(json.at("all").at("worst_error") == Approx(-4.0 / 104));
  CHECK(json.at("all").at("worst_run") == nlohmann::json{{"group", "a"}, {"name", "x-m8"}});
  CHECK(json.at("groups").size() == 2);
  CHECK(json.at("groups")[0].at("pairs_in_another_order") == 1);
  CHECK(json.at("inversions")[0].at("first") == "x-m8");
  CHECK(json.at("inversions")[0].at("measured_gap") == Approx(0.04));
  CHECK(json.at("runs")[1].at("predicted_ns") == 99'000'000);
  CHECK(json.at("runs")[1].at("same_peaks").is_null());
}

} // namespace ppsim::test::accuracy_test
