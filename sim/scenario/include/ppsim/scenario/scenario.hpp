#pragma once
// Scenario: the model and the machine: shape, costs, network, memory. Complete and checked; every value has its unit.

#include "ppsim/base/units.hpp"
#include "ppsim/scenario/communicators.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// The number of stages, microbatches and chunks per stage.
struct Shape {
  std::size_t stages = 1;       ///< p
  std::size_t microbatches = 1; ///< m
  std::size_t vpp = 1;          ///< v, chunks per stage
  std::size_t shared = 0;       ///< stages that are replicas of others and hold the same chunks
  /// Stages that are not replicas of others: positions in the pipeline.
  [[nodiscard]] std::size_t positions() const { return stages - shared; }
  [[nodiscard]] std::size_t chunks() const { return positions() * vpp; }
  [[nodiscard]] IdRange<StageId> stage_ids() const { return {0, stages}; }
  bool operator==(const Shape&) const = default;
};

/// Limits that keep ids and sums in range; an input beyond them is an error.
struct Limits {
  static constexpr std::size_t stages = 4096;
  static constexpr std::size_t chunks = 65535;
  static constexpr std::size_t slices = std::size_t{1} << 20;
  static constexpr std::size_t tasks = std::size_t{1} << 27; ///< forwards and full backwards of all stages
};

/// The factor 1, in millionths.
inline constexpr std::int64_t unchanged_ppm = 1'000'000;
/// A factor in millionths as a number.
[[nodiscard]] constexpr double factor_of(std::int64_t ppm) {
  return static_cast<double>(ppm) / static_cast<double>(unchanged_ppm);
}

/// Compute time per chunk (by global id) and microbatch. A full backward takes input_grad + weight_grad.
struct Costs {
  std::vector<Duration> forward;
  std::vector<Duration> input_grad;
  std::vector<Duration> weight_grad;
  Duration overhead{0};                             ///< added to every task (launch, Python)
  std::vector<Duration> forward_collective = {};    ///< the communication part of `forward`; empty: none
  std::vector<Duration> input_grad_collective = {}; ///< as above, for `input_grad`
  std::vector<std::int64_t> stage_ppm = {}; ///< by stage: factor of its compute time in millionths, not applied to
                                            ///< overhead and collectives; empty: 1 for all
  // Different times per microbatch: the time of each task, [chunk * m + microbatch]. They replace the vectors above,
  // which then are their means. Empty: all are equal.
  std::vector<Duration> forward_by_microbatch = {};
  std::vector<Duration> input_grad_by_microbatch = {};
  std::vector<Duration> weight_grad_by_microbatch = {};
  [[nodiscard]] bool differ_by_microbatch() const {
    return !forward_by_microbatch.empty() || !input_grad_by_microbatch.empty() || !weight_grad_by_microbatch.empty();
  }
  /// Multiplies the compute time of one of `stages` stages by `ppm` millionths.
  void slow_stage(StageId stage, std::size_t stages, std::int64_t ppm) {
    stage_ppm.resize(stages, unchanged_ppm);
    stage_ppm[index(stage)] = scale_rounded(stage_ppm[index(stage)], ppm, unchanged_ppm);
  }
  /// Makes all microbatches equal again.
  void forget_microbatches() {
    forward_by_microbatch.clear();
    input_grad_by_microbatch.clear();
    weight_grad_by_microbatch.clear();
  }
  /// The time of a task on `stage`. Its pass takes `pass`, including `collective` for communication, and it recomputes
  /// for `again` first.
  [[nodiscard]] Duration task_time(StageId stage, Duration pass, Duration collective, Duration again) const {
    return overhead + collective + on_stage(stage, pass + again - collective);
  }
  /// `time` scaled to `stage`, rounded to the nearest.
  [[nodiscard]] Duration on_stage(StageId stage, Duration time) const {
    return stage_ppm.empty() ? time : Duration{scale_rounded(time.count(), stage_ppm[index(stage)], unchanged_ppm)};
  }
};

/// How transfers behave (SPEC section 2).
enum class TransferModel : std::uint8_t { latency, link, blocking, streams };

/// The passes that Megatron-LM's interleaved schedule overlaps with its sends and receives. none: batches that the
/// stage waits for (batch_p2p_comm). steady: those of 1F1B (overlap_p2p_comm). all: also those of warm-up and cool-down
/// (overlap_p2p_comm_warmup_flush).
enum class Overlap : std::uint8_t { none, steady, all };

