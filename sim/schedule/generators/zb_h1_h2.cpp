// The handcrafted orders of Zero Bubble Pipeline Parallelism (Qi et al., arXiv 2401.10241): ZB-H1 (section 2.1 and
// figure 2) and ZB-H2 (section 2.2 and figure 3). They differ in how many forwards a stage runs before its first I, and
// in how many activations it may hold.

#include <algorithm>

#include "generator_list.hpp"

namespace ppsim::generator {
namespace {

/// The last stage warms up with one forward, each stage before it with `warmup_per_stage_below` more. Then I and F take
/// turns, without any W, until the stage holds `limit` activations; from there on every F waits for a W, which makes
/// room for it. W follow I in the order of the microbatches.
void add_handcrafted_stage(ScheduleBuilder& builder, const Shape& shape, std::size_t stage,
                           std::size_t warmup_per_stage_below, std::size_t limit) {
  const std::size_t microbatches = shape.microbatches;
  const std::size_t warmup = 1 + warmup_per_stage_below * (shape.stages - 1 - stage);
  std::size_t forwards = 0;
  std::size_t weights = 0;
  for (; forwards < std::min(warmup, microbatches); ++forwards) builder.add(Pass::forward, stage, forwards);
  builder.end_warmup();
  for (std::size_t microbatch = 0; microbatch < microbatches; ++microbatch) {
    builder.add(Pass::input_grad, stage, microbatch);
    if (forwards == microbatches || forwards - weights == limit) builder.add(Pass::weight_grad, stage, weights++);
    if (forwards < microbatches) builder.add(Pass::forward, stage, forwards++);
  }
  while (weights < microbatches) builder.add(Pass::weight_grad, stage, weights++);
}

/// Span bubble over span, where the span bubble is (p-1) times `per_stage`; the form of `stage_span_bubble`.
ClosedForm span_bubble_form(const Shape& shape, const UniformCosts& costs, Duration per_stage,
                            std::string_view formula) {
  const auto bubble = static_cast<double>(shape.stages - 1) * static_cast<double>(per_stage.count());
  const Duration work = costs.forward + costs.input_grad + costs.weight_grad;
  const double span = static_cast<double>(shape.microbatches) * static_cast<double>(work.count()) + bubble;
  return {bubble / span, formula, "stage_span_bubble"};
}

/// True where no W is longer than the gap that it is to fill, nor shorter than a round trip between two neighbours:
/// W <= min(F, I) and 2c <= W. Only there does one formula hold.
bool weights_fill_gaps(const UniformCosts& costs) {
  return costs.weight_grad <= std::min(costs.forward, costs.input_grad) && 2 * costs.comm <= costs.weight_grad;
}

} // namespace
} // namespace ppsim::generator

namespace ppsim::generator::zb_h1 {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  add_handcrafted_stage(builder, request.shape, stage, 1, request.shape.stages);
}

/// Section 2.3 and table 2 of the paper, at c = 0. With latency every stage waits for two round trips with the next
/// one, before its first I and while the step ends; with m = p there is no second.
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
    .summary = "1f1b with the backward split: each stage puts its W off until it holds p activations",
    .promise = "span bubble (p-1)(F+I-W) without comm for W <= F and W <= I, m >= p; at most p live "
               "activations on every stage",
    .constraints = "one chunk per stage; any m >= 1",
    .source = "Qi et al., arXiv 2401.10241",
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::zb_h1

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
