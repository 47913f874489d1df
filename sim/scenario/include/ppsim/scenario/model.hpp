#pragma once
// Costs from a model's shape: time and memory of its layers on a device, without a profile. docs/costs.md has the
// formulas and their sources.

#include "ppsim/base/error.hpp"
#include "ppsim/scenario/device.hpp"
#include "ppsim/scenario/scenario.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// How attention is computed: unfused, with scores in memory, or fused (FlashAttention), which stores no scores and
/// recomputes them in the backward.
enum class Attention : std::uint8_t { unfused, flash };
enum class Norm : std::uint8_t { layernorm, rmsnorm };

/// The shape of a transformer that predicts the next token. All sizes are of the whole model.
struct Model {
  std::string name = {};
  std::string source = {};
  std::int64_t layers = 0; ///< without those of multi-token prediction
  std::int64_t hidden = 0;
  std::int64_t ffn_hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0; ///< fewer than heads: grouped-query attention
  std::int64_t head_dim = 0;
  std::int64_t vocab = 0;
  std::int64_t sequence_length = 0;   ///< tokens of a sample; Training may override it
  bool gated = false;                 ///< the FFN has a gate (SwiGLU): three matrices instead of two
  bool tied_embedding = false;        ///< output layer and embedding share their matrix
  std::int64_t learned_positions = 0; ///< rows of a position embedding; 0: none
  bool bias = false;                  ///< linear layers have biases
  bool dropout = false;               ///< GPT's: of attention scores and after attention and FFN
  Norm norm = Norm::rmsnorm;
  Attention attention = Attention::flash; ///< Training may override it

  // Mixture of experts
  std::int64_t experts = 0; ///< routed experts; 0: all layers are dense
  std::int64_t experts_per_token = 0;
  std::int64_t expert_groups = 0;           ///< groups of neighbouring experts; 0: no groups
  std::int64_t expert_groups_per_token = 0; ///< groups that the experts of one token are chosen from
  std::int64_t shared_experts = 0;
  std::int64_t expert_ffn_hidden = 0;
  std::int64_t dense_layers = 0; ///< with experts: the number of first layers without experts

  // Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434); kv_heads and head_dim are then ignored
  std::int64_t q_lora_rank = 0;  ///< 0: queries are not compressed
  std::int64_t kv_lora_rank = 0; ///< 0: no latent attention
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;

  std::int64_t mtp_layers = 0; ///< multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2)
  [[nodiscard]] bool has_latent_attention() const { return kv_lora_rank > 0; }
  bool operator==(const Model&) const = default;
};

/// Parts that selective recomputation may drop, with Megatron-LM's names if it has one: attention scores; outputs of
/// norms; queries, keys and values of latent attention; outputs of the activation function of an FFN, or of experts.
enum class RecomputeModule : std::uint8_t { core_attn, layernorm, mla_up_proj, mlp_act, moe_act };
inline constexpr std::size_t recompute_module_count = 5;

/// How layers are recomputed in full (Megatron-LM's recompute_method and recompute_num_layers). uniform: in units of
/// `layers` layers, each of which keeps its input; block: only the first `layers` layers of each chunk, one by one.
struct RecomputeUnits {
  enum class Method : std::uint8_t { uniform, block };
  Method method = Method::uniform;
  std::int64_t layers = 1;
  bool operator==(const RecomputeUnits&) const = default;
};

/// How tokens reach experts on other nodes (Megatron-LM's --moe-token-dispatcher-type): sent to each expert's rank, or
/// once to each node and spread over the node's link (flex, with DeepEP or HybridEP).
enum class TokenDispatcher : std::uint8_t { alltoall, flex };

/// How the ranks of a split sequence get keys and values (Megatron-LM's --cp-comm-type): passed around a ring while
/// attention to the earlier ones runs, gathered before it, or exchanged for heads, so that each rank has the whole
/// sequence for some heads.
enum class ContextExchange : std::uint8_t { p2p, all_gather, a2a };

