#include "bound.hpp"

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/study/build_scenario.hpp"

#include <algorithm>

namespace ppsim {
namespace {

Training training_of(const PlanRequest& request, const Degrees& degrees) {
  return spec_of(request, {.degrees = degrees}).training;
}

Duration work_of(const BlockCosts& costs) {
  return costs.forward + costs.input_grad + costs.weight_grad;
}

/// The work that its backward repeats.
Duration recomputed(const BlockCosts& costs, const Keeping& keeping) {
  if (keeping.kind == RecomputeKind::none) return Duration{0};
  return keeping.kind == RecomputeKind::full ? costs.full.time : costs.selective.time;
}

/// The least time of a forward and its backward as halves of pairs with this rule; without a rule, alone.
Duration work_of(const BlockCosts& costs, const Keeping& keeping, const std::optional<PairRule>& rule) {
  const Duration all = work_of(costs) + recomputed(costs, keeping);
  if (!rule) return all;
  switch (rule->kind) {
  case PairRule::Kind::sum:
  case PairRule::Kind::serial:
    return all;
  case PairRule::Kind::hide:
    return all - costs.forward_collective - costs.input_grad_collective;
  case PairRule::Kind::factor:
    return Duration{scale_rounded(all.count(), std::min(rule->factor_ppm, whole_share), whole_share)} - Duration{1};
  case PairRule::Kind::max:
    break;
  }
  return all / 2;
}

Bytes kept_always(const BlockCosts& costs) {
  return costs.parameter_bytes + costs.gradient_bytes + costs.optimizer_bytes;
}

/// The memory that a forward keeps.
Bytes left_by_forward(const BlockCosts& costs, const Keeping& keeping) {
  if (keeping.kind == RecomputeKind::none) return costs.activation;
  return keeping.kind == RecomputeKind::full ? costs.full.checkpoint : costs.selective.checkpoint;
}

/// One stage, summed over its chunks in model order.
struct StageSum {
  bool seen = false;
  Duration reached{0};       ///< the earliest start of its first forward
  Duration work{0};          ///< of a microbatch
  Duration behind{0};        ///< the least time from its last task to the end of the backward
  Duration all_reduced{0};   ///< the reductions of all its gradients, one after the other
  Duration least_reduced{0}; ///< the reduction of one chunk's gradients
  Duration optimizer{0};
  Bytes always;
  Bytes unsharded;
  Bytes forward;       ///< the memory that its smallest forward keeps
  Int128 occupied = 0; ///< per microbatch: bytes times nanoseconds
  [[nodiscard]] Bytes held() const { return always + unsharded + unsharded; }
};

void add_chunk(StageSum& stage, const BlockCosts& chunk, const Keeping& keeping, Duration work, Duration before,
               Duration back) {
  const Bytes left = left_by_forward(chunk, keeping);
  if (!stage.seen) { // the earliest, whichever chunk of the stage comes first
    stage.reached = before;
    stage.behind = back;
    stage.least_reduced = chunk.reduce;
    stage.forward = left;
  }
  stage.seen = true;
  stage.work += work;
  stage.all_reduced += chunk.reduce;
  stage.least_reduced = std::min(stage.least_reduced, chunk.reduce);
  stage.optimizer += chunk.optimizer;
  stage.always += kept_always(chunk);
  stage.unsharded = std::max(stage.unsharded, chunk.unsharded);
  stage.forward = std::min(stage.forward, left);
}

/// The stages of a chunk: with two directions, half of the microbatches run it on the mirrored stage.
struct ChunkStages {
  std::size_t first = 0;
  std::optional<std::size_t> mirrored = {};
};
ChunkStages stages_of(const std::vector<StageId>& placement, std::size_t chunk, bool both_ways) {
  if (!both_ways) return {index(placement[chunk])};
  return {index(placement[chunk]), placement.size() - 1 - index(placement[chunk])};
}

/// A forward's memory is held until its gradient returns, down the later chunks and up again.
void add_waits(const std::vector<BlockCosts>& costs, const std::vector<StageId>& placement, const Keeping& keeping,
               std::vector<StageSum>& stages, bool splits, bool both_ways) {
  Duration behind{0};
  for (std::size_t chunk = placement.size(); chunk-- > 0;) {
    const BlockCosts& each = costs[chunk];
    behind += each.forward + each.input_grad + recomputed(each, keeping);
    if (!splits) behind += each.weight_grad;
    const Int128 occupied = Int128{left_by_forward(each, keeping).count()} * behind.count();
    const auto [stage, mirrored] = stages_of(placement, chunk, both_ways);
    stages[stage].occupied += occupied;
    if (mirrored) stages[*mirrored].occupied += occupied;
  }
}

/// The least time until all microbatches have passed within the memory limit.
Duration passing_time(const StageSum& stage, std::int64_t microbatches, const std::optional<Bytes>& limit) {
  if (!limit || *limit <= stage.held()) return Duration{0};
  const Int128 least = stage.occupied * microbatches / (*limit - stage.held()).count();
  return Duration{static_cast<std::int64_t>(std::min(least, Int128{max_duration.count()}))};
}

} // namespace

std::optional<Bytes> limit_of(const RunSpec& spec) {
  if (spec.memory_limit) return spec.memory_limit;
  return spec.device_sheet ? std::optional{spec.device_sheet->usable_memory()} : std::nullopt;
}

DegreeBounds::DegreeBounds(const PlanRequest& request, const Degrees& degrees, const ModelCosts& costs)
    : request_{&request}, degrees_{degrees}, model_{model_of(request.run)}, limit_{limit_of(request.run)},
      costs_{costs} {}

std::optional<DegreeBounds> DegreeBounds::of(const PlanRequest& request, const Degrees& degrees) {
  try {
    return DegreeBounds{request, degrees,
                        model_costs(model_of(request.run), *request.run.device_sheet, training_of(request, degrees))};
  } catch (const Error&) {
    return std::nullopt;
  }
}

PlanBound DegreeBounds::all() const {
  const PairRule rule = request_->run.pair.value_or(PairRule{}); // some schedules run pairs
  Duration work{0};
  Duration optimizer{0};
  Bytes memory;
  const auto add = [&](const BlockCosts& block, std::int64_t times) {
    work += times * work_of(block, {}, rule);
    optimizer += times * block.optimizer;
    memory += Bytes{times * kept_always(block).count()};
  };
  add(costs_.embedding, 1);
  for (std::int64_t layer = 0; layer < model_.layers; ++layer)
    add(kind_of_layer(model_, layer) == LayerKind::moe ? costs_.moe_layer : costs_.dense_layer, 1);
  add(costs_.mtp_layer, model_.mtp_layers);
  if (model_.tied_embedding) // one stage holds it only once
    work += work_of(costs_.output, {}, rule);
  else
    add(costs_.output, 1);
  return {.time = (work * degrees_.microbatches + optimizer) / degrees_.stages,
          .memory = Bytes{memory.count() / degrees_.stages}};
}

const std::vector<BlockCosts>& DegreeBounds::chunks(const PlannedOrder& order, const std::vector<StageId>& placement,
                                                    std::size_t units) {
  const bool meet = goes_both_ways(*order.schedule) || placement.front() == placement.back();
  const auto [found, is_new] = chunks_.try_emplace(Key{placement.size(), units, meet, order.layout});
  if (!is_new) return found->second;
  const Shape shape{.stages = static_cast<std::size_t>(degrees_.stages),
                    .microbatches = static_cast<std::size_t>(degrees_.microbatches),
                    .vpp = order.chunks};
  const Layout layout = order.layout != nullptr ? *order.layout : even_layout(model_, shape, placement);
  const RecomputeUnits by_block{.method = RecomputeUnits::Method::block, .layers = static_cast<std::int64_t>(units)};
  found->second = chunk_costs(model_, costs_, layout, meet, units > 0 ? by_block : RecomputeUnits{});
  return found->second;
}

PlanBound DegreeBounds::of(const PlannedOrder& order, const Keeping& keeping) {
  const ScheduleRequest asked{.shape = {.stages = static_cast<std::size_t>(degrees_.stages),
                                        .microbatches = static_cast<std::size_t>(degrees_.microbatches),
                                        .vpp = order.chunks}};
  const std::vector<StageId> placement = order.schedule->place(asked);
  const std::vector<BlockCosts>& costs = chunks(order, placement, keeping.block_layers);
  const ScheduleTraits traits = traits_of(*order.schedule);
  const auto rule = traits.pairs ? std::optional{request_->run.pair.value_or(PairRule{})} : std::nullopt;
  const bool splits = traits.splits_backward;
  const bool both_ways = goes_both_ways(*order.schedule);
  std::vector<StageSum> stages(asked.shape.stages);
  Duration before{0};
  Duration back{0};
  for (std::size_t chunk = 0; chunk < placement.size(); ++chunk) {
    const Duration work = work_of(costs[chunk], keeping, rule);
    const auto [stage, mirrored] = stages_of(placement, chunk, both_ways);
    add_chunk(stages[stage], costs[chunk], keeping, work, before, back);
    if (mirrored) add_chunk(stages[*mirrored], costs[chunk], keeping, work, before, back);
    before += costs[chunk].forward;
    back += costs[chunk].input_grad + costs[chunk].weight_grad + recomputed(costs[chunk], keeping);
  }
  const bool overlaps = request_->run.overlap_grad_reduce.value_or(degrees_.zero_stage > 0);
  // with a factor, a pair can be shorter than its halves, so the time until a gradient returns is unknown
  if (!rule || rule->kind != PairRule::Kind::factor) add_waits(costs, placement, keeping, stages, splits, both_ways);
  const std::int64_t passes = both_ways ? degrees_.microbatches / 2 : degrees_.microbatches; // of each of its chunks
  PlanBound bound;
  Duration optimizer{0};
  for (const StageSum& stage : stages) {
    const Duration reduced = overlaps ? stage.least_reduced : stage.all_reduced;
    const Duration behind = std::max(splits ? Duration{0} : stage.behind, both_ways ? Duration{0} : reduced);
    const Duration work = std::max(passes * stage.work + behind, passing_time(stage, passes, limit_));
    bound.time = std::max(bound.time, stage.reached + work);
    if (!both_ways) optimizer = std::max(optimizer, stage.optimizer); // with two directions, both are possible
    bound.memory = std::max(bound.memory, stage.held() + stage.forward);
  }
  bound.time += optimizer;
  return bound;
}

} // namespace ppsim
