// ZB-H2 (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.2 and figure 3).

#include "generator_list.hpp"
#include "handcrafted_zero_bubble.hpp"

namespace ppsim::generator::zb_h2 {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  add_handcrafted_stage(builder, request.shape, stage, 2, 2 * request.shape.stages - 1);
}

/// Section 2.3 and table 2 of the paper, at c = 0. The doubled warm-up hides one of the two round trips of ZB-H1.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  if (!weights_fill_gaps(costs) || microbatches < 2 * stages - 1) return std::nullopt;
  return span_bubble_form(
      request.shape, costs, costs.forward + costs.input_grad - 2 * costs.weight_grad + 2 * costs.comm,
      costs.comm == Duration{0} ? "b/(m(F+I+W)+b), b = (p-1)(F+I-2W)" : "b/(m(F+I+W)+b), b = (p-1)(F+I-2W+2c)");
}

} // namespace

const Generator definition{
    .name = "zb-h2",
    .placement = "loop",
    .summary = "as zb-h1 with twice the warm-up: the bubble before the first I is filled with forwards",
    .promise = "span bubble (p-1)(F+I-2W) without comm for W <= F and W <= I, m >= 2p-1; at most 2p-1 live activations",
    .constraints = "one chunk per stage; any m >= 1",
    .source = "Qi et al., arXiv 2401.10241",
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::zb_h2