/// How a model is trained: the size of a microbatch and the devices that share a layer.
struct Training {
  std::int64_t sequence_length = 0; ///< 0: the model's
  std::int64_t microbatch_size = 1; ///< samples
  std::int64_t tensor_parallel = 1;
  std::int64_t context_parallel = 1;
  std::int64_t expert_parallel = 1;
  /// Ranks that share each expert. None: tensor_parallel (Megatron-LM's default) if expert_parallel divides the
  /// remaining data_parallel * context_parallel, otherwise 1.
  std::optional<std::int64_t> expert_tensor_parallel = {};
  std::int64_t data_parallel = 1;
  bool sequence_parallel = true;           ///< with tensor parallelism: norms and dropouts are split along the sequence
  std::optional<Attention> attention = {}; ///< none: the model's
  DataType data_type = DataType::bf16;
  std::optional<std::vector<RecomputeModule>> recompute_modules = {}; ///< for selective recomputation; none: scores
  std::optional<std::int64_t> gpus_per_node = {};                     ///< joined by the device's link; none: 8
  /// The share of the datasheet's rates that all operations reach; none: the shares in the device's table.
  std::optional<Share> efficiency_ppm = {};
  /// Scales compute time, in millionths, to match a measured step (fit_measured_step()).
  std::int64_t compute_ppm = whole_share;
  std::int64_t link_ppm = whole_share;              ///< scales the bandwidth of all links below, in millionths
  std::int64_t gradient_bytes = 4;                  ///< per parameter
  std::optional<std::int64_t> optimizer_bytes = {}; ///< per parameter; none: Adam's, 12, with fp32 and tf32 8
  bool distributed_optimizer = true;                ///< its state is sharded over data-parallel ranks (ZeRO 1)
  /// Whether a distributed optimizer's parameters are gathered during the forwards of the next step; none: yes.
  std::optional<bool> overlap_param_gather = {};
  /// Whether the input gradient's tensor-parallel collective runs beside the weight gradient (Megatron-LM's
  /// --no-async-tensor-model-parallel-allreduce); none: yes.
  std::optional<bool> async_tensor_collective = {};
  std::optional<TokenDispatcher> token_dispatcher = {}; ///< none: flex
  std::optional<DataType> dispatch_data_type = {};      ///< type of tokens sent to experts, bf16 or fp8; none: bf16
  /// What is sharded over data-parallel ranks (DeepSpeed's ZeRO): 1 the optimizer's state; 2 also gradients, which are
  /// then reduced in every backward; 3 also parameters, which are gathered for every pass. None: 1, or nothing without
  /// a distributed optimizer.
  std::optional<std::int64_t> zero_stage = {};
  std::optional<ContextExchange> context_exchange = {}; ///< none: p2p
  std::optional<LinkSheet> context_link = {};           ///< none: link_between(); between nodes ib-ndr for p2p and a2a
  std::optional<LinkSheet> tensor_link = {};            ///< none: link_between(). Also of experts inside a node
  std::optional<LinkSheet> expert_link = {};            ///< none: the node's inside a node, ib-ndr between nodes
  std::optional<LinkSheet> data_link = {};              ///< none: link_between()
  [[nodiscard]] std::int64_t expert_tensor_ranks() const;
  /// The neighbouring ranks on one node among those that hold other experts.
  [[nodiscard]] std::int64_t near_expert_ranks() const;
  [[nodiscard]] std::int64_t node_ranks() const { return gpus_per_node.value_or(8); }
  /// Ranks of a collective, `stride` devices apart. Tensor-parallel ranks are neighbours; context-parallel ones, and
  /// those of both that reduce gradients, come next, stages last (Megatron-LM's default order, tp-cp-ep-dp-pp).
  struct Ranks {
    std::int64_t count;
    std::int64_t stride;
  };
  [[nodiscard]] Ranks context_ranks() const { return {context_parallel, tensor_parallel}; }
  [[nodiscard]] Ranks data_ranks() const { return {data_parallel * context_parallel, tensor_parallel}; }
  /// Those that hold the same experts.
  [[nodiscard]] Ranks expert_data_ranks() const;
  [[nodiscard]] std::int64_t devices_of_stage() const { return tensor_parallel * context_parallel * data_parallel; }
  /// Each node has an equal number of them, as many as fit: other devices of a node are idle or hold other groups.
  [[nodiscard]] std::int64_t on_each_node(Ranks ranks) const;
  [[nodiscard]] bool fit_in_node(Ranks ranks) const { return on_each_node(ranks) == ranks.count; }
  /// The link of their collectives in rings; `in_node`: the device's. Ranks on several nodes use ib-ndr of all devices
  /// that they have on each: NCCL runs several rings at once (rates: NVIDIA/nccl-tests#290, 46 to 48 GB/s for each
  /// 400 Gbit/s NIC; NVIDIA/nccl#495 and #569).
  [[nodiscard]] LinkSheet link_between(Ranks ranks, const LinkSheet& in_node) const;
  [[nodiscard]] bool shards_gradients() const { return zero_stage.value_or(1) >= 2; }
  [[nodiscard]] bool shards_parameters() const { return zero_stage.value_or(1) >= 3; }
};

