#pragma once
// RunSpec: the request for a run, before its parts are checked against each other. build_run() makes a Scenario and a
// Schedule of it.

#include "ppsim/base/error.hpp"
#include "ppsim/scenario/model.hpp"
#include "ppsim/scenario/scenario.hpp"
#include "ppsim/schedule/schedule.hpp"
#include "ppsim/study/step_figure.hpp"
#include "ppsim/study/variation.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

struct MeasuredJitter;

/// How sends and receives share communicators, in simulations (Communicators) and replays. batched: one communicator;
/// the sends of a task and the receives of the next one form a group (Megatron-LM).
enum class P2p : std::uint8_t { edge, pair, direction, group, batched };

/// An order that no generator makes.
struct GivenOrder {
  Schedule schedule;
  std::string name;               ///< its origin, for users
  std::string fields;             ///< the fields that select it
  std::vector<std::string> notes; ///< of its reader
};

/// The pipeline and its schedule.
struct PipelineSpec {
  std::optional<std::size_t> stages, microbatches, group_size, activation_limit;
  std::optional<std::vector<std::size_t>> vpp;       ///< more than one if several are compared
  std::optional<std::vector<std::string>> schedules; ///< to compare; none: all
  std::optional<std::string> schedule;
  std::shared_ptr<const GivenOrder> order; ///< instead of a schedule by name
  std::optional<bool> descending_backward;
  std::optional<std::vector<std::size_t>> replicas;
  bool forward_only = false;
  bool overlap_expert_exchange = false; ///< ScheduleRequest::overlap_expert_exchange
  std::optional<std::size_t> layers, first_stage_layers, last_stage_layers;
  std::optional<Layout> layout;
  bool balance = false; ///< search for the split of the layers
  bool bound = false;   ///< prove a lower bound of the step
};

/// Task times. A list has one value for a stage, or one per chunk; for passes also one per microbatch and chunk.
struct CostSpec {
  std::optional<std::vector<Duration>> forward, backward, input_grad, weight_grad;
  std::optional<std::vector<Duration>> forward_collective, backward_collective;
  std::optional<Duration> overhead;
  std::optional<PairRule> pair;
  std::optional<std::vector<Duration>> embedding, head; ///< forward, then backward if given
  std::optional<RecomputeKind> recompute;
  std::optional<std::vector<Duration>> recompute_time;
  std::optional<std::size_t> microbatches_without_recompute;
  std::optional<RecomputeUnits::Method> recompute_method;
  std::optional<std::size_t> recompute_num_layers;
};

/// The work after the tasks of a step.
struct UpdateSpec {
  std::optional<std::vector<Duration>> reduce, optimizer;
  std::optional<Duration> tied_embedding_reduce;
  std::optional<OptimizerStep> optimizer_step;
  std::optional<bool> overlap_grad_reduce; ///< none: yes, except for a model without a distributed optimizer
};

/// A measured step time. The measured run equals the requested one except for the fields set here.
struct MeasuredStep {
  Duration time{0};
  std::optional<std::size_t> microbatches, vpp;
  std::optional<std::string> schedule;
};

/// Costs from a model's shape and a datasheet, if none are given.
struct ModelSpec {
  Training training;
  std::optional<Model> model_shape;
  std::optional<DeviceSheet> device_sheet;
  std::optional<LinkSheet> link, inter_node_link;
  std::optional<MeasuredStep> measured_step;
  std::optional<FlopCount> flops; ///< per microbatch, without a model to count them from
};

/// The transfers between stages.
struct NetworkSpec {
  std::optional<std::vector<Duration>> comm, latency;
  std::optional<Bandwidth> bandwidth, inter_node_bandwidth;
  std::optional<Duration> inter_node_latency;
  std::optional<std::vector<Bytes>> boundary_bytes;
  std::optional<TransferModel> transfer;
  std::optional<std::string> lowering;
  std::optional<Overlap> overlap_p2p;
  std::optional<bool> pytorch_reduces; ///< whether the PyTorch that reads written files supports REDUCE_GRAD
  std::optional<P2p> p2p;
  std::optional<Bytes> eager_below;
  std::optional<std::int64_t> comm_slowdown_ppm;
  std::optional<std::size_t> stages_per_node, send_slices;
};

/// A factor on a stage's compute time, in millionths.
struct SlowStage {
  std::optional<std::size_t> copy = {}; ///< the data-parallel copy of the pipeline; none: all of them
  std::optional<std::size_t> stage;     ///< none: each stage without an entry
  std::int64_t ppm = unchanged_ppm;
};
struct SlowLink {
  std::size_t from = 0, to = 0; ///< stages, in both directions
  std::int64_t ppm = unchanged_ppm;
};

