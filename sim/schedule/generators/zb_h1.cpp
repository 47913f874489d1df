// ZB-H1 (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.1 and figure 2).

#include "generator_list.hpp"
#include "handcrafted_zero_bubble.hpp"

namespace ppsim::generator::zb_h1 {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  add_handcrafted_stage(builder, request.shape, stage, 1, request.shape.stages);
}

/// Section 2.3 and table 2 of the paper, at c = 0. With latency, every stage waits for two round trips with the next
/// one, before its first I and at the end of the step; with m = p there is only the first.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::size_t least = costs.comm == Duration{0} ? stages : stages + 1;
  if (!weights_fill_gaps(costs) || microbatches < least) return std::nullopt;
  return span_bubble_form(request.shape, costs, costs.forward + costs.input_grad - costs.weight_grad + 4 * costs.comm,
                          costs.comm == Duration{0} ? "b/(m(F+I+W)+b), b = (p-1)(F+I-W)"
                                                    : "b/(m(F+I+W)+b), b = (p-1)(F+I-W+4c)");
}

} // namespace

const Generator definition{
    .name = "zb-h1",
    .placement = "loop",
    .summary = "1f1b with the backward split: each stage delays its W until it holds p activations",
    .promise = "span bubble (p-1)(F+I-W) without comm for W <= F and W <= I, m >= p; at most p live "
               "activations on every stage",
    .constraints = "one chunk per stage; any m >= 1",
    .source = "Qi et al., arXiv 2401.10241",
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::zb_h1
