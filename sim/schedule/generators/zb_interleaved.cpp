// Interleaved zero bubble (order as PyTorch's ScheduleInterleavedZeroBubble; the idea of ZB-H1, Qi et al., arXiv
// 2401.10241, with v chunks per stage): the gradient for the chunk before is sent first, weight gradients fill the
// gaps.

#include <fmt/format.h>

#include <algorithm>

#include "generator_list.hpp"
#include "interleaved_order.hpp"

namespace ppsim::generator::zb_interleaved {
namespace {

/// Microbatches that a chunk runs before the next one: m in as many equal rounds of p or more as possible.
std::size_t round_size(const Shape& shape) {
  return shape.microbatches / std::max<std::size_t>(1, shape.microbatches / shape.stages);
}

bool in_equal_rounds(const Shape& shape) {
  return shape.microbatches % round_size(shape) == 0;
}

Schedule make(const ScheduleRequest& request, const Scenario& /*scenario*/) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::vector<Turn> order = shared_order(request.shape, round_size(request.shape));
  const std::size_t total = order.size();
  ScheduleBuilder builder{"zb-interleaved", request.shape};
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const auto forward = [&](std::size_t i) {
      builder.add(Pass::forward, order[i].local * stages + stage, order[i].microbatch);
    };
    const auto backward = [&](Pass pass, std::size_t i) {
      builder.add(pass, (vpp - 1 - order[i].local) * stages + stage, order[i].microbatch);
    };
    const std::size_t warmup = std::min(total, (vpp - 1) * round_size(request.shape) + stages - 1 - stage);
    for (std::size_t i = 0; i < warmup; ++i) forward(i);
    builder.end_warmup();
    for (std::size_t i = 0; i < total; ++i) {
      if (warmup + i < total) forward(warmup + i);
      backward(Pass::input_grad, i);
      if (i >= stage) backward(Pass::weight_grad, i - stage); // stage s delays weight gradients by s
    }
    for (std::size_t i = total - std::min(total, stage); i < total; ++i) backward(Pass::weight_grad, i);
    builder.end_stage();
  }
  return builder.build();
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  const Shape& shape = request.shape;
  if (in_equal_rounds(shape)) return;
  Shape below = shape;
  Shape above = shape;
  while (!in_equal_rounds(below)) --below.microbatches; // multiples of p always are
  while (!in_equal_rounds(above)) ++above.microbatches;
  const std::size_t rounds = shape.microbatches / shape.stages;
  problems.add(
      "`mb`", fmt::format("must be a multiple of its {} rounds (m div p) here, got {}", rounds, shape.microbatches),
      fmt::format("{} and {} are the nearest to {}", below.microbatches, above.microbatches, shape.microbatches));
}

/// The bubble of ZB-H1, divided by v: the last stage starts p-1 forwards late, the first one has p-1 weight gradients
/// left after the last input gradient. If W is longer than F or I, weight gradients delay passes that other stages wait
/// for.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const bool covered = costs.weight_grad <= costs.forward && costs.weight_grad <= costs.input_grad;
  if (costs.comm != Duration{0} || microbatches < stages || !covered) return std::nullopt;
  const Duration wait = costs.forward + costs.input_grad - costs.weight_grad;
  const Duration work = costs.forward + costs.input_grad + costs.weight_grad;
  return ClosedForm{(static_cast<double>(stages) - 1) * static_cast<double>(wait.count()) /
                        (static_cast<double>(vpp * microbatches) * static_cast<double>(work.count())),
                    "(p-1)(F+I-W)/(v*m*(F+I+W))"};
}

} // namespace

const Generator definition{
    .name = "zb-interleaved",
    .placement = "loop",
    .summary = "interleaved with split backwards: stage s delays its weight gradients by s",
    .promise =
        "bubble (p-1)(F+I-W)/v without comm for W <= F, W <= I and m >= p; at most (v-1)g + p chunk activations, "
        "g = m / max(1, m div p)",
    .constraints = "m a multiple of its max(1, m div p) rounds",
    .source = "PyTorch ScheduleInterleavedZeroBubble",
    .vpp = {.standard = 1, .multiple = 1},
    .refuse = refuse,
    .make = make,
    .closed_form = closed_form};

} // namespace ppsim::generator::zb_interleaved
