#include "block.hpp"

#include <algorithm>
#include <utility>

#include "collectives.hpp"

// Bytes moved are counted per element and pass, with elementwise neighbours fused, as in training frameworks: a norm,
// an activation function, a mask with softmax, a dropout with the residual sum. See docs/costs.md.

namespace ppsim::model {
namespace {

constexpr Int128 mask_bytes = 1; ///< an element of a dropout mask
constexpr Int128 fp32_bytes = 4;

} // namespace

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  flops_16_bit += other.flops_16_bit;
  flops_attention += other.flops_attention;
  flops_scores += other.flops_scores;
  operands += other.operands;
  moved += other.moved;
  launches += other.launches;
  collective += other.collective;
  beside_attention += other.beside_attention;
  behind_weight_grad += other.behind_weight_grad;
  return *this;
}

void Block::add_linear(const Linear& linear) {
  const Int128 flops = 2 * linear.tokens * linear.in * linear.out;
  const std::int64_t products = std::max<std::int64_t>(linear.experts, 1); // the host starts one per expert
  const Int128 matrix = products * linear.in * linear.out;
  const Int128 operand = linear.in_16_bit ? element : product_element;
  const auto product = [&](Int128 read, Int128 written) {
    Work work{.operands = read * operand + written * element, .launches = products};
    (linear.in_16_bit ? work.flops_16_bit : work.flops) = flops;
    return work;
  };
  const Int128 inputs = linear.tokens * linear.in;
  const Int128 outputs = linear.tokens * linear.out;
  Work forward_product = product(inputs + matrix, outputs);
  Work input_product = product(outputs + matrix, inputs);
  if (operand < element) { // inputs, and gradients of outputs, are read and written in two layouts
    forward_product += {.moved = inputs * (element + 2 * operand), .launches = products};
    input_product += {.moved = outputs * (element + 2 * operand), .launches = products};
  }
  forward += forward_product;
  input_grad += input_product;
  weight_grad += product(inputs + outputs, matrix);
  if (linear.bias) launch(0, 0, 1);
  const Int128 input = linear.input_tokens * linear.in * (linear.in_16_bit ? element : product_element);
  if (!linear.input_is_kept) {
    kept += input;
    for_weight += input;
    if (linear.input_from) dropped_by(*linear.input_from).kept += input;
  }
  if (linear.output_of) dropped_by(*linear.output_of).again += forward_product;
  for_weight += linear.output_tokens * linear.out * element;
  const Int128 parameters = linear.in * linear.out + (linear.bias ? linear.out : 0);
  if (linear.experts == 0)
    weights.dense += parameters;
  else
    weights.expert += linear.experts * parameters;
}

void Block::add_norm(Int128 tokens, Int128 width, Norm norm) {
  keep(tokens * width * element);
  move(2 * tokens * width * element, 3 * tokens * width * element); // x, y; x, dy, dx
  launch(1, 2);
  dropped_by(RecomputeModule::layernorm).again += {.moved = 2 * tokens * width * element, .launches = 1};
  weights.dense += norm == Norm::layernorm ? 2 * width : width;
}

void Block::move(Int128 forward_bytes, Int128 input_grad_bytes) {
  forward.moved += forward_bytes;
  input_grad.moved += input_grad_bytes;
}

void Block::launch(std::int64_t in_forward, std::int64_t in_input_grad, std::int64_t in_weight_grad) {
  forward.launches += in_forward;
  input_grad.launches += in_input_grad;
  weight_grad.launches += in_weight_grad;
}

namespace {

/// That of tensor-parallel ranks, which are neighbours: of all, of those that share an expert, or of one, inside a
/// node.
LinkSheet tensor_link_of(const Training& training, std::int64_t ranks, const LinkSheet& in_node) {
  const Training::Ranks group{ranks, 1};
  const bool is_for_nodes = training.fit_in_node({training.tensor_parallel, 1});
  if (training.tensor_link && training.fit_in_node(group) == is_for_nodes) return *training.tensor_link;
  return training.link_between(group, in_node);
}

/// A ring of neighbours (p2p) and exchanges of all with all cross nodes by one device's network.
LinkSheet context_link_of(const Training& training, const LinkSheet& in_node) {
  if (training.context_link) return *training.context_link;
  const Training::Ranks ranks = training.context_ranks();
  const bool is_gathered = training.context_exchange.value_or(ContextExchange::p2p) == ContextExchange::all_gather;
  return is_gathered || training.fit_in_node(ranks) ? training.link_between(ranks, in_node) : standard_link();
}

} // namespace

