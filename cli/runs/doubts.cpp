#include "doubts.hpp"

#include "ppsim/operations/lowering.hpp"
#include "ppsim/scenario/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ppsim::cli {
namespace {

void doubt_recompute(const Inputs& inputs, const Scenario& scenario, std::vector<std::string>& notes) {
  const Recompute& recompute = scenario.recompute;
  if (!recompute.is_on() || inputs.forward_only) return;
  if (inputs.activation_bytes && !inputs.checkpoint_bytes && !inputs.boundary_bytes)
    notes.push_back(fmt::format("{}: forwards keep nothing; --boundary-bytes says how large the input of a chunk is, "
                                "--checkpoint-bytes what else they keep",
                                inputs.place_of("recompute")));
}

/// With its own default, each half of the costs may be a thousand times the other.
void doubt_costs(const Inputs& inputs, std::vector<std::string>& notes) {
  const bool backward = inputs.backward || inputs.input_grad || inputs.weight_grad;
  if (inputs.forward_only || inputs.model) return;
  if (inputs.forward && !backward) notes.emplace_back("--backward: not given, taken as 2 ms");
  if (backward && !inputs.forward) notes.emplace_back("--forward: not given, taken as 1 ms");
}

/// A value per chunk says what one device takes only where no chunk is on two of them.
void doubt_chunk_costs(const Inputs& inputs, const Schedule& schedule, std::vector<std::string>& notes) {
  const Shape& shape = schedule.shape();
  const HeldChunks held{schedule};
  std::size_t count = 0;
  for (std::size_t stage = 0; stage < shape.stages; ++stage) count += held.of(make_id<StageId>(stage)).size();
  if (shape.shared > 0 || count <= shape.chunks()) return;
  const auto doubt = [&](std::string_view option, const std::optional<std::vector<Duration>>& given) {
    if (given && std::ranges::adjacent_find(*given, std::ranges::not_equal_to{}) != given->end())
      notes.push_back(
          fmt::format("{}: values are per chunk, and here each chunk runs on two stages, once per direction: "
                      "none of them is that of one device",
                      inputs.place_of(option)));
  };
  doubt("forward", inputs.forward);
  doubt("backward", inputs.backward);
  doubt("input-grad", inputs.input_grad);
  doubt("weight-grad", inputs.weight_grad);
}

void doubt_memory(const Inputs& inputs, const Schedule& schedule, std::vector<std::string>& notes) {
  const auto is_weight_grad = [](const Task& task) { return task.pass == Pass::weight_grad; };
  const bool splits = std::ranges::any_of(schedule.tasks(), is_weight_grad);
  if (inputs.recompute && *inputs.recompute != RecomputeKind::none && splits && inputs.activation_bytes &&
      !inputs.weight_activation_bytes)
    notes.push_back(fmt::format("{}: a split backward keeps the whole activation for its W; --weight-activation-bytes "
                                "says how much of it W needs",
                                inputs.place_of("recompute")));
  if (inputs.has_flag("weight-activation-bytes") && !inputs.forward_only && !splits)
    notes.push_back(
        fmt::format("{}: changes nothing, as no backward is split", inputs.place_of("weight-activation-bytes")));
  if (inputs.release_outputs && schedule.shape().stages == 1)
    notes.push_back(
        fmt::format("{}: changes nothing, as no output leaves the one stage", inputs.place_of("release-outputs")));
}

/// Which part of all passes is communication inside layers.
double collective_share(const Costs& costs) {
  const auto sum = [](const std::vector<Duration>& times) {
    return std::accumulate(times.begin(), times.end(), 0.0,
                           [](double all, Duration time) { return all + static_cast<double>(time.count()); });
  };
  const double all = sum(costs.forward) + sum(costs.input_grad) + sum(costs.weight_grad);
  return all == 0 ? 0 : (sum(costs.forward_collective) + sum(costs.input_grad_collective)) / all;
}

void doubt_collectives(const Inputs& inputs, const Scenario& scenario, const Schedule& schedule,
                       std::vector<std::string>& notes) {
  constexpr double worth_hiding = 0.1; // from which on the rule may decide which schedule is the best
  const bool hides = scenario.pair.kind == PairRule::Kind::hide;
  const bool pairs =
      std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pairing != Pairing::alone; });
  for (const char* option : {"forward-collective", "backward-collective"})
    if (inputs.where.contains(option) && !(hides && pairs))
      notes.push_back(fmt::format("{}: changes nothing {}", inputs.place_of(option),
                                  pairs ? "without --pair hide" : "in an order without overlapped pairs"));
  const double share = collective_share(scenario.costs);
  if (inputs.model_shape && !inputs.pair && pairs && share > worth_hiding)
    notes.push_back(
        fmt::format("--pair: not given, and taken as sum, the time of both halves; {:.0f} % of all passes is "
                    "communication inside layers (all-to-all of experts, tensor parallel), which pairs may "
                    "hide: '{} --pair hide' says what that would gain",
                    100 * share, inputs.command));
  const auto has_time = [](const std::vector<Duration>& times) {
    return std::ranges::any_of(times, [](Duration time) { return time > Duration{0}; });
  };
  if (hides && !has_time(scenario.costs.forward_collective) && !has_time(scenario.costs.input_grad_collective))
    notes.push_back(fmt::format("{}: hide is the same as sum without --forward-collective or --backward-collective",
                                inputs.place_of("pair")));
}

