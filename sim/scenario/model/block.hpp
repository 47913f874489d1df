#pragma once
// A block of a model, added up operation by operation: what each computes, moves, keeps and holds on one rank.

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/scenario/model.hpp"

#include <array>

namespace ppsim::model {

/// What a pass does. Flops of both kinds are of matrix products.
struct Work {
  Int128 flops = 0;           ///< at the rate of the data type
  Int128 flops_16_bit = 0;    ///< router, output layer, scores: with fp8 these stay in bf16
  Int128 flops_attention = 0; ///< fused attention, all scores; in bf16 too
  Int128 flops_scores = 0;    ///< of attention that is not fused, all scores; as above
  Int128 operands = 0;        ///< bytes that matrix products read and write
  Int128 moved = 0;           ///< bytes that all other operations read and write
  std::int64_t launches = 0;  ///< operations that the host starts
  Duration collective{0};
  Duration beside_attention{0};   ///< of the ring of keys and values: runs beside the scores
  Duration behind_weight_grad{0}; ///< the part of `collective` that runs beside the weight gradient's products
  Work& operator+=(const Work& other);
};

/// What selective recomputation drops, and what brings it back.
struct Dropped {
  Int128 kept = 0; ///< the part of the block's activations
  Work again = {};
};

/// Parameters, and over how many ranks the same ones lie.
struct Weights {
  Int128 dense = 0;
  Int128 expert = 0;
};

/// A matrix product with a weight of `in` x `out`, for `tokens` tokens. Its input is kept for `input_tokens` and the
/// gradient of its output for `output_tokens`: with sequence parallelism that may be a share of them.
struct Linear {
  Int128 tokens = 0;
  Int128 in = 0;
  Int128 out = 0;
  Int128 input_tokens = 0;
  Int128 output_tokens = 0;
  bool bias = false;
  bool input_is_kept = false;                     ///< by another operation that has the same input
  std::optional<RecomputeModule> input_from = {}; ///< that brings the input back
  std::optional<RecomputeModule> output_of = {};  ///< that this product is a part of
  bool in_16_bit = false;                         ///< also with fp8
  std::int64_t experts = 0; ///< as many weights, each for its share of the tokens; 0: one that is not an expert's
};

/// The sum. All bytes and parameters are of one rank.
struct Block {
  Int128 element = 2;         ///< bytes of an activation's element
  Int128 product_element = 2; ///< of a linear layer's input as it is kept: with fp8 in 1
  Work forward = {};
  Work input_grad = {};
  Work weight_grad = {};
  Int128 kept = 0;                                          ///< activations
  std::array<Dropped, recompute_module_count> dropped = {}; ///< by RecomputeModule
  Int128 for_weight = 0;
  Weights weights = {};

  [[nodiscard]] Dropped& dropped_by(RecomputeModule module) { return dropped[static_cast<std::size_t>(module)]; }
  void add_linear(const Linear& linear);
  /// A norm of `tokens` rows: keeps its input.
  void add_norm(Int128 tokens, Int128 width, Norm norm);
  /// Keeps `bytes` that no weight gradient needs.
  void keep(Int128 bytes) { kept += bytes; }
  /// An operation that reads and writes so many bytes for each pass.
  void move(Int128 forward_bytes, Int128 input_grad_bytes);
  /// Operations that the host starts.
  void launch(std::int64_t in_forward, std::int64_t in_input_grad, std::int64_t in_weight_grad = 0);
};

/// Token counts and shares that all blocks use; made of a model and a training that fit together.
struct Sizes {
  /// `tensor`: the link of devices in a node, where the training names none.
  Sizes(const Model& shape, const Training& training, const LinkSheet& in_node);
  const Model& model;
  Int128 sequence;       ///< tokens of a sample
  Int128 tokens;         ///< of a microbatch, on this rank's share of the sequence
  Int128 outside_tokens; ///< of norms and dropouts: a share of `tokens` with sequence parallelism
  Int128 element;
  Int128 product_element; ///< of what a linear layer keeps
  std::int64_t tensor_ranks;
  std::int64_t expert_ranks;
  std::int64_t expert_tensor_ranks; ///< over which each expert is split
  std::int64_t near_expert_ranks;   ///< of `expert_ranks`, those that share a node
  Int128 gradient_bytes;            ///< per parameter
  bool sequence_parallel;
  bool async_collective;   ///< of the input gradient, beside the weight gradient
  bool once_to_a_node;     ///< a token goes to a node once, whatever the number of its experts there
  Int128 dispatch_element; ///< of a token on its way to experts
  bool flash;
  std::int64_t context_ranks;
  ContextExchange context_exchange;
  LinkSheet tensor_link;
  LinkSheet context_link;
  std::optional<LinkSheet> expert_link; ///< none: the tensor-parallel link in a node, ib-ndr between nodes
  /// This rank's share of a width that tensor parallelism splits.
  [[nodiscard]] Int128 split(std::int64_t width) const { return width / tensor_ranks; }
  [[nodiscard]] Int128 vocab_share() const { return (model.vocab + tensor_ranks - 1) / tensor_ranks; }
};

[[nodiscard]] Block embedding_block(const Sizes& sizes);
[[nodiscard]] Block layer_block(const Sizes& sizes, LayerKind kind);
/// `layer`: that of the same kind in the model.
[[nodiscard]] Block mtp_block(const Sizes& sizes, const Block& layer, const Block& output);
[[nodiscard]] Block output_block(const Sizes& sizes);

/// `value` as 64 bits; throws Error where a block has gone out of range.
[[nodiscard]] std::int64_t in_range(Int128 value);
/// `time`; throws Error where it is longer than max_duration.
[[nodiscard]] Duration in_range(Duration time);

} // namespace ppsim::model
