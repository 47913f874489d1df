#pragma once
// RunSpec: what a run is asked for, before it is known whether that fits together. From it build_run() makes a Scenario
// and a Schedule.

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

/// How sends and receives share communicators: what simulations (Communicators) and replays offer. batched: one
/// communicator, on which the sends of a task and the receives of the next one are a group (Megatron-LM).
enum class P2p : std::uint8_t { edge, pair, direction, group, batched };

/// An order that is not made by a generator.
struct GivenOrder {
  Schedule schedule;
  std::string name;               ///< for people: where it is from
  std::string fields;             ///< that name it
  std::vector<std::string> notes; ///< of who read it
};

/// The pipeline and who is where in it.
struct PipelineSpec {
  std::optional<std::size_t> stages, microbatches, group_size, activation_limit;
  std::optional<std::vector<std::size_t>> vpp;       ///< more than one where several are compared
  std::optional<std::vector<std::string>> schedules; ///< to compare; none: all
  std::optional<std::string> schedule;
  std::shared_ptr<const GivenOrder> order; ///< in place of a schedule by name
  std::optional<bool> descending_backward;
  std::optional<std::vector<std::size_t>> replicas;
  bool forward_only = false;
  bool overlap_expert_exchange = false; ///< ScheduleRequest::overlap_expert_exchange
  std::optional<std::size_t> layers, first_stage_layers, last_stage_layers;
  std::optional<Layout> layout;
  bool balance = false; ///< search the split of the layers
  bool bound = false;   ///< prove how long a step takes at least
};

/// What tasks take. A list has one value for a stage, or one per chunk; of passes also one per microbatch and chunk.
struct CostSpec {
  std::optional<std::vector<Duration>> forward, backward, input_grad, weight_grad;
  std::optional<std::vector<Duration>> forward_collective, backward_collective;
  std::optional<Duration> overhead;
  std::optional<PairRule> pair;
  std::optional<std::vector<Duration>> embedding, head; ///< forward, then backward where it is given
  std::optional<RecomputeKind> recompute;
  std::optional<std::vector<Duration>> recompute_time;
  std::optional<std::size_t> microbatches_without_recompute;
  std::optional<RecomputeUnits::Method> recompute_method;
  std::optional<std::size_t> recompute_num_layers;
};

/// What follows the tasks of a step.
struct UpdateSpec {
  std::optional<std::vector<Duration>> reduce, optimizer;
  std::optional<Duration> tied_embedding_reduce;
  std::optional<OptimizerStep> optimizer_step;
  std::optional<bool> overlap_grad_reduce; ///< none: yes, but of a model without a distributed optimizer
};

/// How long a step of such a run was measured to take; what is not said of it is as in the run that is asked for.
struct MeasuredStep {
  Duration time{0};
  std::optional<std::size_t> microbatches, vpp;
  std::optional<std::string> schedule;
};

/// Costs by a model's shape and a datasheet, where none are given.
struct ModelSpec {
  Training training;
  std::optional<Model> model_shape;
  std::optional<DeviceSheet> device_sheet;
  std::optional<LinkSheet> link, inter_node_link;
  std::optional<MeasuredStep> measured_step;
  std::optional<FlopCount> flops; ///< of a microbatch, where there is no model to count them from
};

/// What stages send each other, and how.
struct NetworkSpec {
  std::optional<std::vector<Duration>> comm, latency;
  std::optional<Bandwidth> bandwidth, inter_node_bandwidth;
  std::optional<Duration> inter_node_latency;
  std::optional<std::vector<Bytes>> boundary_bytes;
  std::optional<TransferModel> transfer;
  std::optional<std::string> lowering;
  std::optional<Overlap> overlap_p2p;
  std::optional<bool> pytorch_reduces; ///< whether the PyTorch that files are for knows REDUCE_GRAD
  std::optional<P2p> p2p;
  std::optional<Bytes> eager_below;
  std::optional<std::int64_t> comm_slowdown_ppm;
  std::optional<std::size_t> stages_per_node, send_slices;
};