Sizes::Sizes(const Model& shape, const Training& training, const LinkSheet& in_node)
    : model{shape}, sequence{training.sequence_length > 0 ? training.sequence_length : shape.sequence_length},
      tokens{training.microbatch_size * sequence / training.context_parallel},
      outside_tokens{training.sequence_parallel ? tokens / training.tensor_parallel : tokens},
      element{training.data_type == DataType::tf32 || training.data_type == DataType::fp32 ? 4 : 2},
      product_element{training.data_type == DataType::fp8 ? 1 : element}, tensor_ranks{training.tensor_parallel},
      expert_ranks{training.expert_parallel}, expert_tensor_ranks{training.expert_tensor_ranks()},
      near_expert_ranks{training.near_expert_ranks()}, gradient_bytes{training.gradient_bytes},
      sequence_parallel{training.sequence_parallel && training.tensor_parallel > 1},
      async_collective{training.async_tensor_collective.value_or(true)},
      once_to_a_node{training.token_dispatcher.value_or(TokenDispatcher::flex) == TokenDispatcher::flex},
      dispatch_element{!training.dispatch_data_type                   ? element
                       : training.dispatch_data_type == DataType::fp8 ? 1
                                                                      : 2},
      flash{training.attention.value_or(shape.attention) == Attention::flash}, context_ranks{training.context_parallel},
      context_exchange{training.context_exchange.value_or(ContextExchange::p2p)},
      network{standard_link().scaled(training.link_ppm)},
      node_link{tensor_link_of(training, 1, in_node).scaled(training.link_ppm)},
      tensor_link{tensor_link_of(training, tensor_ranks, in_node).scaled(training.link_ppm)},
      expert_tensor_link{tensor_link_of(training, expert_tensor_ranks, in_node).scaled(training.link_ppm)},
      context_link{context_link_of(training, in_node).scaled(training.link_ppm)} {
  if (training.expert_link) expert_link = training.expert_link->scaled(training.link_ppm);
}

