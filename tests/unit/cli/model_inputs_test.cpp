// Model inputs: how the costs of a model's shape become those of a scenario, and what given costs do to them.

#include "ppsim/study/build_run.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/study/evaluate.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "cli/options/commands.hpp"
#include "cli/runs/inputs.hpp"

namespace ppsim::test::model_inputs_test {

using namespace ppsim::cli;
using namespace std::chrono_literals;
using ppsim::test::refusal_of;
using ppsim::test::Rows;

namespace {

BuiltRun run_of(Rows arguments) {
  if (std::ranges::find(arguments, "--stages") == arguments.end())
    arguments.insert(arguments.begin(), {"--stages", "4"});
  arguments.insert(arguments.begin(), {"--mb", "8"});
  return build_run(parse_arguments(find_command("simulate"), arguments));
}

BuiltRun run_gpt(Rows arguments) {
  arguments.insert(arguments.end(), {"--model", "gpt2-xl", "--device", "a100"});
  return run_of(std::move(arguments));
}

/// The costs of gpt2-xl's blocks on an a100.
ModelCosts gpt_costs() {
  return model_costs(find_model("gpt2-xl"), find_device("a100"), Training{});
}

Rows faults(const Rows& arguments) {
  const auto refusal = refusal_of([&] { (void)run_of(arguments); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.lines;
}

} // namespace

TEST_CASE("A model's costs follow its layers, with the embedding on the first chunk and the output layer on the last") {
  const ModelCosts costs = gpt_costs(); // 48 layers
  const Scenario scenario = run_gpt({}).scenario;
  CHECK(scenario.layout == plain_layout({12, 12, 12, 12}));
  const Duration inner = 12 * costs.dense_layer.forward + costs.pass;
  CHECK(scenario.costs.forward ==
        std::vector<Duration>{costs.embedding.forward + inner, inner, inner, inner + costs.output.forward});
  CHECK(scenario.costs.input_grad[1] == 12 * costs.dense_layer.input_grad + costs.pass);
  CHECK(scenario.costs.weight_grad[2] == 12 * costs.dense_layer.weight_grad);
  CHECK(scenario.memory.activation[1].count() == 12 * costs.dense_layer.activation.count());
  CHECK(scenario.memory.activation_for_weight[1].count() == 12 * costs.dense_layer.activation_for_weight.count());
  CHECK(scenario.memory.parameters[1].count() == 12 * costs.dense_layer.parameter_bytes.count());
  CHECK(scenario.memory.limit == find_device("a100").usable_memory());
  CHECK(scenario.network.boundary_bytes == std::vector<Bytes>(3, costs.boundary));
  CHECK(scenario.network.bandwidth == find_link("ib-ndr").reached_bandwidth());
  CHECK(scenario.update.optimizer[1] == 12 * costs.dense_layer.optimizer);
}

TEST_CASE(
    "The first layers of a mixture of experts are dense, and those for multi-token prediction are on the last chunk") {
  const Scenario scenario =
      run_of({"--model", "deepseek-v3", "--device", "h200", "--first-stage-layers", "4", "--layers", "61"}).scenario;
  const ModelCosts costs = model_costs(find_model("deepseek-v3"), find_device("h200"), Training{});
  CHECK(scenario.layout[0] == ChunkBlocks{.layers = 4, .embedding = true});
  CHECK(scenario.layout[3] == ChunkBlocks{.layers = 19, .mtp_layers = 1, .loss = true});
  CHECK(scenario.costs.forward[0] ==
        costs.embedding.forward + 3 * costs.dense_layer.forward + costs.moe_layer.forward + costs.pass);
  CHECK(scenario.costs.forward[3] ==
        19 * costs.moe_layer.forward + costs.mtp_layer.forward + costs.output.forward + costs.pass);
}

TEST_CASE("Given costs override computed ones, and the source names both") {
  const Scenario scenario = run_gpt({"--forward", "5ms", "--comm", "1us", "--memory-limit", "10GiB"}).scenario;
  const ModelCosts costs = gpt_costs();
  CHECK(scenario.costs.forward == std::vector<Duration>(4, 5ms));
  CHECK(scenario.costs.forward_collective.empty());
  CHECK(scenario.costs.input_grad[1] == 12 * costs.dense_layer.input_grad + costs.pass);
  CHECK(scenario.network.latency == std::vector<Duration>(3, 1us));
  CHECK_FALSE(scenario.network.bandwidth);
  CHECK(scenario.memory.limit == Bytes{std::int64_t{10} << 30});
  CHECK(scenario.source == "computed from the shape of gpt2-xl and the datasheet of a100, not measured; "
                           "given: forward, comm");
  const Scenario half = run_gpt({"--input-grad", "7ms", "--source", "my profile"}).scenario;
  CHECK(half.costs.input_grad == std::vector<Duration>(4, 7ms));
  CHECK(half.costs.weight_grad[1] == 12 * costs.dense_layer.weight_grad);
  CHECK(half.source.starts_with("my profile; computed from"));
}

TEST_CASE("A tied embedding is reduced between its two stages, and held once if one stage has both ends") {
  const ModelCosts costs = gpt_costs();
  const auto total = [](const std::vector<Bytes>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), Bytes{}).count();
  };
  const Scenario apart = run_gpt({}).scenario;
  const Scenario together = run_gpt({"--schedule", "zb-v"}).scenario;
  CHECK(apart.update.tied_embedding_reduce ==
        collective_time(find_link("ib-ndr"), Collective::all_reduce, 2, costs.tied_embedding));
  CHECK(total(together.memory.parameters) == 2 * count_parameters(find_model("gpt2-xl")).total);
  CHECK(total(apart.memory.parameters) - total(together.memory.parameters) == 2 * costs.tied_parameters);
  CHECK(total(apart.memory.gradients) - total(together.memory.gradients) == costs.tied_embedding.count());

