// Converts a block's operations to costs of one rank of a device.

#include <algorithm>

#include "block.hpp"
#include "check.hpp"

namespace ppsim {
namespace {

using model::Block;
using model::in_range;
using model::Sizes;
using model::Weights;
using model::Work;

constexpr Int128 nanoseconds_per_second = 1'000'000'000;
constexpr Int128 million = 1'000'000;

std::int64_t flops_of(const Work& work) {
  return in_range(work.flops + work.flops_16_bit + work.flops_attention + work.flops_scores);
}

/// Converts work to time and weights to bytes.
class Pricing {
public:
  Pricing(const DeviceSheet& device, const Training& training)
      : device_{device}, training_{training}, data_{replicas(training.data_ranks())},
        expert_data_{replicas(training.expert_data_ranks())} {}

  /// Matrix products at their rate plus the time for their operands, then all other operations at memory bandwidth; at
  /// least the host's launch time (`launch` per operation). Fused attention computes half of a causal mask's scores. If
  /// a single share of the datasheet is given, it replaces all this: all scores, no operands, no launches.
  [[nodiscard]] Duration computing(const Work& work, Duration launch) const {
    const DataType type = training_.data_type;
    const std::int64_t rate = device_.flops_per_second(type);
    const std::int64_t rate_16_bit = device_.flops_per_second(type == DataType::fp8 ? DataType::bf16 : type);
    const std::int64_t memory = device_.memory_bandwidth.bytes_per_second();
    if (training_.efficiency_ppm) {
      const Share all = *training_.efficiency_ppm;
      return at_rate(work.flops, rate, all) +
             at_rate(work.flops_16_bit + work.flops_attention + work.flops_scores, rate_16_bit, all) +
             at_rate(work.moved, memory, all);
    }
    const Reached& reached = device_.reached;
    const Duration busy = at_rate(work.flops, rate, type == DataType::fp8 ? reached.fp8_products : reached.products) +
                          at_rate(work.flops_16_bit, rate_16_bit, reached.products) + scores(work) +
                          at_rate(work.operands + work.moved, memory, reached.memory);
    return std::max(busy, work.launches * launch);
  }
  /// The products of attention, fused or not.
  [[nodiscard]] Duration scores(const Work& work) const {
    const DataType type = training_.data_type;
    const std::int64_t rate = device_.flops_per_second(type == DataType::fp8 ? DataType::bf16 : type);
    if (training_.efficiency_ppm)
      return at_rate(work.flops_scores + work.flops_attention, rate, *training_.efficiency_ppm);
    return at_rate(work.flops_scores, rate, device_.reached.scores) +
           at_rate(work.flops_attention / 2, rate, device_.reached.attention);
  }
  /// Corrected by a measured step.
  [[nodiscard]] Duration corrected(Duration time) const {
    return in_range(Duration{scale_rounded(in_range(time).count(), training_.compute_ppm, whole_share)});
  }
  /// Communication that is not hidden; of the ring, the part beyond its attention. Nothing is left to receive during
  /// the attention to the last share of the sequence.
  [[nodiscard]] Duration collective(const Work& work) const {
    const std::int64_t shares = training_.context_parallel;
    const Duration attention{scale_rounded(corrected(scores(work)).count(), shares - 1, shares)};
    return work.collective + std::max(work.beside_attention - attention, Duration{0});
  }
  [[nodiscard]] Duration time(const Work& work, Duration launch) const {
    return collective(work) + corrected(computing(work, launch));
  }
  [[nodiscard]] Duration forward(const Work& work) const { return time(work, device_.reached.launch); }
  [[nodiscard]] Duration backward(const Work& work) const { return time(work, device_.reached.grad_launch); }

  /// Modules whose outputs are dropped and recomputed.
  [[nodiscard]] RecomputeCosts selective(const Block& block) const {
    static const std::vector<RecomputeModule> scores{RecomputeModule::core_attn};
    model::Dropped all;
    for (const RecomputeModule module : training_.recompute_modules ? *training_.recompute_modules : scores) {
      const model::Dropped& one = block.dropped[static_cast<std::size_t>(module)];
      all.kept += one.kept;
      all.again += one.again;
    }
    return {.time = forward(all.again),
            .checkpoint = Bytes{in_range(block.kept - all.kept)},
            .flops = flops_of(all.again),
            .restored = Bytes{in_range(all.kept)}};
  }

