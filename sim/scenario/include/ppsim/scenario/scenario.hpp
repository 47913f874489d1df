#pragma once
// Scenario: what is trained on what: shape, costs, network, memory. Complete and checked; every value has its unit.

#include "ppsim/base/units.hpp"
#include "ppsim/scenario/communicators.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// How many stages, microbatches and chunks per stage there are.
struct Shape {
  std::size_t stages = 1;       ///< p
  std::size_t microbatches = 1; ///< m
  std::size_t vpp = 1;          ///< v, chunks per stage
  std::size_t shared = 0;       ///< stages that are replicas of others and hold the same chunks
  /// Stages that are not replicas of others: places in the pipeline.
  [[nodiscard]] std::size_t positions() const { return stages - shared; }
  [[nodiscard]] std::size_t chunks() const { return positions() * vpp; }
  [[nodiscard]] IdRange<StageId> stage_ids() const { return {0, stages}; }
  bool operator==(const Shape&) const = default;
};

/// Limits that keep ids and sums in range; an input beyond them is refused by name.
struct Limits {
  static constexpr std::size_t stages = 4096;
  static constexpr std::size_t chunks = 65535;
  static constexpr std::size_t slices = std::size_t{1} << 20;
  static constexpr std::size_t tasks = std::size_t{1} << 27; ///< forwards and full backwards of all stages
};

/// A factor in millionths that changes nothing.
inline constexpr std::int64_t unchanged_ppm = 1'000'000;
/// A factor in millionths as a number.
[[nodiscard]] constexpr double factor_of(std::int64_t ppm) {
  return static_cast<double>(ppm) / static_cast<double>(unchanged_ppm);
}

/// Compute time per chunk (by global id) and microbatch. A full backward lasts input_grad + weight_grad.
struct Costs {
  std::vector<Duration> forward;
  std::vector<Duration> input_grad;
  std::vector<Duration> weight_grad;
  Duration overhead{0};                             ///< added to every task (launch, Python)
  std::vector<Duration> forward_collective = {};    ///< the part of `forward` that is communication; empty: none
  std::vector<Duration> input_grad_collective = {}; ///< as above, for `input_grad`
  std::vector<std::int64_t> stage_ppm = {}; ///< by stage: its compute takes so many millionths of the time that is said
                                            ///< here, but for overhead and collectives; empty: all as said
  // Where microbatches differ: what each task takes, [chunk * m + microbatch], in place of the above, which then is
  // their mean. Empty: all are alike.
  std::vector<Duration> forward_by_microbatch = {};
  std::vector<Duration> input_grad_by_microbatch = {};
  std::vector<Duration> weight_grad_by_microbatch = {};
  [[nodiscard]] bool differ_by_microbatch() const {
    return !forward_by_microbatch.empty() || !input_grad_by_microbatch.empty() || !weight_grad_by_microbatch.empty();
  }
  /// Makes compute on one of so many stages take so many millionths of what it takes now.
  void slow_stage(StageId stage, std::size_t stages, std::int64_t ppm) {
    stage_ppm.resize(stages, unchanged_ppm);
    stage_ppm[index(stage)] = scale_rounded(stage_ppm[index(stage)], ppm, unchanged_ppm);
  }
  /// Makes all microbatches alike again.
  void forget_microbatches() {
    forward_by_microbatch.clear();
    input_grad_by_microbatch.clear();
    weight_grad_by_microbatch.clear();
  }
  /// What a task on `stage` takes whose pass takes `pass`, of which `collective` is communication, and computes `again`
  /// before it.
  [[nodiscard]] Duration task_time(StageId stage, Duration pass, Duration collective, Duration again) const {
    return overhead + collective + on_stage(stage, pass + again - collective);
  }
  /// `time` as it is on `stage`, rounded to the nearest.
  [[nodiscard]] Duration on_stage(StageId stage, Duration time) const {
    return stage_ppm.empty() ? time : Duration{scale_rounded(time.count(), stage_ppm[index(stage)], unchanged_ppm)};
  }
};

/// How transfers behave (SPEC section 2).
enum class TransferModel : std::uint8_t { latency, link, blocking, streams };

/// Which passes Megatron-LM's interleaved schedule overlaps with its sends and receives. none: batches that the stage
/// waits for (batch_p2p_comm). steady: those of 1F1B (overlap_p2p_comm). all: those of warm-up and cool-down too
/// (overlap_p2p_comm_warmup_flush).
enum class Overlap : std::uint8_t { none, steady, all };

/// The rules of TransferModel::streams (docs/communication.md).
struct Streams {
  std::string lowering; ///< by name (lowering.hpp): who places sends and receives; empty: the default, or the schedule
  Overlap overlap = Overlap::steady; ///< of the lowering `megatron`, where stages have several chunks
  bool reduce_grad = true;           ///< PyTorch has REDUCE_GRAD, as from 2.10 on: the lowering pytorch gives it a turn
  std::optional<Communicators> communicators = std::nullopt; ///< none: those that the lowering is meant for
  Bytes eager_below{0};                                      ///< smaller sends do not wait for their receive
  std::int64_t slowdown_ppm = unchanged_ppm; ///< compute takes so many millionths of its time while a transfer runs on
                                             ///< its stage, which takes multiprocessors
};

