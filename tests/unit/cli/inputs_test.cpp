// Inputs: flags and scenario files, how they combine, and every way to say something wrong.

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/run_report.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cli/files/scenario_file.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/runs/inputs.hpp"
#include <unistd.h>

namespace ppsim::test::inputs_test {

using namespace ppsim::cli;
using namespace std::chrono_literals;
using ppsim::test::refusal_of;
using ppsim::test::Rows;
using ppsim::test::rows_of;
using Times = std::vector<Duration>;

namespace {

Inputs parse(const Rows& arguments) {
  return parse_arguments(find_command("simulate"), arguments);
}

BuiltRun run_of(Rows arguments) {
  if (std::ranges::find(arguments, "--schedule-file") == arguments.end())
    arguments.insert(arguments.begin(), {"--stages", "2", "--mb", "4"});
  return build_run(parse(arguments));
}

/// Problems of the flags, with 2 stages and 4 microbatches.
Rows faults(const Rows& arguments) {
  const auto refusal = refusal_of([&] { (void)run_of(arguments); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.lines;
}

std::string fault(const Rows& arguments) {
  const Rows lines = faults(arguments);
  CHECK(lines.size() == 1);
  return lines.empty() ? "nothing was refused" : lines.front();
}

/// A file that is gone with its test.
class TemporaryFile {
public:
  TemporaryFile(const std::string& name, std::string_view content)
      : path_{std::filesystem::temp_directory_path() / ("ppsim-" + std::to_string(::getpid()) + "-" + name)} {
    std::ofstream{path_, std::ios::binary} << content;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

/// Problems of a scenario file called s.toml.
Rows scenario_faults(std::string_view text) {
  const auto refusal = refusal_of([&] {
    Problems problems;
    Inputs inputs;
    assign(ScenarioFile{text, "s.toml", problems}.keys(), inputs, problems);
    problems.throw_if_any();
  });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.lines;
}

/// The scenario file `text`, and then the flags.
BuiltRun with_scenario(std::string_view text, const Rows& flags = {}) {
  const TemporaryFile file{"s.toml", text};
  Rows arguments{"--scenario", file.path()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return build_run(parse(arguments));
}

} // namespace

// ---- The table of options

TEST_CASE("Every option has a unique name and a help text") {
  std::set<std::string_view> names;
  for (const Option& option : options()) {
    CAPTURE(option.name);
    CHECK(names.insert(option.name).second);
    if (!option.alias.empty()) CHECK(names.insert(option.alias).second);
    CHECK(!option.help.empty());
    CHECK((option.argument == Argument::none) == option.placeholder.empty());
    CHECK(find_option(option.name) == &option);
    CHECK(option.set.read != nullptr);
  }
}

TEST_CASE("Every option that counts has a limit, which its help names") {
  std::string help = man_page();
  std::erase(help, '\\');
  for (const Option& option : options()) {
    const auto wrong = [&](const std::string& value) {
      Inputs scratch;
      return option.set(scratch, value);
    };
    const bool counts = !wrong("8") && wrong("1.5") && wrong("8%") && wrong("1ns");
    CAPTURE(option.name);
    CHECK((option.set.most > 0) == counts);
    if (!counts) continue;
    const std::string most = std::to_string(option.set.most);
    CHECK(!wrong(most));
    for (const std::size_t more : {option.set.most + 1, (std::size_t{1} << 63U) - 3, std::size_t{0} - 1}) {
      const auto refused = wrong(std::to_string(more));
      REQUIRE(refused);
      CHECK(refused->hint == "at most " + most);
    }
    CHECK(wrong("18446744073709551616")->hint == "at most " + most);
    const std::size_t entry = help.find(fmt::format(".B --{} ", option.name));
    CHECK(help.substr(entry, help.find(".TP", entry) - entry).find("up to " + most) != std::string::npos);
  }
}

TEST_CASE("Options of single schedules are options of the command line") {
  for (const ScheduleOption& option : schedule_options()) CHECK(find_option(option.name) != nullptr);
}

TEST_CASE("Replaced options exist") {
  for (const Option& option : options())
    for (std::string_view rest = option.replaces; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      CAPTURE(option.name, rest);
      if (rest.substr(0, comma) != every_schedule_option) CHECK(find_option(rest.substr(0, comma)) != nullptr);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
}

// ---- Flags

TEST_CASE("Stages and microbatches alone run 1F1B with F = 1 ms and B = 2 ms and no transfer time") {
  const BuiltRun run = run_of({});
  CHECK(run.schedule.origin()->generator->name == "1f1b");
  CHECK(run.scenario.shape == Shape{.stages = 2, .microbatches = 4, .vpp = 1});
  CHECK(run.scenario.costs.forward == Times{1ms, 1ms});
  CHECK(run.scenario.costs.input_grad == Times{1ms, 1ms});
  CHECK(run.scenario.costs.weight_grad == Times{1ms, 1ms});
  CHECK(run.scenario.network.latency == Times{0ns});
  CHECK(run.scenario.network.model == TransferModel::latency);
}

TEST_CASE("Several chunks per stage run interleaved, each with its part of the stage's time") {
  const BuiltRun run = run_of({"--vpp", "2"});
  CHECK(run.schedule.origin()->generator->name == "interleaved");
  CHECK(run.scenario.costs.forward == Times(4, 500us));
  CHECK(run.scenario.network.latency == Times(3, 0ns));
}

TEST_CASE("A flag accepts its value after a space or an equals sign, and has a longer name") {
  const Inputs inputs = parse({"--pp=4", "--microbatches", "8", "--virtual-stages=2", "--microbatch-group-size", "8"});
  CHECK(inputs.stages == 4U);
  CHECK(inputs.microbatches == 8U);
  CHECK(inputs.vpp == std::vector<std::size_t>{2});
  CHECK(inputs.group_size == 8U);
}

TEST_CASE("A list gives each chunk its own cost, by global id") {
  const BuiltRun run = run_of({"--vpp", "2", "--forward", "1ms,2ms,3ms,4ms", "--backward", "8ms"});
  CHECK(run.scenario.costs.forward == Times{1ms, 2ms, 3ms, 4ms});
  CHECK(run.scenario.costs.input_grad == Times(4, 2ms));
}

TEST_CASE("Passes may have a value for each microbatch of each chunk, and the chunk then has their mean") {
  const std::string eight = "1ms,2ms,3ms,6ms,10ms,10ms,10ms,10ms";
  const Costs costs = run_of({"--forward", eight, "--backward", eight, "--input-grad", "1ms,2ms"}).scenario.costs;
  CHECK(costs.forward == Times{3ms, 10ms});
  CHECK(costs.forward_by_microbatch == Times{1ms, 2ms, 3ms, 6ms, 10ms, 10ms, 10ms, 10ms});
  CHECK(costs.input_grad_by_microbatch == Times{1ms, 1ms, 1ms, 1ms, 2ms, 2ms, 2ms, 2ms});
  CHECK(costs.weight_grad_by_microbatch == Times{0ms, 1ms, 2ms, 5ms, 8ms, 8ms, 8ms, 8ms});
  CHECK(costs.weight_grad == Times{2ms, 8ms});
  const Costs head = run_of({"--forward", eight, "--head", "1ms"}).scenario.costs;
  CHECK(head.forward_by_microbatch.back() == 11ms);
  CHECK(head.weight_grad_by_microbatch.empty());
  CHECK(fault({"--backward", eight, "--input-grad", "4ms"}) ==
        "`input-grad`: chunk 0: longer than the whole backward of 1 ms -- it is a part of `backward`");
}

TEST_CASE("If each chunk runs in both directions, costs that differ by chunk have a note") {
  const auto noted = [](const Rows& arguments) { return run_of(arguments).notes; };
  const std::string words = ": values are per chunk, but here each chunk runs on two stages, one per direction: no "
                            "value is that of one device";
  CHECK(noted({"--schedule", "dualpipe", "--forward", "1ms,2ms", "--backward", "2ms"}) == Rows{"`forward`" + words});
  CHECK(noted({"--schedule", "chimera", "--forward", "1ms", "--input-grad", "1ms,2ms", "--weight-grad", "2ms,1ms"}) ==
        Rows{"`input-grad`" + words, "`weight-grad`" + words});
  CHECK(noted({"--schedule", "dualpipe", "--forward", "1ms,1ms", "--backward", "2ms"}).empty());
  CHECK(noted({"--schedule", "dualpipe-v", "--forward", "1ms,2ms,1ms,1ms", "--backward", "2ms"}).empty());
  CHECK(noted({"--schedule", "1f1b", "--forward", "1ms,2ms", "--backward", "2ms"}).empty());
}

TEST_CASE("A list of the wrong length is refused with the correct ones") {
  CHECK(fault({"--forward", "1ms,2ms,3ms"}) ==
        "`forward`: 3 values for 2 chunks -- give one value (for a stage), 2 "
        "(P*V = 2 * 1, one per chunk) or 8 (P*V*M, one per microbatch, chunk by chunk)");
  CHECK(fault({"--vpp", "2", "--comm", "1us,2us"}) ==
        "`comm`: 2 values for 3 boundaries between chunks -- give one value or 3 (P*V - 1)");
  CHECK(fault({"--activation-bytes", "1B,2B,3B"}).starts_with("`activation-bytes`: 3 values for 2 chunks"));
}

TEST_CASE("The backward is halved where only it is given, an odd nanosecond to the input gradient") {
  const BuiltRun run = run_of({"--backward", "5ns"});
  CHECK(run.scenario.costs.input_grad == Times{3ns, 3ns});
  CHECK(run.scenario.costs.weight_grad == Times{2ns, 2ns});
}

TEST_CASE("One half of the backward follows from the other and the whole") {
  CHECK(run_of({"--backward", "5ms", "--input-grad", "3ms"}).scenario.costs.weight_grad == Times{2ms, 2ms});
  CHECK(run_of({"--backward", "5ms", "--weight-grad", "4ms"}).scenario.costs.input_grad == Times{1ms, 1ms});
  CHECK(run_of({"--input-grad", "3ms", "--weight-grad", "4ms"}).scenario.costs.weight_grad == Times{4ms, 4ms});
}

TEST_CASE("Halves that do not add up to the whole are refused") {
  CHECK(fault({"--input-grad", "3ms"})
            .starts_with("`input-grad`: only one half of the backward is given -- give `weight-grad` too"));
  CHECK(fault({"--weight-grad", "3ms"})
            .starts_with("`weight-grad`: only one half of the backward is given -- give `input-grad` too"));
  CHECK(fault({"--backward", "5ms", "--input-grad", "6ms"}) ==
        "`input-grad`: chunk 0: longer than the whole backward of 5 ms -- it is a part of `backward`");
  CHECK(fault({"--backward", "5ms", "--input-grad", "1ms", "--weight-grad", "1ms"})
            .starts_with("`backward`: chunk 0: 5 ms is not input-grad 1 ms + weight-grad 1 ms"));
}

TEST_CASE("With layers, the costs follow each chunk's number; one value is the mean stage") {
  // 22 layers on 8 stages: 3 3 3 3 3 3 2 2, mean 2.75; F = 11 ms: 4 ms per layer
  const BuiltRun run = build_run(
      parse({"--stages", "8", "--mb", "8", "--layers", "22", "--forward", "11ms", "--activation-bytes", "22B"}));
  CHECK(run.scenario.layout == plain_layout({3, 3, 3, 3, 3, 3, 2, 2}));
  CHECK(run.scenario.costs.forward == Times{12ms, 12ms, 12ms, 12ms, 12ms, 12ms, 8ms, 8ms});
  CHECK(run.scenario.memory.activation ==
        std::vector<Bytes>{Bytes{24}, Bytes{24}, Bytes{24}, Bytes{24}, Bytes{24}, Bytes{24}, Bytes{16}, Bytes{16}});
  CHECK(fault({"--layers", "1"}).starts_with("`layers`: 1 layers cannot fill 2 chunks"));
  CHECK(fault({"--first-stage-layers", "1"}).find("`layers`") != std::string::npos);
}

TEST_CASE("A transfer has a time, or a latency, a bandwidth and a size") {
  CHECK(run_of({"--comm", "20us"}).scenario.network.latency == Times{20us});
  const Network network =
      run_of({"--latency", "5us", "--bandwidth", "1GB/s", "--boundary-bytes", "10kB", "--transfer", "link"})
          .scenario.network;
  CHECK(network.transfer_time(0, true) == 15us);
  CHECK(network.model == TransferModel::link);
}

TEST_CASE("Transfer options that do not fit together are refused") {
  CHECK(fault({"--comm", "1us", "--latency", "2us"}).starts_with("`comm`: given together with `latency`"));
  CHECK(fault({"--comm", "1us", "--bandwidth", "1GB/s", "--boundary-bytes", "1B"})
            .starts_with("`comm`: given together with `bandwidth`"));
  CHECK(fault({"--bandwidth", "1GB/s"}).starts_with("`bandwidth`: has nothing to divide"));
  CHECK(fault({"--inter-node-latency", "1us"}).starts_with("`inter-node-latency`: there are no nodes"));
  CHECK(fault({"--stages-per-node", "1", "--inter-node-bandwidth", "1GB/s"})
            .starts_with("`inter-node-bandwidth`: has nothing to divide"));
}

TEST_CASE("A pair rule is a word or a factor of the sum") {
  CHECK(run_of({"--pair", "max"}).scenario.pair == PairRule{.kind = PairRule::Kind::max});
  CHECK(run_of({"--pair", "0.8"}).scenario.pair == PairRule{PairRule::Kind::factor, 800'000});
  CHECK(fault({"--pair", "0"}).starts_with("`pair`: factor '0' is out of range"));
  CHECK(fault({"--pair", "101"}).starts_with("`pair`: factor '101' is out of range"));
  CHECK(fault({"--pair", "summ"}).find("did you mean 'sum'?") != std::string::npos);
}

TEST_CASE("A time without a unit is refused with the units") {
  CHECK(fault({"--forward", "5"}) == "`forward`: '5' has no unit -- give ns, us, ms or s: 5ms");
  CHECK(fault({"--forward", "1ms,5"}).starts_with("`forward`: value 2: '5' has no unit"));
  CHECK(fault({"--boundary-bytes", "16"}).starts_with("`boundary-bytes`: '16' has no unit"));
}

TEST_CASE("An invalid value is refused with the value") {
  CHECK(fault({"--forward", "-1ms"}) == "`forward`: '-1ms' is negative -- times are 0 or more");
  CHECK(fault({"--forward", "nan"}).starts_with("`forward`: 'nan' is not a duration"));
  CHECK(fault({"--forward", "nanms"}).starts_with("`forward`: 'nanms' is not a duration"));
  CHECK(fault({"--forward", "infms"}).starts_with("`forward`: 'infms' is not a duration"));
  CHECK(fault({"--forward", "25h"}).starts_with("`forward`: '25h' is not a duration"));
  CHECK(fault({"--forward", "1ms,"}).starts_with("`forward`: value 2: '' is not a duration"));
  CHECK(fault({"--activation-bytes", "-1B"}) == "`activation-bytes`: '-1B' is negative -- sizes are 0 or more");
  CHECK(fault({"--bandwidth", "0GB/s"}).starts_with("`bandwidth`: '0GB/s' is not a bandwidth"));
  CHECK(fault({"--vpp", "0"}).starts_with("`vpp`: must be at least 1, got 0"));
  CHECK(fault({"--vpp", "two"}).starts_with("`vpp`: expected a whole number, got 'two'"));
  CHECK(fault({"--vpp", "-1"}).starts_with("`vpp`: expected a whole number, got '-1'"));
  CHECK(fault({"--vpp", "1.5"}).starts_with("`vpp`: expected a whole number, got '1.5'"));
  CHECK(fault({"--vpp", "99999999999999999999"}).starts_with("`vpp`: '99999999999999999999' is too large"));
}

TEST_CASE("An unknown word gets the nearest one as hint") {
  CHECK(fault({"--transfer", "lnik"}).find("did you mean 'link'?") != std::string::npos);
  CHECK(fault({"--schedule", "gpip"}).find("did you mean 'gpipe'?") != std::string::npos);
  CHECK(fault({"--gpipe-backward", "descend", "--schedule", "gpipe"}).find("did you mean 'descending'?") !=
        std::string::npos);
  CHECK(fault({"--forwards", "1ms"}).find("did you mean --forward?") != std::string::npos);
}

TEST_CASE("A flag given twice is refused, but a condition may be given several times") {
  CHECK(fault({"--forward", "1ms", "--forward", "2ms"}).starts_with("--forward: given 2 times"));
  CHECK(parse({"--fail-if", "bubble_ratio > 0.1", "--fail-if", "makespan_ns > 1s"}).fail_if.size() == 2);
}

TEST_CASE("Without stages or microbatches, both are requested") {
  const auto refusal = refusal_of([] { (void)build_run(parse({"--vpp", "2"})); });
  REQUIRE(refusal.lines.size() == 2);
  CHECK(refusal.lines[0].starts_with("`stages`: missing"));
  CHECK(refusal.lines[1].starts_with("`mb`: missing"));
}

TEST_CASE("Several problems are reported together") {
  CHECK(faults({"--forward", "5", "--comm", "-1us", "--transfer", "pigeon", "--nonsense"}).size() == 4);
  CHECK(faults({"--forward", "1ms,2ms,3ms", "--comm", "1us,2us", "--input-grad", "1ms"}).size() == 3);
}

TEST_CASE("A scenario with many errors shows the first twenty and counts the rest") {
  std::string text;
  for (int i = 0; i < 33; ++i) text += "nonsense" + std::to_string(i) + " = 1\n";
  const Rows lines = scenario_faults(text);
  REQUIRE(lines.size() == 21);
  CHECK(lines[20].find("13 more") != std::string::npos);
}

namespace {

/// On 4 stages and 8 microbatches.
BuiltRun replicated_run(const std::string& schedule, Rows more) {
  more.insert(more.begin(), {"--schedule", schedule, "--stages", "4", "--mb", "8"});
  return build_run(parse(more));
}
std::string replicated_fault(const std::string& schedule, const Rows& more) {
  return refusal_of([&] { (void)replicated_run(schedule, more); }).first();
}

} // namespace

TEST_CASE("Replicas are given per position of the pipeline, costs and memory too") {
  const BuiltRun run =
      replicated_run("pipedream", {"--replicas", "2,1,1", "--forward", "2ms,1ms,3ms", "--layers", "6"});
  CHECK(run.scenario.shape == Shape{.stages = 4, .microbatches = 8, .vpp = 1, .shared = 1});
  CHECK(run.scenario.costs.forward == Times{2ms, 1ms, 3ms});
  CHECK(run.scenario.costs.input_grad == Times{1ms, 1ms, 1ms}); // one value is a position's
  CHECK(run.scenario.layout == plain_layout({2, 2, 2}));
  CHECK(replicated_fault("pipedream", {"--replicas", "2,1,1", "--forward", "1ms,2ms"}) ==
        "`forward`: 2 values for 3 chunks -- give one value or 3 (one per position of `replicas`)");
  CHECK(replicated_fault("pipedream", {"--replicas", "2,1,1", "--comm", "1us,1us,1us"}) ==
        "`comm`: 3 values for 2 boundaries between chunks -- give one value or 2 (positions - 1)");
  CHECK(replicated_fault("1f1b", {"--replicas", "2,1,1"}) ==
        "`replicas`: '1f1b' has no replicated stages -- leave it out, or use `schedule` pipedream");
}

TEST_CASE("Numbers of replicas are whole numbers from 1 that add up to the stages") {
  CHECK(replicated_fault("pipedream", {"--replicas", "2,0"}) ==
        "`replicas`: value 2: must be at least 1, got 0 -- give a whole number from 1 up");
  CHECK(replicated_fault("pipedream", {"--replicas", "2,x"}) ==
        "`replicas`: value 2: expected a whole number, got 'x' -- for example 8");
  CHECK(replicated_fault("pipedream", {"--replicas", "4,1"}) ==
        "`replicas`: 4 + 1 are 5 stages, but there are 4 -- give numbers that add up to 4, or `stages` 5");
  CHECK(replicated_fault("pipedream", {"--replicas", "1,1,1,1,1"}).starts_with("`replicas`: 1 + 1 + 1 + 1 + 1 are 5"));
}

TEST_CASE("With twice the layers, a position takes twice the time, whatever its replicas") {
  const BuiltRun run = replicated_run(
      "pipedream", {"--replicas", "3,1", "--layers", "6", "--last-stage-layers", "2", "--forward", "3ms"});
  CHECK(run.scenario.layout == plain_layout({4, 2}));
  CHECK(run.scenario.costs.forward == Times{4ms, 2ms}); // the mean of two positions is 3 ms
}

// ---- Schedule files

TEST_CASE("A schedule file sets the shape") {
  const TemporaryFile file{"order.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"};
  const BuiltRun run = run_of({"--schedule-file", file.path()});
  CHECK(run.schedule.origin() == nullptr);
  CHECK(run.scenario.shape == Shape{.stages = 2, .microbatches = 2, .vpp = 1});
  CHECK_NOTHROW(run_of({"--schedule-file", file.path(), "--stages", "2", "--mb", "2"}));
  CHECK(fault({"--schedule-file", file.path(), "--mb", "3"}) ==
        "`mb`: 3, but the schedule file has 2 -- leave `mb` out");
  CHECK(faults({"--schedule-file", file.path(), "--schedule", "gpipe", "--group-size", "2", "--stages", "4"}).size() ==
        3);
}

// ---- Scenario files

TEST_CASE("The keys of a scenario are the long flags, its values strings, numbers and lists") {
  const BuiltRun run = with_scenario(
      "title = \"T\"\nstages = 2\nmb = 4\nforward = [\"1ms\", \"2ms\"]\nbackward = \"4ms\"\npair = 0.8\nlayers = 2\n");
  CHECK(run.scenario.title == "T");
  CHECK(run.scenario.shape == Shape{.stages = 2, .microbatches = 4, .vpp = 1});
  CHECK(run.scenario.costs.forward == Times{1ms, 2ms});
  CHECK(run.scenario.pair == PairRule{PairRule::Kind::factor, 800'000});
}

TEST_CASE("Errors in a scenario have their line and column") {
  CHECK(scenario_faults("stages = 2\nforwrad = \"1ms\"\n").front() ==
        "s.toml:2:1: unknown key 'forwrad' -- did you mean 'forward'? keys are the options of 'ppsim simulate --help' "
        "and 'ppsim replay --help' without the leading dashes");
  CHECK(scenario_faults("forward = 5").front() == "s.toml:1:1: forward: '5' has no unit -- give ns, us, ms or s: 5ms");
  CHECK(scenario_faults("\n\n  forward = \"-1ms\"").front() ==
        "s.toml:3:3: forward: '-1ms' is negative -- times are 0 or more");
  CHECK(scenario_faults("stages = 0").front() ==
        "s.toml:1:1: stages: must be at least 1, got 0 -- give a whole number from 1 up");
  CHECK(scenario_faults("stages = -1").front().starts_with("s.toml:1:1: stages: expected a whole number, got '-1'"));
  CHECK(scenario_faults("stages = 2.5").front().starts_with("s.toml:1:1: stages: expected a whole number, got '2.5'"));
  CHECK(scenario_faults("forward = nan").front().starts_with("s.toml:1:1: forward: 'nan' is not a duration"));
  CHECK(scenario_faults("transfer = \"lnik\"").front().find("did you mean 'link'?") != std::string::npos);
}

TEST_CASE("Values that no flag accepts are refused in a scenario") {
  const std::string hint = ": has a value of the wrong type -- give a string, a number, or a list of them";
  CHECK(scenario_faults("[forward]\na = 1").front() == "s.toml:1:2: forward" + hint);
  CHECK(scenario_faults("forward = []").front() == "s.toml:1:1: forward" + hint);
  CHECK(scenario_faults("forward = [[\"1ms\"]]").front() == "s.toml:1:1: forward" + hint);
  CHECK(scenario_faults("mb = 2024-01-01").front() == "s.toml:1:1: mb" + hint);
}

TEST_CASE("Outputs and other scenarios are not allowed in a scenario") {
  CHECK(scenario_faults("json = \"a.json\"").front() ==
        "s.toml:1:1: 'json' does not belong in a scenario -- give --json on the command line");
  CHECK(scenario_faults("scenario = \"b.toml\"")
            .front()
            .starts_with("s.toml:1:1: 'scenario' does not belong in a scenario"));
}

TEST_CASE("Text that is not TOML is refused with the place") {
  CHECK(scenario_faults("stages = \n").front().starts_with("s.toml:1:"));
  CHECK(scenario_faults("stages = 2\nstages = 3\n").front().starts_with("s.toml:2:"));
  CHECK(scenario_faults("forward = \"1ms").front().find("not TOML") != std::string::npos);
  CHECK(scenario_faults(std::string_view{"stages = 2\n\0\x01\xff", 14}).front().find("not TOML") != std::string::npos);
}

TEST_CASE("What people write instead of TOML has its remedy") {
  const auto remedy = [](std::string_view text) {
    const std::string fault = scenario_faults(text).front();
    return fault.substr(fault.rfind(" -- ") + 4);
  };
  const std::string_view quotes = "words, and numbers with a unit, stand in quotes: ";
  CHECK(remedy("mb = 8\nforward = 10ms # each\n") == fmt::format("{}forward = \"10ms\"", quotes));
  CHECK(remedy("forward = 10 ms\r\n") == fmt::format("{}forward = \"10 ms\"", quotes));
  CHECK(remedy("schedule = zb-h1") == fmt::format("{}schedule = \"zb-h1\"", quotes));
  CHECK(remedy("mb = 8\nstages: 4") == "write 'key = value', not 'key: value'");
  CHECK(remedy(" {\"stages\": 4}") == "write TOML, not JSON: a line 'key = value' for each key");
  CHECK(remedy("[pipeline]\nstages = 4\n") == "write its keys without it: a scenario has no tables of its own");
  for (const std::string_view other : {"stages = ", "stages = 2\nstages = 4", "pair = \"max", "pair = 'max\"", "x",
                                       "full = true\nfull = true", "mb = \x01ms", "mb = {ms", "\"a\": 1"})
    CHECK(remedy(other).starts_with("keys are the long flags"));
}

TEST_CASE("A deeply nested scenario is refused with the place, for every kind of nesting") {
  const auto times = [](std::size_t count, std::string_view text) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
  };
  const std::string what = "keys or values nest more than 32 deep -- write it with fewer dots and brackets";
  CHECK(scenario_faults("stages = 2\n" + times(40'000, "a.") + "a = 1") == Rows{"s.toml:2:64: " + what});
  CHECK(scenario_faults("[" + times(40'000, "a . ") + "a]") == Rows{"s.toml:1:128: " + what});
  CHECK(scenario_faults(times(40'000, "\"a\".'b'.") + "c = 1") == Rows{"s.toml:1:128: " + what});
  CHECK(scenario_faults("a = " + times(200, "[")) == Rows{"s.toml:1:37: " + what});
  CHECK(scenario_faults("a = " + times(200, "[\n")) == Rows{"s.toml:33:1: " + what});
  CHECK(scenario_faults("a = " + times(200, "{ a = ")) == Rows{"s.toml:1:197: " + what});
  // Text after the apparent end of a string is still checked.
  for (const std::string_view text : {R"("#")", R"('\')", R"("\"")", R"("""a"b"""")", R"('''a''''')", R"("""\"""""")"})
    CHECK(scenario_faults(fmt::format("a = [{}, {{{}a = 1}}]", text, times(40'000, "a."))).front().ends_with(what));
}

TEST_CASE("Dots and brackets in strings, numbers, comments and consecutive lists do not nest") {
  std::string shares = "0.5";
  for (int i = 0; i < 100; ++i) shares += ", 0.5, [1.5]";
  std::string many(100, '.');
  many.append(100, '[');
  CHECK(with_scenario(fmt::format("stages = 2 # {0}\nmb = 4\ntitle = \"{0}\"\nsource = \"\"\"{0}\"\"\"\n"
                                  "[calibration]\nshares = [{1}]\na.b.c = '{0}'\n",
                                  many, shares))
            .scenario.title == many);
}

TEST_CASE("All errors in a scenario are reported together") {
  CHECK(scenario_faults("stages = 0\nforward = 5\nnonsense = 1\ncomm = \"-1us\"\n").size() == 4);
}

TEST_CASE("A list of the wrong length in a scenario is named there") {
  const TemporaryFile file{"wrong.toml", "stages = 2\nmb = 4\nforward = [\"1ms\", \"2ms\", \"3ms\"]\n"};
  const auto refusal = refusal_of([&] { (void)build_run(parse({"--scenario", file.path()})); });
  CHECK(refusal.first().starts_with(file.path() + ":3:1: forward: 3 values for 2 chunks"));
}

TEST_CASE("Flags override the scenario") {
  const BuiltRun run = with_scenario("stages = 2\nmb = 4\nforward = \"1ms\"\n", {"--mb", "8", "--forward", "3ms"});
  CHECK(run.scenario.shape.microbatches == 8);
  CHECK(run.scenario.costs.forward == Times{3ms, 3ms});
}

TEST_CASE("A flag replaces other keys of the scenario for the same quantity") {
  const std::string_view split = "stages = 2\nmb = 4\ninput-grad = \"5ms\"\nweight-grad = \"1ms\"\n";
  CHECK(with_scenario(split).scenario.costs.input_grad == Times{5ms, 5ms});
  CHECK(with_scenario(split, {"--backward", "4ms"}).scenario.costs.input_grad == Times{2ms, 2ms});

  const std::string_view whole = "stages = 2\nmb = 4\nbackward = \"4ms\"\n";
  CHECK(with_scenario(whole, {"--input-grad", "5ms", "--weight-grad", "1ms"}).scenario.costs.input_grad ==
        Times{5ms, 5ms});

  const std::string_view link =
      "stages = 2\nmb = 4\nlatency = \"5us\"\nbandwidth = \"1GB/s\"\nboundary-bytes = \"10kB\"\n";
  CHECK(with_scenario(link).scenario.network.transfer_time(0, true) == 15us);
  CHECK(with_scenario(link, {"--comm", "7us"}).scenario.network.transfer_time(0, true) == 7us);

  const std::string_view comm = "stages = 2\nmb = 4\ncomm = \"7us\"\n";
  CHECK(with_scenario(comm, {"--latency", "3us"}).scenario.network.transfer_time(0, true) == 3us);
}

TEST_CASE("A schedule file on the command line replaces the scenario's shape and schedule, and vice versa") {
  const TemporaryFile file{"order.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"};
  const BuiltRun from_file =
      with_scenario("stages = 4\nmb = 8\nvpp = 2\nschedule = \"interleaved\"\ngroup-size = 4\nforward = \"3ms\"\n",
                    {"--schedule-file", file.path()});
  CHECK(from_file.scenario.shape == Shape{.stages = 2, .microbatches = 2, .vpp = 1});
  CHECK(from_file.scenario.costs.forward == Times{3ms, 3ms});

  const std::string text = "schedule-file = \"" + file.path() + "\"\n";
  const BuiltRun generated = with_scenario(text, {"--schedule", "gpipe", "--stages", "3", "--mb", "5"});
  CHECK(generated.schedule.origin()->generator->name == "gpipe");
  CHECK(generated.scenario.shape == Shape{.stages = 3, .microbatches = 5, .vpp = 1});
}

TEST_CASE("Another schedule removes the scenario's options of the first") {
  const BuiltRun run = with_scenario("stages = 2\nmb = 4\nschedule = \"gpipe\"\ngpipe-backward = \"descending\"\n",
                                     {"--schedule", "1f1b"});
  CHECK(run.schedule.origin()->generator->name == "1f1b");
}

TEST_CASE("A schedule file named in a scenario is relative to it") {
  const TemporaryFile file{"beside.csv", "0F0,0B0\n"};
  const std::string name = std::filesystem::path{file.path()}.filename().string();
  CHECK(rows_of(with_scenario("schedule-file = \"" + name + "\"\n").schedule) == Rows{"0F0 0B0"});
}

// ---- The command

TEST_CASE("The command stored in a file can be run in a shell again") {
  const auto command = [](const Rows& arguments) { return parse(arguments).command; };
  CHECK(command({}) == "ppsim simulate");
  CHECK(command({"--stages", "2", "--forward=1ms,2ms"}) == "ppsim simulate --stages 2 --forward=1ms,2ms");
  CHECK(command({"--title", "a b"}) == "ppsim simulate --title 'a b'");
  CHECK(command({"--title", "it's $5 & *"}) == R"(ppsim simulate --title 'it'\''s $5 & *')");
}

} // namespace ppsim::test::inputs_test
