// Sequences, gradients and parameters that are divided over ranks: what that costs a pass, and what it saves.

#include "ppsim/scenario/model.hpp"
#include "ppsim/study/build_run.hpp"
#include "support/models.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"

namespace ppsim::test::sharding_test {

using namespace std::chrono_literals;

namespace {

/// A flop a picosecond, 1000 bytes of memory and a byte of a link a nanosecond.
DeviceSheet round_device() {
  return {.name = "round",
          .flops_16_bit = 1'000'000'000'000,
          .memory = Bytes{1'000'000'000},
          .memory_bandwidth = Bandwidth{1'000'000'000'000},
          .link = "nvlink4"};
}

BlockCosts layer_of(const Training& training) {
  return model_costs(small_moe(), round_device(), training).dense_layer;
}

Training round_training(std::int64_t link_bandwidth = 1'000'000'000) {
  const LinkSheet link{.name = "round", .latency = 0ns, .bandwidth = Bandwidth{link_bandwidth}};
  return {.efficiency_ppm = 1'000'000, .context_link = link, .data_link = link};
}

} // namespace

TEST_CASE("Keys and values pass around the ranks of a sequence during attention to all shares but the last to come") {
  Training training = round_training();
  training.context_parallel = 2;
  const BlockCosts ring = layer_of(training);
  // 8 of 16 tokens, 2 heads of 2 keys and 2 values in 2 bytes: 128 bytes, backwards as many gradients. Scores of 4
  // heads, 8 x 16 of them, over 2 elements: 4 ns in all; 10 ns backwards, where they are computed again. Half is for
  // the other rank's share.
  CHECK(ring.forward_collective == 128ns - 2ns);
  CHECK(ring.input_grad_collective == 256ns - 5ns);
  // A link that is fast enough costs nothing.
  training = round_training(1'000'000'000'000);
  training.context_parallel = 2;
  CHECK(layer_of(training).forward_collective == 0ns);
}

TEST_CASE("Keys and values are gathered, or exchanged for heads, with nothing overlapped") {
  Training training = round_training();
  training.context_parallel = 2;
  training.context_exchange = ContextExchange::all_gather;
  CHECK(layer_of(training).forward_collective == 128ns);        // of 256 bytes the other rank's half
  CHECK(layer_of(training).input_grad_collective == 2 * 128ns); // gathered again; gradients scattered
  training.context_exchange = ContextExchange::a2a;
  CHECK(layer_of(training).forward_collective == 192ns); // queries and results 128 bytes each, keys and values: a half
  CHECK(layer_of(training).input_grad_collective == 192ns);
}

TEST_CASE("Sharded gradients are reduced after each backward, sharded parameters gathered for each pass") {
  Training training = round_training();
  training.data_parallel = 4;
  const BlockCosts whole = layer_of(training);
  const std::int64_t parameters = whole.parameters;
  CHECK(whole.reduce == Duration{4 * parameters * 3 / 4});

  training.zero_stage = 2;
  const BlockCosts gradients = layer_of(training);
  CHECK(gradients.gradient_bytes == Bytes{parameters}); // a quarter of 4 bytes each
  CHECK(gradients.parameter_bytes == whole.parameter_bytes);
  CHECK(gradients.reduce == 0ns);
  CHECK(gradients.gather == whole.gather);
  CHECK(gradients.weight_grad == whole.reduce); // which takes longer than computing it
  CHECK(gradients.forward == whole.forward);

  training.zero_stage = 3;
  const BlockCosts all = layer_of(training);
  CHECK(all.parameter_bytes == Bytes{parameters / 2}); // a quarter of 2 bytes each
  CHECK(all.gather == 0ns);
  CHECK(all.unshard == Duration{2 * parameters * 3 / 4});
  CHECK(all.forward == all.unshard); // the next layer's, while this one computes
  CHECK(all.input_grad == all.unshard);
  CHECK(all.unsharded == Bytes{(2 + 4) * parameters});

  // Of one rank nothing is divided.
  training.data_parallel = 1;
  CHECK(layer_of(training).unsharded == Bytes{0});
  CHECK(layer_of(training).parameter_bytes == whole.parameter_bytes);
  training.data_parallel = 4;

  // A pass of two layers also waits for the first one.
  Model model = small_moe();
  model.experts = model.experts_per_token = model.shared_experts = model.expert_ffn_hidden = model.dense_layers = 0;
  const ModelCosts costs = model_costs(model, round_device(), training);
  const std::vector<BlockCosts> chunks = chunk_costs(model, costs, {{.layers = 2}, {.layers = 1}}, false, {});
  CHECK(chunks[0].forward == 3 * all.unshard);
  CHECK(chunks[0].forward_collective == chunks[0].forward - 2 * whole.forward);
}

TEST_CASE("Two layers of sharded parameters are gathered on each stage at a time, whatever its chunks") {
  const auto parameters = [](const std::string& vpp, const std::string& stage) {
    const BuiltRun run = build_run(cli::parse_arguments(
        cli::find_command("simulate"), {"--model", "llama-3-8b", "--device", "h100", "--stages", "2", "--mb", "4",
                                        "--vpp", vpp, "--data-parallel", "4", "--zero-stage", stage}));
    std::int64_t bytes = 0; // of stage 0
    for (std::size_t chunk = 0; chunk < run.scenario.memory.parameters.size(); chunk += 2)
      bytes += run.scenario.memory.parameters[chunk].count();
    return bytes;
  };
  CHECK(parameters("2", "1") == parameters("1", "1"));
  CHECK(parameters("2", "3") == parameters("1", "3"));
  // A quarter is held, and twice the embedding (its matrix in 2 bytes, its gradients in 4), the largest block.
  CHECK(parameters("1", "3") == parameters("1", "1") / 4 + 2 * 6 * 128256 * 4096LL);
}

} // namespace ppsim::test::sharding_test