  const Scenario both_ways = run_gpt({"--schedule", "dualpipe"}).scenario; // each end is on the other's stage too
  CHECK(both_ways.memory.parameters == run_gpt({"--schedule", "chimera"}).scenario.memory.parameters);
  CHECK(total(both_ways.memory.parameters) == total(together.memory.parameters));
}

TEST_CASE("A matrix that is held once has one reduction and one optimizer step") {
  const BuiltRun one = run_of({"--stages", "1", "--data-parallel", "4", "--model", "gpt2-xl", "--device", "a100"});
  Training training;
  training.data_parallel = 4;
  const ModelCosts costs = model_costs(find_model("gpt2-xl"), find_device("a100"), training);
  const BlockCosts& output = costs.output;
  const auto share = [&](Duration time) {
    return Duration{scale_rounded(time.count(), costs.tied_parameters, output.parameters)};
  };
  CHECK(one.scenario.update.reduce.front() ==
        costs.embedding.reduce + 48 * costs.dense_layer.reduce + output.reduce - share(output.reduce));
  CHECK(one.scenario.update.optimizer.front() ==
        costs.embedding.optimizer + 48 * costs.dense_layer.optimizer + output.optimizer - share(output.optimizer));
}

TEST_CASE("Layers for multi-token prediction in a layout are the model's") {
  CHECK(faults({"--model", "gpt2-xl", "--device", "a100", "--layout", "Et*12|t*12|t*12|t*12mL"}) ==
        Rows{"`layout`: 1 layers for multi-token prediction (m), but gpt2-xl has 0 -- write an m for each of the "
             "model's"});
}

TEST_CASE("Names are suggested in any case, and a model's collectives can hide") {
  CHECK(faults({"--model", "gpt2-xl", "--device", "A100"}) ==
        Rows{"`device`: unknown device 'A100' -- did you mean 'a100'? 'ppsim list devices' lists them"});
  CHECK(run_gpt({"--schedule", "dualpipe", "--pair", "hide", "--tensor-parallel", "5", "--sequence-length", "1000"})
            .notes.empty());
}

TEST_CASE("Recomputation of a model keeps the part that its kind defines") {
  const ModelCosts costs = gpt_costs();
  const Recompute full = run_gpt({"--recompute", "full"}).scenario.recompute;
  CHECK(full.time[1] == 12 * costs.dense_layer.forward);
  CHECK(full.checkpoint[1].count() == 12 * costs.boundary.count());
  const Recompute selective = run_gpt({"--recompute", "selective", "--attention", "unfused"}).scenario.recompute;
  Training unfused;
  unfused.attention = Attention::unfused;
  const ModelCosts scores = model_costs(find_model("gpt2-xl"), find_device("a100"), unfused);
  CHECK(selective.time[1] == 12 * scores.dense_layer.selective.time);
  CHECK(selective.checkpoint[1].count() == 12 * scores.dense_layer.selective.checkpoint.count());
  CHECK(run_gpt({"--recompute", "full", "--recompute-time", "3ms"}).scenario.recompute.time ==
        std::vector<Duration>(4, 3ms));
}

TEST_CASE("An asynchronous schedule omits a model's updates, with a note") {
  const BuiltRun run = run_gpt({"--schedule", "pipedream"});
  CHECK(run.scenario.update.is_free());
  REQUIRE(run.notes.size() == 1);
  CHECK(run.notes.front().starts_with("'pipedream' has no flush"));
}

TEST_CASE("Options of a model that miss it, or its device, are refused by name") {
  CHECK(faults({"--model", "gpt2-xl"}) ==
        Rows{"`model`: how fast is the device that runs it? -- give `device` ('ppsim list devices')"});
  CHECK(faults({"--tensor-parallel", "2"}) ==
        Rows{"`tensor-parallel`: there is no model whose costs it changes -- give `model` ('ppsim list models')"});
  CHECK(faults({"--device", "a100"}).front().starts_with("`device`: no memory is known that could exceed it"));
  CHECK(faults({"--model", "gpt2xl", "--device", "a100"}) ==
        Rows{"`model`: unknown model 'gpt2xl' -- did you mean 'gpt2-xl'? 'ppsim list models' lists them; a model of "
             "your own is a .toml file"});
  CHECK(faults({"--model", "none.toml", "--device", "a100"}).front().starts_with("`model`: cannot read"));
  CHECK(faults({"--model", "gpt2-xl", "--device", "a100", "--head", "3ms"}) ==
        Rows{"`head`: the model's shape defines it -- leave it out"});
  CHECK(faults({"--model", "gpt2-xl", "--device", "a100", "--tensor-parallel", "3"}).size() == 2);
  CHECK(faults({"--model", "gpt2-xl", "--device", "a100", "--efficiency", "70"}) ==
        Rows{"`efficiency`: '70' is not an efficiency -- a share of the datasheet's rates from 0.001 to 1: 0.7"});
  CHECK(faults({"--link", "nvlink4"}) ==
        Rows{"`link`: has nothing to divide -- give `boundary-bytes`, the size of one transfer"});
  CHECK(faults({"--link", "nvlink4", "--comm", "1us", "--boundary-bytes", "1MiB"}) ==
        Rows{"`comm`: given together with `link` -- leave one of them out"});
}

TEST_CASE("One measured step explains the others: the Zero Bubble paper's table 4 from its first row") {
  const Rows model{"--model",
                   "zero-bubble-1.5b",
                   "--device",
                   "a100",
                   "--microbatch-size",
                   "6",
                   "--first-stage-layers",
                   "2",
                   "--last-stage-layers",
                   "2",
                   "--distributed-optimizer",
                   "off"};
  const auto step_of = [&](Rows more) {
    more.insert(more.begin(), model.begin(), model.end());
    more.insert(more.begin(), {"--stages", "8", "--measured-step", "1525.42ms,mb=24,schedule=1f1b"});
    const Evaluation run = evaluate(parse_arguments(find_command("simulate"), more));
    return std::chrono::duration<double>{run.report.step_time}.count();
  };
  CHECK(step_of({"--mb", "24"}) == Approx(1.52542).margin(1e-5)); // the row itself
  CHECK(step_of({"--mb", "64"}) == Approx(3.52941).epsilon(0.04));
  for (const auto& [limit, measured] : {std::pair{"8", 3.38028}, {"16", 3.22148}})
    CHECK(step_of({"--schedule", "zb-auto", "--optimizer-step", "per-stage", "--mb", "64", "--activation-limit",
                   limit}) == Approx(measured).epsilon(0.04));
}

TEST_CASE("A measured run with another schedule has that schedule's default chunks") {
  const auto step_with = [](const std::string& step) {
    return evaluate(
               parse_arguments(find_command("simulate"), {"--stages", "4", "--mb", "8", "--model", "gpt2-xl",
                                                          "--device", "a100", "--vpp", "2", "--measured-step", step}))
        .report.step_time;
  };
  CHECK(step_with("400ms,schedule=1f1b") == step_with("400ms,schedule=1f1b,vpp=1"));
  CHECK(step_with("400ms,schedule=interleaved") == step_with("400ms,schedule=interleaved,vpp=2"));
}

TEST_CASE("A measured step that nothing explains is refused, and an implausible one has a note") {
  CHECK(faults({"--model", "gpt2-xl", "--device", "a100", "--measured-step", "1ns"}) ==
        Rows{"`measured-step`: no step takes 1 ns: if all compute is ten times as fast, it takes 44.3 ms -- give the "
             "time of a whole step of the described run; are the links right?"});
  CHECK(faults({"--model", "gpt2-xl", "--device", "a100", "--measured-step", "1s,m=4"}) ==
        Rows{"`measured-step`: 'm=4': unknown name -- did you mean 'mb'? one of mb, vpp, schedule"});
  CHECK(faults({"--measured-step", "1s"}) ==
        Rows{"`measured-step`: there is no model whose costs it changes -- give `model` ('ppsim list models')"});
  const auto notes_at = [](std::string step) {
    return evaluate(parse_arguments(find_command("simulate"), {"--stages", "4", "--mb", "8", "--model", "gpt2-xl",
                                                               "--device", "a100", "--measured-step", std::move(step)}))
        .notes;
  };
  CHECK(notes_at("350ms").empty());
  CHECK(notes_at("1s").front().starts_with("`measured-step`: it needs compute to take 2.79 of the time"));
}

TEST_CASE("A named link gives latency and bandwidth") {
  const Network network =
      run_of({"--link", "nvlink4", "--boundary-bytes", "1MiB", "--stages-per-node", "2", "--inter-node-link", "ib-hdr"})
          .scenario.network;
  CHECK(network.latency == std::vector<Duration>(3, find_link("nvlink4").latency));
  CHECK(network.bandwidth == find_link("nvlink4").reached_bandwidth());
  CHECK(network.inter_node_latency == find_link("ib-hdr").latency);
  CHECK(network.inter_node_bandwidth == find_link("ib-hdr").reached_bandwidth());
  CHECK(run_gpt({"--link", "nvlink"}).scenario.network.bandwidth ==
        find_link(find_device("a100").link).reached_bandwidth());
  CHECK(faults({"--link", "nvlink", "--boundary-bytes", "1MiB"}) ==
        Rows{"`link`: which generation of NVLink is it? -- give nvlink3, nvlink4 or nvlink5 ('ppsim list links'), or "
             "--device"});
}

} // namespace ppsim::test::model_inputs_test
