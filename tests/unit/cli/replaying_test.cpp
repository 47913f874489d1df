#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/runtime/calibration.hpp"
#include "ppsim/study/build_run.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <chrono>

#include "cli/files/scenario_file.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/runs/replaying.hpp"

namespace ppsim::test::replaying_test {

// Replays from command lines; tests/runtime tests the runs themselves.

namespace {

using namespace ppsim::cli;
using namespace std::chrono_literals;
using ppsim::test::refusal_of;
using ppsim::test::Rows;
using runtime::Compute;

Inputs parse(const std::string& command, const Rows& arguments) {
  return parse_arguments(find_command(command), arguments);
}

Inputs replay_inputs(Rows arguments) {
  arguments.insert(arguments.end(), {"--stages", "2", "--mb", "4"});
  return parse("replay", arguments);
}

Rows faults(const Rows& arguments) {
  return refusal_of([&] { (void)prepare_replay(replay_inputs(arguments)); }).lines;
}

std::shared_ptr<const ScenarioFile> read(std::string_view text) {
  Problems problems;
  auto file = std::make_shared<const ScenarioFile>(text, "s.toml", problems);
  problems.throw_if_any();
  return file;
}

/// Contents of a scenario file, by key.
Inputs from_file(std::string_view text) {
  Problems problems;
  Inputs inputs;
  assign(read(text)->keys(), inputs, problems);
  problems.throw_if_any();
  return inputs;
}

TEST_CASE("A replay without options trains the default model and predicts nothing") {
  const Replay replay = prepare_replay(replay_inputs({}));
  CHECK(replay.backend->name() == "threads");
  CHECK(replay.options.workload == runtime::Workload{.depth = 2});
  CHECK(replay.options.compute == Compute::real);
  CHECK(replay.options.transport == "direct");
  CHECK(!replay.predicts);
}

TEST_CASE("With given costs, or timed tasks, there is a prediction") {
  CHECK(prepare_replay(replay_inputs({"--forward", "1ms"})).predicts);
  CHECK(prepare_replay(replay_inputs({"--compute", "timed"})).predicts);
}

TEST_CASE("The memory of a replay is that of its chunks, unless the scenario has sizes") {
  const auto memory = [](const Rows& arguments) {
    const Replay replay = prepare_replay(replay_inputs(arguments));
    return std::pair{replay.graph.scenario().memory.activation.front(),
                     replay.backend->sizes(replay.options.workload).stash()};
  };
  const auto [real, stash] = memory({});
  CHECK(real == stash);
  const auto [given, other] = memory({"--activation-bytes", "7B"});
  CHECK(given == Bytes{7});
  CHECK(given != other);
  Inputs of_another_model = replay_inputs({"--compute", "timed"});
  of_another_model.activation_bytes = {Bytes{7}};
  of_another_model.where["activation-bytes"] = "s.toml:1:1: activation-bytes";
  const Replay timed = prepare_replay(of_another_model);
  const Bytes tiny = timed.backend->sizes(timed.options.workload).stash();
  CHECK(timed.graph.scenario().memory.activation.front() == tiny);
  CHECK(tiny < stash);
}

TEST_CASE("Timed tasks take their sizes only from a calibration file") {
  CHECK(faults({"--compute", "timed", "--tokens", "64"}) ==
        Rows{"`tokens`: timed tasks compute almost nothing -- leave it out, or use --compute real"});
  Inputs inputs = from_file("stages = 2\nmb = 4\ntokens = 64\n");
  inputs.compute = Compute::timed;
  CHECK(prepare_replay(inputs).options.workload.tokens < 64);
}

TEST_CASE("Pairs are predicted as they run, one half after the other") {
  const Replay replay = prepare_replay(replay_inputs({"--schedule", "zb-v"}));
  CHECK(replay.graph.scenario().pair.kind == PairRule::Kind::serial);
}

TEST_CASE("Adam has its own default learning rate") {
  CHECK(prepare_replay(replay_inputs({"--trainer", "adam"})).options.workload.learning_rate == 0.002);
  CHECK(prepare_replay(replay_inputs({"--trainer", "adam", "--learning-rate", "0.5"})).options.workload.learning_rate ==
        0.5);
}

TEST_CASE("A deep model starts with smaller parameters and a smaller rate, unless a rate is given") {
  const auto workload = [](Rows more) {
    more.insert(more.end(), {"--stages", "32", "--mb", "64"});
    return prepare_replay(parse("replay", more)).options.workload;
  };
  CHECK(workload({}).depth == 32);
  CHECK(workload({}).learning_rate == 0.025);
  CHECK(workload({"--learning-rate", "0.05"}).learning_rate == 0.05);
  CHECK(workload({"--learning-rate", "0.05"}).depth == 32);
  CHECK(workload({"--vpp", "2", "--layers-per-chunk", "2", "--block", "transformer"}).depth == 256);
  CHECK(workload({"--block", "transformer", "--compute", "timed"}).depth == 64);
  CHECK(workload({"--schedule", "pipedream"}).learning_rate == 0.0125); // 32 updates late
  CHECK(prepare_replay(replay_inputs({})).options.workload.learning_rate == 0.05);
}

TEST_CASE("Without known task times, a run fails only after a minute or more without progress") {
  CHECK(prepare_replay(replay_inputs({})).options.timeout >= 60s);
  CHECK(prepare_replay(replay_inputs({"--width", "8192", "--tokens", "8192"})).options.timeout > 3600s);
  CHECK(prepare_replay(replay_inputs({"--forward", "1ms"})).options.timeout == 0s); // follows from the prediction
  CHECK(prepare_replay(replay_inputs({"--timeout", "3s"})).options.timeout == 3s);
}

TEST_CASE("A time limit is longer than every task, if known") {
  CHECK(faults({"--forward", "3ms", "--backward", "8ms", "--timeout", "8ms"}) ==
        Rows{"`timeout`: 8 ms is not longer than a task, which is predicted to take up to 8 ms -- give several times "
             "that, or leave it out"});
  CHECK(prepare_replay(replay_inputs({"--forward", "3ms", "--backward", "8ms", "--timeout", "9ms"})).options.timeout ==
        9ms);
  CHECK(prepare_replay(replay_inputs({"--timeout", "1ns"})).options.timeout == 1ns); // 1 ms and 2 ms only order tasks
}

TEST_CASE("Timed tasks have timed links, unless the command line says otherwise or there are none") {
  const auto transport = [](Rows arguments) {
    arguments.insert(arguments.end(), {"--compute", "timed"});
    return prepare_replay(replay_inputs(arguments)).options.transport;
  };
  CHECK(transport({"--comm", "1ms"}) == "paced");
  CHECK(transport({}) == "direct");
  CHECK(transport({"--comm", "1ms", "--transport", "direct"}) == "direct");
  CHECK(transport({"--comm", "1ms", "--transfer", "blocking"}) == "direct");
  CHECK(prepare_replay(replay_inputs({"--comm", "1ms"})).options.transport == "direct");
}

TEST_CASE("Costs of one workload are not used for another") {
  const auto faults_of = [](const Rows& arguments, std::string_view file) {
    Inputs inputs = replay_inputs(arguments);
    inputs.scenario = "s.toml";
    inputs.scenario_file = read(file);
    return refusal_of([&] { (void)prepare_replay(inputs); }).lines;
  };
  constexpr std::string_view calibrated = "tokens = 8\nbackend = \"threads\"\ntrainer = \"sgd\"\n[calibration]\n";
  const auto words = [](std::string_view place, std::string_view costs, std::string_view run) {
    return Rows{
        fmt::format("s.toml:{}: its costs are for {}, but the run is for {} -- calibrate and replay the same workload",
                    place, costs, run)};
  };
  Rows other_size = words("1:1: tokens", "8", "16");
  other_size[0] += ", or scale the costs with 'ppsim scale'";
  CHECK(faults_of({"--tokens", "16"}, calibrated) == other_size);
  CHECK(faults_of({"--tokens", "8", "--trainer", "adam"}, calibrated) == words("3:1: trainer", "sgd", "adam"));
  CHECK(faults_of({"--tokens", "8", "--backend", "mpi"}, calibrated) == words("2:1: backend", "threads", "mpi"));
  CHECK_NOTHROW(prepare_replay([&] { // a seed is no other work
    Inputs inputs = replay_inputs({"--tokens", "8", "--seed", "3"});
    inputs.scenario = "s.toml";
    inputs.scenario_file = read(calibrated);
    return inputs;
  }()));
}

TEST_CASE("A share is a number or a percentage") {
  const auto tolerance = [](const std::string& text) { return parse("validate", {"--tolerance", text}).tolerance; };
  CHECK(tolerance("5%") == 0.05);
  CHECK(tolerance("0.05") == 0.05);
  CHECK(tolerance("150 %") == 1.5);
  CHECK(tolerance("1") == 1.0);
  CHECK_THROWS_AS(tolerance("5"), Error);
  CHECK_THROWS_AS(tolerance("-1%"), Error);
  CHECK_THROWS_AS(tolerance("nan"), Error);
}

TEST_CASE("The short form of `output` is -o, where a command has one") {
  CHECK(replay_inputs({"-o", "run.json"}).output == "run.json");
  CHECK(refusal_of([] { (void)parse("simulate", {"-o", "x"}); }).code == ExitCode::bad_input);
}

TEST_CASE("The workload of a replay is a key of scenarios, the number of its steps is not") {
  const Inputs inputs = from_file("backend = \"mpi\"\nblock = \"transformer\"\nseed = 0\nslots = 2\n");
  CHECK(inputs.backend == "mpi");
  CHECK(inputs.workload.block == runtime::Block::transformer);
  CHECK(inputs.workload.seed == 0);
  CHECK_THROWS_AS(from_file("steps = 3\n"), Error);
  CHECK_THROWS_AS(from_file("inject = \"fail@0F0\"\n"), Error);
}

TEST_CASE("Keys of replays do not change simulations") {
  const std::string costs = "stages = 2\nmb = 4\nforward = \"1ms\"\nbackward = \"2ms\"\n";
  const BuiltRun plain = build_run(from_file(costs));
  const BuiltRun with_keys = build_run(from_file(costs + "backend = \"cuda\"\ntokens = 9\ncompute = \"timed\"\n"));
  CHECK(with_keys.schedule == plain.schedule);
  CHECK(with_keys.scenario.memory.activation == plain.scenario.memory.activation);
  CHECK(with_keys.scenario.costs.forward == plain.scenario.costs.forward);
  CHECK(with_keys.notes == plain.notes);
}

TEST_CASE("The table of a calibration is skipped, and contains the times measured alone") {
  const std::string_view text =
      "stages = 2\n[calibration]\nmachine = \"mine\"\n"
      "alone.forward = [[\"1ms\", \"0ms\", \"2ms\"], [\"3ms\", \"0ms\", \"9ms\"]]\n"
      "alone.input-grad = [[\"4ms\"], [\"5ms\"]]\nalone.weight-grad = [[\"6ms\"], [\"7ms\"]]\n";
  CHECK(from_file(text).stages == 2);
  const auto alone = read(text)->alone_costs();
  REQUIRE(alone.has_value());
  CHECK(alone->forward == std::vector<Duration>{1ms, 3ms});
  CHECK(alone->weight_grad == std::vector<Duration>{6ms, 7ms});
  CHECK(!read("stages = 2\n")->alone_costs().has_value());
  CHECK_THROWS_AS(read("[calibration]\nalone.forward = [[\"fast\"]]\n")->alone_costs(), Error);
}

TEST_CASE("Other tables stay errors, and also a value of that name") {
  CHECK_THROWS_AS(from_file("[calibrations]\nmachine = \"mine\"\n"), Error);
  CHECK_THROWS_AS(from_file("calibration = 3\n"), Error);
}

TEST_CASE(
    "A schedule without a flush ignores a scenario's options of the flush, and refuses them on the command line") {
  Inputs inputs = from_file("stages = 2\nmb = 4\noptimizer = \"1ms\"\n");
  inputs.schedule = "pipedream";
  const BuiltRun run = build_run(inputs);
  CHECK(run.scenario.update.is_free());
  CHECK(run.notes.front().starts_with("'pipedream' has no flush"));
  CHECK_THROWS_AS(
      build_run(parse("simulate", {"--stages", "2", "--mb", "4", "--schedule", "pipedream", "--optimizer", "1ms"})),
      Error);
}

TEST_CASE(
    "The prediction of a validation is that of the replay, with the memory of its scenario unless tasks were timed") {
  const Replay replay = prepare_replay(replay_inputs({"--forward", "1ms", "--backward", "2ms"}));
  const Inputs costs = parse("validate", {"--forward", "1ms", "--backward", "2ms", "--activation-bytes", "5B"});
  std::vector<std::string> notes;
  const auto graph = [&](bool timed) { return graph_of(costs, replay.graph.schedule(), timed, notes); };
  CHECK(simulate(graph(false)).tasks == replay.prediction.tasks);
  CHECK(graph(false).scenario().memory.activation.front() == Bytes{5});
  CHECK(graph(true).scenario().memory.activation.front() == Bytes{0});
  CHECK(notes.empty());
}

TEST_CASE("Costs that no backend runs are left out of the prediction of a validation and of a replay, with a note") {
  const Replay replay = prepare_replay(replay_inputs({"--forward", "1ms", "--backward", "2ms"}));
  const Inputs costs =
      parse("validate", {"--forward", "1ms", "--backward", "2ms", "--reduce", "1s", "--send-slices", "4"});
  std::vector<std::string> notes;
  CHECK(simulate(graph_of(costs, replay.graph.schedule(), false, notes)).tasks == replay.prediction.tasks);
  CHECK(notes.size() == 2);
}

TEST_CASE("Costs apply to a workload if scenario and run agree on it, as far as both specify it") {
  Inputs inputs;
  inputs.scenario = "costs.toml";
  inputs.scenario_file = read("tokens = 8\ntrainer = \"adam\"\nheads = 2\nbackend = \"mpi\"\n");
  require_same_work(inputs, {}, "");
  require_same_work(inputs, {{"block", "mlp"}, {"tokens", "8"}, {"trainer", "adam"}, {"width", "9"}}, "mpi");
  CHECK_THROWS_AS(require_same_work(inputs, {{"tokens", "9"}}, ""), Error);
  CHECK_THROWS_AS(require_same_work(inputs, {{"trainer", "sgd"}}, ""), Error);
  CHECK_THROWS_AS(require_same_work(inputs, {}, "threads"), Error);
}

TEST_CASE("The learning rate of a calibration is read back as it was") {
  runtime::Calibration calibration;
  calibration.shape = {.stages = 1, .microbatches = 1};
  calibration.facts = {.backend = "threads", .compute = "mlp", .transport = "direct", .machine = "a processor"};
  const runtime::ChunkTimes times{{1ms, 1ms, 1ms, 1}, {1ms, 1ms, 1ms, 1}, {1ms, 1ms, 1ms, 1}};
  calibration.placement = {StageId{0}};
  calibration.busy = calibration.alone = {times};
  for (const double rate : {1e-5, 1e-300, 1.0, 0.1}) {
    CAPTURE(rate);
    calibration.workload.learning_rate = rate;
    CHECK(from_file(calibration_toml(calibration)).workload.learning_rate == rate);
  }
}

} // namespace

} // namespace ppsim::test::replaying_test