/// What takes so many millionths of the time that is said elsewhere.
struct SlowStage {
  std::optional<std::size_t> copy = {}; ///< the data-parallel copy of the pipeline; none: all of them
  std::optional<std::size_t> stage;     ///< none: each that is not named
  std::int64_t ppm = unchanged_ppm;
};
struct SlowLink {
  std::size_t from = 0, to = 0; ///< stages, both ways between them
  std::int64_t ppm = unchanged_ppm;
};

/// Devices and links that are not as fast as others.
struct UnevenSpec {
  std::optional<std::vector<SlowStage>> slow;
  std::optional<std::vector<SlowLink>> slow_link;
  std::optional<std::int64_t> jitter_ppm;                ///< Jitter
  std::shared_ptr<const MeasuredJitter> measured_jitter; ///< in place of that
  std::optional<std::size_t> samples;
  std::uint64_t seed = 1;
  bool copies_apart = false; ///< who asks knows of copies that are not alike; the others have them refused
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

/// Where things were said, for people.
struct Provenance {
  std::optional<std::string> title, source; ///< of the costs
  std::string command;                      ///< the line that says all this
  std::string calibrated;                   ///< the name of a file of measured costs that says it; empty: none
  bool writes_operations = false;           ///< sends and receives are written, whatever is simulated
  bool writes_sizes = false;                ///< as above, the sizes of transfers
  /// By field: "run.toml:3:1", a file that may be for other runs as well; or the field in backticks, of what is said
  /// for this run. What is not there is said for this run, too.
  std::map<std::string, std::string, std::less<>> where;
};

/// Each value is well-formed by itself.
struct RunSpec : PipelineSpec, CostSpec, UpdateSpec, ModelSpec, NetworkSpec, UnevenSpec, MemorySpec, Provenance {
  std::optional<Axis> vary;                   ///< the field that takes other values than is said here
  StepFigure rank_by = StepFigure::step_time; ///< the figure by which several are compared

  [[nodiscard]] std::string place_of(std::string_view field) const;
  /// Whether anything is said of that field.
  [[nodiscard]] bool has(std::string_view field) const;
  /// Whether it is said for this run: a file may be for others as well.
  [[nodiscard]] bool is_asked(std::string_view field) const;
};

/// A field of a RunSpec, by the name that it has in scenario files.
struct RunField {
  std::string_view name;
  bool (*is_given)(const RunSpec&);
  bool is_cost = false;                          ///< a time or a size, rather than a rule
  bool names_what_varies = false;                ///< `vary` changes the numbers of what the field names
  bool is_of_model = false;                      ///< says something about a model's shape, and nothing without one
  std::optional<Axis::Unit> unit{};              ///< of a single number; none where it takes no such
  void (*set)(RunSpec&, std::int64_t) = nullptr; ///< to a number of that unit, for all chunks and boundaries
};
/// In the order in which they are listed.
[[nodiscard]] std::span<const RunField> run_fields();
/// Null where there is none of that name.
[[nodiscard]] const RunField* find_run_field(std::string_view name);
/// `spec` with that field at `value`, as said for this run.
[[nodiscard]] RunSpec with_value(const RunSpec& spec, const RunField& field, std::int64_t value);
/// Whether whole backwards are given, of which each is taken to be half I, half W.
[[nodiscard]] inline bool assumes_halves(const CostSpec& spec) {
  return spec.backward && !spec.input_grad && !spec.weight_grad;
}

/// The communicators that `spec` names, if it does: `batched` is a group in simulations.
[[nodiscard]] std::optional<Communicators> communicators_in(const NetworkSpec& spec);
/// What Megatron-LM's sends and receives overlap; batches overlap nothing.
[[nodiscard]] Overlap overlap_in(const NetworkSpec& spec);
/// Adds to `problems` where batches are asked to overlap.
void check_overlap(const RunSpec& spec, Problems& problems);
/// The lowering that `spec` names: that of `batched` is Megatron-LM's, where the schedule does not come with its sends
/// and receives (`has_own`). Empty: none.
[[nodiscard]] std::string_view lowering_in(const NetworkSpec& spec, bool has_own = false);

} // namespace ppsim