  /// Parameters with gradients and optimizer state, and the work after a step's tasks.
  void add_weights(const Weights& weights, BlockCosts& costs) const {
    add_group(weights.dense, data_, costs);
    add_group(weights.expert, expert_data_, costs);
  }

  /// Sharded gradients are reduced in each backward, after the layer's weight gradients; sharded parameters are
  /// gathered for each pass while the layer before computes. The part longer than a layer is waited for.
  void shard(BlockCosts& costs) const {
    const auto wait_for = [](Duration& pass, Duration transfer) {
      const Duration exposed = std::max(transfer - pass, Duration{0});
      pass += exposed;
      return exposed;
    };
    if (training_.shards_gradients()) {
      wait_for(costs.weight_grad, costs.reduce);
      costs.reduce = Duration{0};
    }
    if (!training_.shards_parameters()) return;
    costs.unshard = costs.gather;
    costs.gather = Duration{0};
    costs.forward_collective += wait_for(costs.forward, costs.unshard);
    costs.input_grad_collective += wait_for(costs.input_grad, costs.unshard);
  }

  [[nodiscard]] std::int64_t parameter_bytes() const { return is_wide() ? 4 : 2; }

private:
  /// Ranks with the same parameters, and their link.
  struct Replicas {
    std::int64_t count;
    LinkSheet link;
  };
  [[nodiscard]] Replicas replicas(Training::Ranks ranks) const {
    const LinkSheet link =
        training_.data_link ? *training_.data_link : training_.link_between(ranks, find_link(device_.link));
    return {ranks.count, link.scaled(training_.link_ppm)};
  }

  [[nodiscard]] bool is_wide() const {
    return training_.data_type == DataType::tf32 || training_.data_type == DataType::fp32;
  }

  /// `amount` at `share` of `per_second`, rounded to the nearest nanosecond.
  [[nodiscard]] static Duration at_rate(Int128 amount, std::int64_t per_second, Share share) {
    const Int128 rate = Int128{per_second} * share;
    const Int128 time = (2 * Int128{in_range(amount)} * nanoseconds_per_second * million + rate) / (2 * rate);
    return in_range(Duration{static_cast<std::int64_t>(std::min(time, Int128{max_duration.count()} + 1))});
  }

  void add_group(Int128 parameters, const Replicas& replicas, BlockCosts& costs) const {
    const std::int64_t ranks = replicas.count;
    const std::int64_t optimizer_bytes = training_.optimizer_bytes.value_or(is_wide() ? 8 : 12);
    const std::int64_t owners = training_.distributed_optimizer ? ranks : 1;
    const Int128 owned = (parameters + owners - 1) / owners;
    const Bytes gradients{in_range(parameters * training_.gradient_bytes)};
    const Bytes weights{in_range(parameters * parameter_bytes())};
    const Int128 held_gradients = training_.shards_gradients() ? owned : parameters;
    costs.parameters += in_range(parameters);
    costs.parameter_bytes += training_.shards_parameters() ? Bytes{in_range(owned * parameter_bytes())} : weights;
    costs.gradient_bytes += Bytes{in_range(held_gradients * training_.gradient_bytes)};
    if (ranks > 1 && training_.shards_parameters()) costs.unsharded += weights;
    if (ranks > 1 && training_.shards_gradients()) costs.unsharded += gradients;
    costs.optimizer_bytes += Bytes{in_range(owned * optimizer_bytes)};
    const Collective reduced = training_.distributed_optimizer ? Collective::reduce_scatter : Collective::all_reduce;
    costs.reduce += in_range(collective_time(replicas.link, reduced, ranks, gradients));
    // Gradients are zeroed, read for their norm, read and written for clipping, and read; the state is read and
    // written; the parameters are written.
    costs.optimizer += corrected(at_rate(
        held_gradients * training_.gradient_bytes +
            owned * (4 * training_.gradient_bytes + 2 * optimizer_bytes + parameter_bytes()),
        device_.memory_bandwidth.bytes_per_second(), training_.efficiency_ppm.value_or(device_.reached.memory)));
    costs.gather += in_range(collective_time(replicas.link, Collective::all_gather, owners, weights));
  }