void doubt_layout(const Inputs& inputs, std::vector<std::string>& notes) {
  if (!inputs.layout) return;
  const auto empty = std::ranges::count(*inputs.layout, ChunkBlocks{});
  if (empty > 0)
    notes.push_back(fmt::format("{}: {} of {} chunks {} empty; Megatron-LM is known to hang on such layouts (its issue "
                                "1852)",
                                inputs.place_of("layout"), empty, inputs.layout->size(), empty == 1 ? "is" : "are"));
  const std::size_t layers = count_layers(*inputs.layout);
  if (inputs.model_shape && !inputs.layers && layers != static_cast<std::size_t>(inputs.model_shape->layers))
    notes.push_back(fmt::format("{}: {} layers, where {} has {}", inputs.place_of("layout"), layers,
                                inputs.model_shape->name, inputs.model_shape->layers));
}

/// A transfer of unknown size counts as one of no bytes.
void doubt_sizes(const Inputs& inputs, const Network& network, std::vector<std::string>& notes) {
  const auto& sizes = network.boundary_bytes;
  if (network.streams.eager_below > Bytes{} && !sizes.empty() &&
      std::ranges::all_of(sizes, [](Bytes size) { return size == Bytes{}; }))
    notes.push_back(fmt::format("{}: all transfers count as 0 bytes, so that no send waits for its receive; "
                                "--boundary-bytes says how large they are",
                                inputs.place_of("eager-below")));
}

/// What the order itself is bad at; that hangs on the limit it is made for.
void doubt_order(const Inputs& inputs, const Run& run, std::vector<std::string>& notes) {
  if (run.generator == nullptr || run.generator->caution == nullptr || inputs.forward_only) return;
  const std::string words = run.generator->caution(run.request, run.scenario);
  const std::string_view limit = inputs.activation_limit ? "activation-limit" : "memory-limit";
  if (!words.empty()) notes.push_back(fmt::format("{}: {}", inputs.place_of(limit), words));
}