namespace {

/// The heads of one rank, with the dimensions of queries, keys and values.
struct Heads {
  Int128 count;
  Int128 kv_count;
  Int128 query_dim;
  Int128 value_dim;
};

/// Softmax(q k) v. FlashAttention keeps a number per score row and recomputes the scores in the backward.
void add_core_attention(Block& block, const Sizes& sizes, const Heads& heads) {
  const Int128 scores = heads.count * sizes.tokens * sizes.sequence;
  const Int128 query_key = 2 * scores * heads.query_dim;
  const Int128 score_value = 2 * scores * heads.value_dim;
  const Int128 queries = sizes.tokens * heads.count * heads.query_dim * sizes.element;
  const Int128 keys = sizes.tokens * heads.kv_count * heads.query_dim * sizes.element;
  const Int128 values = sizes.tokens * heads.kv_count * heads.value_dim * sizes.element;
  const Int128 outputs = sizes.tokens * heads.count * heads.value_dim * sizes.element;
  Work core;
  block.keep(queries + keys + values);
  if (sizes.flash) {
    core = {.flops_attention = query_key + score_value, .launches = 1};
    block.input_grad.flops_attention += 2 * (query_key + score_value) + query_key;
    block.input_grad.launches += 2;
    block.keep(heads.count * sizes.tokens * fp32_bytes);
    core.moved = queries + keys + values + outputs;
    block.input_grad.moved += 2 * (queries + keys + values + outputs);
  } else {
    // Scores are written, read and written by the softmax, read and written (with a mask) by the dropout, and read.
    const Int128 element = sizes.element;
    const Int128 dropout = sizes.model.dropout ? 1 : 0;
    core = {.flops_scores = query_key + score_value, .launches = 5 + static_cast<std::int64_t>(dropout)};
    block.input_grad.flops_scores += 2 * (query_key + score_value);
    block.input_grad.launches += 7 + static_cast<std::int64_t>(dropout);
    core.moved = scores * (4 * element + dropout * (2 * element + mask_bytes));
    block.input_grad.moved += scores * (6 * element + dropout * (2 * element + mask_bytes));
    const Int128 kept = scores * (element + dropout * (element + mask_bytes));
    block.keep(kept);
    block.dropped_by(RecomputeModule::core_attn) = {.kept = kept, .again = core};
  }
  block.forward += core;
  add_context_exchange(block, sizes, queries + outputs, keys + values);
}

/// The residual sum, with dropout if the model has it, which keeps the mask.
void add_residual(Block& block, const Sizes& sizes) {
  const Int128 elements = sizes.outside_tokens * sizes.model.hidden;
  const Int128 mask = sizes.model.dropout ? elements * mask_bytes : 0;
  block.keep(mask);
  // Forward: reads x and residual, writes the sum. Backward: sums two gradients, and masks one if there is a mask.
  const Int128 masked = sizes.model.dropout ? 2 * elements * sizes.element + mask : 0;
  block.move(3 * elements * sizes.element + mask, 3 * elements * sizes.element + masked);
  block.launch(1, 1);
}

void add_attention(Block& block, const Sizes& sizes) {
  const Model& model = sizes.model;
  const Heads heads{.count = sizes.split(model.heads),
                    .kv_count = std::max<Int128>(sizes.split(model.kv_heads), 1),
                    .query_dim = model.head_dim,
                    .value_dim = model.head_dim};
  block.add_norm(sizes.outside_tokens, model.hidden, model.norm);
  block.add_linear({.tokens = sizes.tokens,
                    .in = model.hidden,
                    .out = (heads.count + 2 * heads.kv_count) * model.head_dim,
                    .input_tokens = sizes.outside_tokens,
                    .output_tokens = sizes.tokens,
                    .bias = model.bias,
                    .input_from = RecomputeModule::layernorm});
  add_core_attention(block, sizes, heads);
  block.add_linear({.tokens = sizes.tokens,
                    .in = heads.count * model.head_dim,
                    .out = model.hidden,
                    .input_tokens = sizes.tokens,
                    .output_tokens = sizes.outside_tokens,
                    .bias = model.bias});
  add_tensor_collectives(block, sizes, sizes.tokens * model.hidden, sizes.tokens * model.hidden);
  add_residual(block, sizes);
}

/// Multi-head latent attention: queries, keys and values pass through narrow matrices that every rank holds completely.
void add_latent_attention(Block& block, const Sizes& sizes) {
  const Model& model = sizes.model;
  const Heads heads{.count = sizes.split(model.heads),
                    .kv_count = sizes.split(model.heads),
                    .query_dim = model.qk_nope_head_dim + model.qk_rope_head_dim,
                    .value_dim = model.v_head_dim};
  const Int128 outside = sizes.outside_tokens;
  const Int128 down = model.q_lora_rank + model.kv_lora_rank + model.qk_rope_head_dim;
  block.add_norm(outside, model.hidden, model.norm);
  block.add_linear({.tokens = outside,
                    .in = model.hidden,
                    .out = down,
                    .input_tokens = outside,
                    .output_tokens = outside,
                    .input_from = RecomputeModule::layernorm});
  const auto add_up = [&](std::int64_t rank, Int128 width) {
    block.add_norm(outside, rank, model.norm);
    block.add_linear({.tokens = sizes.tokens,
                      .in = rank,
                      .out = width,
                      .input_tokens = outside,
                      .output_tokens = sizes.tokens,
                      .input_from = RecomputeModule::layernorm,
                      .output_of = RecomputeModule::mla_up_proj});
  };
  if (model.q_lora_rank > 0)
    add_up(model.q_lora_rank, heads.count * heads.query_dim);
  else
    block.add_linear({.tokens = sizes.tokens,
                      .in = model.hidden,
                      .out = heads.count * heads.query_dim,
                      .input_tokens = outside,
                      .output_tokens = sizes.tokens,
                      .input_is_kept = true,
                      .output_of = RecomputeModule::mla_up_proj});
  add_up(model.kv_lora_rank, heads.count * (model.qk_nope_head_dim + model.v_head_dim));
  block.dropped_by(RecomputeModule::mla_up_proj).kept =
      sizes.tokens * heads.count * (2 * heads.query_dim + heads.value_dim) * sizes.element;
  add_core_attention(block, sizes, heads);
  block.add_linear({.tokens = sizes.tokens,
                    .in = heads.count * heads.value_dim,
                    .out = model.hidden,
                    .input_tokens = sizes.tokens,
                    .output_tokens = outside});
  const Int128 gathered = model.q_lora_rank > 0 ? down : down + model.hidden;
  add_tensor_collectives(block, sizes, sizes.tokens * gathered, sizes.tokens * model.hidden);
  add_residual(block, sizes);
}

/// An FFN, or several for experts: the rank computes `width` of its hidden elements for each token.
struct Ffn {
  Int128 tokens;
  Int128 outside_tokens; ///< tokens for which input and output gradient are kept
  Int128 width;
  bool input_is_kept = false;
  std::int64_t experts = 0;
};

void add_ffn_matrices(Block& block, const Sizes& sizes, const Ffn& ffn) {
  const Model& model = sizes.model;
  const Int128 inputs = model.gated ? 2 : 1;
  const Int128 inner = ffn.tokens * ffn.width * sizes.element;
  block.add_linear({.tokens = ffn.tokens,
                    .in = model.hidden,
                    .out = inputs * ffn.width,
                    .input_tokens = ffn.outside_tokens,
                    .output_tokens = ffn.tokens,
                    .bias = model.bias,
                    .input_is_kept = ffn.input_is_kept,
                    .input_from = ffn.experts == 0 ? std::optional{RecomputeModule::layernorm} : std::nullopt,
                    .experts = ffn.experts});
  block.keep(inputs * inner); // of the activation function
  const RecomputeModule activation = ffn.experts == 0 ? RecomputeModule::mlp_act : RecomputeModule::moe_act;
  block.dropped_by(activation).again += {.moved = (inputs + 1) * inner, .launches = 1};
  block.move((inputs + 1) * inner, (2 * inputs + 1) * inner);
  block.launch(1, 1);
  block.add_linear({.tokens = ffn.tokens,
                    .in = ffn.width,
                    .out = model.hidden,
                    .input_tokens = ffn.tokens,
                    .output_tokens = ffn.outside_tokens,
                    .bias = model.bias,
                    .input_from = activation,
                    .experts = ffn.experts});
}

void add_dense_ffn(Block& block, const Sizes& sizes) {
  block.add_norm(sizes.outside_tokens, sizes.model.hidden, sizes.model.norm);
  add_ffn_matrices(
      block, sizes,
      {.tokens = sizes.tokens, .outside_tokens = sizes.outside_tokens, .width = sizes.split(sizes.model.ffn_hidden)});
  add_tensor_collectives(block, sizes, sizes.tokens * sizes.model.hidden, sizes.tokens * sizes.model.hidden);
  add_residual(block, sizes);
}

/// Router, experts and shared experts. Tokens are distributed evenly over experts; each is sent to its experts' ranks,
/// gathered over the tensor-parallel ranks, and returned.
void add_moe_ffn(Block& block, const Sizes& sizes) {
  const Model& model = sizes.model;
  const Int128 routed = sizes.tokens * model.experts_per_token * sizes.expert_tensor_ranks / sizes.tensor_ranks;
  const Int128 sent = sizes.outside_tokens * model.experts_per_token * model.hidden;
  block.add_norm(sizes.outside_tokens, model.hidden, model.norm);
  block.add_linear({.tokens = sizes.outside_tokens,
                    .in = model.hidden,
                    .out = model.experts,
                    .input_tokens = sizes.outside_tokens,
                    .output_tokens = sizes.outside_tokens,
                    .input_from = RecomputeModule::layernorm,
                    .in_16_bit = true});
  block.keep(sizes.outside_tokens * model.experts * fp32_bytes);  // the router's probabilities
  block.move(4 * sent * sizes.element, 4 * sent * sizes.element); // sorted by expert, and back
  add_ffn_matrices(block, sizes,
                   {.tokens = routed,
                    .outside_tokens = routed,
                    .width = model.expert_ffn_hidden / sizes.expert_tensor_ranks,
                    .experts = model.experts / sizes.expert_ranks});
  const Duration both_ways =
      expert_exchange(sizes, sent * sizes.dispatch_element) + expert_exchange(sizes, sent * sizes.element);
  block.forward.collective += both_ways;
  block.input_grad.collective += both_ways;
  add_expert_tensor_collectives(block, sizes, routed * model.hidden);
  block.launch(16, 16); // scores, choice, counts, two permutations with their masks, two all-to-alls
  if (model.shared_experts > 0) {
    add_ffn_matrices(block, sizes,
                     {.tokens = sizes.tokens,
                      .outside_tokens = sizes.outside_tokens,
                      .width = sizes.split(model.shared_experts * model.expert_ffn_hidden),
                      .input_is_kept = true});
    add_tensor_collectives(block, sizes, sizes.tokens * model.hidden, sizes.tokens * model.hidden);
  }
  add_residual(block, sizes);
}

} // namespace

