// Cautions: notes about settings that are allowed but probably unintended.

#include "ppsim/operations/lowering.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/build_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace ppsim {
namespace {

void note_recompute(const RunSpec& spec, const Scenario& scenario, std::vector<std::string>& notes) {
  const Recompute& recompute = scenario.recompute;
  if (!recompute.is_on() || spec.forward_only) return;
  if (spec.activation_bytes && !spec.checkpoint_bytes && !spec.boundary_bytes)
    notes.push_back(fmt::format("{}: forwards keep nothing; `boundary-bytes` gives the size of a chunk's input, "
                                "`checkpoint-bytes` what else they keep",
                                spec.place_of("recompute")));
}

/// If only one half of the costs is set, it may be a thousand times the default of the other.
void note_costs(const RunSpec& spec, std::vector<std::string>& notes) {
  const bool backward = spec.backward || spec.input_grad || spec.weight_grad;
  if (spec.forward_only || spec.model_shape) return;
  if (spec.forward && !backward) notes.emplace_back("`backward`: not given, using 2 ms");
  if (backward && !spec.forward) notes.emplace_back("`forward`: not given, using 1 ms");
}

/// A value per chunk is the time on one device only if no chunk is on two of them.
void note_chunk_costs(const RunSpec& spec, const Schedule& schedule, std::vector<std::string>& notes) {
  const auto differ = [](const std::optional<std::vector<Duration>>* values) {
    return *values && std::ranges::adjacent_find(**values, std::ranges::not_equal_to{}) != (*values)->end();
  };
  std::vector<std::string_view> options;
  for (const auto& [option, values] :
       {std::pair{"forward", &spec.forward}, std::pair{"backward", &spec.backward},
        std::pair{"input-grad", &spec.input_grad}, std::pair{"weight-grad", &spec.weight_grad}})
    if (differ(values)) options.emplace_back(option);
  if (options.empty() || schedule.shape().shared > 0) return;
  const HeldChunks held{schedule};
  std::size_t count = 0;
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage)
    count += held.of(make_id<StageId>(stage)).size();
  if (count <= schedule.shape().chunks()) return;
  for (const std::string_view option : options)
    notes.push_back(fmt::format("{}: values are per chunk, but here each chunk runs on two stages, one per direction: "
                                "no value is that of one device",
                                spec.place_of(option)));
}

/// Published runs of large models are within these bounds: docs/validation.md.
void note_measured_step(const RunSpec& spec, std::vector<std::string>& notes) {
  constexpr std::int64_t least = 750'000;
  constexpr std::int64_t most = 1'300'000;
  const std::int64_t factor = spec.training.compute_ppm;
  if (!spec.measured_step || (factor >= least && factor <= most)) return;
  notes.push_back(
      fmt::format("{}: it needs compute to take {:.3g} of the time that the datasheet of {} gives; published runs lie "
                  "between 0.75 and 1.3: does the command line describe everything that the run used?",
                  spec.place_of("measured-step"), static_cast<double>(factor) / static_cast<double>(whole_share),
                  spec.device_sheet->name));
}

void note_memory(const RunSpec& spec, const Schedule& schedule, std::vector<std::string>& notes) {
  const auto splits = [&] {
    return std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pass == Pass::weight_grad; });
  };
  if (spec.recompute && *spec.recompute != RecomputeKind::none && spec.activation_bytes &&
      !spec.weight_activation_bytes && splits())
    notes.push_back(fmt::format("{}: a split backward keeps the whole activation for its W; `weight-activation-bytes` "
                                "gives the part that W needs",
                                spec.place_of("recompute")));
  if (spec.is_asked("weight-activation-bytes") && !spec.forward_only && !splits())
    notes.push_back(
        fmt::format("{}: changes nothing, as no backward is split", spec.place_of("weight-activation-bytes")));
  if (spec.release_outputs && schedule.shape().stages == 1)
    notes.push_back(
        fmt::format("{}: changes nothing, as no output leaves the one stage", spec.place_of("release-outputs")));
}

/// Options for ranks of which there is only one.
void note_lone_ranks(const RunSpec& spec, std::vector<std::string>& notes) {
  if (!spec.model_shape) return;
  const Training& training = spec.training;
  const bool copies = training.data_ranks().count > 1 || training.expert_data_ranks().count > 1;
  const auto note = [&](std::string_view option, bool matters, std::string_view because) {
    if (!matters && spec.is_asked(option))
      notes.push_back(fmt::format("{}: changes nothing, as {}", spec.place_of(option), because));
  };
  const std::string_view one_copy = "`data-parallel` and `context-parallel` are 1";
  note("zero-stage", copies || training.zero_stage == 1, one_copy);
  note("data-link", copies, one_copy);
  note("context-link", training.context_parallel > 1, "`context-parallel` is 1");
  note("tensor-link", training.tensor_parallel > 1 || (!training.expert_link && training.near_expert_ranks() > 1),
       "`tensor-parallel` is 1");
}