/// A link that is not as fast as the others: transfers between two stages, both ways, take so many millionths of their
/// time.
struct UnusualLink {
  StageId stage{};
  StageId other{};
  std::int64_t ppm = unchanged_ppm;
  [[nodiscard]] bool joins(StageId a, StageId b) const {
    return (a == stage && b == other) || (a == other && b == stage);
  }
};

/// What a transfer between two stages costs. A boundary is the step between chunk c and c+1; its forward carries
/// activations, its backward gradients of the same size.
struct Network {
  TransferModel model = TransferModel::latency;
  std::vector<Duration> latency;                 ///< per boundary, p*v-1 values
  std::vector<Bytes> boundary_bytes;             ///< per boundary, p*v-1 values
  std::optional<Bandwidth> bandwidth;            ///< none: bytes cost no time
  std::size_t stages_per_node = 0;               ///< 0: nodes are not modelled. Stage s is on node s / stages_per_node
  std::optional<Duration> inter_node_latency;    ///< replaces `latency` between nodes
  std::optional<Bandwidth> inter_node_bandwidth; ///< replaces `bandwidth` between nodes
  std::size_t slices = 1; ///< equal parts in which a task's output leaves, each when that share of the task is done
  std::vector<UnusualLink> unusual_links = {}; ///< no two of the same stages, at most max_unusual_links
  Streams streams = {};
  static constexpr std::size_t max_unusual_links = 100;
  [[nodiscard]] bool same_node(StageId a, StageId b) const;
  /// How many millionths of its usual time a transfer between two stages takes.
  [[nodiscard]] std::int64_t link_ppm(StageId a, StageId b) const;
  /// Makes transfers between two stages take so many millionths of what they take now.
  void slow_link(StageId a, StageId b, std::int64_t ppm);
  /// Time that a transfer over `boundary` takes on an idle link: latency + bytes / bandwidth.
  [[nodiscard]] Duration transfer_time(std::size_t boundary, bool same_node) const {
    return time(boundary, same_node, 1);
  }
  /// The same for one slice of it: latency + bytes / (slices * bandwidth).
  [[nodiscard]] Duration slice_time(std::size_t boundary, bool same_node) const {
    return time(boundary, same_node, slices);
  }
  /// Time that a transfer over `boundary` takes on the idle link between two stages.
  [[nodiscard]] Duration time_between(std::size_t boundary, StageId a, StageId b) const {
    return Duration{scale_rounded(transfer_time(boundary, same_node(a, b)).count(), link_ppm(a, b), unchanged_ppm)};
  }
  /// True if no transfer of this scenario takes any time.
  [[nodiscard]] bool is_free() const;

private:
  [[nodiscard]] Duration time(std::size_t boundary, bool same_node, std::size_t parts) const;
};

/// What a stage has to hold (SPEC section 3). All vectors are per chunk.
struct Memory {
  std::vector<Bytes> activation;            ///< per chunk and microbatch
  std::vector<Bytes> activation_for_weight; ///< the part of it that W needs: it lives to the end of W, the rest of a
                                            ///< split backward's to the end of I
  std::vector<Bytes> parameters;
  std::vector<Bytes> gradients;
  std::vector<Bytes> optimizer;
  bool release_outputs = false; ///< a forward's output, a part of its activation, is given up once it is sent
  std::optional<Bytes> limit;   ///< capacity of a device
};

/// Which activations a forward drops and its backward computes again (Korthikanti et al., arXiv 2205.05198).
enum class RecomputeKind : std::uint8_t { none, selective, full };

/// Recomputation: a forward keeps only its checkpoint, and its backward (B, or I where that is split) begins by
/// bringing the rest back. Both vectors are per chunk, and not looked at where the kind is `none`.
struct Recompute {
  RecomputeKind kind = RecomputeKind::none;
  std::vector<Duration> time;       ///< by how much it makes the backward longer
  std::vector<Bytes> checkpoint;    ///< the part of the activation that the forward keeps
  std::vector<Bytes> restored = {}; ///< of the rest, what B holds at a time, as it brings it back layer by layer, or
                                    ///< in units of some; empty: all of it. I always holds all: W needs it
  std::size_t microbatches_without = 0; ///< of every w+1 consecutive forwards of a stage with w warm-up forwards, so
                                        ///< many from the first on are not recomputed (Megatron-LM's
                                        ///< num_microbatches_with_partial_activation_checkpoints)
  [[nodiscard]] bool is_on() const { return kind != RecomputeKind::none; }
};