  const DeviceSheet& device_;
  const Training& training_;
  Replicas data_;
  Replicas expert_data_;
};

BlockCosts priced(const Block& block, const Pricing& pricing) {
  BlockCosts costs;
  costs.forward = pricing.forward(block.forward);
  costs.weight_grad = pricing.backward(block.weight_grad);
  const Duration hidden = std::min(block.input_grad.behind_weight_grad, costs.weight_grad);
  costs.input_grad = pricing.backward(block.input_grad) - hidden;
  costs.forward_collective = pricing.collective(block.forward);
  costs.input_grad_collective = pricing.collective(block.input_grad) - hidden;
  costs.flops = {.forward = flops_of(block.forward),
                 .input_grad = flops_of(block.input_grad),
                 .weight_grad = flops_of(block.weight_grad)};
  costs.activation = Bytes{in_range(block.kept)};
  costs.activation_for_weight = Bytes{in_range(std::min(block.for_weight, block.kept))};
  costs.selective = pricing.selective(block);
  costs.full = {.time = Duration{0}, .checkpoint = costs.activation};
  pricing.add_weights(block.weights, costs);
  pricing.shard(costs);
  return costs;
}

/// A layer that keeps only its input and repeats its whole forward.
RecomputeCosts full_recompute(const BlockCosts& layer, const BlockCosts& block, Bytes boundary) {
  return {.time = layer.forward,
          .checkpoint = block.activation - layer.activation + boundary,
          .flops = layer.flops.forward,
          .restored = layer.activation - boundary};
}

} // namespace

namespace model {

std::int64_t in_range(Int128 value) {
  constexpr Int128 most = 4'000'000'000'000'000'000; // sums of two stay within 64 bits
  if (value > most)
    throw Error{ExitCode::bad_input,
                Problem{"`microbatch-size`", "a layer has more operations or bytes than 4e18 for a microbatch",
                        "give a smaller `microbatch-size`, `sequence-length` or model"}};
  return static_cast<std::int64_t>(value);
}

Duration in_range(Duration time) {
  if (time > max_duration)
    throw Error{ExitCode::bad_input, Problem{"`microbatch-size`", "a layer takes longer than a day for a microbatch",
                                             "give a smaller `microbatch-size`, `sequence-length` or model, or a "
                                             "faster device or link"}};
  return time;
}

} // namespace model

RecomputeCosts& RecomputeCosts::operator+=(const RecomputeCosts& other) {
  time += other.time;
  checkpoint += other.checkpoint;
  flops += other.flops;
  restored = std::max(restored, other.restored);
  return *this;
}

BlockCosts& BlockCosts::operator+=(const BlockCosts& other) {
  forward += other.forward;
  input_grad += other.input_grad;
  weight_grad += other.weight_grad;
  forward_collective += other.forward_collective;
  input_grad_collective += other.input_grad_collective;
  flops.forward += other.flops.forward;
  flops.input_grad += other.flops.input_grad;
  flops.weight_grad += other.flops.weight_grad;
  activation += other.activation;
  activation_for_weight += other.activation_for_weight;
  selective += other.selective;
  full += other.full;
  parameters += other.parameters;
  parameter_bytes += other.parameter_bytes;
  gradient_bytes += other.gradient_bytes;
  optimizer_bytes += other.optimizer_bytes;
  reduce += other.reduce;
  optimizer += other.optimizer;
  unshard = std::max(unshard, other.unshard);
  unsharded = std::max(unsharded, other.unsharded);
  gather += other.gather;
  return *this;
}

std::int64_t Training::near_expert_ranks() const {
  return on_each_node({expert_parallel, expert_tensor_ranks()});
}

Training::Ranks Training::expert_data_ranks() const {
  const std::int64_t stride = expert_parallel * expert_tensor_ranks();
  return {data_parallel * context_parallel * tensor_parallel / stride, stride};
}

std::int64_t Training::on_each_node(Ranks ranks) const {
  std::int64_t near = std::clamp<std::int64_t>(node_ranks() / ranks.stride, 1, ranks.count);
  while (ranks.count % near != 0) --near;
  return near;
}

LinkSheet Training::link_between(Ranks ranks, const LinkSheet& in_node) const {
  if (fit_in_node(ranks)) return in_node;
  const std::int64_t network = standard_link().reached_bandwidth().bytes_per_second() * on_each_node(ranks);
  return {.latency = standard_link().latency,
          .bandwidth = Bandwidth{std::min(network, in_node.reached_bandwidth().bytes_per_second())}};
}

std::int64_t Training::expert_tensor_ranks() const {
  if (expert_tensor_parallel) return *expert_tensor_parallel;
  return data_parallel * context_parallel % expert_parallel == 0 ? tensor_parallel : 1;
}

LayerKind kind_of_layer(const Model& model, std::int64_t layer) {
  return model.experts > 0 && layer >= model.dense_layers ? LayerKind::moe : LayerKind::dense;
}

ParameterCount count_parameters(const Model& model) {
  const Sizes sizes{model, Training{}, LinkSheet{}};
  const Block dense = model::layer_block(sizes, LayerKind::dense);
  const Block moe = model::layer_block(sizes, LayerKind::moe);
  const Block output = model::output_block(sizes);
  const Int128 moe_layers = model.experts > 0 ? model.layers - model.dense_layers : 0;
  const Int128 shared = (model.layers - moe_layers) * dense.weights.dense + moe_layers * moe.weights.dense +
                        model::embedding_block(sizes).weights.dense + output.weights.dense -
                        (model.tied_embedding ? Int128{model.vocab} * model.hidden : 0);
  const Int128 routed = moe_layers * moe.weights.expert;
  const Weights mtp = model::mtp_block(sizes, model.experts > 0 ? moe : dense, output).weights;
  return {.total = in_range(shared + routed),
          .active = in_range(shared + (model.experts > 0 ? routed / model.experts * model.experts_per_token : 0)),
          .mtp = in_range(model.mtp_layers * (mtp.dense + mtp.expert))};
}

ModelCosts model_costs(const Model& model, const DeviceSheet& device, const Training& training) {
  model::check(model, device, training);
  const Sizes sizes{model, training, find_link(device.link)};
  const Pricing pricing{device, training};

  ModelCosts costs;
  if (!training.efficiency_ppm) costs.pass = pricing.corrected(device.reached.pass);
  costs.boundary = Bytes{in_range(sizes.outside_tokens * model.hidden * sizes.element)};
  costs.embedding = priced(model::embedding_block(sizes), pricing);
  const Block output = model::output_block(sizes);
  costs.output = priced(output, pricing);

  const auto layer_costs = [&](LayerKind kind) {
    BlockCosts layer = priced(model::layer_block(sizes, kind), pricing);
    layer.full = full_recompute(layer, layer, costs.boundary);
    return layer;
  };
  if (model.experts == 0 || model.dense_layers > 0) costs.dense_layer = layer_costs(LayerKind::dense);
  if (model.experts > 0) costs.moe_layer = layer_costs(LayerKind::moe);
  if (model.mtp_layers > 0) {
    const LayerKind kind = model.experts > 0 ? LayerKind::moe : LayerKind::dense;
    const BlockCosts& layer = kind == LayerKind::moe ? costs.moe_layer : costs.dense_layer;
    costs.mtp_layer = priced(model::mtp_block(sizes, model::layer_block(sizes, kind), output), pricing);
    costs.mtp_layer.full = full_recompute(layer, costs.mtp_layer, costs.boundary);
  }
  if (model.tied_embedding) {
    costs.tied_parameters = in_range(sizes.vocab_share() * model.hidden);
    costs.tied_embedding = Bytes{in_range(Int128{costs.tied_parameters} * training.gradient_bytes)};
  }
  return costs;
}

} // namespace ppsim
