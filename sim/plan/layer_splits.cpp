// The distribution of layers over chunks in a plan.

#include "ppsim/base/error.hpp"
#include "ppsim/plan/space.hpp"
#include "ppsim/study/build_scenario.hpp"

#include <algorithm>
#include <ranges>
#include <set>

namespace ppsim {

bool runs_layouts(Framework framework) {
  return framework == Framework::any || framework == Framework::megatron;
}

bool goes_both_ways(const Generator& generator) {
  return generator.placement == "bidirectional";
}

Layout even_layout(const Model& model, const Shape& shape, const std::vector<StageId>& placement) {
  Layout layout = plain_layout(split_layers(shape, placement, static_cast<std::size_t>(model.layers), {}, {}));
  layout.back().mtp_layers = static_cast<std::size_t>(model.mtp_layers);
  return layout;
}

Layout ends_layout(const Model& model, std::size_t chunks) {
  const std::size_t each = (static_cast<std::size_t>(model.layers) + 2) / chunks;
  Layout layout(chunks, ChunkBlocks{.layers = each});
  --layout.front().layers;
  layout.front().embedding = true;
  --layout.back().layers;
  layout.back().mtp_layers = static_cast<std::size_t>(model.mtp_layers);
  layout.back().loss = true;
  return layout;
}

namespace {

/// The stage of each chunk; with two directions, the pair of stages that hold it and one of their other chunks.
std::vector<std::size_t> stage_of_chunk(const Generator& generator, const Shape& shape) {
  const std::vector<StageId> placement = generator.place({.shape = shape});
  std::vector<std::size_t> stage_of(placement.size());
  for (std::size_t chunk = 0; chunk < placement.size(); ++chunk)
    stage_of[chunk] =
        goes_both_ways(generator) ? std::min(chunk, placement.size() - 1 - chunk) : index(placement[chunk]);
  return stage_of;
}

/// For these ranks and one sample: more samples scale all blocks equally.
EndsWork work_of_ends(const PlanRequest& request, const Model& model, const Degrees& degrees) {
  const Configuration ranks{
      .degrees = {
          .tensor = degrees.tensor, .context = degrees.context, .expert = degrees.expert, .data = degrees.data}};
  const ModelCosts costs = model_costs(model, *request.run.device_sheet, spec_of(request, ranks).training);
  const auto time = [](const BlockCosts& block) { return block.forward + block.input_grad + block.weight_grad; };
  const bool is_moe = kind_of_layer(model, model.layers - 1) == LayerKind::moe;
  const std::int64_t layer = std::max<std::int64_t>(1, time(is_moe ? costs.moe_layer : costs.dense_layer).count());
  const auto in_layers = [&](Duration work) { return scale_rounded(work.count(), work_of_layer, layer); };
  return {in_layers(time(costs.embedding)), in_layers(time(costs.output) + model.mtp_layers * time(costs.mtp_layer))};
}

/// Distributes work so that the busiest stage has the least.
class WorkBalancer {
public:
  explicit WorkBalancer(const std::vector<std::size_t>& stage_of)
      : stage_of_{stage_of}, chunks_(stage_of.size()), stages_(1 + std::ranges::max(stage_of)), held_(stages_.size()) {
    for (std::size_t chunk = 0; chunk < stage_of.size(); ++chunk) held_[stage_of[chunk]].push_back(chunk);
  }
  void add(std::size_t chunk, std::int64_t work) {
    chunks_[chunk] += work;
    stages_[stage_of_[chunk]] += work;
  }
  /// The chunk with the least on the stage with the least, of equals the last.
  [[nodiscard]] std::size_t least() const {
    const auto last_least = [](const auto& list, auto value) {
      return *std::ranges::min_element(list | std::views::reverse, {}, value);
    };
    const auto stages = std::views::iota(std::size_t{0}, stages_.size());
    const std::size_t stage = last_least(stages, [&](std::size_t each) { return stages_[each]; });
    return last_least(held_[stage], [&](std::size_t each) { return chunks_[each]; });
  }

private:
  const std::vector<std::size_t>& stage_of_;
  std::vector<std::int64_t> chunks_, stages_;
  std::vector<std::vector<std::size_t>> held_; ///< chunks by stage
};

} // namespace

std::optional<Layout> work_layout(const Model& model, const EndsWork& work, const std::vector<std::size_t>& stage_of) {
  Layout layout(stage_of.size());
  layout.front().embedding = true;
  layout.back().loss = true;
  layout.back().mtp_layers = static_cast<std::size_t>(model.mtp_layers);
  auto left = static_cast<std::size_t>(model.layers);
  if (left + 2 < layout.size()) return std::nullopt;
  WorkBalancer evened{stage_of};
  evened.add(0, work.embedding);
  evened.add(layout.size() - 1, work.loss);
  const auto give = [&](std::size_t chunk) {
    --left;
    ++layout[chunk].layers;
    evened.add(chunk, work_of_layer);
  };
  for (std::size_t chunk = 1; chunk + 1 < layout.size(); ++chunk) give(chunk);
  while (left > 0) give(evened.least());
  return layout;
}

bool PlanSpace::takes(LayerSplit split) const {
  const std::vector<LayerSplit>& choice = request_.choices.split;
  return choice.empty() || std::ranges::find(choice, split) != choice.end();
}

PlanSpace::Layouts PlanSpace::layouts_of(const Generator& generator, std::size_t stages, std::size_t chunks,
                                         const EndsWork& work) const {
  const std::size_t all = stages * chunks;
  const auto layers = static_cast<std::size_t>(model_.layers);
  const bool splits_evenly = request_.framework == Framework::megatron || request_.framework == Framework::torchtitan;
  Layouts found;
  found.even = all <= layers && (layers % all == 0 || !splits_evenly);
  if (all > 1 && layers % all != 0 && (layers + 2) % all == 0) found.ends = ends_layout(model_, all);
  if (stages == 1 || !runs_layouts(request_.framework)) return found;
  const Shape shape{.stages = stages, .microbatches = stages, .vpp = chunks};
  found.work = work_layout(model_, work, stage_of_chunk(generator, shape));
  const auto is_known = [&] {
    if (found.ends && takes(LayerSplit::ends) && *found.work == *found.ends) return true;
    return found.even && takes(LayerSplit::even) &&
           *found.work == even_layout(model_, shape, generator.place({.shape = shape}));
  };
  if (found.work && is_known()) found.work.reset();
  return found;
}

PlanSpace::Ranks PlanSpace::ranks_of(const Degrees& degrees) const {
  const std::int64_t copies = model_.experts > 0 ? degrees.data : 1; // the distribution of experts depends on it
  return {degrees.tensor, degrees.context, degrees.expert, copies};
}

const EndsWork& PlanSpace::work_of(const Degrees& degrees) const {
  return work_.at(ranks_of(degrees));
}

void PlanSpace::find_layouts() {
  std::set<std::pair<std::int64_t, EndsWork>> kinds; // stages, and the work of the ends
  for (const Degrees& degrees : degrees_) {
    const auto [found, is_new] = work_.try_emplace(ranks_of(degrees));
    try {
      if (is_new) found->second = work_of_ends(request_, model_, degrees);
    } catch (const Error&) { // none of these can run
    }
    kinds.emplace(degrees.stages, found->second);
  }
  for (const auto& [count, work] : kinds)
    for (const Generator* generator : schedules_) {
      const auto stages = static_cast<std::size_t>(count);
      for (const std::size_t chunks : chunk_counts(*generator, stages))
        layouts_.emplace(std::tuple{generator, stages, chunks, work}, layouts_of(*generator, stages, chunks, work));
    }
}

} // namespace ppsim