/// The share of all passes that is communication inside layers.
double collective_share(const Costs& costs) {
  const auto sum = [](const std::vector<Duration>& times) {
    return std::accumulate(times.begin(), times.end(), 0.0,
                           [](double all, Duration time) { return all + static_cast<double>(time.count()); });
  };
  const double all = sum(costs.forward) + sum(costs.input_grad) + sum(costs.weight_grad);
  return all == 0 ? 0 : (sum(costs.forward_collective) + sum(costs.input_grad_collective)) / all;
}

void note_collectives(const RunSpec& spec, const Scenario& scenario, const Schedule& schedule,
                      std::vector<std::string>& notes) {
  constexpr double worth_hiding = 0.1; // from here on the rule may decide which schedule is best
  const bool hides = scenario.pair.kind == PairRule::Kind::hide;
  const double share = collective_share(scenario.costs);
  const bool matters = share > worth_hiding || spec.has("forward-collective") || spec.has("backward-collective");
  const bool pairs =
      matters && std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pairing != Pairing::alone; });
  for (const char* option : {"forward-collective", "backward-collective"})
    if (spec.has(option) && !(hides && pairs))
      notes.push_back(fmt::format("{}: changes nothing {}", spec.place_of(option),
                                  pairs ? "without `pair` hide" : "in an order without overlapped pairs"));
  if (spec.model_shape && !spec.pair && pairs && share > worth_hiding)
    notes.push_back(fmt::format(
        "`pair`: not given, using sum, the time of both halves; {:.0f} % of all passes is communication inside layers "
        "(all-to-all of experts, tensor parallelism), which pairs may hide: {} shows the gain",
        100 * share,
        spec.command.empty() ? std::string{"`pair` hide"} : fmt::format("'{} `pair` hide'", spec.command)));
  const auto has_time = [](const std::vector<Duration>& times) {
    return std::ranges::any_of(times, [](Duration time) { return time > Duration{0}; });
  };
  if (hides && !has_time(scenario.costs.forward_collective) && !has_time(scenario.costs.input_grad_collective))
    notes.push_back(fmt::format("{}: hide is the same as sum without `forward-collective` or `backward-collective`",
                                spec.place_of("pair")));
}

void note_layout(const RunSpec& spec, std::vector<std::string>& notes) {
  if (!spec.layout) return;
  const auto empty = std::ranges::count(*spec.layout, ChunkBlocks{});
  if (empty > 0)
    notes.push_back(fmt::format("{}: {} of {} chunks {} empty; Megatron-LM is known to hang on such layouts (its issue "
                                "1852)",
                                spec.place_of("layout"), empty, spec.layout->size(), empty == 1 ? "is" : "are"));
  const std::size_t layers = count_layers(*spec.layout);
  if (spec.model_shape && !spec.layers && layers != static_cast<std::size_t>(spec.model_shape->layers))
    notes.push_back(fmt::format("{}: {} layers, but {} has {}", spec.place_of("layout"), layers, spec.model_shape->name,
                                spec.model_shape->layers));
}

/// A transfer of unknown size counts as zero bytes.
void note_sizes(const RunSpec& spec, const Network& network, std::vector<std::string>& notes) {
  const auto& sizes = network.boundary_bytes;
  if (network.streams.eager_below > Bytes{} && !sizes.empty() &&
      std::ranges::all_of(sizes, [](Bytes size) { return size == Bytes{}; }))
    notes.push_back(fmt::format(
        "{}: all transfers count as 0 bytes, so no send waits for its receive; `boundary-bytes` gives their size",
        spec.place_of("eager-below")));
}

/// Notes options of an unused transfer model. `p2p` also belongs to replays: a caller that only simulates asks for it.
void note_streams(const RunSpec& spec, const Scenario& scenario, std::vector<std::string>& notes) {
  const Streams& streams = scenario.network.streams;
  const Lowering* const lowering = find_lowering(streams.lowering);
  if (spec.overlap_p2p && (lowering == nullptr || !lowering->takes_overlap))
    notes.push_back(fmt::format("{}: changes nothing without `lowering` megatron", spec.place_of("overlap-p2p")));
  else if (spec.overlap_p2p && scenario.shape.vpp == 1)
    notes.push_back(fmt::format("{}: changes nothing without `vpp` above 1: Megatron-LM overlaps only its interleaved "
                                "schedule",
                                spec.place_of("overlap-p2p")));
  if (scenario.network.model == TransferModel::streams) {
    note_sizes(spec, scenario.network, notes);
    if (auto note = note_on_batches(spec, streams.lowering)) notes.push_back(*std::move(note));
    return;
  }
  const auto note_unused = [&](std::string_view option, std::string_view without) {
    if (spec.is_asked(option))
      notes.push_back(fmt::format("{}: changes nothing without {}", spec.place_of(option), without));
  };
  for (const std::string_view option : {"eager-below", "comm-slowdown"}) note_unused(option, "`transfer` streams");
  if (spec.writes_operations) return;
  for (const std::string_view option : {"lowering", "overlap-p2p", "pytorch-version"})
    note_unused(option, "`transfer` streams or `csv-comms`");
}

