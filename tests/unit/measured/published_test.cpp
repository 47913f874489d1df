// Errors of published runs, computed by hand: medians by set, half and device, the worst, rejected runs.

#include "ppsim/measured/published.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/published.hpp"
#include "support/svg.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ppsim::test::published_test {

using namespace std::chrono_literals;

namespace {

/// Measured: 100 ms.
PublishedPrediction held(std::string set, Half half, Duration predicted, std::string device = "a100") {
  PublishedPrediction result;
  result.run = {.set = std::move(set), .name = "r" + std::to_string(predicted / 1ms), .half = half, .step = 100ms};
  result.device = std::move(device);
  result.step = predicted;
  return result;
}

PublishedPrediction refused(std::string set, std::string device = "a100") {
  PublishedPrediction result = held(std::move(set), Half::check, 0ms, std::move(device));
  result.run.name = "bad";
  result.run.where = "runs.csv:7:1";
  result.refused = Problem{"`mb`", "must be at least 1, got 0", "give a whole number"};
  return result;
}

/// A: +10, -20, +30 and -40 % on a100, one refused; B: -5 % on a100, -15 and -25 % on h100.
std::vector<PublishedPrediction> two_sets() {
  return {held("A", Half::fit, 110ms),          held("A", Half::check, 80ms),      held("B", Half::fit, 95ms),
          held("A", Half::fit, 130ms),          held("A", Half::check, 60ms),      refused("A"),
          held("B", Half::check, 85ms, "h100"), held("B", Half::fit, 75ms, "h100")};
}

} // namespace

TEST_CASE("Published runs: medians of sizes and of signed errors, the worst, and the same of each half, set by set") {
  const PublishedErrors errors = published_errors(two_sets());
  REQUIRE(errors.sets.size() == 2);
  const PublishedGroup& a = errors.sets[0];
  CHECK(a.name == "A");
  CHECK(a.step.runs == 4);
  CHECK(a.refused == 1);
  CHECK(a.step.median == Approx(0.2)); // of 10, 20, 30 and 40 % the lower one in the middle
  CHECK(a.step.bias == Approx(0.1));   // of -20 and +10 % in the middle the one nearer to zero
  CHECK(a.step.worst == 4);
  CHECK(a.fit.runs == 2);
  CHECK(a.fit.median == Approx(0.1));
  CHECK(a.fit.bias == Approx(0.1));
  CHECK(a.check.median == Approx(0.2));
  CHECK(a.check.bias == Approx(-0.2));
  CHECK(a.check.runs == 2); // rejected runs have no error
  const PublishedGroup& b = errors.sets[1];
  CHECK(b.step.median == Approx(0.15));
  CHECK(b.step.bias == Approx(-0.15));
  CHECK(b.refused == 0);
  CHECK(b.peak.runs == 0);
}

TEST_CASE("Published runs: errors of one sign have the median of their sizes as their bias") {
  for (const int sign : {1, -1}) {
    const auto at = [sign](int percent) { return held("A", Half::none, 100ms + sign * percent * 1ms); };
    const PublishedErrors errors = published_errors({at(10), at(20), at(30), at(40)});
    CHECK(errors.sets.front().step.median == Approx(0.2));
    CHECK(errors.sets.front().step.bias == Approx(sign * 0.2));
  }
}

TEST_CASE("Published runs: each set of a device counts once, however many runs it has") {
  const PublishedErrors errors = published_errors(two_sets());
  REQUIRE(errors.devices.size() == 2);
  const PublishedGroup& a100 = errors.devices[0];
  CHECK(a100.name == "a100");
  CHECK(a100.sets == 2);
  CHECK(a100.step.runs == 5);
  CHECK(a100.refused == 1);
  CHECK(a100.step.median == Approx(0.05)); // of 20 % (A) and 5 % (B)
  CHECK(a100.step.bias == Approx(-0.05));  // of +10 % and -5 %
  CHECK(a100.step.worst == 4);
  CHECK(a100.check.median == Approx(0.2)); // B has none on this device
  CHECK(errors.devices[1].sets == 1);
  CHECK(errors.devices[1].step.median == Approx(0.15));
  CHECK(errors.devices[1].fit.median == Approx(0.25));
  CHECK(published_errors({held("A", Half::none, 90ms), refused("A", "")}).devices.size() == 1);
}

