// Hanayo (Liu et al., arXiv 2308.15762): waves. The chunks go down the stages and up again W times, so that a
// microbatch turns around where it is. The paper fixes the placement and draws its orders; the rule here is our own and
// keeps to its bubble.

#include <algorithm>

#include "generator_list.hpp"

namespace ppsim::generator {
namespace {

/// What enters the pipeline, by the steps of a clock on which every stage runs at most one forward and one backward per
/// step: the k-th microbatch of a unit of p enters 2k steps after the first, the next unit 2pW steps later, and a
/// microbatch moves on by a chunk per step. So a stage sees chunks that go down in every other step and chunks that go
/// up in the steps between; waves and units follow one another without a gap.
class Clock {
public:
  Clock(const Shape& shape, std::size_t stage)
      : stages_{shape.stages}, waves_{shape.vpp / 2}, microbatches_{shape.microbatches}, stage_{stage} {}

  struct Turn {
    std::size_t chunk = 0;
    std::size_t microbatch = 0;
  };
  /// Which chunk the stage runs in `step`, and on what; nothing where no microbatch is there.
  [[nodiscard]] std::optional<Turn> at(std::size_t step) const {
    const bool down = step % 2 == stage_ % 2;
    const std::size_t way = down ? stage_ : 2 * stages_ - 1 - stage_; // steps from the top of the wave
    if (step < way) return std::nullopt;
    const std::size_t turn = (step - way) / 2;
    const std::size_t wave = turn / stages_;
    const std::size_t microbatch = wave / waves_ * stages_ + turn % stages_;
    if (microbatch >= microbatches_) return std::nullopt;
    return Turn{wave % waves_ * 2 * stages_ + way, microbatch};
  }
  /// How many steps it takes until the last microbatch has come by.
  [[nodiscard]] std::size_t steps() const {
    const std::size_t units = (microbatches_ + stages_ - 1) / stages_;
    return 2 * stages_ * (units * waves_ + 1);
  }

private:
  std::size_t stages_, waves_, microbatches_, stage_;
};

/// Backwards run by the same clock, from the last chunk to the first: a stage has chunk c where it has chunk pv-1-c.
/// The last chunk's backward is in the step of its forward. Every stage runs F then B in every step of the steady
/// state, so that it has no bubble whatever F and B cost.
Schedule make(const ScheduleRequest& request, const Scenario& /*scenario*/) {
  const Shape& shape = request.shape;
  const std::size_t last = shape.chunks() - 1;
  ScheduleBuilder builder{"hanayo", shape, 2 * shape.vpp * shape.microbatches};
  for (std::size_t stage = 0; stage < shape.stages; ++stage) {
    const Clock clock{shape, stage};
    for (std::size_t step = 0; step < clock.steps() + last; ++step) {
      if (const auto forward = clock.at(step)) builder.add(Pass::forward, forward->chunk, forward->microbatch);
      if (step < last) continue;
      if (const auto backward = clock.at(step - last))
        builder.add(Pass::backward, last - backward->chunk, backward->microbatch);
    }
    builder.end_stage();
  }
  return builder.build();
}

/// Filling and draining cost 2(p-1) chunk passes of the longer kind. A microbatch that the last unit lacks is missed in
/// every wave but the first (v-2 passes of the longer kind); in the only unit, the passes of the shorter kind are not
/// hidden either.
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

const Generator hanayo{
    .name = "hanayo",
    .placement = "wave",
    .summary = "W = v/2 waves down and up the stages, one forward and one backward in turn, in units of p microbatches",
    .promise = "bubble 2(p-1)max(F,B)/v without comm for m mod p = 0, at B=2F and m = p below the paper's ratio "
               "(2p-2)/(3pW+p-1); at most min(m, p)v live chunk activations",
    .constraints = "v a multiple of 2 (two chunks per wave); any m, best a multiple of p",
    .source = "Liu et al., arXiv 2308.15762",
    .vpp = {.standard = 2, .multiple = 2},
    .place = wave_placement,
    .make = make,
    .closed_form = closed_form};

} // namespace ppsim::generator