/// When a stage takes its optimizer step.
enum class OptimizerStep : std::uint8_t {
  synchronous, ///< all stages together, when every gradient is there: the global gradient norm needs them all
  per_stage ///< each stage when its own gradients are there (post-validation: Qi et al., arXiv 2401.10241, section 4)
};

/// What follows the tasks of a step: the reduction of gradients over data-parallel ranks, and the optimizer.
struct Update {
  std::vector<Duration> reduce = {};    ///< per chunk; empty: none. Runs beside its stage's tasks
  std::vector<Duration> optimizer = {}; ///< per chunk; empty: none. Compute time of its stage
  Duration tied_embedding_reduce{0};    ///< between the stages of the first and the last chunk
  OptimizerStep step = OptimizerStep::synchronous;
  bool overlap_reduce = true; ///< a chunk's reduction starts when its gradients are there; else when its stage has run
                              ///< all its tasks (Megatron-LM without overlap_grad_reduce)
  /// True if nothing that follows the tasks takes any time.
  [[nodiscard]] bool is_free() const;
};

/// How long an overlapped pair (one F with one B) takes.
struct PairRule {
  enum class Kind : std::uint8_t {
    sum,
    max,
    serial,
    factor,
    hide ///< the collectives of one half overlap the compute of the other
  };
  Kind kind = Kind::sum;
  std::int64_t factor_ppm = 1'000'000; ///< with Kind::factor: millionths of F + B
  bool operator==(const PairRule&) const = default;
};

/// What one chunk holds of the model.
struct ChunkBlocks {
  std::size_t layers = 0;
  std::size_t mtp_layers = 0; ///< for multi-token prediction, after the last layer
  bool embedding = false;
  bool loss = false; ///< output layer and loss
  bool operator==(const ChunkBlocks&) const = default;
};
/// What each chunk holds, in model order. One of them has the embedding, and one the loss.
using Layout = std::vector<ChunkBlocks>;

/// Floating-point operations of matrix products; they do not fit 64 bits where much is added up.
struct PassOperations {
  double forward = 0;
  double backward = 0;
};

/// What one microbatch asks of a pipeline, all its devices together, and which devices they are: rates such as the
/// model FLOPs utilisation follow from it. It changes no time.
struct MicrobatchWork {
  PassOperations model;                        ///< nothing counted twice that runs twice
  std::optional<PassOperations> hardware = {}; ///< all that runs, but for `recompute`; none: not known
  std::vector<double> recompute = {};          ///< by chunk: what a recomputed backward runs again; empty: nothing
  std::int64_t tokens = 0;                     ///< 0: not known
  std::int64_t devices_per_stage = 1;
  std::int64_t replicas = 1;                    ///< pipelines that train alike, each on a batch of its own
  std::optional<std::int64_t> flops_per_second; ///< of a device, dense, of the data type; none: not known
};

/// What is trained on what.
struct Scenario {
  Shape shape;
  Costs costs;
  Network network;
  Memory memory;
  Recompute recompute;
  Update update;
  PairRule pair;
  Layout layout; ///< empty when layers were not given
  std::optional<MicrobatchWork> work = {};
  std::string title;  ///< the user's name for it
  std::string source; ///< where the costs come from
};

/// Throws Error if a vector has the wrong length, a value is negative, a part is larger than its whole or sums could
/// overflow.
void validate(const Scenario& scenario);

[[nodiscard]] std::string_view to_string(TransferModel model);
[[nodiscard]] std::string_view to_string(OptimizerStep step);
[[nodiscard]] std::string to_string(const PairRule& rule);

/// A scenario of equal stages: `forward` and `backward` per stage and microbatch (the backward split in half, an odd
/// nanosecond to the input gradient), no communication cost, no memory figures. Chunks take 1/v, rounded to the nearest
/// nanosecond.
[[nodiscard]] Scenario uniform_scenario(const Shape& shape, Duration forward, Duration backward,
                                        Duration comm = Duration{0});

/// `whole / parts` rounded to the nearest (half up).
[[nodiscard]] std::int64_t divide_rounded(std::int64_t whole, std::int64_t parts);

/// The layout of chunks with so many layers each: the embedding on the first, the loss on the last.
[[nodiscard]] Layout plain_layout(const std::vector<std::size_t>& layers);

/// Layers per chunk as Megatron splits them: `total` evenly over the chunks, or, with `first` / `last`, that many on
/// the first / last stage and the rest evenly over the others; a remainder gives one layer more to the first chunks (of
/// each such group). `loop` placement: chunk c is on stage c mod p. Throws Error with `layers` as place when a chunk
/// would stay empty or a stage's count is not a multiple of v.
[[nodiscard]] std::vector<std::size_t> split_layers(const Shape& shape, const std::vector<StageId>& chunk_stage,
                                                    std::size_t total, std::optional<std::size_t> first,
                                                    std::optional<std::size_t> last);

} // namespace ppsim