TEST_CASE("Published runs: memory counts where it was both predicted and measured") {
  std::vector<PublishedPrediction> runs = two_sets();
  runs[0].run.peak = Bytes{1000};
  runs[0].peak = Bytes{900};
  runs[1].run.peak = Bytes{1000}; // not predicted
  runs[3].peak = Bytes{1000};     // not measured
  runs[5].run.peak = Bytes{1000}; // refused
  runs[5].peak = Bytes{10};
  const PublishedErrors errors = published_errors(std::move(runs));
  CHECK(errors.sets[0].peak.runs == 1);
  CHECK(errors.sets[0].peak.bias == Approx(-0.1));
  CHECK(errors.sets[0].peak.median == Approx(0.1));
  CHECK(errors.sets[0].peak.worst == 0);
  CHECK(errors.sets[1].peak.runs == 0);
}

TEST_CASE("Published runs hold if there are predictions and none exceeds the tolerance") {
  CHECK(published_errors(two_sets()).holds());
  CHECK(published_errors(two_sets(), 0.4).holds());
  const PublishedErrors strict = published_errors(two_sets(), 0.2);
  CHECK_FALSE(strict.holds());
  CHECK(strict.beyond() == 3); // +30, -40 and -25 %
  CHECK(published_errors({refused("A")}).holds());
  CHECK_FALSE(published_errors({refused("A")}, 0.2).holds());
}

TEST_CASE("Published runs as text: no overall figure, refusals with their reason, every run on request") {
  const PublishedErrors errors = published_errors(two_sets());
  const std::string text = viz::published_text(errors, false, {.width = 100, .colour = false});
  CHECK(text.starts_with("8 published step times in 2 sets, 7 predicted, 1 refused\n"));
  CHECK(text.find("A, bad (runs.csv:7:1): --mb: must be at least 1, got 0 (give a whole number)") != std::string::npos);
  CHECK(text.find("r110") == std::string::npos);
  CHECK(viz::published_text(errors, true, {.width = 100, .colour = false}).find("r110") != std::string::npos);
  CHECK(viz::published_markdown(errors, true).find("| r110 |") != std::string::npos);
  CHECK(viz::published_text(published_errors(two_sets(), 0.2), false, {.width = 200, .colour = false})
            .starts_with("not valid: 8 published step times in 2 sets, 7 predicted, 1 refused, 3 of them off by more "
                         "than 20 %\n"));
  // Without halves there are no columns of them.
  const std::string no_halves =
      viz::published_text(published_errors({held("A", Half::none, 90ms)}), true, {.width = 100, .colour = false});
  CHECK(no_halves.find("check") == std::string::npos);
}

TEST_CASE("Published runs as JSON: unknown values are null") {
  const auto json = nlohmann::json::parse(traces::published_json(published_errors(two_sets())));
  CHECK(json["schema"] == 1);
  CHECK(json["holds"].is_null());
  CHECK(json["sets"].size() == 2);
  CHECK(json["sets"][0]["worst_run"]["run"] == "r60");
  CHECK(json["sets"][0]["worst_error"].get<double>() == Approx(-0.4));
  CHECK(json["sets"][0]["peak"].is_null());
  CHECK(json["devices"][0]["sets"] == 2);
  CHECK(json["runs"][5]["predicted_ns"].is_null());
  CHECK(json["runs"][5]["refused"] == "--mb: must be at least 1, got 0");
  CHECK(json["runs"][0]["refused"].is_null());
  CHECK(json["runs"][0]["half"] == "fit");
  const auto all_refused = nlohmann::json::parse(traces::published_json(published_errors({refused("A", "")}, 0.1)));
  CHECK(all_refused["sets"][0]["median_error"].is_null());
  CHECK(all_refused["holds"] == false);
}

TEST_CASE("Published runs as a picture: a marker per prediction, however far off") {
  std::vector<PublishedPrediction> runs = two_sets();
  runs.push_back(held("C", Half::none, 100s)); // 1000 times as long
  runs.push_back(held("C", Half::none, 1ns));
  const std::string svg = viz::svg_published(published_errors(std::move(runs)));
  CHECK_FALSE(parsed(svg).empty());
  std::size_t tooltips = 0;
  for (std::size_t at = svg.find(" predicted, "); at != std::string::npos; at = svg.find(" predicted, ", at + 1))
    ++tooltips;
  CHECK(tooltips == 9);
  CHECK_FALSE(parsed(viz::svg_published(published_errors({refused("A", "")}))).empty());
}

} // namespace ppsim::test::published_test
