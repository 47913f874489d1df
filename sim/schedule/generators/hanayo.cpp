// Hanayo (Liu et al., arXiv 2308.15762): waves. The chunks go down the stages and up again W times, so a microbatch
// turns around on its stage. The paper defines the placement and draws its orders; the rule here is ours and achieves
// its bubble.

#include <algorithm>
#include <array>
#include <limits>

#include "generator_list.hpp"

namespace ppsim::generator::hanayo {
namespace {

/// One of a stage's four kinds of task: a pass on chunks of downward or of upward waves, for its microbatches in turn.
/// It has a step with space for one forward and one backward of each stage.
///
/// The k-th microbatch of a unit of p enters in step 2k and advances one chunk per step; the next unit enters 2pW steps
/// later. So a stage has downward chunks in every other step and upward chunks in the steps between, and waves and
/// units follow each other without a gap. Backwards do the same from the last chunk, whose B is in the step of its F:
/// where the forward's lane has chunk c, the backward's has chunk pv-1-c.
class Lane {
public:
  Lane(const Shape& shape, Pass pass, std::size_t way)
      : shape_{shape}, pass_{pass}, way_{way}, first_step_{way + (pass == Pass::forward ? 0 : shape.chunks() - 1)} {}

  /// Beyond all steps if no task is left.
  [[nodiscard]] std::size_t step() const {
    if (unit_ * shape_.stages >= shape_.microbatches) return std::numeric_limits<std::size_t>::max();
    return first_step_ + 2 * (shape_.stages * (unit_ * waves() + wave_) + turn_);
  }
  [[nodiscard]] Task task() const {
    const std::size_t passed = 2 * shape_.stages * wave_ + way_; // chunks from the end at which its pass begins
    return make_task(pass_, pass_ == Pass::forward ? passed : shape_.chunks() - 1 - passed,
                     unit_ * shape_.stages + turn_);
  }
  void advance() {
    if (++turn_ < std::min(shape_.stages, shape_.microbatches - unit_ * shape_.stages)) return;
    turn_ = 0;
    if (++wave_ < waves()) return;
    wave_ = 0;
    ++unit_;
  }

private:
  [[nodiscard]] std::size_t waves() const { return shape_.vpp / 2; }
  Shape shape_;
  Pass pass_;
  std::size_t way_; ///< chunks of a wave before those of this lane
  std::size_t first_step_;
  std::size_t unit_ = 0, wave_ = 0, turn_ = 0;
};

/// Every stage runs F then B in every step of the steady state, so it has no bubble for any F and B.
void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const Shape& shape = request.shape;
  const std::size_t tasks_per_stage = 2 * shape.vpp * shape.microbatches;
  const std::size_t down = stage;
  const std::size_t up = 2 * shape.stages - 1 - stage;
  std::array lanes{Lane{shape, Pass::forward, down}, Lane{shape, Pass::forward, up}, Lane{shape, Pass::backward, down},
                   Lane{shape, Pass::backward, up}};
  for (std::size_t left = tasks_per_stage; left > 0; --left) {
    Lane* const next = std::ranges::min_element(lanes, {}, &Lane::step); // within a step the forward comes first
    builder.add(next->task());
    next->advance();
  }
}

/// Fill and drain cost 2(p-1) chunk passes of the longer kind. A microbatch missing in the last unit leaves gaps in
/// every wave except the first (v-2 passes of the longer kind); in a single unit, the passes of the shorter kind are
/// also exposed.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  if (costs.comm != Duration{0}) return std::nullopt;
  const auto& [p, m, v, shared] = request.shape;
  const std::size_t lacking = (p - m % p) % p;
  const auto [shorter, longer] = std::minmax(costs.forward, costs.backward);
  const auto times = [](std::size_t count, Duration time) {
    return static_cast<double>(count) * static_cast<double>(time.count());
  };
  const double work = times(v * m, shorter + longer);
  const double idle = times(2 * (p - 1) + (v - 2) * lacking, longer);
  if (m < p)
    return ClosedForm{(idle + times(v * lacking, shorter)) / work,
                      "((2(p-1) + (v-2)(p-m))max(F,B) + v(p-m)min(F,B))/(vm(F+B))"};
  if (lacking == 0 || v == 2) return ClosedForm{idle / work, "2(p-1)max(F,B)/(vm(F+B))"};
  return ClosedForm{idle / work, "(2(p-1) + (v-2)(p - m mod p))max(F,B)/(vm(F+B))"};
}

} // namespace

const Generator definition{
    .name = "hanayo",
    .placement = "wave",
    .summary = "W = v/2 waves down and up the stages, one forward and one backward in turn, in units of p microbatches",
    .promise = "bubble 2(p-1)max(F,B)/v without comm for m mod p = 0, at B=2F and m = p below the paper's ratio "
               "(2p-2)/(3pW+p-1); at most min(m, p)v live chunk activations",
    .constraints = "v a multiple of 2 (two chunks per wave); any m, best a multiple of p",
    .source = "Liu et al., arXiv 2308.15762",
    .vpp = {.standard = 2, .multiple = 2},
    .place = wave_placement,
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::hanayo
