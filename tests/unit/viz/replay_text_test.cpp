// What came of a replay, line by line, of runs made by hand; and that a validation says the same of them.

#include "ppsim/viz/replay.hpp"
#include "ppsim/viz/validation.hpp"
#include "support/predicted_runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <sstream>
#include <string>

namespace ppsim::test::replay_text_test {

using namespace std::chrono_literals;

namespace {

/// Wide enough that nothing is broken.
constexpr std::size_t wide = 300;

Rows lines_of(const std::string& text) {
  Rows lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Rows replay_lines(const Outcome& outcome, const MeasuredRun& run, const ReplayFacts& head = {.warmup = 2},
                  std::size_t width = wide) {
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  return lines_of(viz::replay_text(run, validation, head, {.width = width, .colour = false}));
}

/// What is after `what`; nothing where there is no such line.
std::string said(const Rows& lines, std::string_view what) {
  for (const std::string& line : lines)
    if (line.starts_with("  " + std::string{what} + " ")) return line.substr(14);
  return "";
}

std::string said_of(const Outcome& outcome, const MeasuredRun& run, std::string_view what) {
  return said(replay_lines(outcome, run), what);
}

/// Gradients off by a quarter, losses by a tenth.
Proof differing(bool same_order, double tolerance) {
  return {.same_order = same_order,
          .bit_equal = false,
          .gradient_error = 0.25,
          .loss_error = 0.1,
          .tolerance = tolerance,
          .losses = {}};
}

} // namespace

TEST_CASE("A replay shows steps, prediction, results, memory and cores") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome, "1F0", 1ms);
  run.stages[1].buffer_bytes = Bytes{16};
  CHECK(replay_lines(outcome, run) == Rows{"replay", "  steps       2 to warm up, 1 that count: 10 ms",
                                           "  predicted   9 ms, 10.0 % less than measured",
                                           "  results     not compared with a run that does one task at a time",
                                           "  memory      as predicted on every stage, at most 200 B (stage 0); "
                                           "transfers and scratch space take another 16 B",
                                           "  cores       in tasks, every stage had at least 99 % of a core"});
}

TEST_CASE("A prediction is less or more than was measured, or there was none") {
  const Outcome outcome = predicted();
  CHECK(said_of(outcome, measured(outcome, "0B1", 3ms), "predicted") == "9 ms, 25.0 % less than measured");
  CHECK(said_of(outcome, measured(outcome, "0B1", -1ms), "predicted") == "9 ms, 12.5 % more than measured");
  CHECK(said_of(outcome, measured(outcome), "predicted") == "9 ms, as measured");
  CHECK(said(replay_lines(outcome, measured(outcome), {.warmup = 0, .predicts = false}), "predicted") ==
        "nothing: no costs given; 'ppsim calibrate' measures them");
}

TEST_CASE("Of several steps the median comes before the shortest and the longest") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome, "0B1", 3ms);
  run.steps.push_back(measured(outcome).steps[0]);
  run.steps.push_back(measured(outcome, "1F0", 1ms).steps[0]);
  const Rows lines = replay_lines(outcome, run, {.warmup = 7});
  CHECK(said(lines, "steps") == "7 to warm up, 3 that count: 10 ms (median; 9 ms to 12 ms)");
  CHECK(said(lines, "predicted") == "9 ms, 10.0 % less than measured");
}

TEST_CASE("Results are shown with their error and the tolerance") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome);
  const auto results = [&](const Proof& proof) {
    run.proof = proof;
    return said_of(outcome, run, "results");
  };
  CHECK(
      results({.same_order = true,
               .bit_equal = true,
               .gradient_error = 0,
               .loss_error = 0,
               .tolerance = 0,
               .losses = {2.5, 2, 1.5}}) ==
      "gradients bit-equal with a run that does one task at a time; loss 2.5 in the first step, 1.5 in the last of 3");
  CHECK(results(differing(false, 0.25)) == "gradients equal those of a run that does one task at a time, which sums "
                                           "them in another order: 0.25 off, losses 0.1 off, and 0.25 is allowed");
  CHECK(results(differing(false, 0.2)) == "gradients DIFFER from those of a run that does one task at a time, which "
                                          "sums them in another order: 0.25 off, losses 0.1 off, and 0.2 is allowed");
  CHECK(
      results(differing(true, 0.25)) ==
      "gradients DIFFER from those of a run that does one task at a time: 0.25 off, losses 0.1 off, and 0 is allowed");
}

TEST_CASE("A diverged training is shown with the first step without a finite loss") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  run.proof = Proof{.same_order = true, .bit_equal = true, .losses = {2.5, 40, none, none}};
  CHECK(said_of(outcome, run, "results") == "gradients bit-equal with a run that does one task at a time; training "
                                            "DIVERGED: the loss is not finite from step 3 of 4 on");
}

TEST_CASE("A run of forwards alone has losses to compare, and no gradients") {
  const Shape shape{.stages = 2, .microbatches = 2, .vpp = 1};
  const Outcome outcome = run(generate("1f1b", shape).forwards(), uniform_scenario(shape, 1ms, 2ms));
  MeasuredRun run = measured(outcome);
  run.proof = differing(true, 0.25);
  CHECK(said_of(outcome, run, "results") ==
        "losses DIFFER from those of a run that does one task at a time: 0.1 off, and 0 is allowed");
}