/// Devices and links of different speeds.
struct UnevenSpec {
  std::optional<std::vector<SlowStage>> slow;
  std::optional<std::vector<SlowLink>> slow_link;
  std::optional<std::int64_t> jitter_ppm;                ///< Jitter
  std::shared_ptr<const MeasuredJitter> measured_jitter; ///< replaces jitter_ppm
  std::optional<std::size_t> samples;
  std::uint64_t seed = 1;
  bool copies_apart = false; ///< the caller supports unequal copies; otherwise they are an error
  [[nodiscard]] bool names_copies() const;
  /// Whether tasks vary from step to step, so that steps are sampled.
  [[nodiscard]] bool varies_by_chance() const { return jitter_ppm || measured_jitter; }
};

struct MemorySpec {
  std::optional<std::vector<Bytes>> activation_bytes, parameter_bytes, gradient_bytes, optimizer_bytes;
  std::optional<std::vector<Bytes>> weight_activation_bytes, checkpoint_bytes;
  std::optional<Bytes> memory_limit;
  bool release_outputs = false;
};

/// The origin of values, for users.
struct Provenance {
  std::optional<std::string> title, source; ///< source: of the costs
  std::string command;                      ///< the command line of the run
  std::string calibrated;                   ///< the name of a calibrated cost file that is the source; empty: none
  bool writes_operations = false;           ///< sends and receives are written, whatever transfer model is simulated
  bool writes_sizes = false;                ///< sizes of transfers are also written
  /// By field: "run.toml:3:1" for a file that may serve other runs as well, or the field in backticks if set for this
  /// run. A missing field was also set for this run.
  std::map<std::string, std::string, std::less<>> where;
};

/// Each value is well-formed by itself.
struct RunSpec : PipelineSpec, CostSpec, UpdateSpec, ModelSpec, NetworkSpec, UnevenSpec, MemorySpec, Provenance {
  std::optional<Axis> vary;                   ///< the field that varies, with its values
  StepFigure rank_by = StepFigure::step_time; ///< the figure that ranks several runs

  [[nodiscard]] std::string place_of(std::string_view field) const;
  /// Whether the field is set.
  [[nodiscard]] bool has(std::string_view field) const;
  /// Whether the field is set for this run; a file may serve other runs as well.
  [[nodiscard]] bool is_asked(std::string_view field) const;
};

/// A field of a RunSpec, by its name in scenario files.
struct RunField {
  std::string_view name;
  bool (*is_given)(const RunSpec&);
  bool is_cost = false;                          ///< a time or a size, rather than a rule
  bool names_what_varies = false;                ///< `vary` changes the numbers for the names in the field
  bool is_of_model = false;                      ///< applies only to a model's shape
  std::optional<Axis::Unit> unit{};              ///< of a single number; none if the field does not accept one
  void (*set)(RunSpec&, std::int64_t) = nullptr; ///< sets a number of that unit, for all chunks and boundaries
};
/// In the order of lists.
[[nodiscard]] std::span<const RunField> run_fields();
/// Null if there is no such field.
[[nodiscard]] const RunField* find_run_field(std::string_view name);
/// `spec` with that field at `value`, as set for this run.
[[nodiscard]] RunSpec with_value(const RunSpec& spec, const RunField& field, std::int64_t value);
/// Whether whole backwards are given; each is assumed to be half I, half W.
[[nodiscard]] inline bool assumes_halves(const CostSpec& spec) {
  return spec.backward && !spec.input_grad && !spec.weight_grad;
}

/// The communicators named in `spec`, if any: `batched` is a group in simulations.
[[nodiscard]] std::optional<Communicators> communicators_in(const NetworkSpec& spec);
/// The overlap of Megatron-LM's sends and receives; batches overlap nothing.
[[nodiscard]] Overlap overlap_in(const NetworkSpec& spec);
/// Adds a problem to `problems` if batches are requested to overlap.
void check_overlap(const RunSpec& spec, Problems& problems);
/// The lowering named in `spec`; for `batched` Megatron-LM's, unless the schedule specifies its sends and receives
/// (`has_own`). Empty: none.
[[nodiscard]] std::string_view lowering_in(const NetworkSpec& spec, bool has_own = false);
/// A note if `batched` is requested where `lowering` (empty: the schedule itself) places single sends and receives.
[[nodiscard]] std::optional<std::string> note_on_batches(const RunSpec& spec, std::string_view lowering);

} // namespace ppsim
