#include "ppsim/study/build_scenario.hpp"

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/copies.hpp"
#include "ppsim/study/measured_jitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>

#include "spread.hpp"

namespace ppsim {
namespace {

/// The two halves of one chunk's backward.
struct Halves {
  Duration input;
  Duration weight;
};

/// B = I + W: any two give the third; B alone is halved, with an odd nanosecond in I (SPEC section 6). A negative half
/// means that the given one is longer than the whole.
Halves split(Duration backward, std::optional<Duration> input, std::optional<Duration> weight) {
  if (input && weight) return {*input, *weight};
  if (input) return {*input, backward - *input};
  if (weight) return {backward - *weight, *weight};
  return {backward - backward / 2, backward / 2};
}

std::optional<Problem> check_halves(const RunSpec& spec, std::size_t chunk, Duration backward, const Halves& halves) {
  if (halves.input < Duration{0} || halves.weight < Duration{0})
    return Problem{spec.place_of(spec.input_grad ? "input-grad" : "weight-grad"),
                   fmt::format("chunk {}: longer than the whole backward of {}", chunk, format_duration(backward)),
                   "it is a part of `backward`"};
  if (!spec.backward || backward == halves.input + halves.weight) return std::nullopt;
  return Problem{spec.place_of("backward"),
                 fmt::format("chunk {}: {} is not input-grad {} + weight-grad {}", chunk, format_duration(backward),
                             format_duration(halves.input), format_duration(halves.weight)),
                 "leave `backward` out"};
}

/// Splits each value of `backward`, with `per_chunk` consecutive values for each chunk. Given halves are kept.
void split_each(const RunSpec& spec, const std::vector<Duration>& backward, std::size_t per_chunk,
                std::vector<Duration>& input_grad, std::vector<Duration>& weight_grad, Problems& problems) {
  for (std::size_t at = 0; at < backward.size(); ++at) {
    const auto [i, w] = split(backward[at], spec.input_grad ? std::optional{input_grad[at]} : std::nullopt,
                              spec.weight_grad ? std::optional{weight_grad[at]} : std::nullopt);
    input_grad[at] = i;
    weight_grad[at] = w;
    if (auto wrong = check_halves(spec, at / per_chunk, backward[at], {i, w})) {
      problems.add(std::move(wrong->where), std::move(wrong->what), std::move(wrong->hint));
      return; // the other chunks have the same error
    }
  }
}

/// A value for each microbatch of each chunk, if another pass has that.
std::vector<Duration> for_each_microbatch(const GivenTimes& times, std::size_t microbatches) {
  if (!times.by_microbatch.empty()) return times.by_microbatch;
  std::vector<Duration> values;
  for (const Duration time : times.by_chunk) values.insert(values.end(), microbatches, time);
  return values;
}

void split_backward(const RunSpec& spec, Spread& spread, std::size_t microbatches, Costs& costs, Problems& problems) {
  constexpr Duration default_backward = std::chrono::milliseconds{2};
  const bool input = spec.input_grad.has_value();
  const bool weight = spec.weight_grad.has_value();
  if (!spec.backward && spread.has_model()) {
    costs.input_grad = spread.per_chunk("input-grad", spec.input_grad, Duration{0}, &BlockCosts::input_grad);
    costs.weight_grad = spread.per_chunk("weight-grad", spec.weight_grad, Duration{0}, &BlockCosts::weight_grad);
    return;
  }
  if (input != weight && !spec.backward) {
    problems.add(spec.place_of(input ? "input-grad" : "weight-grad"), "only one half of the backward is given",
                 input ? "give `weight-grad` too, or `backward`" : "give `input-grad` too, or `backward`");
    return;
  }
  const GivenTimes whole = spread.of_pass("backward", spec.backward, default_backward);
  const GivenTimes input_grad = spread.of_pass("input-grad", spec.input_grad, Duration{0});
  const GivenTimes weight_grad = spread.of_pass("weight-grad", spec.weight_grad, Duration{0});
  if (whole.by_microbatch.empty() && input_grad.by_microbatch.empty() && weight_grad.by_microbatch.empty()) {
    costs.input_grad = input_grad.by_chunk;
    costs.weight_grad = weight_grad.by_chunk;
    return split_each(spec, whole.by_chunk, 1, costs.input_grad, costs.weight_grad, problems);
  }
  costs.input_grad_by_microbatch = for_each_microbatch(input_grad, microbatches);
  costs.weight_grad_by_microbatch = for_each_microbatch(weight_grad, microbatches);
  split_each(spec, for_each_microbatch(whole, microbatches), microbatches, costs.input_grad_by_microbatch,
             costs.weight_grad_by_microbatch, problems);
  costs.input_grad = means_of(costs.input_grad_by_microbatch, microbatches);
  costs.weight_grad = means_of(costs.weight_grad_by_microbatch, microbatches);
}

/// A collective is part of its pass: the model's does not apply if the pass itself was given.
void fill_collectives(const RunSpec& spec, Spread& spread, Costs& costs) {
  if (spec.forward_collective || (spread.has_model() && !spec.forward))
    costs.forward_collective =
        spread.per_chunk("forward-collective", spec.forward_collective, Duration{0}, &BlockCosts::forward_collective);
  if (spec.backward_collective || (spread.has_model() && !spec.backward && !spec.input_grad))
    costs.input_grad_collective = spread.per_chunk("backward-collective", spec.backward_collective, Duration{0},
                                                   &BlockCosts::input_grad_collective);
}

/// Latency and bandwidth of a named link, or of the default one for a model.
void use_links(const RunSpec& spec, const Spread& spread, Network& network) {
  std::optional<LinkSheet> link = spec.link;
  if (!link && spread.has_model() && !spec.comm && !spec.latency && !spec.bandwidth) link = standard_link();
  if (link) {
    std::ranges::fill(network.latency, link->latency);
    network.bandwidth = link->reached_bandwidth();
  }
  if (!spec.inter_node_link) return;
  network.inter_node_latency = spec.inter_node_link->latency;
  network.inter_node_bandwidth = spec.inter_node_link->reached_bandwidth();
}

/// Adds a problem for options given together with `with`, which has the same meaning.
void refuse_beside(const RunSpec& spec, std::initializer_list<std::string_view> given, std::string_view with,
                   Problems& problems) {
  if (!spec.has(with)) return;
  for (const std::string_view option : given)
    if (spec.has(option))
      problems.add(spec.place_of(option), fmt::format("given together with `{}`", with), "leave one of them out");
}

void check_network(const RunSpec& spec, bool knows_size, Problems& problems) {
  if (spec.comm && (spec.latency || spec.bandwidth))
    problems.add(spec.place_of("comm"), fmt::format("given together with `{}`", spec.latency ? "latency" : "bandwidth"),
                 "give `comm`, or `latency` with `bandwidth` and `boundary-bytes`");
  for (const char* option : {"bandwidth", "link", "inter-node-bandwidth", "inter-node-link"})
    if (spec.has(option) && !knows_size)
      problems.add(spec.place_of(option), "has nothing to divide", "give `boundary-bytes`, the size of one transfer");
  for (const char* option : {"inter-node-latency", "inter-node-bandwidth", "inter-node-link"})
    if (spec.has(option) && !spec.stages_per_node)
      problems.add(spec.place_of(option), "there are no nodes", "give `stages-per-node`");
  check_overlap(spec, problems);
  refuse_beside(spec, {"comm", "latency", "bandwidth"}, "link", problems);
  refuse_beside(spec, {"inter-node-latency", "inter-node-bandwidth"}, "inter-node-link", problems);
}

/// `boundary`: the size of a transfer from the model's shape.
void fill_network(const RunSpec& spec, Spread& spread, const std::optional<Bytes>& boundary, Network& network,
                  Problems& problems) {
  check_network(spec, spec.boundary_bytes || boundary, problems);
  network.model = spec.transfer.value_or(TransferModel::latency);
  network.latency = spec.comm ? spread.per_boundary("comm", spec.comm) : spread.per_boundary("latency", spec.latency);
  network.boundary_bytes = spread.per_boundary(
      "boundary-bytes", spec.boundary_bytes || !boundary ? spec.boundary_bytes : std::vector<Bytes>{*boundary});
  network.bandwidth = spec.bandwidth;
  network.slices = spec.send_slices.value_or(1);
  network.streams = {.lowering = std::string{lowering_in(spec)},
                     .overlap = overlap_in(spec),
                     .reduce_grad = spec.pytorch_reduces.value_or(true),
                     .communicators = communicators_in(spec),
                     .eager_below = spec.eager_below.value_or(Bytes{0}),
                     .slowdown_ppm = spec.comm_slowdown_ppm.value_or(unchanged_ppm)};
  network.stages_per_node = spec.stages_per_node.value_or(0);
  network.inter_node_latency = spec.inter_node_latency;
  network.inter_node_bandwidth = spec.inter_node_bandwidth;
  use_links(spec, spread, network);
}

std::string no_stage(std::size_t stage, std::size_t stages) {
  return fmt::format("there is no stage {}: stages are 0 to {}", stage, stages - 1);
}

/// Checks the variation of tasks against the run.
void check_jitter(const RunSpec& spec, const Shape& shape, Problems& problems) {
  if (spec.samples && !spec.varies_by_chance())
    problems.add(spec.place_of("samples"), "nothing varies, so all samples would be the same",
                 "give `jitter` or `jitter-from`");
  if (!spec.measured_jitter) return;
  const MeasuredJitter& measured = *spec.measured_jitter;
  const std::string place = spec.place_of("jitter-from");
  if (spec.jitter_ppm) problems.add(place, "given together with `jitter`", "leave one of them out");
  if (measured.stages != shape.stages)
    problems.add(place,
                 fmt::format("{} has {}, but the run has {}: each stage varies by its own tasks", measured.source,
                             counted(measured.stages, "stage"), shape.stages),
                 fmt::format("give a run of {}, or one value for all: `jitter`", counted(shape.stages, "stage")));
  if (measured.forward_only && !spec.forward_only)
    problems.add(place, fmt::format("{} has forwards only, so it does not say how backwards vary", measured.source),
                 "give a run with backwards, or `forward-only`");
}

/// Specific entries are applied after those for all others.
void fill_uneven(const RunSpec& spec, Scenario& scenario, Problems& problems) {
  check_jitter(spec, scenario.shape, problems);
  const std::size_t stages = scenario.shape.stages;
  const auto copies = static_cast<std::size_t>(spec.training.data_parallel);
  for (const SlowStage& slow : spec.slow.value_or(std::vector<SlowStage>{})) {
    if (slow.stage.value_or(0) >= stages)
      problems.add(spec.place_of("slow"), no_stage(*slow.stage, stages), "name one of them");
    if (slow.copy.value_or(0) >= copies)
      problems.add(spec.place_of("slow"),
                   copies == 1 ? fmt::format("there is no copy {}: the only copy is 0", *slow.copy)
                               : fmt::format("there is no copy {}: copies are 0 to {}", *slow.copy, copies - 1),
                   "name one of them, or give more with `data-parallel`");
  }
  if (spec.names_copies() && !spec.copies_apart)
    problems.add(spec.place_of("slow"), "names a copy of the pipeline, but this command looks at one copy only",
                 "leave the copy out: 3=1.1");
  scenario.costs.stage_ppm = stage_factors(spec, stages);
  for (const SlowLink& slow : spec.slow_link.value_or(std::vector<SlowLink>{})) {
    if (std::max(slow.from, slow.to) < stages)
      scenario.network.unusual_links.push_back({make_id<StageId>(slow.from), make_id<StageId>(slow.to), slow.ppm});
    else
      problems.add(spec.place_of("slow-link"), no_stage(std::max(slow.from, slow.to), stages),
                   "3=2 is the link between stages 3 and 4, 7-0=2 that between 7 and 0");
  }
}

/// Extra work of a chunk takes one value, its forward, or two, with its backward.
void check_extra_work(const RunSpec& spec, Problems& problems) {
  const auto check = [&](std::string_view option, const std::optional<std::vector<Duration>>& given) {
    if (given && given->size() > 2)
      problems.add(spec.place_of(option), fmt::format("{} values", given->size()),
                   "give the forward, or the forward and the backward");
  };
  check("embedding", spec.embedding);
  check("head", spec.head);
}

/// The embedding reads a row per token, and its backward adds to as many: it has no input gradient. Output layer and
/// loss are matrix products; their backward has two of the forward's size, one for each half.
void add_extra_work(const RunSpec& spec, const Shape& shape, const Layout& layout, Costs& costs) {
  const auto chunk_with = [&](bool ChunkBlocks::*block, std::size_t otherwise) {
    const auto found = std::ranges::find(layout, true, block);
    return found == layout.end() ? otherwise : static_cast<std::size_t>(found - layout.begin());
  };
  const std::size_t microbatches = shape.microbatches;
  const auto add = [microbatches](std::size_t chunk, Duration time, std::vector<Duration>& by_chunk,
                                  std::vector<Duration>& by_microbatch) {
    by_chunk[chunk] += time;
    if (by_microbatch.empty()) return;
    for (std::size_t i = 0; i < microbatches; ++i) by_microbatch[chunk * microbatches + i] += time;
  };
  if (spec.embedding) {
    const std::size_t chunk = chunk_with(&ChunkBlocks::embedding, 0);
    add(chunk, spec.embedding->front(), costs.forward, costs.forward_by_microbatch);
    add(chunk, spec.embedding->back(), costs.weight_grad, costs.weight_grad_by_microbatch);
  }
  if (spec.head) {
    const std::size_t chunk = chunk_with(&ChunkBlocks::loss, costs.forward.size() - 1);
    const Duration forward = spec.head->front();
    const auto [input, weight] = split(spec.head->size() > 1 ? spec.head->back() : 2 * forward, {}, {});
    add(chunk, forward, costs.forward, costs.forward_by_microbatch);
    add(chunk, input, costs.input_grad, costs.input_grad_by_microbatch);
    add(chunk, weight, costs.weight_grad, costs.weight_grad_by_microbatch);
  }
}

std::int64_t layers_in(const ChunkBlocks& blocks) {
  return static_cast<std::int64_t>(blocks.layers + blocks.mtp_layers);
}

RecomputeUnits units_in(const RunSpec& spec) {
  return {.method = spec.recompute_method.value_or(RecomputeUnits::Method::uniform),
          .layers = static_cast<std::int64_t>(spec.recompute_num_layers.value_or(1))};
}

/// The input of each chunk, as far as transfer sizes show it. That of chunk 0 is the embedding's output, as large as
/// the chunk's output. A chunk without layers recomputes nothing and keeps nothing for it.
std::vector<Bytes> chunk_inputs(const Network& network, const Layout& layout) {
  std::vector<Bytes> sizes = network.boundary_bytes;
  sizes.insert(sizes.begin(), sizes.empty() ? Bytes{} : sizes.front());
  for (std::size_t chunk = 0; chunk < layout.size(); ++chunk)
    if (layout[chunk].layers + layout[chunk].mtp_layers == 0) sizes[chunk] = Bytes{};
  return sizes;
}

/// The number of recomputed layers of a chunk, and the size of units.
struct ChunkUnits {
  std::int64_t layers, recomputed, unit;
  [[nodiscard]] std::int64_t count() const { return unit == 0 ? 0 : (recomputed + unit - 1) / unit; }
};
ChunkUnits units_of(const ChunkBlocks& blocks, const RecomputeUnits& units) {
  const std::int64_t layers = layers_in(blocks);
  const std::int64_t some = std::min(units.layers, layers);
  if (units.method == RecomputeUnits::Method::uniform) return {layers, layers, some};
  return {layers, some, std::min<std::int64_t>(some, 1)};
}

Duration share_recomputed(Duration forward, const ChunkBlocks& blocks, const RecomputeUnits& units) {
  const ChunkUnits chunk = units_of(blocks, units);
  return chunk.recomputed == chunk.layers ? forward
                                          : Duration{scale_rounded(forward.count(), chunk.recomputed, chunk.layers)};
}

/// The memory that forwards keep with full recomputation: the input of each unit, and that of layers that are not
/// recomputed; for a chunk without layers its input.
std::vector<Bytes> unit_inputs(const Scenario& scenario, const RecomputeUnits& units) {
  std::vector<Bytes> sizes = chunk_inputs(scenario.network, scenario.layout);
  for (std::size_t i = 0; i < scenario.layout.size(); ++i) {
    const ChunkUnits chunk = units_of(scenario.layout[i], units);
    if (chunk.layers == 0) continue;
    const std::int64_t kept =
        scale_rounded(scenario.memory.activation[i].count(), chunk.layers - chunk.recomputed, chunk.layers);
    const Int128 all = Int128{chunk.count()} * sizes[i].count() + kept;
    sizes[i] = Bytes{static_cast<std::int64_t>(std::min(all, Int128{std::numeric_limits<std::int64_t>::max()}))};
  }
  return sizes;
}

/// The memory of a unit beyond what forwards keep, with equal layers in a chunk; none without layers.
std::vector<Bytes> unit_sizes(const Scenario& scenario, const RecomputeUnits& units) {
  std::vector<Bytes> sizes;
  for (std::size_t i = 0; i < scenario.layout.size(); ++i) {
    const ChunkUnits chunk = units_of(scenario.layout[i], units);
    const Bytes dropped = std::max(scenario.memory.activation[i] - scenario.recompute.checkpoint[i], Bytes{});
    sizes.push_back(chunk.recomputed == 0 ? Bytes{}
                                          : Bytes{scale_rounded(dropped.count(), chunk.unit, chunk.recomputed)});
  }
  return sizes;
}

void check_recompute(const RunSpec& spec, bool has_model, Problems& problems) {
  const bool selective = spec.recompute == RecomputeKind::selective;
  if (spec.recompute.value_or(RecomputeKind::none) == RecomputeKind::none)
    for (const char* option : {"recompute-time", "checkpoint-bytes", "microbatches-without-recompute"})
      if (spec.has(option))
        problems.add(spec.place_of(option), "nothing is recomputed", "give `recompute` full or selective");
  if (spec.recompute != RecomputeKind::full)
    for (const char* option : {"recompute-method", "recompute-num-layers"})
      if (spec.has(option)) problems.add(spec.place_of(option), "recomputation is not full", "give `recompute` full");
  if (!selective && spec.has("recompute-modules"))
    problems.add(spec.place_of("recompute-modules"), "no modules are recomputed", "give `recompute` selective");
  if (spec.recompute_method == RecomputeUnits::Method::block && !spec.recompute_num_layers)
    problems.add(spec.place_of("recompute-method"), "how many layers of a chunk?", "give `recompute-num-layers`");
  if (selective && !spec.recompute_time && !has_model)
    problems.add(spec.place_of("recompute"), "how long does it take to recompute the selected part?",
                 "give `recompute-time`");
  if (selective && spec.activation_bytes && !spec.checkpoint_bytes) // then the model's does not apply
    problems.add(spec.place_of("recompute"), "which part of `activation-bytes` does a forward keep?",
                 "give `checkpoint-bytes`");
  if (spec.checkpoint_bytes && !spec.activation_bytes && !has_model)
    problems.add(spec.place_of("checkpoint-bytes"), "a part of an activation of unknown size",
                 "give `activation-bytes`");
}

/// `scenario` already has its costs, network and memory. Work outside a chunk's layers is not recomputed, so the
/// backward grows by the forward before add_extra_work().
void fill_recompute(const RunSpec& spec, Spread& spread, Scenario& scenario, Problems& problems) {
  check_recompute(spec, spread.has_model(), problems);
  Recompute& recompute = scenario.recompute;
  recompute.kind = spec.recompute.value_or(RecomputeKind::none);
  if (!recompute.is_on()) return;
  if (recompute.kind == RecomputeKind::full && (spec.recompute_method || spec.recompute_num_layers) &&
      scenario.layout.empty())
    problems.add(spec.place_of(spec.recompute_num_layers ? "recompute-num-layers" : "recompute-method"),
                 "layers are not known", "give `layers` or `layout`");
  const std::vector<RecomputeCosts> computed =
      spread.from_model(recompute.kind == RecomputeKind::selective ? &BlockCosts::selective : &BlockCosts::full);
  recompute.microbatches_without = spec.microbatches_without_recompute.value_or(0);
  recompute.time = scenario.costs.forward;
  if (spec.recompute_time)
    recompute.time = spread.per_chunk("recompute-time", spec.recompute_time, Duration{});
  else if (!spec.forward)
    for (std::size_t chunk = 0; chunk < computed.size(); ++chunk) recompute.time[chunk] = computed[chunk].time;
  const RecomputeUnits units = units_in(spec);
  if (!spec.recompute_time && spec.forward)
    for (std::size_t chunk = 0; chunk < scenario.layout.size(); ++chunk)
      recompute.time[chunk] = share_recomputed(recompute.time[chunk], scenario.layout[chunk], units);
  if (spread.has_model() && !spec.checkpoint_bytes && !spec.activation_bytes) {
    for (const RecomputeCosts& chunk : computed) {
      recompute.checkpoint.push_back(chunk.checkpoint);
      recompute.restored.push_back(chunk.restored);
    }
    return;
  }
  if (spec.checkpoint_bytes || !spec.activation_bytes)
    recompute.checkpoint = spread.per_chunk("checkpoint-bytes", spec.checkpoint_bytes, Bytes{});
  else
    recompute.checkpoint = unit_inputs(scenario, units);
  recompute.restored = unit_sizes(scenario, units);
}

bool knows_sizes(const RunSpec& spec) {
  return spec.activation_bytes || spec.parameter_bytes || spec.gradient_bytes || spec.optimizer_bytes ||
         spec.model_shape;
}

/// A limit without sizes has no effect; a device may be given only for its rates.
void check_limit(const RunSpec& spec, Problems& problems) {
  for (const char* option : {"memory-limit", "device"})
    if (spec.has(option) && !knows_sizes(spec) && !(spec.flops && option == std::string_view{"device"}))
      problems.add(spec.place_of(option),
                   fmt::format("no memory is known that could exceed {}",
                               option == std::string_view{"device"} ? "its memory" : "it"),
                   "give `activation-bytes`, and `parameter-bytes`, `gradient-bytes`, `optimizer-bytes` if they "
                   "matter, or `model`");
}

void fill_memory(const RunSpec& spec, Spread& spread, Memory& memory, Problems& problems) {
  check_limit(spec, problems);
  memory.activation = spread.per_chunk("activation-bytes", spec.activation_bytes, Bytes{}, &BlockCosts::activation);
  if (spec.weight_activation_bytes)
    memory.activation_for_weight = spread.per_chunk("weight-activation-bytes", spec.weight_activation_bytes, Bytes{});
  else
    memory.activation_for_weight = spread.has_model() && !spec.activation_bytes
                                       ? spread.from_model(&BlockCosts::activation_for_weight)
                                       : memory.activation;
  const bool knows_activation = spec.activation_bytes || spread.has_model();
  if (spec.weight_activation_bytes && !knows_activation)
    problems.add(spec.place_of("weight-activation-bytes"), "a part of an activation of unknown size",
                 "give `activation-bytes`");
  memory.release_outputs = spec.release_outputs;
  if (spec.release_outputs && !(knows_activation && (spec.boundary_bytes || spread.has_model())))
    problems.add(spec.place_of("release-outputs"), "the size of an activation, or of its output, is not known",
                 "give `activation-bytes` and `boundary-bytes`");
  memory.parameters = spread.per_chunk("parameter-bytes", spec.parameter_bytes, Bytes{}, &BlockCosts::parameter_bytes);
  memory.gradients = spread.per_chunk("gradient-bytes", spec.gradient_bytes, Bytes{}, &BlockCosts::gradient_bytes);
  memory.optimizer = spread.per_chunk("optimizer-bytes", spec.optimizer_bytes, Bytes{}, &BlockCosts::optimizer_bytes);
  memory.limit = spec.memory_limit;
  if (!memory.limit && spec.device_sheet && knows_sizes(spec)) memory.limit = spec.device_sheet->usable_memory();
}

/// Sharded parameters are gathered while a pass needs them, two layers at a time: the computing one and the next.
void hold_unsharded(const std::vector<BlockCosts>& computed, const std::vector<StageId>& placement, Memory& memory) {
  std::map<StageId, std::size_t> first_chunk;
  std::map<StageId, Bytes> most;
  for (std::size_t chunk = 0; chunk < computed.size(); ++chunk) {
    first_chunk.try_emplace(placement[chunk], chunk);
    most[placement[chunk]] = std::max(most[placement[chunk]], computed[chunk].unsharded);
  }
  for (const auto& [stage, bytes] : most) memory.parameters[first_chunk[stage]] += bytes + bytes;
}

void add_each(std::vector<Duration>& times, const std::vector<Duration>& more) {
  std::ranges::transform(times, more, times.begin(), std::plus{});
}

/// `tied`: the gradient of the matrix that the first and the last stage share, from the model's shape.
void fill_update(const RunSpec& spec, Spread& spread, Bytes tied, Update& update, Problems& problems) {
  if (spec.overlap_grad_reduce && !spec.reduce && spread.has_model() && spec.training.shards_gradients())
    problems.add(spec.place_of("overlap-grad-reduce"), "divided gradients are reduced in each backward",
                 "leave it out, or `zero-stage` 1");
  update.overlap_reduce = spec.overlap_grad_reduce.value_or(!spread.has_model() || spec.training.distributed_optimizer);
  if (spec.reduce || spread.has_model())
    update.reduce = spread.per_chunk("reduce", spec.reduce, Duration{0}, &BlockCosts::reduce);
  if (spec.optimizer || spread.has_model())
    update.optimizer = spread.per_chunk("optimizer", spec.optimizer, Duration{0}, &BlockCosts::optimizer);
  if (!spec.optimizer && spread.has_model() && !spec.training.overlap_param_gather.value_or(true))
    add_each(update.optimizer, spread.from_model(&BlockCosts::gather));
  update.tied_embedding_reduce = spec.tied_embedding_reduce.value_or(
      tied > Bytes{} ? collective_time(spec.link.value_or(standard_link()), Collective::all_reduce, 2, tied)
                     : Duration{0});
  update.step = spec.optimizer_step.value_or(OptimizerStep::synchronous);
}

/// The given layout, if it agrees with the other options.
Layout given_layout(const RunSpec& spec, const Shape& shape, Problems& problems) {
  const Layout& layout = *spec.layout;
  const std::string where = spec.place_of("layout");
  if (layout.size() != shape.chunks())
    problems.add(where, fmt::format("{} chunks, but the schedule has {}", layout.size(), shape.chunks()),
                 "describe each of its chunks");
  if (spec.layers && *spec.layers != count_layers(layout))
    problems.add(where, fmt::format("{} layers, but `layers` says {}", count_layers(layout), *spec.layers),
                 "leave `layers` out");
  std::size_t mtp_layers = 0;
  for (const ChunkBlocks& blocks : layout) mtp_layers += blocks.mtp_layers;
  if (spec.model_shape && mtp_layers != static_cast<std::size_t>(spec.model_shape->mtp_layers))
    problems.add(where,
                 fmt::format("{} layers for multi-token prediction (m), but {} has {}", mtp_layers,
                             spec.model_shape->name, spec.model_shape->mtp_layers),
                 "write an m for each of the model's");
  for (const char* option : {"first-stage-layers", "last-stage-layers"})
    if (spec.has(option))
      problems.add(spec.place_of(option), "given together with a layout, which defines it", "leave one of them out");
  return problems.empty() ? layout : Layout{};
}

Layout make_layout(const RunSpec& spec, const Shape& shape, const std::vector<StageId>& placement, Problems& problems) {
  if (spec.layout) return given_layout(spec, shape, problems);
  if (!spec.layers && !spec.model_shape) {
    for (const char* option : {"first-stage-layers", "last-stage-layers"})
      if (spec.has(option)) problems.add(spec.place_of(option), "needs the total number of layers", "give `layers`");
    return {};
  }
  try {
    const std::size_t total = spec.layers ? *spec.layers : static_cast<std::size_t>(spec.model_shape->layers);
    Layout layout =
        plain_layout(split_layers(shape, placement, total, spec.first_stage_layers, spec.last_stage_layers));
    if (spec.model_shape) layout.back().mtp_layers = static_cast<std::size_t>(spec.model_shape->mtp_layers);
    return layout;
  } catch (const Error& error) {
    for (const Problem& problem : error.problems()) problems.add(problem.where, problem.what, problem.hint);
    return {};
  }
}

} // namespace

Scenario make_scenario(const RunSpec& spec, const Shape& shape, const std::vector<StageId>& placement,
                       bool ends_share_stage) {
  constexpr Duration default_forward = std::chrono::milliseconds{1};
  Problems problems;
  Scenario scenario;
  scenario.shape = shape;
  const std::optional<ModelCosts> model = price_model(spec, problems);
  scenario.layout = make_layout(spec, shape, placement, problems);
  const bool computes = model && !scenario.layout.empty();
  const std::vector<BlockCosts> computed =
      computes ? chunk_costs(model_of(spec), *model, scenario.layout, ends_share_stage, units_in(spec))
               : std::vector<BlockCosts>{};
  Spread spread{spec, scenario.shape, scenario.layout, computed, problems};
  if (spec.forward || !spread.has_model()) {
    GivenTimes forward = spread.of_pass("forward", spec.forward, default_forward);
    scenario.costs.forward = std::move(forward.by_chunk);
    scenario.costs.forward_by_microbatch = std::move(forward.by_microbatch);
  } else {
    scenario.costs.forward = spread.from_model(&BlockCosts::forward);
  }
  scenario.costs.overhead = spec.overhead.value_or(Duration{0});
  split_backward(spec, spread, shape.microbatches, scenario.costs, problems);
  fill_collectives(spec, spread, scenario.costs);
  fill_network(spec, spread, computes ? std::optional{model->boundary} : std::nullopt, scenario.network, problems);
  fill_uneven(spec, scenario, problems);
  fill_memory(spec, spread, scenario.memory, problems);
  if (!spec.parameter_bytes) hold_unsharded(computed, placement, scenario.memory);
  fill_recompute(spec, spread, scenario, problems);
  check_extra_work(spec, problems);
  fill_update(spec, spread, computes ? model->tied_embedding : Bytes{}, scenario.update, problems);
  scenario.work = given_work(spec, problems);
  if (computes)
    scenario.work = microbatch_work(model_of(spec), *spec.device_sheet, spec.training, scenario.layout, computed,
                                    scenario.recompute.kind);
  const PairRule paired = spec.overlap_expert_exchange ? PairRule{PairRule::Kind::hide} : PairRule{};
  scenario.pair = spec.pair.value_or(paired);
  scenario.title = spec.title.value_or("");
  scenario.source = cost_source(spec);
  problems.throw_if_any();
  add_extra_work(spec, shape, scenario.layout, scenario.costs);
  validate(scenario);
  return scenario;
}

} // namespace ppsim