Block embedding_block(const Sizes& sizes) {
  const Model& model = sizes.model;
  Block block{.element = sizes.element, .product_element = sizes.product_element};
  block.weights.dense = sizes.vocab_share() * model.hidden + Int128{model.learned_positions} * model.hidden;
  const Int128 elements = sizes.tokens * model.hidden;
  const Int128 ids = sizes.tokens * 8;
  const Int128 mask = model.dropout ? sizes.outside_tokens * model.hidden * mask_bytes : 0;
  block.keep(ids + mask);
  block.for_weight = ids + mask;
  block.forward.moved = 2 * elements * sizes.element + mask;
  block.weight_grad.moved = elements * (sizes.element + 2 * sizes.gradient_bytes) + mask; // adds to rows
  const Collective summed = sizes.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce;
  block.forward.collective = tensor_collective(sizes, summed, elements);
  if (sizes.sequence_parallel)
    block.weight_grad.collective = tensor_collective(sizes, Collective::all_gather, elements);
  return block;
}

Block layer_block(const Sizes& sizes, LayerKind kind) {
  Block block{.element = sizes.element, .product_element = sizes.product_element};
  if (sizes.model.has_latent_attention())
    add_latent_attention(block, sizes);
  else
    add_attention(block, sizes);
  if (kind == LayerKind::moe)
    add_moe_ffn(block, sizes);
  else
    add_dense_ffn(block, sizes);
  return block;
}

