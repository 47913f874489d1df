#pragma once
// Inputs: everything a user said about a run, by flag or scenario file; and how that becomes a Scenario and a Schedule.

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/backend.hpp"
#include "ppsim/scenario/model.hpp"
#include "ppsim/scenario/scenario.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/variation.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ppsim::cli {

/// How sends and receives share communicators: what simulations (Communicators) and replays (runtime::P2p) offer.
/// batched: one communicator, on which the sends of a task and the receives of the next one are a group (Megatron-LM).
enum class P2p : std::uint8_t { edge, pair, direction, group, batched };

/// What a user said. Each value is well-formed by itself; whether they fit together is for resolve() to say.
struct Inputs {
  std::optional<std::size_t> stages, microbatches, group_size, activation_limit;
  std::optional<std::vector<std::size_t>> vpp;       ///< more than one for commands that try several
  std::optional<std::vector<std::string>> schedules; ///< to compare; none: all
  std::optional<std::string> schedule, schedule_file, scenario, title, source;
  std::optional<bool> descending_backward;
  std::optional<std::vector<std::size_t>> replicas;
  bool forward_only = false;
  std::optional<std::size_t> layers, first_stage_layers, last_stage_layers;
  std::optional<Layout> layout;
  bool balance = false;

  std::optional<std::vector<Duration>> forward, backward, input_grad, weight_grad;
  std::optional<std::vector<Duration>> forward_collective, backward_collective;
  std::optional<Duration> overhead;
  std::optional<PairRule> pair;
  std::optional<std::vector<Duration>> embedding, head; ///< forward, then backward where it is given
  std::optional<RecomputeKind> recompute;
  std::optional<std::vector<Duration>> recompute_time;
  std::optional<std::size_t> microbatches_without_recompute;
  std::optional<std::vector<Duration>> reduce, optimizer;
  std::optional<Duration> tied_embedding_reduce;
  std::optional<OptimizerStep> optimizer_step;

  std::optional<std::string> model, device; ///< name of a shipped one, or a file
  Training training;                        ///< with --model; where nothing is said, as its members say
  std::optional<Model> model_shape;         ///< what `model` names; set by parse_arguments()
  std::optional<DeviceSheet> device_sheet;  ///< likewise
  std::optional<LinkSheet> link, inter_node_link;

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

  std::optional<std::vector<Bytes>> activation_bytes, parameter_bytes, gradient_bytes, optimizer_bytes;
  std::optional<std::vector<Bytes>> weight_activation_bytes, checkpoint_bytes;
  std::optional<Bytes> memory_limit;
  bool release_outputs = false;

  std::optional<std::string> backend, transport;
  std::optional<runtime::Compute> compute;
  runtime::Workload workload; ///< of a replay; where nothing is said, as its members say
  std::optional<std::size_t> slots, warmup, steps;
  std::optional<Duration> timeout;
  std::optional<runtime::Fault> fault;
  std::optional<std::string> output, timeline;
  std::optional<std::size_t> replica;
  bool by_microbatch = false, mean_stage = false;
  std::optional<double> calibrate;
  std::optional<double> tolerance;

  std::optional<std::size_t> threads;
  std::optional<Axis> vary;
  std::optional<std::size_t> points;
  std::optional<std::string> precision; ///< in the unit of the axis
  std::optional<std::string> json, markdown, svg, trace, csv, csv_comms, chakra, goal;
  bool tasks = false;
  bool sensitivity = false;
  std::vector<std::string> fail_if;
  std::optional<std::string> file;    ///< a command's first argument
  std::vector<std::string> files;     ///< those behind it, of a command that takes several
  std::string command;                ///< the line that says all this
  std::vector<std::string> arguments; ///< behind the command's name, as they were given
  std::string scenario_text;          ///< of the scenario file, which can be read but once; set by parse_arguments()

  /// Where each option was given: "--forward", or "run.toml:3:1".
  std::map<std::string, std::string, std::less<>> where;
  [[nodiscard]] std::string place_of(std::string_view option) const;
  /// Whether it was given on the command line, and so meant for this run; a file may be for others as well.
  [[nodiscard]] bool has_flag(std::string_view option) const;
};

/// What the inputs add up to.
struct Run {
  Scenario scenario;
  Schedule schedule;
  std::string schedule_place;           ///< what errors about the order name
  const Generator* generator = nullptr; ///< none for a schedule file
  ScheduleRequest request;
  std::vector<std::string> notes; ///< for people, on stderr
};

/// The communicators that the inputs name, if they do: `batched` is a group in simulations.
[[nodiscard]] std::optional<Communicators> communicators_in(const Inputs& inputs);

/// What Megatron-LM's sends and receives overlap; batches overlap nothing.
[[nodiscard]] Overlap overlap_in(const Inputs& inputs);
/// Adds to `problems` where batches are asked to overlap.
void check_overlap(const Inputs& inputs, Problems& problems);

/// The lowering that the inputs name: that of `batched` is Megatron-LM's, where the schedule does not come with its
/// sends and receives (`has_own`). Empty: none.
[[nodiscard]] std::string_view lowering_in(const Inputs& inputs, bool has_own = false);

/// Takes out of `scenario` what follows a flush where `schedule` has none, with a note. Throws Error where a flag asked
/// for it.
void fit_update(const Inputs& inputs, const Schedule& schedule, Scenario& scenario, std::vector<std::string>& notes);

/// Combines the inputs: makes or reads the schedule, then spreads the costs over its chunks. Throws Error with
/// everything that does not fit.
[[nodiscard]] Run resolve(const Inputs& inputs);

} // namespace ppsim::cli