/// Rules of a transfer model that is not used. --p2p is one of replays too: those who only simulate ask for it.
void doubt_streams(const Inputs& inputs, const Scenario& scenario, std::vector<std::string>& notes) {
  const Streams& streams = scenario.network.streams;
  const Lowering* const lowering = find_lowering(streams.lowering);
  if (inputs.overlap_p2p && (lowering == nullptr || !lowering->takes_overlap))
    notes.push_back(fmt::format("{}: changes nothing without --lowering megatron", inputs.place_of("overlap-p2p")));
  else if (inputs.overlap_p2p && scenario.shape.vpp == 1)
    notes.push_back(fmt::format("{}: changes nothing without --vpp above 1: Megatron-LM overlaps only its interleaved "
                                "schedule",
                                inputs.place_of("overlap-p2p")));
  if (scenario.network.model == TransferModel::streams) {
    doubt_sizes(inputs, scenario.network, notes);
    if (inputs.p2p == P2p::batched && streams.lowering != "megatron")
      notes.push_back(fmt::format("{}: batched is group here: {} places sends and receives, and not megatron",
                                  inputs.place_of("p2p"),
                                  streams.lowering.empty() ? "the schedule file" : streams.lowering));
    return;
  }
  const auto doubt = [&](std::string_view option, std::string_view without) {
    if (inputs.has_flag(option))
      notes.push_back(fmt::format("{}: changes nothing without {}", inputs.place_of(option), without));
  };
  for (const std::string_view option : {"eager-below", "comm-slowdown"}) doubt(option, "--transfer streams");
  if (inputs.csv_comms) return;
  for (const std::string_view option : {"lowering", "overlap-p2p", "pytorch-version"})
    doubt(option, "--transfer streams or --csv-comms");
}

} // namespace

// A list of independent questions.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
std::vector<std::string> doubts(const Inputs& inputs, const Run& run) {
  const Scenario& scenario = run.scenario;
  const Schedule& schedule = run.schedule;
  std::vector<std::string> notes;
  const bool has_bandwidth = scenario.network.bandwidth || scenario.network.inter_node_bandwidth;
  const bool sizes_are_used =
      inputs.release_outputs || scenario.recompute.is_on() || inputs.eager_below || inputs.chakra || inputs.goal;
  if (inputs.boundary_bytes && !has_bandwidth && !inputs.comm && !sizes_are_used)
    notes.push_back(fmt::format("{}: without --bandwidth sizes cost no time; only their volume is counted",
                                inputs.place_of("boundary-bytes")));
  if (inputs.stages_per_node && scenario.network.model != TransferModel::link && !scenario.network.inter_node_latency &&
      !scenario.network.inter_node_bandwidth)
    notes.push_back(
        fmt::format("{}: changes nothing without --transfer link, --inter-node-latency or --inter-node-bandwidth",
                    inputs.place_of("stages-per-node")));
  doubt_streams(inputs, scenario, notes);
  doubt_costs(inputs, notes);
  doubt_chunk_costs(inputs, schedule, notes);
  doubt_order(inputs, run, notes);
  doubt_layout(inputs, notes);
  if (inputs.model_shape && inputs.layers && *inputs.layers != static_cast<std::size_t>(inputs.model_shape->layers))
    notes.push_back(fmt::format("{}: {}, where {} has {}", inputs.place_of("layers"), *inputs.layers,
                                inputs.model_shape->name, inputs.model_shape->layers));
  doubt_recompute(inputs, scenario, notes);
  doubt_memory(inputs, schedule, notes);
  doubt_collectives(inputs, scenario, schedule, notes);
  if (inputs.forward_only)
    for (const std::string_view option :
         {"backward", "input-grad", "weight-grad", "gpipe-backward", "recompute", "recompute-time", "checkpoint-bytes",
          "microbatches-without-recompute", "weight-activation-bytes"})
      if (inputs.where.contains(option))
        notes.push_back(fmt::format("{}: changes nothing with --forward-only", inputs.place_of(option)));
  if (scenario.network.slices > 1 && !has_bandwidth)
    notes.push_back(fmt::format("{}: changes nothing without --bandwidth: a latency is the same for every slice",
                                inputs.place_of("send-slices")));
  if (inputs.tied_embedding_reduce && ends_share_stage(schedule))
    notes.push_back(fmt::format("{}: changes nothing, since one stage holds both the first and the last chunk",
                                inputs.place_of("tied-embedding-reduce")));
  const auto listed = [&](const auto& values) { return values && values->size() > 1; };
  if ((inputs.layers || inputs.layout) &&
      (listed(inputs.forward) || listed(inputs.backward) || listed(inputs.input_grad) || listed(inputs.weight_grad) ||
       listed(inputs.activation_bytes) || listed(inputs.parameter_bytes)))
    notes.push_back(fmt::format("{}: values given per chunk do not follow it",
                                inputs.place_of(inputs.layout ? "layout" : "layers")));
  return notes;
}

} // namespace ppsim::cli
