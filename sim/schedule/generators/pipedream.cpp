// PipeDream (Narayanan et al., SOSP 2019; arXiv 1806.03377): 1F1B without a flush, where stages may share a position of
// the pipeline as replicas and take its microbatches in turn (1F1B-RR).

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "generator_list.hpp"
#include "one_f_one_b.hpp"

namespace ppsim::generator::pipedream {
namespace {

/// The stages that share a chunk.
struct Position {
  std::size_t replicas = 1;
  std::size_t in_flight = 1; ///< the most active microbatches of each replica
};

/// A replica starts to alternate when its share of microbatches is active. The rule, derived in docs/model.md: the
/// share of all replicas of a position is at least that of the next position plus one microbatch per replica. It is the
/// least with which balanced positions run without a bubble, and no order deadlocks. Without replicas it is p-s; with
/// replicas of the input only, the paper's NOAM = ceil(stages / replicas).
std::vector<Position> positions_of(const ScheduleRequest& request) {
  std::vector<Position> positions(request.shape.chunks());
  for (std::size_t position = positions.size(); position-- > 0;) {
    Position& own = positions[position];
    if (!request.replicas.empty()) own.replicas = request.replicas[position];
    if (position + 1 == positions.size()) continue;
    const Position& next = positions[position + 1];
    own.in_flight = 1 + (next.in_flight * next.replicas + own.replicas - 1) / own.replicas;
  }
  return positions;
}

Schedule make(const ScheduleRequest& request, const Scenario& /*scenario*/) {
  const std::size_t microbatches = request.shape.microbatches;
  ScheduleBuilder builder{"pipedream", request.shape};
  builder.set_asynchronous();
  const std::vector<Position> positions = positions_of(request);
  for (std::size_t chunk = 0; chunk < positions.size(); ++chunk) {
    const auto [replicas, in_flight] = positions[chunk];
    for (std::size_t replica = 0; replica < replicas; ++replica) {
      const std::size_t share = (microbatches - replica + replicas - 1) / replicas;
      const std::size_t warmup = std::min(share, in_flight - 1);
      add_one_f_one_b_stage(builder, chunk, share, warmup, [&](std::size_t turn) { return replica + turn * replicas; });
      builder.end_stage();
    }
  }
  return builder.build();
}

/// Microbatch 0 runs on the first replica.
std::vector<StageId> place(const ScheduleRequest& request) {
  std::vector<StageId> stages;
  std::size_t stage = 0;
  for (const Position& position : positions_of(request)) {
    stages.push_back(make_id<StageId>(stage));
    stage += position.replicas;
  }
  return stages;
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  if (request.replicas.empty()) return;
  for (const std::size_t replicas : request.replicas)
    if (replicas == 0 || replicas > stages)
      problems.add("`replicas`", fmt::format("{} stages at one position, but there are {}", replicas, stages),
                   fmt::format("give each position 1 to {}", stages));
  if (!problems.empty()) return;
  const std::size_t sum = std::accumulate(request.replicas.begin(), request.replicas.end(), std::size_t{0});
  if (sum != stages)
    problems.add("`replicas`",
                 fmt::format("{} are {} stages, but there are {}", joined(request.replicas, " + "), sum, stages),
                 fmt::format("give numbers that add up to {}, or `stages` {}", stages, sum));
  const std::size_t most = std::ranges::max(request.replicas);
  if (microbatches < most)
    problems.add("`mb`", fmt::format("{} stages share a position, but there are {} microbatches", most, microbatches),
                 fmt::format("give at least {}, so that each has one", most));
  PPSIM_ASSERT(!problems.empty() || shared == stages - request.replicas.size());
}

/// That of 1F1B, because the order is the same: the fill and drain of the simulated iterations. It vanishes in the long
/// run.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  if (costs.comm != Duration{0} || request.shape.shared > 0) return std::nullopt;
  return ClosedForm{(static_cast<double>(request.shape.stages) - 1) / static_cast<double>(request.shape.microbatches),
                    "(p-1)/m"};
}

} // namespace

const Generator definition{
    .name = "pipedream",
    .placement = "loop",
    .summary = "1f1b without a flush, weights updated after every microbatch; stages may share a position (`replicas`)",
    .promise = "steady state without a bubble where positions are balanced; stage s keeps p-s activations and versions "
               "of the weights, with replicas 1 + ceil(n'r'/r) each, n' and r' of the next position",
    .constraints = "one chunk per stage; replicas add up to p, and each has a microbatch",
    .source = "Narayanan et al., SOSP 2019, arXiv 1806.03377",
    .options = "replicas",
    .refuse = refuse,
    .place = place,
    .make = make,
    .closed_form = closed_form};

} // namespace ppsim::generator::pipedream