TEST_CASE("Memory that differs from the prediction is shown by stage, at most four of many") {
  const Outcome two = predicted();
  MeasuredRun run = measured(two);
  run.stages[1].peak_bytes = Bytes{151};
  CHECK(said_of(two, run, "memory") == "NOT as predicted: stage 1 held 151 B, but 150 B were predicted");
  const Outcome six = predicted({.stages = 6, .microbatches = 1, .vpp = 1});
  run = measured(six);
  for (std::size_t stage = 1; stage < 6; ++stage) run.stages[stage].peak_bytes = Bytes{1};
  const auto held = [](std::size_t stage) {
    return "stage " + std::to_string(stage) + " held 1 B, but 150 B were predicted";
  };
  CHECK(said_of(six, run, "memory") ==
        "NOT as predicted: " + held(1) + "; " + held(2) + "; " + held(3) + "; " + held(4) + " (and 1 other differs)");
  run.stages[0].peak_bytes = Bytes{1};
  CHECK(said_of(six, run, "memory") ==
        "NOT as predicted: " + held(0) + "; " + held(1) + "; " + held(2) + "; " + held(3) + " (and 2 others differ)");
}

TEST_CASE("Memory that cannot be compared is shown with the reason") {
  Outcome outcome = predicted();
  MeasuredRun unmeasured = measured(outcome);
  for (MeasuredStage& stage : unmeasured.stages) stage.peak_bytes = Bytes{};
  CHECK(said_of(outcome, unmeasured, "memory") == "not compared: the run did not measure it");
  MeasuredRun run = measured(outcome);
  outcome = test::run(outcome.graph.schedule(), uniform_scenario(outcome.graph.scenario().shape, 1ms, 2ms));
  CHECK(said_of(outcome, run, "memory") ==
        "not compared: the scenario does not say how large activations and parameters are");
  run.facts.timed = true;
  CHECK(said_of(outcome, run, "memory") == "not compared: timed tasks do not hold the memory of the scenario");
}

TEST_CASE("Shared cores are reported, unless tasks sleep") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome);
  run.stages[0].cpu = 1010ns; // of 1000 ns: two clocks
  run.stages[1].cpu = 1010ns;
  CHECK(said_of(outcome, run, "cores") == "in tasks, every stage had at least 100 % of a core");
  run.stages[1].cpu = 620ns;
  CHECK(said_of(outcome, run, "cores") ==
        "CONTENDED: in tasks, a stage had only 62 % of a core, but 90 % is needed: other programs used it, or there "
        "are more stages than cores, and the times are unreliable");
  run.facts.timed = true;
  CHECK(said_of(outcome, run, "cores") == "tasks sleep, so stages can share them");
  for (MeasuredStage& stage : run.stages) stage.cpu.reset();
  CHECK(said_of(outcome, run, "cores").empty()); // a device, which nobody shares
}

TEST_CASE("Clocks are shown with their error bound if stages have separate ones") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome);
  CHECK(said_of(outcome, run, "clocks").empty());
  run.clock_error = 1200ns;
  CHECK(said_of(outcome, run, "clocks") == "aligned within 1.2 us");
  run.unaligned = true;
  CHECK(said_of(outcome, run, "clocks") ==
        "aligned within 1.2 us; but a transfer ended before it started: NOT aligned");
}

TEST_CASE("A validation says the same of results, memory, cores and clocks as the replay did") {
  const Outcome outcome = predicted();
  MeasuredRun good = measured(outcome);
  good.proof = differing(false, 0.25);
  good.clock_error = 1200ns;
  MeasuredRun bad = good;
  bad.proof = differing(true, 0.25);
  bad.unaligned = true;
  bad.stages[0].cpu = 620ns;
  bad.stages[1].peak_bytes = Bytes{151};
  MeasuredRun timed = good;
  timed.facts.timed = true;
  for (const MeasuredRun& run : {good, bad, timed}) {
    const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
    const Rows replayed = replay_lines(outcome, run);
    const Rows validated =
        lines_of(viz::validation_text(outcome.graph, run, validation, {.width = wide, .colour = false}));
    for (const std::string_view what : {"results", "memory", "cores", "clocks"}) {
      CHECK(!said(replayed, what).empty());
      CHECK(said(validated, what) == said(replayed, what));
    }
  }
}

TEST_CASE("No line of a replay is wider than the terminal, and further lines are aligned below the first") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome, "1F0", 1ms);
  run.proof = differing(true, 0.25);
  const Rows lines = replay_lines(outcome, run, {.warmup = 2}, 60);
  CHECK(Rows(lines.begin() + 3, lines.begin() + 6) ==
        Rows{"  results     gradients DIFFER from those of a run that does",
             "              one task at a time: 0.25 off, losses 0.1 off,", "              and 0 is allowed"});
  for (const std::string& line : lines) CHECK(line.size() <= 60);
}

TEST_CASE("On a colour terminal the headline of a replay is bold") {
  const Outcome outcome = predicted();
  const MeasuredRun run = measured(outcome);
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  CHECK(viz::replay_text(run, validation, {}, {.width = 100, .colour = true}).starts_with("\033[1mreplay\033[0m\n"));
}

} // namespace ppsim::test::replay_text_test
