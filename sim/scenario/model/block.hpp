#pragma once
// A block of a model as a sum of operations: their compute, memory traffic, kept activations and parameters on one
// rank.

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/scenario/model.hpp"

#include <array>

namespace ppsim::model {

/// The work of a pass. All operation counts are of matrix products.
struct Work {
  Int128 flops = 0;           ///< at the rate of the data type
  Int128 flops_16_bit = 0;    ///< router, output layer, scores: in bf16 also with fp8
  Int128 flops_attention = 0; ///< fused attention, all scores; also in bf16
  Int128 flops_scores = 0;    ///< unfused attention, all scores; also in bf16
  Int128 operands = 0;        ///< bytes read and written by matrix products
  Int128 moved = 0;           ///< bytes read and written by other operations
  std::int64_t launches = 0;  ///< operations started by the host
  Duration collective{0};
  Duration beside_attention{0};   ///< of the ring of keys and values: overlaps the scores
  Duration behind_weight_grad{0}; ///< the part of `collective` that overlaps the weight gradient's products
  Work& operator+=(const Work& other);
};

/// Memory that selective recomputation drops, and the work to restore it.
struct Dropped {
  Int128 kept = 0; ///< the part of the block's activations
  Work again = {};
};

/// Parameters, and the number of ranks that hold equal ones.
struct Weights {
  Int128 dense = 0;
  Int128 expert = 0;
};

/// A matrix product with a weight of `in` x `out`, for `tokens` tokens. Its input is kept for `input_tokens` and the
/// gradient of its output for `output_tokens`, which with sequence parallelism may be a share of them.
struct Linear {
  Int128 tokens = 0;
  Int128 in = 0;
  Int128 out = 0;
  Int128 input_tokens = 0;
  Int128 output_tokens = 0;
  bool bias = false;
  bool input_is_kept = false;                     ///< by another operation with the same input
  std::optional<RecomputeModule> input_from = {}; ///< the module that restores the input
  std::optional<RecomputeModule> output_of = {};  ///< the module that contains this product
  bool in_16_bit = false;                         ///< also with fp8
  std::int64_t experts = 0; ///< number of weights, each for its share of the tokens; 0: not an expert's
};

/// The sum over operations. All bytes and parameters are of one rank.
struct Block {
  Int128 element = 2;         ///< bytes of an activation's element
  Int128 product_element = 2; ///< of a linear layer's kept input: 1 with fp8
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
  /// An operation that reads and writes these bytes in each pass.
  void move(Int128 forward_bytes, Int128 input_grad_bytes);
  /// Operations started by the host.
  void launch(std::int64_t in_forward, std::int64_t in_input_grad, std::int64_t in_weight_grad = 0);
};

/// Token counts and shares common to all blocks, for a model and a training that fit together.
struct Sizes {
  /// `in_node`: the link between devices of a node, if the training names none.
  Sizes(const Model& shape, const Training& training, const LinkSheet& in_node);
  const Model& model;
  Int128 sequence;       ///< tokens of a sample
  Int128 tokens;         ///< of a microbatch, on this rank's share of the sequence
  Int128 outside_tokens; ///< of norms and dropouts: a share of `tokens` with sequence parallelism
  Int128 element;
  Int128 product_element; ///< of what a linear layer keeps
  std::int64_t tensor_ranks;
  std::int64_t expert_ranks;
  std::int64_t expert_tensor_ranks; ///< ranks that share each expert
  std::int64_t near_expert_ranks;   ///< of `expert_ranks`, those on one node
  Int128 gradient_bytes;            ///< per parameter
  bool sequence_parallel;
  bool async_collective;   ///< of the input gradient, overlapping the weight gradient
  bool once_to_a_node;     ///< a token is sent to a node once, for any number of its experts there
  Int128 dispatch_element; ///< of a token sent to experts
  bool flash;
  std::int64_t context_ranks;
  ContextExchange context_exchange;
  LinkSheet network;   ///< between nodes, of one device
  LinkSheet node_link; ///< inside a node
  LinkSheet tensor_link;
  LinkSheet expert_tensor_link;
  LinkSheet context_link;
  std::optional<LinkSheet> expert_link; ///< none: the node's link in a node, ib-ndr between nodes
  /// This rank's share of a width split by tensor parallelism.
  [[nodiscard]] Int128 split(std::int64_t width) const { return width / tensor_ranks; }
  [[nodiscard]] Int128 vocab_share() const { return (model.vocab + tensor_ranks - 1) / tensor_ranks; }
};

[[nodiscard]] Block embedding_block(const Sizes& sizes);
[[nodiscard]] Block layer_block(const Sizes& sizes, LayerKind kind);
/// `layer`: the layer of the same kind in the model.
[[nodiscard]] Block mtp_block(const Sizes& sizes, const Block& layer, const Block& output);
[[nodiscard]] Block output_block(const Sizes& sizes);

/// `value` as 64 bits; throws Error if it is out of range.
[[nodiscard]] std::int64_t in_range(Int128 value);
/// `time`; throws Error if it exceeds max_duration.
[[nodiscard]] Duration in_range(Duration time);

} // namespace ppsim::model