/// The rules of TransferModel::streams (docs/communication.md).
struct Streams {
  std::string
      lowering; ///< the name (lowering.hpp) of what places sends and receives; empty: the default, or the schedule
  Overlap overlap = Overlap::steady; ///< for the lowering `megatron` with several chunks per stage
  bool reduce_grad = true;           ///< PyTorch has REDUCE_GRAD (2.10 and later): the lowering `pytorch` adds it
  std::optional<Communicators> communicators = std::nullopt; ///< none: those intended by the lowering
  Bytes eager_below{0};                                      ///< smaller sends do not wait for their receive
  std::int64_t slowdown_ppm = unchanged_ppm; ///< factor of compute time, in millionths, while a transfer runs on its
                                             ///< stage and uses multiprocessors
};

/// A link of another speed: transfers between two stages, in both directions, take `ppm` millionths of their time.
struct UnusualLink {
  StageId stage{};
  StageId other{};
  std::int64_t ppm = unchanged_ppm;
  [[nodiscard]] bool joins(StageId a, StageId b) const {
    return (a == stage && b == other) || (a == other && b == stage);
  }
};

/// The costs of transfers between stages. Boundary c is between chunks c and c+1; forwards send activations over it,
/// backwards gradients of the same size.
struct Network {
  TransferModel model = TransferModel::latency;
  std::vector<Duration> latency;                 ///< per boundary, p*v-1 values
  std::vector<Bytes> boundary_bytes;             ///< per boundary, p*v-1 values
  std::optional<Bandwidth> bandwidth;            ///< none: bytes cost no time
  std::size_t stages_per_node = 0;               ///< 0: nodes are not modelled. Stage s is on node s / stages_per_node
  std::optional<Duration> inter_node_latency;    ///< replaces `latency` between nodes
  std::optional<Bandwidth> inter_node_bandwidth; ///< replaces `bandwidth` between nodes
  std::size_t slices = 1; ///< equal parts of a task's output; each leaves when that share of the task is done
  std::vector<UnusualLink> unusual_links = {}; ///< at most one per pair of stages, at most max_unusual_links
  Streams streams = {};
  static constexpr std::size_t max_unusual_links = 100;
  [[nodiscard]] bool same_node(StageId a, StageId b) const;
  /// The node whose uplink carries transfers from `a` to `b`; none within a node: the pair has a link of its own.
  [[nodiscard]] std::optional<std::size_t> uplink(StageId a, StageId b) const;
  /// The factor of transfer time between two stages, in millionths.
  [[nodiscard]] std::int64_t link_ppm(StageId a, StageId b) const;
  /// Multiplies the transfer time between two stages by `ppm` millionths.
  void slow_link(StageId a, StageId b, std::int64_t ppm);
  /// Time of a transfer over `boundary` on an idle link: latency + bytes / bandwidth.
  [[nodiscard]] Duration transfer_time(std::size_t boundary, bool same_node) const {
    return time(boundary, same_node, 1);
  }
  /// The same for one slice: latency + bytes / (slices * bandwidth).
  [[nodiscard]] Duration slice_time(std::size_t boundary, bool same_node) const {
    return time(boundary, same_node, slices);
  }
  /// Time of a transfer over `boundary` on the idle link between two stages.
  [[nodiscard]] Duration time_between(std::size_t boundary, StageId a, StageId b) const {
    return Duration{scale_rounded(transfer_time(boundary, same_node(a, b)).count(), link_ppm(a, b), unchanged_ppm)};
  }
  /// True if no transfer of this scenario takes any time.
  [[nodiscard]] bool is_free() const;

private:
  [[nodiscard]] Duration time(std::size_t boundary, bool same_node, std::size_t parts) const;
};

/// The memory that stages hold (SPEC section 3). All vectors are per chunk.
struct Memory {
  std::vector<Bytes> activation; ///< per chunk and microbatch
  std::vector<Bytes>
      activation_for_weight; ///< the part that W needs until its end; the rest of a split backward's ends with I
  std::vector<Bytes> parameters;
  std::vector<Bytes> gradients;
  std::vector<Bytes> optimizer;
  bool release_outputs = false; ///< a forward frees its output, a part of its activation, after sending it
  std::optional<Bytes> limit;   ///< capacity of a device
};

/// Which activations a forward drops and its backward computes again (Korthikanti et al., arXiv 2205.05198).
enum class RecomputeKind : std::uint8_t { none, selective, full };

/// Recomputation: a forward keeps only its checkpoint, and its backward (B, or I if split) first restores the rest.
/// Both vectors are per chunk and unused if the kind is `none`.
struct Recompute {
  RecomputeKind kind = RecomputeKind::none;
  std::vector<Duration> time;       ///< additional time of the backward
  std::vector<Bytes> checkpoint;    ///< the part of the activation that the forward keeps
  std::vector<Bytes> restored = {}; ///< the most of the rest that B holds at a time, if it restores layer by layer or
                                    ///< in units; empty: all of it. I always holds all, because W needs it
  std::size_t microbatches_without =
      0; ///< of every w+1 consecutive forwards of a stage with w warm-up forwards, the number of first ones without
         ///< recomputation (Megatron-LM's num_microbatches_with_partial_activation_checkpoints)
  [[nodiscard]] bool is_on() const { return kind != RecomputeKind::none; }
};

