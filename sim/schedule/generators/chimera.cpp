// Chimera (Li and Hoefler, arXiv 2107.06925): two pipelines in opposite directions over the same
// stages; more than p microbatches by direct concatenation.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "generator_list.hpp"

namespace ppsim::generator::chimera {
namespace {

/// One of a stage's four kinds of task: a pass of one direction, for its microbatches in turn. Its slot assumes that
/// every pass takes one slot.
///
/// A unit is p/2 microbatches in each direction. Downwards, its k-th microbatch has F on stage s in slot s+2k and B in
/// slot 2p-1-s+2k; upwards, with p-1-s instead of s. Because p is even, the F of one direction and the B of the other
/// share the slots of one parity, one in each half of the unit: a stage's unit fills 2p slots without a gap, and the
/// next unit starts 2p slots later.
class Lane {
public:
  /// `chunk` gives the direction: the chunk with the stage's number downwards, the opposite one upwards.
  Lane(const Shape& shape, Pass pass, std::size_t chunk, std::size_t first_microbatch)
      : pass_{pass}, chunk_{chunk}, per_unit_{shape.stages / 2}, left_{shape.microbatches / 2},
        microbatch_{first_microbatch}, slot_{pass == Pass::forward ? chunk : 2 * shape.stages - 1 - chunk} {}

  /// Beyond all slots if no task is left.
  [[nodiscard]] std::size_t slot() const { return left_ > 0 ? slot_ : std::numeric_limits<std::size_t>::max(); }
  [[nodiscard]] Task task() const { return make_task(pass_, chunk_, microbatch_); }
  void advance() {
    --left_;
    ++microbatch_;
    const bool unit_ends = ++turn_ == per_unit_;
    slot_ += unit_ends ? 2 * per_unit_ + 2 : 2; // the other lane of these slots has p in between
    if (unit_ends) turn_ = 0;
  }

private:
  Pass pass_;
  std::size_t chunk_;
  std::size_t per_unit_;
  std::size_t left_;
  std::size_t microbatch_;
  std::size_t slot_;
  std::size_t turn_ = 0;
};

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const Shape& shape = request.shape;
  const std::size_t opposite = shape.stages - 1 - stage;
  const std::size_t first_up = shape.microbatches / 2;
  std::array lanes{Lane{shape, Pass::forward, stage, 0}, Lane{shape, Pass::backward, stage, 0},
                   Lane{shape, Pass::forward, opposite, first_up}, Lane{shape, Pass::backward, opposite, first_up}};
  for (std::size_t left = 2 * shape.microbatches; left > 0; --left) {
    Lane* const next = std::ranges::min_element(lanes, {}, &Lane::slot);
    builder.add(next->task());
    next->advance();
  }
}

void refuse_odd(std::string_view option, std::string_view reason, std::size_t given, Problems& problems) {
  if (given % 2 == 0) return;
  problems.add(std::string{option}, fmt::format("must be even here ({}), got {}", reason, given),
               given == 1 ? "2 is the nearest to 1"
                          : fmt::format("{} and {} are the nearest to {}", given - 1, given + 1, given));
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  refuse_odd("`stages`", "two pipelines in opposite directions meet between stages", request.shape.stages, problems);
  refuse_odd("`mb`", "half of the microbatches go each way", request.shape.microbatches, problems);
}

/// The first unit waits for p-2 passes of the longer kind: p/2-1 to fill and as many to drain on each side of the turn.
/// If F and B differ, each further unit waits for the difference in each of these places (the paper avoids that with
/// other orders that need more memory). If the last unit is not full, each missing microbatch leaves a pass empty. With
/// both at the same time no closed form is known.
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

const Generator definition{
    .name = "chimera",
    .placement = "bidirectional",
    .summary = "two 1f1b pipelines in opposite directions, in units of p microbatches",
    .promise = "m = p without comm: bubble ratio (p-2)/(2m+p-2) at F=B, (p-2)/(1.5m+p-2) at B=2F; stage s holds at "
               "most p/2 + 1 + min(s, p-1-s) activations, no more than p, and two copies of the parameters",
    .constraints = "one chunk per stage and direction; p and m even",
    .source = "Li and Hoefler, arXiv 2107.06925",
    .refuse = refuse,
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::chimera
