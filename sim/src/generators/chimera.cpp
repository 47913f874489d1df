// Chimera (Li and Hoefler, arXiv 2107.06925): two pipelines in opposite directions over the same
// stages; more than p microbatches by direct concatenation.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator_list.hpp"

namespace ppsim::generator {
namespace {

/// One of the four kinds of task of a stage: a pass of one direction, for its microbatches in turn. It stands in a slot
/// as if every pass took one.
///
/// A unit is p/2 microbatches each way. Going down, the k-th of them has its F on stage s in slot s+2k and its B in
/// 2p-1-s+2k; going up, with p-1-s in place of s. As p is even, the F of one direction and the B of the other share
/// the slots of one parity, and lie in its halves one after the other: a stage's unit fills 2p slots without a gap, and
/// so does the next one, 2p slots later.
struct Lane {
  Pass pass{};
  std::size_t chunk = 0;
  std::size_t first_microbatch = 0;
  std::size_t first_slot = 0;
  std::size_t done = 0;
  [[nodiscard]] std::size_t slot(std::size_t stages) const {
    const std::size_t unit = done / (stages / 2);
    return first_slot + 2 * stages * unit + 2 * (done % (stages / 2));
  }
};

Schedule make(const ScheduleRequest& request, const Scenario& /*scenario*/) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::size_t each_way = microbatches / 2;
  ScheduleBuilder builder{"chimera", request.shape, 2 * microbatches};
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::size_t opposite = stages - 1 - stage;
    std::array lanes{Lane{Pass::forward, stage, 0, stage}, Lane{Pass::backward, stage, 0, 2 * stages - 1 - stage},
                     Lane{Pass::forward, opposite, each_way, opposite},
                     Lane{Pass::backward, opposite, each_way, 2 * stages - 1 - opposite}};
    for (std::size_t left = 2 * microbatches; left > 0; --left) {
      Lane* next = nullptr;
      for (Lane& lane : lanes)
        if (lane.done < each_way && (next == nullptr || lane.slot(stages) < next->slot(stages))) next = &lane;
      builder.add(next->pass, next->chunk, next->first_microbatch + next->done);
      ++next->done;
    }
    builder.end_stage();
  }
  return builder.build();
}

void refuse_odd(std::string_view option, std::string_view reason, std::size_t given, Problems& problems) {
  if (given % 2 == 0) return;
  problems.add(std::string{option}, fmt::format("must be even here ({}), got {}", reason, given),
               given == 1 ? "2 is the nearest to 1"
                          : fmt::format("{} and {} are the nearest to {}", given - 1, given + 1, given));
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  refuse_odd("--stages", "two pipelines in opposite directions meet between stages", request.shape.stages, problems);
  refuse_odd("--mb", "half of the microbatches go each way", request.shape.microbatches, problems);
}

/// The first unit waits for p-2 passes of the longer kind: p/2-1 to fill and as many to drain on each side of the turn.
/// Where F and B differ, each further unit waits for the difference in each of these places (the paper
/// has other orders against that, at a price in memory). Where the last unit is not full, each microbatch that it lacks
/// leaves a pass open. With both at once no closed form is known.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const std::size_t p = request.shape.stages;
  const std::size_t m = request.shape.microbatches;
  const std::size_t units = (m + p - 1) / p;
  const std::size_t lacking = units * p - m;
  const auto [shorter, longer] = std::minmax(costs.forward, costs.backward);
  const bool is_known = units == 1 || lacking == 0 || shorter == longer;
  if (costs.comm != Duration{0} || !is_known) return std::nullopt;
  const auto times = [](std::size_t count, Duration time) {
    return static_cast<double>(count) * static_cast<double>(time.count());
  };
  const double idle = times(p - 2, longer) + times((units - 1) * (p - 2), longer - shorter) + times(lacking, shorter);
  return ClosedForm{idle / times(m, shorter + longer),
                    "((p-2)(max(F,B) + (n-1)|F-B|) + (np-m)min(F,B))/(m(F+B)), n = ceil(m/p)"};
}

} // namespace

const Generator chimera{
    .name = "chimera",
    .placement = "bidirectional",
    .summary = "two 1f1b pipelines in opposite directions, in units of p microbatches",
    .promise = "m = p without comm: bubble ratio (p-2)/(2m+p-2) at F=B, (p-2)/(1.5m+p-2) at B=2F; stage s holds at "
               "most p/2 + 1 + min(s, p-1-s) activations, no more than p, and two copies of the parameters",
    .constraints = "one chunk per stage and direction; p and m even",
    .source = "Li and Hoefler, arXiv 2107.06925",
    .refuse = refuse,
    .make = make,
    .closed_form = closed_form};

} // namespace ppsim::generator