/// Largest sizes, so that no product overflows.
struct ModelLimits {
  static constexpr std::int64_t layers = 65535;
  static constexpr std::int64_t width = 1 << 20;  ///< hidden, heads, experts, ...
  static constexpr std::int64_t tokens = 1 << 24; ///< vocabulary, sequence, learned positions
  static constexpr std::int64_t ranks = 1 << 20;  ///< of each kind of parallelism; samples of a microbatch
  static constexpr std::int64_t gradient_bytes = 16, optimizer_bytes = 64; ///< per parameter
};

/// The costs of recomputation: the additional time of the backward, and the memory that the forward keeps.
struct RecomputeCosts {
  Duration time{0};
  Bytes checkpoint = {};
  std::int64_t flops = 0; ///< of the matrix products that are repeated
  Bytes restored = {};    ///< the most restored memory at a time; of several layers the largest
  RecomputeCosts& operator+=(const RecomputeCosts& other);
  bool operator==(const RecomputeCosts&) const = default;
};

/// Floating-point operations of matrix products. A multiply-add counts as two.
struct Flops {
  std::int64_t forward = 0;
  std::int64_t input_grad = 0;
  std::int64_t weight_grad = 0;
  bool operator==(const Flops&) const = default;
};

/// The costs of one block (a layer, the embedding, the output layer) on one rank; times and activations are for one
/// microbatch.
struct BlockCosts {
  Duration forward{0};
  Duration input_grad{0};
  Duration weight_grad{0};
  Duration forward_collective{0};    ///< the communication part of `forward`
  Duration input_grad_collective{0}; ///< as above, for `input_grad`
  Flops flops;
  Bytes activation;
  Bytes activation_for_weight; ///< the part that W needs: inputs of linear layers and gradients of their outputs
  RecomputeCosts selective;    ///< of modules (attention scores: Korthikanti et al., arXiv 2205.05198, section 5)
  RecomputeCosts full;         ///< all but the input of each layer
  std::int64_t parameters = 0; ///< on the rank
  Bytes parameter_bytes;
  Bytes gradient_bytes;
  Bytes optimizer_bytes;
  Duration reduce{0};    ///< of gradients, over the data-parallel ranks
  Duration optimizer{0}; ///< the step: gradients zeroed, their norm, clipping, Adam
  Duration unshard{0};   ///< gathering a layer's sharded parameters for a pass
  Bytes unsharded = {};  ///< a layer's sharded parameters and gradients, gathered
  Duration gather{0};    ///< of parameters, with a distributed optimizer
  BlockCosts& operator+=(const BlockCosts& other);
  bool operator==(const BlockCosts&) const = default;
};

