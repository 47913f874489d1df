// Run files: round trips, and checks of every value in a file.

#include "ppsim/traces/run_file.hpp"
#include "support/golden.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

namespace ppsim::test::run_file_test {

namespace {

/// One stage, one microbatch, with all that a run can have.
MeasuredRun small_run() {
  const Schedule rows = order({"0F0 0B0", "1F0 1B0"}, "mine");
  const Schedule schedule{"mine", rows.shape(), {rows.tasks().begin(), rows.tasks().end()}, {0, 2, 4}, {1, 0}, false};
  Timeline step = timeline_of({{{0, 10}, {41, 50}}, {{12, 20}, {20, 40}}});
  step.transfers[0] = between(10, 11);
  step.transfers[3] = between(40, 41);
  step.optimizer = {{between(60, 61), {}}, {between(44, 45), {}}};
  step.reductions = {
      {.stage = StageId{0}, .chunk = ChunkId{0}, .tied = false, .span = between(51, 59), .released_by = {}},
      {.stage = StageId{1}, .chunk = ChunkId{1}, .tied = true, .span = between(41, 43), .released_by = {}}};
  MeasuredRun run = run_of(schedule, {step, step});
  run.stages[0] = {.static_bytes = Bytes{100},
                   .peak_bytes = Bytes{150},
                   .buffer_bytes = Bytes{8},
                   .busy = Duration{30},
                   .cpu = std::nullopt};
  run.proof = Proof{.same_order = true,
                    .bit_equal = false,
                    .gradient_error = 1e-7,
                    .loss_error = 0.1,
                    .tolerance = 1e-5,
                    .losses = {2.5, 1.25}};
  run.clock_error = Duration{3};
  return run;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string replaced(std::string text, std::string_view part, std::string_view by) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

/// Message of read_run() for a small run file with `part` replaced by `by`.
Refusal refusal_with(std::string_view part, std::string_view by) {
  const std::string text = replaced(traces::write_run(small_run()), part, by);
  return refusal_of([&] { static_cast<void>(traces::read_run(text, "run.json")); });
}

void check_refused(std::string_view part, std::string_view by, const std::string& line) {
  const Refusal refusal = refusal_with(part, by);
  CHECK(refusal.code == ExitCode::bad_input);
  CHECK(refusal.first().substr(0, line.size()) == line);
  for (const std::string& each : refusal.lines) CHECK_FALSE(each.ends_with("-- ")); // every fault has a remedy
}

} // namespace

TEST_CASE("A run is read back as it was written") {
  const MeasuredRun run = small_run();
  const MeasuredRun again = traces::read_run(traces::write_run(run), "run.json");
  CHECK(again.schedule == run.schedule);
  CHECK(again.schedule.name() == "mine");
  CHECK(again.schedule.warmup_forwards(StageId{0}) == 1);
  CHECK(again.facts == run.facts);
  CHECK(again.stages == run.stages);
  CHECK(again.proof == run.proof);
  CHECK(again.clock_error == run.clock_error);
  REQUIRE(again.steps.size() == 2);
  CHECK(again.steps[1].tasks == run.steps[1].tasks);
  CHECK(again.steps[1].transfers == run.steps[1].transfers);
  CHECK(again.steps[1].optimizer[0].span == run.steps[1].optimizer[0].span);
  CHECK(again.steps[1].reductions[1].tied);
  CHECK(again.steps[1].reductions[1].span == between(41, 43));
  CHECK(traces::write_run(again) == traces::write_run(run));
}

TEST_CASE("Unrecorded transfers are read back, and not written if there are none") {
  MeasuredRun run = small_run();
  CHECK(traces::write_run(run).find("transfer_recorded") == std::string::npos);
  run.unrecorded.assign(2, std::vector<bool>(run.schedule.size(), false));
  CHECK(traces::read_run(traces::write_run(run), "run.json").unrecorded.empty());
  run.unrecorded[1][2] = true;
  const MeasuredRun again = traces::read_run(traces::write_run(run), "run.json");
  CHECK(again.unrecorded == run.unrecorded);
  CHECK(again.has_recorded(0, make_id<TaskId>(2)));
  CHECK_FALSE(again.has_recorded(1, make_id<TaskId>(2)));
}

TEST_CASE("The run file in the documents can be read and written back unchanged") {
  std::ifstream stream{source_path("docs/run-files.md")};
  const std::string page{std::istreambuf_iterator<char>{stream}, {}};
  constexpr std::string_view opening = "```json\n";
  const std::size_t begin = page.find(opening) + opening.size();
  const std::string text = page.substr(begin, page.find("```", begin) - begin);
  CHECK(traces::write_run(traces::read_run(text, "run-files.md")) == text);
}

TEST_CASE("A missing proof, clock error, warm-up or optimizer step stays missing") {
  MeasuredRun run = small_run();
  run.schedule = order({"0F0 0B0", "1F0 1B0"});
  run.proof.reset();
  run.clock_error.reset();
  for (Timeline& step : run.steps) {
    step.optimizer.clear();
    step.reductions.clear();
  }
  const MeasuredRun again = traces::read_run(traces::write_run(run), "run.json");
  CHECK_FALSE(again.proof);
  CHECK_FALSE(again.clock_error);
  CHECK_FALSE(again.schedule.warmup_forwards(StageId{0}));
  CHECK(again.steps[0].optimizer.empty());
  CHECK(again.steps[0].reductions.empty());
}

TEST_CASE("A run of an asynchronous order, and one of forwards alone, are read back as such") {
  MeasuredRun run = small_run();
  const auto tasks = run.schedule.tasks();
  run.schedule = Schedule{"async", run.schedule.shape(), {tasks.begin(), tasks.end()}, {0, 2, 4}, {}, true};
  CHECK(traces::read_run(traces::write_run(run), "run.json").schedule.asynchronous());
  const Schedule forwards = order({"0F0 0F1", "1F0 1F1"}).forwards();
  const MeasuredRun other = run_of(forwards, {timeline_of({{{0, 1}, {1, 2}}, {{1, 2}, {2, 3}}})});
  const MeasuredRun again = traces::read_run(traces::write_run(other), "run.json");
  CHECK(again.schedule.forward_only());
  CHECK(again.schedule == forwards);
}

TEST_CASE("A loss that is not a number is null in the file, and not a number after reading") {
  MeasuredRun run = small_run();
  run.proof->losses = {1.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  const MeasuredRun again = traces::read_run(traces::write_run(run), "run.json");
  CHECK(again.proof->losses[0] == 1.5);
  CHECK(std::isnan(again.proof->losses[1]));
  CHECK(std::isnan(again.proof->losses[2]));
}

TEST_CASE("A line break in a fact becomes a space, so that every written file can be read") {
  MeasuredRun run = small_run();
  run.facts.machine = "a\nprocessor\x1b[31m\xff";
  CHECK(traces::read_run(traces::write_run(run), "run.json").facts.machine == "a processor [31m\xEF\xBF\xBD");
}

TEST_CASE("A fact that is too long is cut, so that every written file can be read") {
  MeasuredRun run = small_run();
  run.facts.command = std::string(traces::longest_fact + 4'000, 'x');
  run.facts.compute = "x" + repeated("\xC3\xA9", traces::longest_fact / 2); // the limit lies amid a character
  run.facts.machine = std::string(traces::longest_fact, '\xff');            // three bytes each in the file
  run.facts.transport = std::string(traces::longest_fact, 'y');
  const RunFacts facts = traces::read_run(traces::write_run(run), "run.json").facts;
  CHECK(facts.command == std::string(traces::longest_fact, 'x'));
  CHECK(facts.compute == "x" + repeated("\xC3\xA9", traces::longest_fact / 2 - 1));
  CHECK(facts.machine == repeated("\xEF\xBF\xBD", traces::longest_fact / 3));
  CHECK(facts.transport == run.facts.transport);
}

TEST_CASE("The settings of a workload are read back in order; other files have none") {
  MeasuredRun run = small_run();
  CHECK(traces::write_run(run).find("workload") == std::string::npos);
  CHECK(traces::read_run(traces::write_run(run), "run.json").facts.workload.empty());
  run.facts.workload = {{"tokens", "256"}, {"block", "mlp"}, {"learning-rate", "1e-05"}};
  const std::string text = traces::write_run(run);
  CHECK(traces::read_run(text, "run.json").facts == run.facts);
  const auto refusal = [&](std::string_view by) {
    const std::string changed = replaced(text, R"("256")", by);
    return refusal_of([&] { static_cast<void>(traces::read_run(changed, "run.json")); }).first();
  };
  CHECK(refusal("256") == "run.json: facts, workload, 'tokens': '256' is not a string -- write a string");
  CHECK(refusal(R"("2\n")")
            .starts_with("run.json: facts, workload, 'tokens': '2\\x0a' cannot be shown -- write one line"));
  const std::string list =
      replaced(traces::write_run(small_run()), "\"timed\": false", R"("timed": false, "workload": [])");
  CHECK(refusal_of([&] { static_cast<void>(traces::read_run(list, "run.json")); }).first() ==
        "run.json: facts, workload: it is array, not an object -- 'ppsim replay -o FILE' and 'ppsim import FORMAT "
        "FILES --timeline FILE' write run files (docs/run-files.md)");
}

TEST_CASE("Objects with too many keys for a run file are refused") {
  std::string keys;
  for (int key = 0; key <= 1000; ++key) keys += "\"" + std::to_string(key) + "\": 0, ";
  check_refused("\"schema\": 1", keys + "\"schema\": 1", "run.json: an object has more than 1000 keys");
}

TEST_CASE("Invalid JSON is refused with its line and column") {
  CHECK(refusal_of([] { static_cast<void>(traces::read_run("", "run.json")); }).first() ==
        "run.json:1:1: this is not JSON -- 'ppsim replay -o FILE' and 'ppsim import FORMAT FILES --timeline FILE' "
        "write run files (docs/run-files.md)");
  CHECK(refusal_of([] { static_cast<void>(traces::read_run("{\n  \"schema\": 1,\n  x", "run.json")); })
            .first()
            .starts_with("run.json:3:3: this is not JSON"));
  check_refused("\"unaligned\": false", "\"unaligned\": NaN", "run.json:");
  check_refused("\"busy_ns\":30", "\"busy_ns\":1e999", "run.json: a number in it is out of range");
}

TEST_CASE("A run file truncated anywhere is refused as incomplete") {
  const std::string text = traces::write_run(small_run());
  for (std::size_t length = 1; length + 2 < text.size(); ++length)
    REQUIRE(refusal_of([&] { static_cast<void>(traces::read_run(text.substr(0, length), "run.json")); })
                .first()
                .ends_with("the JSON ends too early -- copy it again: a part is missing"));
}

TEST_CASE("JSON that is not a run is refused") {
  const auto first = [](std::string_view text) {
    return refusal_of([&] { static_cast<void>(traces::read_run(text, "run.json")); }).first();
  };
  CHECK(first("[]").starts_with("run.json: it is array, not an object"));
  CHECK(first("{}").starts_with("run.json: the file: the key 'kind' is missing"));
  CHECK(first(std::string(100'000, '[')).starts_with("run.json: lists and objects are nested more than 8 deep"));
  check_refused("\"kind\": \"run\"", "\"kind\": \"report\"", "run.json: kind: it is '\"report\"', not \"run\"");
  check_refused("\"schema\": 1", "\"schema\": 2", "run.json: schema: it is '2', but this ppsim reads schema 1");
  check_refused("\"schema\": 1", "\"schema\": null", "run.json: schema: it is 'null', but this ppsim reads schema 1");
  check_refused("\"kind\": \"run\"", "\"kind\": null", "run.json: kind: it is 'null', not \"run\"");
  check_refused("\"schema\": 1", "\"schema\": 1, \"schema\": 1",
                "run.json: the key 'schema' occurs twice in one object");
}

TEST_CASE("Each value of a run file is checked") {
  check_refused("\"timed\": false", "\"timed\": 0", "run.json: facts, timed: '0' is neither true nor false");
  check_refused("\"ppsim replay\"", "7", "run.json: facts, command: '7' is not a string");
  check_refused("\"ppsim replay\"", R"("\u001b[2J")", "run.json: facts, command: ");
  check_refused("\"threads\"", "null", "run.json: facts, backend: ");
  check_refused("\"busy_ns\":30", "\"busy_ns\":30.5",
                "run.json: stages, stage 0, busy_ns: '30.5' is not a whole number");
  check_refused("\"busy_ns\":30", "\"busy_ns\":18446744073709551615",
                "run.json: stages, stage 0, busy_ns: '18446744073709551615' is not a whole number");
  check_refused("\"busy_ns\":30", "\"busy_ns\":-30", "run.json: the stages, stage 0: it works for -30 ns");
  check_refused("\"peak_bytes\":150", "\"peak_bytes\":9000000000000000000",
                "run.json: the stages, stage 0: it holds 9000000000000000000 bytes");
  check_refused("\"losses\":[2.5,", "\"losses\":[\"x\",", "run.json: proof, losses: '\"x\"' is not a number");
  check_refused("\"gradient_error\":1e-07", "\"gradient_error\":-1e-07",
                "run.json: proof, gradient_error: -1e-07 is below 0");
  check_refused("\"loss_error\":0.1", "\"loss_error\":\"nan\"",
                "run.json: proof, loss_error: '\"nan\"' is not a number");
  check_refused("\"tolerance\":1e-05", "\"tolerance\":-1", "run.json: proof, tolerance: -1 is below 0");
  check_refused("\"tolerance\":1e-05", "\"tolerance\":null", "run.json: proof, tolerance: it is null, not a number");
  check_refused("\"clock_error_ns\": 3", "\"clock_error_ns\": -3",
                "run.json: the run: the bound of the clocks' error is -3 ns");
  check_refused("\"warmup_forwards\": [1, 0]", "\"warmup_forwards\": [2, 0]",
                "run.json: warmup_forwards: stage 0 has 2 of 1 forwards");
  check_refused("\"warmup_forwards\": [1, 0]", "\"warmup_forwards\": [1]",
                "run.json: warmup_forwards: it has 1 numbers");
}

TEST_CASE("The order of a run file is checked as in a schedule file, and its times must match it") {
  check_refused("\"0F0,0B0\"", "\"0F0,0X0\"", "run.json: order:1:5: unknown pass 'X'");
  check_refused("\"0F0,0B0\"", "\"0F0\"", "run.json: order");
  check_refused("\"0F0,0B0\"", "\"0F0,0B0\\n1F0\"", "run.json: order: the row of stage 0 is not a line of text");
  check_refused("\"0F0,0B0\"", "7", "run.json: order: the row of stage 0 is not a line of text");
  check_refused("\"0F0,0B0\"", "\"0F0,0B0,0F0\"", "run.json: order");
  check_refused("\"vpp\":1", "\"vpp\":2", "run.json: shape: it says 2 stages (0 shared), 1 microbatches, vpp 2");
  check_refused("[0,41]", "[0]", "run.json: step 0, start_ns: the row of stage 0 has 1 times for 2 tasks");
  check_refused("[0,41]", "[0,41,42]", "run.json: step 0, start_ns: the row of stage 0 has 3 times");
  check_refused("[0,41]", "[0,\"41\"]", "run.json: step 0, start_ns, stage 0, time 1: '\"41\"' is not a whole number");
  check_refused("[0,41]", "[0,-41]", "run.json: step 0, 0B0 on stage 0: it runs from -41 to 50 ns");
  check_refused("[0,41]", "[0,9]", "run.json: step 0, 0B0 on stage 0: it starts at 9 ns, before 10 ns");
  check_refused("[0,41]", "[5,41]", "run.json: step 0: its first task starts at 5 ns, not at 0");
  check_refused("\"1F0,1B0\"", "\"1B0,1F0\"", "run.json: deadlock: ");
  check_refused("[0,41]", "[0,90000000000000000]", "run.json: step 0, 0B0 on stage 0: it runs from 90000000000000000");
  check_refused("\"stage\": 1, \"chunk\": 1", "\"stage\": 2, \"chunk\": 1",
                "run.json: step 0, reduction 1: it is of chunk 1 on stage 2");
  check_refused("\"chunk\": 1", "\"chunk\": -1", "run.json: step 0, reductions, chunk: -1 is out of range");
}

TEST_CASE("Of many errors in a run file the first are named and the rest counted") {
  MeasuredRun run = small_run();
  Rows row(1);
  Times times(1);
  for (int k = 0; k < 100; ++k) {
    row[0] += "0F" + std::to_string(k) + " ";
    times[0].emplace_back(5, 1);
  }
  run = run_of(order(row).forwards(), {timeline_of(times)});
  const Refusal refusal = refusal_of([&] { static_cast<void>(traces::read_run(traces::write_run(run), "run.json")); });
  CHECK(refusal.lines.size() == Problems::limit + 1);
}

} // namespace ppsim::test::run_file_test
