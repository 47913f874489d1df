// Costs from a model's shape, against published formulas and figures.

#include "ppsim/scenario/model.hpp"
#include "support/models.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>

namespace ppsim::test::model_test {

using namespace std::chrono_literals;

namespace {

/// Rates that make times easy to read: a flop a picosecond, 1000 bytes a nanosecond, all of it reached.
DeviceSheet round_device() {
  return {.name = "round",
          .flops_16_bit = 1'000'000'000'000,
          .flops_fp8 = 2'000'000'000'000,
          .flops_tf32 = 500'000'000'000,
          .memory = Bytes{1'000'000'000},
          .memory_bandwidth = Bandwidth{1'000'000'000'000},
          .link = "nvlink4"};
}

/// All that is not computation is free: links without latency that move a byte a nanosecond.
Training round_training() {
  const LinkSheet link{.name = "round", .latency = 0ns, .bandwidth = Bandwidth{1'000'000'000}};
  return {.efficiency_ppm = 1'000'000, .tensor_link = link, .expert_link = link, .data_link = link};
}

Training microbatches_of(std::int64_t samples) {
  return {.microbatch_size = samples};
}

BlockCosts layer_of(std::string_view model, const Training& training) {
  return model_costs(find_model(model), find_device("a100"), training).dense_layer;
}

std::int64_t parameters_of(std::string_view model) {
  return count_parameters(find_model(model)).total;
}

} // namespace

TEST_CASE("Shipped models have as many parameters as their published weights") {
  // The files that OpenAI and Meta published, as counted by Hugging Face's num_parameters().
  CHECK(parameters_of("gpt2-xl") == 1'557'611'200);
  CHECK(parameters_of("llama-2-7b") == 6'738'415'616);
  CHECK(parameters_of("llama-2-13b") == 13'015'864'320);
  CHECK(parameters_of("llama-2-70b") == 68'976'648'192);
  CHECK(parameters_of("llama-3-8b") == 8'030'261'248);
  CHECK(parameters_of("llama-3-70b") == 70'553'706'496);
  CHECK(parameters_of("llama-3-405b") == 405'853'388'800);
}

TEST_CASE("Shipped models have the size in their name") {
  const std::vector<std::pair<std::string_view, double>> sizes{{"gpt3-175b", 175e9},
                                                               {"gpt-22b", 22e9},
                                                               {"gpt-175b", 175e9},
                                                               {"gpt-530b", 530e9},
                                                               {"gpt-1t", 1008e9},
                                                               {"zero-bubble-1.5b", 1.5e9},
                                                               {"zero-bubble-6.2b", 6.2e9},
                                                               {"zero-bubble-14.6b", 14.6e9},
                                                               {"zero-bubble-28.3b", 28.3e9},
                                                               {"deepseek-v3", 671e9}};
  for (const auto& [name, size] : sizes) {
    INFO(name);
    CHECK(static_cast<double>(parameters_of(name)) == Approx(size).epsilon(0.015));
  }
  // Its published weights have a routing bias for each expert besides, which is not a parameter that is trained.
  CHECK(parameters_of("deepseek-v3") + 58 * 256 == 671'026'419'200);
  // DeepSeek-V3, abstract: 37B activated per token. Its README_WEIGHTS: 11.5B in multi-token prediction alone.
  const ParameterCount count = count_parameters(find_model("deepseek-v3"));
  CHECK(static_cast<double>(count.active) == Approx(37e9).epsilon(0.02));
  CHECK(static_cast<double>(count.mtp) == Approx(11.5e9).epsilon(0.01));
}

TEST_CASE("The parameters of all blocks add up to the model's, and its names are found") {
  for (const Model& model : models()) {
    INFO(model.name);
    const ModelCosts costs = model_costs(find_model(model.name), find_device("b200"), {});
    std::int64_t sum = costs.embedding.parameters + costs.output.parameters - costs.tied_parameters;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
      sum += kind_of_layer(model, layer) == LayerKind::moe ? costs.moe_layer.parameters : costs.dense_layer.parameters;
    CHECK(sum == count_parameters(model).total);
    CHECK(costs.mtp_layer.parameters * model.mtp_layers == count_parameters(model).mtp);
  }
}

TEST_CASE("A GPT layer has the operations of the Zero Bubble paper's Table 1") {
  // F = sbh(24h + 4s), I = sbh(24h + 8s), W = sbh 24h (Qi et al., arXiv 2401.10241).
  for (const std::string_view name :
       {"zero-bubble-1.5b", "zero-bubble-6.2b", "zero-bubble-14.6b", "zero-bubble-28.3b"}) {
    INFO(name);
    const std::int64_t h = find_model(name).hidden;
    const std::int64_t s = 1024;
    const std::int64_t b = 3;
    const Flops flops = layer_of(name, microbatches_of(b)).flops;
    CHECK(flops == Flops{s * b * h * (24 * h + 4 * s), s * b * h * (24 * h + 8 * s), s * b * h * 24 * h});
  }
}

TEST_CASE("A GPT layer keeps sb(34h + 5as), and W needs 32sbh of it") {
  for (const std::string_view name : {"zero-bubble-1.5b", "zero-bubble-6.2b", "gpt-22b", "gpt-530b"}) {
    INFO(name);
    const Model& model = find_model(name);
    const std::int64_t tokens = 2 * model.sequence_length;
    const BlockCosts layer = layer_of(name, microbatches_of(2));
    CHECK(layer.activation == Bytes{tokens * (34 * model.hidden + 5 * model.heads * model.sequence_length)});
    CHECK(layer.activation_for_weight == Bytes{32 * tokens * model.hidden});
  }
  // traces/samples/zero-bubble-6.2b-m24.toml: a stage of four layers.
  CHECK(4 * layer_of("zero-bubble-6.2b", microbatches_of(3)).activation.count() == 3'724'541'952);
}

TEST_CASE("Tensor and sequence parallelism divide a GPT layer's activation as Korthikanti et al. say") {
  const Model& model = find_model("gpt-22b");
  const std::int64_t sb = 4 * model.sequence_length;
  const std::int64_t h = model.hidden;
  const std::int64_t scores = 5 * model.heads * model.sequence_length / 8;
  Training training{.microbatch_size = 4, .tensor_parallel = 8, .sequence_parallel = false};
  CHECK(layer_of("gpt-22b", training).activation == Bytes{sb * (10 * h + 24 * h / 8 + scores)}); // their equation 2
  training.sequence_parallel = true;
  CHECK(layer_of("gpt-22b", training).activation == Bytes{sb * (34 * h / 8 + scores)}); // equation 4
}

TEST_CASE("Selective recomputation drops 5as^2b: 70 % of a 175B layer's activation and 65 % of a 530B one's") {
  // Korthikanti et al., section 5 and figure 7.
  const auto saved = [](std::string_view name) {
    const BlockCosts layer = layer_of(name, {.tensor_parallel = 8});
    return 1 - static_cast<double>(layer.selective.checkpoint.count()) / static_cast<double>(layer.activation.count());
  };
  CHECK(saved("gpt-175b") == Approx(80.0 / 114));
  CHECK(saved("gpt-530b") == Approx(64.0 / 98));
}

TEST_CASE("Full recomputation keeps a layer's input and repeats its forward") {
  const ModelCosts costs = model_costs(find_model("gpt-22b"), find_device("a100"), {.tensor_parallel = 8});
  CHECK(costs.dense_layer.full.checkpoint == Bytes{2 * 2048 * 6144 / 8});
  CHECK(costs.dense_layer.full.checkpoint == costs.boundary);
  CHECK(costs.dense_layer.full.time == costs.dense_layer.forward);
  CHECK(costs.output.full == RecomputeCosts{0ns, costs.output.activation});
  CHECK(costs.dense_layer.full.restored == costs.dense_layer.activation - costs.boundary);
  // Korthikanti et al., figure 7: 8.7 and 9.4 % of what tensor parallelism alone keeps; 2/23 and 2/21 by their table 2.
  const auto kept = [](std::string_view name) {
    const BlockCosts layer = layer_of(name, {.tensor_parallel = 8, .sequence_parallel = false});
    return 100 * static_cast<double>(layer.full.checkpoint.count()) / static_cast<double>(layer.activation.count());
  };
  CHECK(kept("gpt-175b") == Approx(8.7).margin(0.05));
  CHECK(kept("gpt-530b") == Approx(9.4).margin(0.15));
  CHECK(kept("gpt-1t") == Approx(9.4).margin(0.15));
}

TEST_CASE("Units of layers keep one input each and are restored as a whole; a block is only the first layers") {
  const Model& model = find_model("gpt-22b");
  const ModelCosts costs = model_costs(model, find_device("a100"), {.tensor_parallel = 8});
  const Layout layout{{.layers = 5}};
  const auto chunk = [&](const RecomputeUnits& units) {
    return chunk_costs(model, costs, layout, false, units)[0].full;
  };
  const BlockCosts& layer = costs.dense_layer;
  const auto times = [](std::int64_t n, Bytes bytes) { return Bytes{n * bytes.count()}; };
  CHECK(chunk({}) == RecomputeCosts{5 * layer.forward, times(5, costs.boundary), 5 * layer.full.flops,
                                    layer.activation - costs.boundary});
  CHECK(chunk({.layers = 3}) == RecomputeCosts{5 * layer.forward, times(2, costs.boundary), 5 * layer.full.flops,
                                               times(3, layer.activation) - costs.boundary});
  CHECK(chunk({.method = RecomputeUnits::Method::block, .layers = 2}) ==
        RecomputeCosts{2 * layer.forward, times(2, costs.boundary) + times(3, layer.activation), 2 * layer.full.flops,
                       layer.activation - costs.boundary});
}

TEST_CASE("Recomputed modules drop their outputs and run again") {
  const Model& model = find_model("deepseek-v3");
  Training training = round_training();
  const auto layer = [&](std::vector<RecomputeModule> modules) {
    training.recompute_modules = std::move(modules);
    return model_costs(model, round_device(), training).moe_layer;
  };
  const std::int64_t n = 4096;
  const auto dropped = [&](RecomputeModule module) {
    const BlockCosts costs = layer({module});
    CHECK(costs.selective.restored == costs.activation - costs.selective.checkpoint);
    return costs.selective.restored.count() / (2 * n); // elements of a token
  };
  // Norms: before latent attention, of the narrow queries and of keys with values, before router and experts.
  CHECK(dropped(RecomputeModule::layernorm) == 7168 + 1536 + 512 + 7168);
  CHECK(dropped(RecomputeModule::mla_up_proj) == 128 * (192 + 192 + 128));
  CHECK(dropped(RecomputeModule::mlp_act) == 2048); // the shared expert's
  CHECK(dropped(RecomputeModule::moe_act) == 8 * 2048);
  CHECK(dropped(RecomputeModule::core_attn) == 0); // flash keeps no scores
  CHECK(layer({RecomputeModule::mla_up_proj}).selective.flops == 2 * n * 128 * (1536 * 192 + 512 * 256));
  CHECK(layer({RecomputeModule::layernorm, RecomputeModule::moe_act}).selective.restored.count() ==
        2 * n * (7168 + 1536 + 512 + 7168 + 8 * 2048));
  training.data_type = DataType::fp8; // what linear layers keep has a byte; the router stays in bf16
  CHECK(layer({RecomputeModule::moe_act}).selective.restored == Bytes{n * 8 * 2048});
}

TEST_CASE("The output layer keeps 4sbh(1 + v/h)") {
  // Korthikanti et al., section 4.3: input of the last norm and of the output layer, and logits in 4 bytes.
  const Model& model = find_model("gpt-22b");
  const std::int64_t tokens = model.sequence_length;
  CHECK(model_costs(model, find_device("a100"), {}).output.activation ==
        Bytes{4 * tokens * (model.hidden + model.vocab)});
  CHECK(model_costs(model, find_device("a100"), {.tensor_parallel = 8}).output.activation ==
        Bytes{4 * tokens * (model.hidden + model.vocab) / 8});
}

TEST_CASE("Flash attention keeps no scores but 4 bytes a row, and computes them again in the backward") {
  const Model& model = find_model("zero-bubble-6.2b");
  const std::int64_t s = 1024;
  const std::int64_t h = model.hidden;
  const BlockCosts layer = layer_of(model.name, {.attention = Attention::flash});
  CHECK(layer.activation == Bytes{s * (34 * h + 4 * model.heads)});
  CHECK(layer.flops.forward == s * h * (24 * h + 4 * s));
  CHECK(layer.flops.input_grad == s * h * (24 * h + 10 * s));
  CHECK(layer.selective == RecomputeCosts{0ns, layer.activation});
}

TEST_CASE("Grouped queries and a gate change the matrices accordingly") {
  // Llama 3 8B, per token: queries and output 2h^2, keys and values 2h*h/4, FFN 3h*3.5h multiplications.
  const std::int64_t h = 4096;
  const std::int64_t s = 8192;
  const BlockCosts layer = layer_of("llama-3-8b", {});
  CHECK(layer.flops.weight_grad == 2 * s * (2 * h * h + h * h / 2 + 3 * h * 14336));
  CHECK(layer.flops.forward == layer.flops.weight_grad + 4 * s * s * h);
  // Norms and the inputs of two linear layers 8h; queries, attention output 4h; keys, values h; 6 * 3.5h in the FFN;
  // 32 heads' row sums. W needs all of it but those.
  CHECK(layer.activation == Bytes{s * (13 * h + 6 * 14336 + 4 * 32)});
  CHECK(layer.activation_for_weight == Bytes{s * (13 * h + 6 * 14336)});
}

TEST_CASE("A rank holds its share of the key-value heads, and at least one") {
  const Training training{.tensor_parallel = 16};
  const std::int64_t h = 8192;
  const std::int64_t kv = 128; // half of a share of 8 heads over 16 ranks is not to be had
  CHECK(layer_of("llama-3-70b", training).parameters == 2 * h + 2 * h * h / 16 + 2 * h * kv + 3 * h * 28672 / 16);
}

TEST_CASE("A layer's time is operations at the device's rate and, after them, bytes at the memory's") {
  Model model = small_moe();
  model.experts = model.experts_per_token = model.shared_experts = model.expert_ffn_hidden = model.dense_layers = 0;
  const BlockCosts layer = model_costs(model, round_device(), round_training()).dense_layer;
  // 16 tokens. Matrices: 8x(8+4+4), 8x8, 8x32, 16x8 = 576, so 16 * 2 * 576 = 18432 flops; attention 4 * 16 * 16 * 8 =
  // 8192.
  CHECK(layer.flops == Flops{18432 + 8192, 18432 + 8192 * 5 / 2, 18432});
  // Bytes, forward: norms 2 * 16*8*2*2, attention 16*(8+4+4+8)*2, residuals 2 * 3 * 16*8*2, gate 3 * 16*16*2 = 4864.
  CHECK(layer.forward == 18ns + 8ns + 5ns);
  CHECK(layer.weight_grad == 18ns);
  // Backward: norms 2 * 3 * 256, attention 2 * 768, residuals 2 * 3 * 256, gate 5 * 512 = 7168.
  CHECK(layer.input_grad == 18ns + 20ns + 7ns);
}

TEST_CASE("Efficiency lengthens all but communication, and fp8 shortens the matrices with weights") {
  const Model& model = find_model("llama-3-8b");
  Training training = round_training();
  training.tensor_parallel = 2;
  const auto computes = [&](const Training& how) {
    const BlockCosts layer = model_costs(model, round_device(), how).dense_layer;
    return (layer.forward - layer.forward_collective).count();
  };
  const auto weight_grad = [&](const Training& how) {
    return model_costs(model, round_device(), how).dense_layer.weight_grad.count();
  };
  const std::int64_t whole = computes(training);
  training.efficiency_ppm = 500'000;
  CHECK(std::abs(computes(training) - 2 * whole) <= 4);
  training.efficiency_ppm = 1'000'000;
  const std::int64_t whole_weight_grad = weight_grad(training);
  training.data_type = DataType::fp8;
  const Flops flops = model_costs(model, round_device(), training).dense_layer.flops;
  CHECK(std::abs(whole_weight_grad - weight_grad(training) - flops.weight_grad / 2000) <= 4);
  CHECK(flops == model_costs(model, round_device(), {.tensor_parallel = 2}).dense_layer.flops);
}

TEST_CASE("Tensor parallelism costs two all-reduces in each direction, and the backward hides what W covers") {
  Training training = round_training();
  training.tensor_parallel = 4;
  const Model& model = find_model("gpt2-xl");
  Model other = model;
  other.heads = other.kv_heads = 20;
  other.head_dim = 80;
  const std::int64_t bytes = 2 * 1024 * 1600;
  for (const bool sequence_parallel : {true, false}) {
    training.sequence_parallel = sequence_parallel;
    const ModelCosts costs = model_costs(other, round_device(), training);
    CHECK(costs.dense_layer.forward_collective == Duration{4 * bytes * 3 / 4});
    // The input gradient's own collective runs beside W: one of the two halves, or the whole all-reduce.
    CHECK(costs.dense_layer.input_grad_collective == Duration{sequence_parallel ? 2 * bytes * 3 / 4 : 0});
    CHECK(costs.boundary == Bytes{sequence_parallel ? bytes / 4 : bytes});
    Training one_by_one = training;
    one_by_one.async_tensor_collective = false;
    CHECK(model_costs(other, round_device(), one_by_one).dense_layer.input_grad_collective ==
          Duration{4 * bytes * 3 / 4});
  }
}

TEST_CASE("The limit of an operation determines its time") {
  // A round device: 1 TFLOPS, 1 TB/s; all of both is reached, but half by fused attention.
  DeviceSheet device = round_device();
  device.reached = {.products = whole_share,
                    .attention = 500'000,
                    .memory = whole_share,
                    .launch = 0ns,
                    .grad_launch = 0ns,
                    .pass = 7us};
  Training training = round_training();
  const Model& model = find_model("llama-3-8b");
  const BlockCosts plain = model_costs(model, device, training).dense_layer;
  training.efficiency_ppm.reset();
  const ModelCosts costs = model_costs(model, device, training);
  CHECK(costs.pass == 7us);
  // Half of the scores at half of the rate take as long as all of them. Operands of the weight gradients: 8192 tokens
  // times in + out, and the weight, of 2 bytes, for q k v, output, gate with up, down.
  CHECK(std::abs((costs.dense_layer.weight_grad - plain.weight_grad).count() -
                 2 *
                     (8192 * (4096 + 6144 + 4096 + 4096 + 4096 + 28672 + 14336 + 4096) +
                      4096 * (6144 + 4096 + 28672 + 14336)) /
                     1000) <= 4);
  CHECK(std::abs(
            (costs.dense_layer.forward - plain.forward - costs.dense_layer.weight_grad + plain.weight_grad).count()) <=
        8);
  // A host that needs a second for each launch decides all: norm, q k v, attention, output, sum; norm, gate with up,
  // activation, down, sum.
  device.reached.launch = 1s;
  CHECK(model_costs(model, device, training).dense_layer.forward == 10s);
}

TEST_CASE("Experts may be split over tensor-parallel ranks, and their exchange stays within a node if they fit") {
  Model model = small_moe();
  Training training{.tensor_parallel = 2, .expert_parallel = 4, .data_parallel = 2};
  CHECK(training.expert_tensor_ranks() == 1); // 4 do not divide 2: over both kinds of ranks
  const BlockCosts spread = model_costs(model, round_device(), training).moe_layer;
  training.expert_parallel = 2;
  CHECK(training.expert_tensor_ranks() == 2); // same as tensor parallelism
  const BlockCosts split = model_costs(model, round_device(), training).moe_layer;
  CHECK(spread.parameters == split.parameters);                // one whole expert, or two halves
  CHECK(spread.forward_collective < split.forward_collective); // nothing to gather and scatter
  training = {.expert_parallel = 4, .data_parallel = 4};
  const Duration near = model_costs(model, round_device(), training).moe_layer.forward_collective;
  training.gpus_per_node = 2;
  const Duration far = model_costs(model, round_device(), training).moe_layer.forward_collective;
  // 16 tokens of 2 choices of 8 elements of 2 bytes: 3/4 over nvlink4, or half of them over ib-ndr; twice.
  CHECK(near == 2 * exchange_time(find_link("nvlink4"), 4, Bytes{512}));
  // A token's two experts are on one node in 2 of 12 cases, elsewhere it is sent twice: 10/12 of the bytes.
  CHECK(far == 2 * exchange_time(find_link("ib-ndr"), 2, Bytes{426}));
  training.token_dispatcher = TokenDispatcher::alltoall;
  CHECK(model_costs(model, round_device(), training).moe_layer.forward_collective ==
        2 * exchange_time(find_link("ib-ndr"), 2, Bytes{512}));
  training.token_dispatcher = TokenDispatcher::flex;
  training.dispatch_data_type = DataType::fp8; // there, not back
  CHECK(model_costs(model, round_device(), training).moe_layer.forward_collective ==
        exchange_time(find_link("ib-ndr"), 2, Bytes{213}) + exchange_time(find_link("ib-ndr"), 2, Bytes{426}));
  model.expert_groups = 2;
  model.expert_groups_per_token = 1; // of one node
  training.dispatch_data_type = {};
  CHECK(model_costs(model, round_device(), training).moe_layer.forward_collective ==
        2 * exchange_time(find_link("ib-ndr"), 2, Bytes{256}));
}

TEST_CASE("An exchange moves all but a rank's own share, with a latency for each doubling") {
  const LinkSheet link{.name = "x", .latency = 10us, .bandwidth = Bandwidth{1'000'000'000}};
  CHECK(exchange_time(link, 1, Bytes{1000}) == 0ns);
  CHECK(exchange_time(link, 2, Bytes{1000}) == 10us + 500ns);
  CHECK(exchange_time(link, 8, Bytes{1000}) == 30us + 875ns);
  CHECK(exchange_time(link, 9, Bytes{900}) == 40us + 800ns);
  CHECK(collective_time(link, Collective::all_reduce, 8, Bytes{1000}) == 60us + 1750ns);
}

TEST_CASE("Experts are routed evenly, sent to their ranks and back, and held by their ranks only") {
  const Model model = small_moe();
  Training training = round_training();
  const ModelCosts whole = model_costs(model, round_device(), training);
  // Attention 8x16 + 8x8 and norms 2*8; router 8x4; shared expert 3 * 8x4; and four experts of 3 * 8x4.
  CHECK(whole.moe_layer.parameters == 128 + 64 + 16 + 32 + 96 + 4 * 96);
  CHECK(whole.moe_layer.flops.weight_grad == 2 * 16 * (128 + 64 + 32 + 96 + 2 * 96));
  CHECK(whole.moe_layer.forward_collective == 0ns);
  CHECK(kind_of_layer(model, 0) == LayerKind::dense);
  CHECK(kind_of_layer(model, 1) == LayerKind::moe);

  training.expert_parallel = 4;
  training.data_parallel = 8;
  const ModelCosts split = model_costs(model, round_device(), training);
  CHECK(split.moe_layer.parameters == 128 + 64 + 16 + 32 + 96 + 96);
  CHECK(split.moe_layer.flops == whole.moe_layer.flops);
  // There and back: 16 tokens to 2 experts each, 8 wide in 2 bytes, three quarters of them to other ranks.
  CHECK(split.moe_layer.forward_collective == Duration{2 * 16 * 2 * 8 * 2 * 3 / 4});
  // Gradients in 4 bytes: 336 parameters over 8 ranks, 96 of an expert over the 2 that hold it.
  CHECK(split.moe_layer.reduce == Duration{336 * 4 * 7 / 8 + 96 * 4 / 2});
  CHECK(split.moe_layer.optimizer_bytes == Bytes{336 / 8 * 12 + 96 / 2 * 12});
}

TEST_CASE("Latent attention has narrow matrices that every rank holds, and gathers their outputs") {
  Model model = small_moe();
  model.experts = model.experts_per_token = model.shared_experts = model.expert_ffn_hidden = model.dense_layers = 0;
  model.q_lora_rank = 6;
  model.kv_lora_rank = 5;
  model.qk_nope_head_dim = 3;
  model.qk_rope_head_dim = 1;
  model.v_head_dim = 2;
  Training training = round_training();
  training.tensor_parallel = 2;
  const BlockCosts layer = model_costs(model, round_device(), training).dense_layer;
  // Down 8x(6+5+1); up, for 2 of 4 heads, 6x8 and 5x10; out 4x8; a half of the FFN 8x16 and 8x8; norms 2*8 + 6 + 5.
  CHECK(layer.parameters == 96 + 48 + 50 + 32 + 128 + 64 + 27);
  // All for 16 tokens but the down matrix, for 8; scores of 2 heads over 4 and values over 2 elements.
  CHECK(layer.flops.weight_grad == 2 * (8 * 96 + 16 * (48 + 50 + 32 + 128 + 64)));
  CHECK(layer.flops.forward == layer.flops.weight_grad + 2 * 16 * 16 * 2 * (4 + 2));
  // Gathered before attention 12 elements of 2 bytes a token, else 8; half of it comes from the other rank.
  CHECK(layer.forward_collective == Duration{16 * (12 + 8 + 8 + 8) * 2 / 2});
  // Kept for 8 tokens: inputs of norms and down matrix 2*8 + 6 + 5, of up matrices 6 + 5, of the FFN 2*8. For 16:
  // queries and keys 8 each, values 4, row sums 2*2, attention's output 4, the FFN's 16 + 8.
  CHECK(layer.activation == Bytes{2 * (8 * (16 + 11 + 11 + 16) + 16 * (8 + 8 + 4 + 4 + 4 + 16 + 8))});

  model.q_lora_rank = 0; // queries directly from the hidden state
  const BlockCosts direct = model_costs(model, round_device(), training).dense_layer;
  CHECK(direct.parameters == 8 * 6 + 8 * 8 + 50 + 32 + 128 + 64 + 21);
  CHECK(direct.forward_collective == Duration{16 * (6 + 8 + 8 + 8 + 8) * 2 / 2});
}

TEST_CASE("Embedding and output layer are reduced and gathered over tensor-parallel ranks at their outer ends") {
  Model model = small_moe();
  model.layers = 1;
  Training training = round_training();
  training.tensor_parallel = 2;
  const Duration exchange{16 * 8 * 2 / 2};
  const ModelCosts split = model_costs(model, round_device(), training);
  CHECK(split.embedding.forward_collective == exchange);
  CHECK(split.embedding.forward == exchange + 1ns); // 2 * 16*8*2 bytes
  CHECK(split.embedding.input_grad == 0ns);
  CHECK(split.embedding.weight_grad == exchange + 1ns); // 16*8 gradients read, as many rows of 4 bytes read and written
  CHECK(split.output.forward_collective == exchange);
  CHECK(split.output.input_grad_collective == exchange);
  model.experts = model.experts_per_token = model.shared_experts = model.expert_ffn_hidden = model.dense_layers = 0;
  training.sequence_parallel = false;
  const ModelCosts whole = model_costs(model, round_device(), training);
  CHECK(whole.embedding.forward_collective == 2 * exchange);
  CHECK(whole.embedding.weight_grad == 1ns);
  CHECK(whole.output.forward_collective == 0ns);
  CHECK(whole.output.input_grad_collective == 2 * exchange);
}

TEST_CASE("Mixed precision with Adam takes 18 bytes per parameter, and a distributed optimizer shards 12 of them") {
  const Model& model = find_model("llama-3-8b");
  const auto bytes = [&](const Training& training) {
    const BlockCosts layer = model_costs(model, find_device("h100"), training).dense_layer;
    return std::vector{layer.parameter_bytes.count() / layer.parameters,
                       layer.gradient_bytes.count() / layer.parameters,
                       layer.optimizer_bytes.count() * 8 / layer.parameters};
  };
  using PerParameter = std::vector<std::int64_t>; // of the last, eighths
  CHECK(bytes({}) == PerParameter{2, 4, 96});
  CHECK(bytes({.data_parallel = 8}) == PerParameter{2, 4, 12});
  CHECK(bytes({.context_parallel = 4, .data_parallel = 2}) == PerParameter{2, 4, 12});
  CHECK(bytes({.data_parallel = 8, .distributed_optimizer = false}) == PerParameter{2, 4, 96});
  CHECK(bytes({.data_type = DataType::fp32}) == PerParameter{4, 4, 64});
  CHECK(bytes({.gradient_bytes = 2, .optimizer_bytes = 8}) == PerParameter{2, 2, 64});
}

TEST_CASE("Gradients are reduced over data- and context-parallel ranks, and parameters gathered after the step") {
  Training training = round_training();
  const Model& model = find_model("llama-3-8b");
  const auto layer = [&] { return model_costs(model, round_device(), training).dense_layer; };
  const std::int64_t n = layer().parameters;
  CHECK(layer().reduce == 0ns);
  // Zeroed 4, norm 4, clipped 8, read 4; state 24, parameters 2.
  CHECK(layer().optimizer == Duration{(n * (4 + 16 + 24 + 2) + 500) / 1000});
  CHECK(layer().gather == 0ns);
  training.data_parallel = 2;
  training.context_parallel = 2;
  CHECK(layer().reduce == Duration{n * 4 * 3 / 4});
  CHECK(layer().optimizer == Duration{(n * 4 + n / 4 * (16 + 24 + 2) + 500) / 1000});
  CHECK(layer().gather == Duration{n * 2 * 3 / 4});
  training.distributed_optimizer = false;
  CHECK(layer().reduce == Duration{2 * n * 4 * 3 / 4});
  CHECK(layer().optimizer == Duration{(n * (4 + 16 + 24 + 2) + 500) / 1000});
}

TEST_CASE("Context parallelism divides what a layer computes, keeps and sends") {
  const Model& model = find_model("llama-3-8b");
  const ModelCosts one = model_costs(model, find_device("h100"), {});
  const ModelCosts four = model_costs(model, find_device("h100"), {.context_parallel = 4});
  CHECK(four.boundary.count() * 4 == one.boundary.count());
  CHECK(four.dense_layer.activation.count() * 4 == one.dense_layer.activation.count());
  CHECK(four.dense_layer.flops.input_grad * 4 == one.dense_layer.flops.input_grad);
  CHECK(four.dense_layer.parameters == one.dense_layer.parameters);
}

TEST_CASE("A tied embedding is held at both ends, which share its gradient") {
  const ModelCosts costs =
      model_costs(find_model("gpt2-xl"), find_device("a100"), {.sequence_length = 1000, .tensor_parallel = 5});
  const std::int64_t rows = 10052; // a fifth of 50257, rounded up
  CHECK(costs.tied_parameters == rows * 1600);
  CHECK(costs.tied_embedding == Bytes{4 * rows * 1600});
  CHECK(costs.embedding.parameters == (rows + 1024) * 1600);
  CHECK(costs.output.parameters == rows * 1600 + 2 * 1600);
  CHECK(model_costs(find_model("llama-3-8b"), find_device("a100"), {}).tied_embedding == Bytes{0});
}

TEST_CASE("Multi-token prediction is a layer, a linear layer before it, and the output layer once more") {
  Model model = small_moe();
  model.mtp_layers = 1;
  const ModelCosts costs = model_costs(model, round_device(), round_training());
  CHECK(costs.mtp_layer.flops.weight_grad ==
        costs.moe_layer.flops.weight_grad + costs.output.flops.weight_grad + 2 * 16 * 16 * 8);
  CHECK(costs.mtp_layer.parameters == costs.moe_layer.parameters + 16 * 8 + 3 * 8);
  CHECK(costs.mtp_layer.full.time == costs.moe_layer.forward);
}

TEST_CASE("At its defaults the Zero Bubble paper's profiled stages come out within 5 % as a whole") {
  // Table 9 (arXiv): stages of 3 layers at b = 6, and of 4 layers at b = 3, on A100; single passes within a sixth.
  const auto ratios = [](std::string_view name, std::int64_t layers, std::int64_t samples,
                         const std::vector<double>& profiled) {
    const BlockCosts layer = layer_of(name, microbatches_of(samples));
    std::vector<double> found;
    double sum = 0;
    double profiled_sum = 0;
    for (std::size_t pass = 0; pass < 3; ++pass) {
      const Duration time = pass == 0 ? layer.forward : pass == 1 ? layer.input_grad : layer.weight_grad;
      const double milliseconds = static_cast<double>(layers * time.count()) / 1e6;
      found.push_back(milliseconds / profiled[pass]);
      sum += milliseconds;
      profiled_sum += profiled[pass];
    }
    found.push_back(sum / profiled_sum);
    return found;
  };
  for (const std::vector<double>& found : {ratios("zero-bubble-1.5b", 3, 6, {18.522, 18.086, 9.337}),
                                           ratios("zero-bubble-6.2b", 4, 3, {29.718, 29.444, 19.927})}) {
    for (const double ratio : found) CHECK(ratio == Approx(1).margin(1.0 / 6));
    CHECK(found.back() == Approx(1).margin(0.05));
  }
}

TEST_CASE("A layer of Llama 3 405B on H100 reaches 60 % model FLOPs utilisation at efficiency 0.7, 52 % at 0.6") {
  const auto utilisation = [](std::int64_t efficiency_ppm) {
    const Training training{.tensor_parallel = 8, .efficiency_ppm = efficiency_ppm};
    const BlockCosts layer = model_costs(find_model("llama-3-405b"), find_device("h100"), training).dense_layer;
    const Duration time = layer.forward + layer.input_grad + layer.weight_grad;
    return static_cast<double>(3 * layer.flops.forward) / (static_cast<double>(time.count()) * 989e3);
  };
  CHECK(utilisation(700'000) == Approx(0.5999).margin(0.0005));
  CHECK(utilisation(600'000) == Approx(0.5224).margin(0.0005));
}

} // namespace ppsim::test::model_test
