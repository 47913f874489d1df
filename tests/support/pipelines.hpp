#pragma once
// Small instances of a synthesis, and what every order of one has to be.

#include "ppsim/synthesis/instance.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace ppsim::test {

/// The costs of every chunk of a pipeline, and the memory of every stage in activations.
struct PipelineCosts {
  std::int64_t forward = 1, input_grad = 1, weight_grad = 1; ///< no weight gradient: backwards are whole
  std::int64_t lag = 0;
  std::int64_t capacity = synthesis::unlimited;
};

/// Chunks on `stage_of` them, a forward taking an activation that the last pass gives back: sequence `passes * chunk +
/// pass`.
inline synthesis::Instance pipeline(const std::vector<std::uint32_t>& stage_of, std::uint32_t microbatches,
                                    const PipelineCosts& costs) {
  const std::uint32_t passes = costs.weight_grad > 0 ? 3 : 2;
  synthesis::Instance instance;
  instance.microbatches = microbatches;
  instance.capacity.assign(*std::ranges::max_element(stage_of) + 1U, costs.capacity);
  const auto join = [&](std::uint32_t from, std::uint32_t to) {
    const bool moves = instance.sequences[from].stage != instance.sequences[to].stage;
    instance.arcs.push_back({from, to, moves ? costs.lag : 0});
  };
  for (const std::uint32_t stage : stage_of) {
    instance.sequences.push_back({.stage = stage, .duration = costs.forward, .take = 1});
    instance.sequences.push_back({.stage = stage, .duration = costs.input_grad, .give = passes == 2 ? 1 : 0});
    if (passes == 3) instance.sequences.push_back({.stage = stage, .duration = costs.weight_grad, .give = 1});
  }
  for (std::uint32_t chunk = 0; chunk < stage_of.size(); ++chunk) {
    const std::uint32_t own = passes * chunk;
    for (std::uint32_t pass = 1; pass < passes; ++pass) join(own + pass - 1, own + pass);
    if (chunk + 1 == stage_of.size()) continue;
    join(own, own + passes);
    join(own + passes + 1, own + 1);
  }
  return instance;
}

inline std::vector<std::uint32_t> linear(std::uint32_t stages) {
  std::vector<std::uint32_t> placement;
  for (std::uint32_t stage = 0; stage < stages; ++stage) placement.push_back(stage);
  return placement;
}

/// Two chunks a stage: up, and back down again.
inline std::vector<std::uint32_t> wave(std::uint32_t stages) {
  std::vector<std::uint32_t> placement = linear(stages);
  for (std::uint32_t stage = stages; stage-- > 0;) placement.push_back(stage);
  return placement;
}

inline std::vector<std::uint32_t> loop(std::uint32_t stages, std::uint32_t rounds) {
  std::vector<std::uint32_t> placement;
  for (std::uint32_t chunk = 0; chunk < stages * rounds; ++chunk) placement.push_back(chunk % stages);
  return placement;
}

/// True if each stage runs exactly its sequences, each `microbatches` times.
inline bool is_complete(const synthesis::Instance& instance, const synthesis::Order& order) {
  if (order.size() != instance.stages()) return false;
  std::vector<std::uint32_t> count(instance.sequences.size());
  for (std::size_t stage = 0; stage < order.size(); ++stage)
    for (const std::uint16_t sequence : order[stage]) {
      if (sequence >= count.size() || instance.sequences[sequence].stage != stage) return false;
      ++count[sequence];
    }
  return std::ranges::all_of(count, [&](std::uint32_t each) { return each == instance.microbatches; });
}

} // namespace ppsim::test
