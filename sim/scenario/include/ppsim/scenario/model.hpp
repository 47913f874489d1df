#pragma once
// Costs from a model's shape: what its layers take and keep on a device, for those who have no profile yet.
// The formulas and their sources are in docs/costs.md.

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

/// How attention is computed: score by score in memory, or fused (FlashAttention), which keeps no scores and computes
/// them again in the backward.
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
  std::int64_t sequence_length = 0;   ///< tokens of a sample, unless the training says otherwise
  bool gated = false;                 ///< the FFN has a gate (SwiGLU): three matrices instead of two
  bool tied_embedding = false;        ///< output layer and embedding share their matrix
  std::int64_t learned_positions = 0; ///< rows of a position embedding; 0: none
  bool bias = false;                  ///< linear layers have biases
  bool dropout = false;               ///< GPT's: of attention scores and after attention and FFN
  Norm norm = Norm::rmsnorm;
  Attention attention = Attention::flash; ///< unless the training says otherwise

  // Mixture of experts
  std::int64_t experts = 0; ///< that tokens are routed to; 0: all layers are dense
  std::int64_t experts_per_token = 0;
  std::int64_t expert_groups = 0;           ///< into which experts are divided, neighbours together; 0: not
  std::int64_t expert_groups_per_token = 0; ///< of which all experts of a token are
  std::int64_t shared_experts = 0;
  std::int64_t expert_ffn_hidden = 0;
  std::int64_t dense_layers = 0; ///< with experts: the first layers, which have none

  // Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434); kv_heads and head_dim are then not looked at
  std::int64_t q_lora_rank = 0;  ///< 0: queries are not compressed
  std::int64_t kv_lora_rank = 0; ///< 0: no latent attention
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;

  std::int64_t mtp_layers = 0; ///< multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2)
  [[nodiscard]] bool has_latent_attention() const { return kv_lora_rank > 0; }
  bool operator==(const Model&) const = default;
};

/// What selective recomputation may drop, one by one, by Megatron-LM's names where it has one: scores; outputs of
/// norms; queries, keys and values of latent attention; what the activation function of an FFN, or of experts, makes.
enum class RecomputeModule : std::uint8_t { core_attn, layernorm, mla_up_proj, mlp_act, moe_act };
inline constexpr std::size_t recompute_module_count = 5;

/// How layers are recomputed in full (Megatron-LM's recompute_method and recompute_num_layers). uniform: in units of so
/// many, each of which keeps its input; block: the first so many of each chunk, one by one, and no others.
struct RecomputeUnits {
  enum class Method : std::uint8_t { uniform, block };
  Method method = Method::uniform;
  std::int64_t layers = 1;
  bool operator==(const RecomputeUnits&) const = default;
};

/// How tokens get to experts on other nodes (Megatron-LM's --moe-token-dispatcher-type): to each expert's rank, or to
/// each node once, where the node's link spreads them (flex, with DeepEP or HybridEP).
enum class TokenDispatcher : std::uint8_t { alltoall, flex };

/// How the ranks of a split sequence come by keys and values (Megatron-LM's --cp-comm-type): passed around a ring
/// beside the attention to those that have come, gathered before it, or exchanged for heads, so that each rank has the
/// whole sequence of some.
enum class ContextExchange : std::uint8_t { p2p, all_gather, a2a };