/// A factor without a stage applies to all stages: if it could be a stage number, one was probably intended.
void note_slow(const RunSpec& spec, const Shape& shape, std::vector<std::string>& notes) {
  for (const SlowStage& slow : spec.slow.value_or(std::vector<SlowStage>{})) {
    const std::int64_t factor = slow.ppm / unchanged_ppm;
    if (slow.stage || slow.ppm % unchanged_ppm != 0 || factor < 2 || static_cast<std::size_t>(factor) >= shape.stages)
      continue;
    notes.push_back(fmt::format(
        "{}: {} is the factor of all stages that are not named; to name only stage {}, give its own: {}=1.1",
        spec.place_of("slow"), factor, factor, factor));
  }
}

} // namespace

// A list of independent questions.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
std::vector<std::string> cautions(const RunSpec& spec, const BuiltRun& run) {
  const Scenario& scenario = run.scenario;
  const Schedule& schedule = run.schedule;
  std::vector<std::string> notes;
  const bool has_bandwidth = scenario.network.bandwidth || scenario.network.inter_node_bandwidth;
  const bool sizes_are_used =
      spec.release_outputs || scenario.recompute.is_on() || spec.eager_below || spec.writes_sizes;
  if (spec.boundary_bytes && !has_bandwidth && !spec.comm && !sizes_are_used)
    notes.push_back(fmt::format("{}: without `bandwidth` sizes take no time; they only count as volume",
                                spec.place_of("boundary-bytes")));
  if (spec.stages_per_node && scenario.network.model != TransferModel::link && !scenario.network.inter_node_latency &&
      !scenario.network.inter_node_bandwidth)
    notes.push_back(
        fmt::format("{}: changes nothing without `transfer` link, `inter-node-latency` or `inter-node-bandwidth`",
                    spec.place_of("stages-per-node")));
  note_streams(spec, scenario, notes);
  note_costs(spec, notes);
  note_chunk_costs(spec, schedule, notes);
  note_layout(spec, notes);
  note_slow(spec, scenario.shape, notes);
  if (spec.model_shape && spec.layers && *spec.layers != static_cast<std::size_t>(spec.model_shape->layers))
    notes.push_back(fmt::format("{}: {}, but {} has {}", spec.place_of("layers"), *spec.layers, spec.model_shape->name,
                                spec.model_shape->layers));
  note_recompute(spec, scenario, notes);
  note_measured_step(spec, notes);
  note_memory(spec, schedule, notes);
  note_lone_ranks(spec, notes);
  note_collectives(spec, scenario, schedule, notes);
  std::ranges::move(link_notes(spec), std::back_inserter(notes));
  if (spec.forward_only)
    for (const std::string_view option :
         {"backward", "input-grad", "weight-grad", "gpipe-backward", "recompute", "recompute-time", "checkpoint-bytes",
          "microbatches-without-recompute", "weight-activation-bytes"})
      if (spec.has(option))
        notes.push_back(fmt::format("{}: changes nothing with `forward-only`", spec.place_of(option)));
  if (scenario.network.slices > 1 && !has_bandwidth)
    notes.push_back(fmt::format("{}: changes nothing without `bandwidth`: a latency is the same for every slice",
                                spec.place_of("send-slices")));
  if (spec.tied_embedding_reduce && ends_share_stage(schedule))
    notes.push_back(fmt::format("{}: changes nothing, since one stage holds both the first and the last chunk",
                                spec.place_of("tied-embedding-reduce")));
  const auto listed = [&](const auto& values) { return values && values->size() > 1; };
  if ((spec.layers || spec.layout) &&
      (listed(spec.forward) || listed(spec.backward) || listed(spec.input_grad) || listed(spec.weight_grad) ||
       listed(spec.activation_bytes) || listed(spec.parameter_bytes)))
    notes.push_back(
        fmt::format("{}: values given per chunk do not follow it", spec.place_of(spec.layout ? "layout" : "layers")));
  return notes;
}

} // namespace ppsim