/// When a stage takes its optimizer step.
enum class OptimizerStep : std::uint8_t {
  synchronous, ///< all stages together, after every gradient: the global gradient norm needs all of them
  per_stage    ///< each stage after its own gradients (post-validation: Qi et al., arXiv 2401.10241, section 4)
};

/// The work after the tasks of a step: the reduction of gradients over data-parallel ranks, and the optimizer.
struct Update {
  std::vector<Duration> reduce = {};    ///< per chunk; empty: none. Overlaps its stage's tasks
  std::vector<Duration> optimizer = {}; ///< per chunk; empty: none. Compute time of its stage
  Duration tied_embedding_reduce{0};    ///< between the stages of the first and the last chunk
  OptimizerStep step = OptimizerStep::synchronous;
  bool overlap_reduce = true; ///< a chunk's reduction starts after its last gradient; otherwise after all tasks of its
                              ///< stage (Megatron-LM without overlap_grad_reduce)
  /// True if nothing after the tasks takes any time.
  [[nodiscard]] bool is_free() const;
};

/// The duration of an overlapped pair (one F with one B).
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

/// The content of one chunk.
struct ChunkBlocks {
  std::size_t layers = 0;
  std::size_t mtp_layers = 0; ///< for multi-token prediction, after the last layer
  bool embedding = false;
  bool loss = false; ///< output layer and loss
  bool operator==(const ChunkBlocks&) const = default;
};
/// The content of each chunk, in model order. One chunk has the embedding, and one the loss.
using Layout = std::vector<ChunkBlocks>;

/// Floating-point operations of matrix products, as double because sums can exceed 64 bits.
struct PassOperations {
  double forward = 0;
  double backward = 0;
};

/// The work of one microbatch on all devices of a pipeline, and the devices' rates, for example for the model FLOPs
/// utilisation. It affects no time.
struct MicrobatchWork {
  PassOperations model;                        ///< repeated work counts once
  std::optional<PassOperations> hardware = {}; ///< all executed work, except `recompute`; none: unknown
  std::vector<double> recompute = {};          ///< by chunk: what a recomputed backward repeats; empty: nothing
  std::int64_t tokens = 0;                     ///< 0: unknown
  std::int64_t devices_per_stage = 1;
  std::int64_t replicas = 1;                    ///< data-parallel pipelines, each with its own batch
  std::optional<std::int64_t> flops_per_second; ///< of a device, dense, for the data type; none: unknown
};

/// A model and a machine, as the simulator needs them.
struct Scenario {
  Shape shape;
  Costs costs;
  Network network;
  Memory memory;
  Recompute recompute;
  Update update;
  PairRule pair;
  Layout layout; ///< empty if layers were not given
  std::optional<MicrobatchWork> work = {};
  std::string title;  ///< the user's name for it
  std::string source; ///< the origin of the costs
};

/// Throws Error if a vector has the wrong length, a value is negative, a part is larger than its whole, or sums could
/// overflow.
void validate(const Scenario& scenario);

[[nodiscard]] std::string_view to_string(TransferModel model);
[[nodiscard]] std::string_view to_string(OptimizerStep step);
[[nodiscard]] std::string to_string(const PairRule& rule);

/// A scenario of equal stages: `forward` and `backward` per stage and microbatch (the backward split in half, with an
/// odd nanosecond in the input gradient), transfers of `comm`, no memory sizes. Chunks take 1/v, rounded to the nearest
/// nanosecond.
[[nodiscard]] Scenario uniform_scenario(const Shape& shape, Duration forward, Duration backward,
                                        Duration comm = Duration{0});

/// `whole` / `parts`, rounded to the nearest (half up).
[[nodiscard]] std::int64_t divide_rounded(std::int64_t whole, std::int64_t parts);

/// The layout of chunks with these layer counts: the embedding on the first, the loss on the last.
[[nodiscard]] Layout plain_layout(const std::vector<std::size_t>& layers);

/// Layers per chunk as Megatron-LM splits them: `total` evenly over the chunks, or with `first` / `last` that many on
/// the first / last stage and the rest evenly over the others. A remainder gives one more layer to the first chunks (of
/// each such group). Throws Error with `layers` as place if a chunk would be empty or a stage's count is not a multiple
/// of v.
[[nodiscard]] std::vector<std::size_t> split_layers(const Shape& shape, const std::vector<StageId>& chunk_stage,
                                                    std::size_t total, std::optional<std::size_t> first,
                                                    std::optional<std::size_t> last);

} // namespace ppsim