Block output_block(const Sizes& sizes) {
  const Model& model = sizes.model;
  Block block{.element = sizes.element, .product_element = sizes.product_element};
  block.add_norm(sizes.outside_tokens, model.hidden, model.norm);
  block.add_linear({.tokens = sizes.tokens,
                    .in = model.hidden,
                    .out = sizes.vocab_share(),
                    .input_tokens = sizes.outside_tokens,
                    .output_tokens = sizes.tokens,
                    .in_16_bit = true});
  // The loss is computed in fp32: logits are written in fp32, and become probabilities and gradients in place.
  const Int128 logits = sizes.tokens * sizes.vocab_share();
  block.keep(logits * fp32_bytes);
  block.move(logits * (sizes.element + 3 * fp32_bytes), logits * (sizes.element + fp32_bytes));
  const Int128 elements = sizes.tokens * model.hidden;
  if (sizes.sequence_parallel) block.forward.collective += tensor_collective(sizes, Collective::all_gather, elements);
  const Collective summed = sizes.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce;
  block.input_grad.collective += tensor_collective(sizes, summed, elements);
  return block;
}

/// Two norms, a linear layer from twice the width (split by its outputs), a layer, and the output layer again. The
/// output layer's matrix is shared, its norm is separate.
Block mtp_block(const Sizes& sizes, const Block& layer, const Block& output) {
  const Model& model = sizes.model;
  Block block{.element = sizes.element, .product_element = sizes.product_element};
  block.add_norm(sizes.outside_tokens, model.hidden, model.norm);
  block.add_norm(sizes.outside_tokens, model.hidden, model.norm);
  block.add_linear({.tokens = sizes.tokens,
                    .in = 2 * Int128{model.hidden},
                    .out = sizes.split(model.hidden),
                    .input_tokens = sizes.outside_tokens,
                    .output_tokens = sizes.tokens});
  add_tensor_collectives(block, sizes, sizes.tokens * 2 * model.hidden, sizes.tokens * model.hidden);
  for (const Block* part : {&layer, &output}) {
    block.forward += part->forward;
    block.input_grad += part->input_grad;
    block.weight_grad += part->weight_grad;
    block.kept += part->kept;
    block.for_weight += part->for_weight;
  }
  block.dropped = layer.dropped; // the block's own norms stay
  block.weights.dense += layer.weights.dense + output.weights.dense - sizes.vocab_share() * model.hidden;
  block.weights.expert = layer.weights.expert;
  return block;
}

} // namespace ppsim::model