/// The costs of each kind of block.
struct ModelCosts {
  BlockCosts embedding;
  BlockCosts dense_layer;
  BlockCosts moe_layer;
  BlockCosts mtp_layer;             ///< its linear layer, its transformer layer, and its use of the output layer
  BlockCosts output;                ///< last norm, output layer and loss; includes the matrix of a tied embedding
  Duration pass{0};                 ///< of each forward and backward of a chunk, in addition to its blocks
  Bytes boundary;                   ///< sent to the next stage by one rank: the activations of one microbatch
  Bytes tied_embedding;             ///< gradient of the matrix that the first and the last stage share; 0: not tied
  std::int64_t tied_parameters = 0; ///< stored only once by a stage with both ends
};

enum class LayerKind : std::uint8_t { dense, moe };
/// The kind of layer `layer`, counted from 0.
[[nodiscard]] LayerKind kind_of_layer(const Model& model, std::int64_t layer);

/// Parameters of the whole model, each counted once, and those that one token uses.
struct ParameterCount {
  std::int64_t total = 0;  ///< without multi-token prediction
  std::int64_t active = 0; ///< without the experts that a token is not routed to
  std::int64_t mtp = 0;    ///< of multi-token prediction, in addition
};
[[nodiscard]] ParameterCount count_parameters(const Model& model);

/// The shipped models, in the order of lists.
[[nodiscard]] std::span<const Model> models();
/// A shipped one by name. Throws Error with `where` as place if the name is unknown.
[[nodiscard]] const Model& find_model(std::string_view name, std::string_view where = "`model`");

/// Adds the problems of the shape itself, with `where` as place.
void check_model(const Model& model, std::string_view where, Problems& problems);

/// Costs of each kind of block. Throws Error, with flags (`tensor-parallel`) as places, if model, device and training
/// do not fit together or a size is out of range.
[[nodiscard]] ModelCosts model_costs(const Model& model, const DeviceSheet& device, const Training& training);

/// A note for the user about measured collectives of a link: which are computed anyway, read from another collective or
/// number of ranks, or unused.
struct CollectiveNote {
  std::string_view field; ///< "tensor-link"
  std::string what;
};
/// Notes on the links that have files. Model and training must fit together.
[[nodiscard]] std::vector<CollectiveNote> collective_notes(const Model& model, const Training& training);

/// A link of a training with its name in scenario files.
struct NamedLink {
  std::string_view field;
  const std::optional<LinkSheet>* link;
};
[[nodiscard]] std::array<NamedLink, 4> links_of(const Training& training);

/// Costs of each chunk of a layout. If the stages with the loss also hold the embedding (`ends_share_stage`), they
/// store a shared matrix only once.
[[nodiscard]] std::vector<BlockCosts> chunk_costs(const Model& model, const ModelCosts& costs, const Layout& layout,
                                                  bool ends_share_stage, const RecomputeUnits& units = {});

/// The work of one microbatch on a pipeline with costs `chunks`. Model operations follow from the shape of the whole
/// model, hardware operations from the work of its ranks.
[[nodiscard]] MicrobatchWork microbatch_work(const Model& model, const DeviceSheet& device, const Training& training,
                                             const Layout& layout, const std::vector<BlockCosts>& chunks,
                                             RecomputeKind recompute);
/// The devices of a training and their rates, without operations.
[[nodiscard]] MicrobatchWork work_of_devices(const Training& training, const std::optional<DeviceSheet>& device);

[[nodiscard]] std::string_view to_string(Attention attention);
[[nodiscard]] std::string_view to_string(Norm norm);
[[nodiscard]] std::string_view to_string(LayerKind kind);
[[nodiscard]] std::string_view to_string(RecomputeModule module);

} // namespace ppsim