/// How a model is trained: what one microbatch is and over how many devices a layer is spread.
struct Training {
  std::int64_t sequence_length = 0; ///< 0: the model's
  std::int64_t microbatch_size = 1; ///< samples
  std::int64_t tensor_parallel = 1;
  std::int64_t context_parallel = 1;
  std::int64_t expert_parallel = 1;
  /// Over how many ranks each expert is split. None: as many as tensor parallelism has (Megatron-LM's default) where
  /// expert_parallel divides what is left, data_parallel * context_parallel, and 1 where not.
  std::optional<std::int64_t> expert_tensor_parallel = {};
  std::int64_t data_parallel = 1;
  bool sequence_parallel = true;           ///< with tensor parallelism: norms and dropouts are split along the sequence
  std::optional<Attention> attention = {}; ///< none: the model's
  DataType data_type = DataType::bf16;
  std::optional<std::vector<RecomputeModule>> recompute_modules = {}; ///< of selective recomputation; none: scores
  std::optional<std::int64_t> gpus_per_node = {};                     ///< that the device's link joins; none: 8
  /// The share of the datasheet's rates that all operations reach; none: what the device's table says of each.
  std::optional<Share> efficiency_ppm = {};
  /// What is computed takes so many millionths of its time: what one measured step says (fit_measured_step()).
  std::int64_t compute_ppm = whole_share;
  std::int64_t gradient_bytes = 4;                  ///< per parameter
  std::optional<std::int64_t> optimizer_bytes = {}; ///< per parameter; none: Adam's, 12, with fp32 and tf32 8
  bool distributed_optimizer = true;                ///< its state is divided over data-parallel ranks (ZeRO 1)
  /// Whether a distributed optimizer's parameters are gathered during the forwards of the next step; none: yes.
  std::optional<bool> overlap_param_gather = {};
  /// Whether the input gradient's tensor-parallel collective runs beside the weight gradient (Megatron-LM's
  /// --no-async-tensor-model-parallel-allreduce); none: yes.
  std::optional<bool> async_tensor_collective = {};
  std::optional<TokenDispatcher> token_dispatcher = {}; ///< none: flex
  std::optional<DataType> dispatch_data_type = {};      ///< in which tokens go to experts, bf16 or fp8; none: bf16
  /// What is divided over data-parallel ranks (DeepSpeed's ZeRO): 1 the optimizer's state, 2 gradients too, which are
  /// then reduced in every backward, 3 parameters too, which are gathered for every pass. None: 1, or without a
  /// distributed optimizer nothing.
  std::optional<std::int64_t> zero_stage = {};
  std::optional<ContextExchange> context_exchange = {}; ///< none: p2p
  std::optional<LinkSheet> context_link = {}; ///< none: the device's where tensor- and context-parallel ranks fit a
                                              ///< node, else ib-ndr
  std::optional<LinkSheet> tensor_link = {};  ///< none: the device's
  std::optional<LinkSheet> expert_link = {};  ///< none: the device's inside a node, ib-ndr between nodes
  std::optional<LinkSheet> data_link = {};    ///< none: ib-ndr
  [[nodiscard]] std::int64_t expert_tensor_ranks() const;
  /// Of the ranks that hold other experts, those that share a node, being neighbours.
  [[nodiscard]] std::int64_t near_expert_ranks() const;
  [[nodiscard]] std::int64_t node_ranks() const { return gpus_per_node.value_or(8); }
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

/// What recomputation costs: by how much the backward gets longer, and what the forward keeps.
struct RecomputeCosts {
  Duration time{0};
  Bytes checkpoint = {};
  std::int64_t flops = 0; ///< of the matrix products that run again
  Bytes restored = {};    ///< of what is not kept, what is there at a time; of several layers the largest
  RecomputeCosts& operator+=(const RecomputeCosts& other);
  bool operator==(const RecomputeCosts&) const = default;
};

/// Floating-point operations of matrix products, a multiplication and an addition being two.
struct Flops {
  std::int64_t forward = 0;
  std::int64_t input_grad = 0;
  std::int64_t weight_grad = 0;
  bool operator==(const Flops&) const = default;
};

/// What one block (a layer, the embedding, the output layer) costs one rank, times and activations for one microbatch.
struct BlockCosts {
  Duration forward{0};
  Duration input_grad{0};
  Duration weight_grad{0};
  Duration forward_collective{0};    ///< the part of `forward` that is communication
  Duration input_grad_collective{0}; ///< as above, for `input_grad`
  Flops flops;
  Bytes activation;
  Bytes activation_for_weight; ///< what W needs: inputs of linear layers and gradients of their outputs
  RecomputeCosts selective;    ///< of modules (attention scores: Korthikanti et al., arXiv 2205.05198, section 5)
  RecomputeCosts full;         ///< all but the input of each layer
  std::int64_t parameters = 0; ///< that the rank holds
  Bytes parameter_bytes;
  Bytes gradient_bytes;
  Bytes optimizer_bytes;
  Duration reduce{0};    ///< of gradients, over the data-parallel ranks
  Duration optimizer{0}; ///< the step: gradients zeroed, their norm, clipping, Adam
  Duration unshard{0};   ///< gathering a layer's parameters for a pass, where they are divided
  Bytes unsharded = {};  ///< what of a layer's parameters and gradients is divided, whole
  Duration gather{0};    ///< of parameters, with a distributed optimizer
  BlockCosts& operator+=(const BlockCosts& other);
  bool operator==(const BlockCosts&) const = default;
};

/// What each kind of block costs.
struct ModelCosts {
  BlockCosts embedding;
  BlockCosts dense_layer;
  BlockCosts moe_layer;
  BlockCosts mtp_layer; ///< its own linear layer, its layer, and its use of the output layer
  BlockCosts output;    ///< last norm, output layer and loss; with a tied embedding its matrix is counted here too
  Duration pass{0};     ///< that each forward and backward of a chunk takes beside its blocks
  Bytes boundary;       ///< that a rank sends to the next stage: the activations of one microbatch
  Bytes tied_embedding; ///< gradient of the matrix that the first and the last stage share; 0: none is
  std::int64_t tied_parameters = 0; ///< that one stage with both ends holds but once
};

enum class LayerKind : std::uint8_t { dense, moe };
/// What layer `layer`, counted from 0, is.
[[nodiscard]] LayerKind kind_of_layer(const Model& model, std::int64_t layer);

/// Parameters of the whole model, counted once: those of all its layers, and how many of them a token uses.
struct ParameterCount {
  std::int64_t total = 0;  ///< without multi-token prediction
  std::int64_t active = 0; ///< without the experts that a token is not routed to
  std::int64_t mtp = 0;    ///< of multi-token prediction, besides
};
[[nodiscard]] ParameterCount count_parameters(const Model& model);

/// The shipped models, in the order in which they are listed.
[[nodiscard]] std::span<const Model> models();
/// A shipped one by name. Throws Error with `where` as place.
[[nodiscard]] const Model& find_model(std::string_view name, std::string_view where = "`model`");

/// Adds what is wrong with the shape itself, with `where` as place.
void check_model(const Model& model, std::string_view where, Problems& problems);

/// Costs of each kind of block. Throws Error, with flags (`tensor-parallel`) as places, where model, device and
/// training do not fit together or a size is out of range.
[[nodiscard]] ModelCosts model_costs(const Model& model, const DeviceSheet& device, const Training& training);

/// Something that a user should know of measured collectives of a link: which are computed after all, read from others
/// or from another number of ranks, or not used.
struct CollectiveNote {
  std::string_view field; ///< "tensor-link"
  std::string what;
};
/// Of the links that have files. Model and training fit together.
[[nodiscard]] std::vector<CollectiveNote> collective_notes(const Model& model, const Training& training);

/// A link of a training, by the name that it has in scenario files.
struct NamedLink {
  std::string_view field;
  const std::optional<LinkSheet>* link;
};
[[nodiscard]] std::array<NamedLink, 4> links_of(const Training& training);

/// Costs of each chunk of a layout. Where the stages that hold the loss hold the embedding too, they have a matrix that
/// both share but once.
[[nodiscard]] std::vector<BlockCosts> chunk_costs(const Model& model, const ModelCosts& costs, const Layout& layout,
                                                  bool ends_share_stage, const RecomputeUnits& units = {});

/// What a microbatch asks of a pipeline whose chunks cost `chunks`. Operations are counted from the shape of the whole
/// model, those of the hardware from what its ranks do.
[[nodiscard]] MicrobatchWork microbatch_work(const Model& model, const DeviceSheet& device, const Training& training,
                                             const Layout& layout, const std::vector<BlockCosts>& chunks,
                                             RecomputeKind recompute);
/// The devices of a training, and how fast they are; what they do is not said.
[[nodiscard]] MicrobatchWork work_of_devices(const Training& training, const std::optional<DeviceSheet>& device);

[[nodiscard]] std::string_view to_string(Attention attention);
[[nodiscard]] std::string_view to_string(Norm norm);
[[nodiscard]] std::string_view to_string(LayerKind kind);
[[nodiscard]] std::string_view to_string(RecomputeModule module);

} // namespace ppsim
