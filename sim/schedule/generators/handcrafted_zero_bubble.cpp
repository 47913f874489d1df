#include "handcrafted_zero_bubble.hpp"

#include <algorithm>

namespace ppsim::generator {

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

ClosedForm span_bubble_form(const Shape& shape, const UniformCosts& costs, Duration per_stage,
                            std::string_view formula) {
  const auto bubble = static_cast<double>(shape.stages - 1) * static_cast<double>(per_stage.count());
  const Duration work = costs.forward + costs.input_grad + costs.weight_grad;
  const double span = static_cast<double>(shape.microbatches) * static_cast<double>(work.count()) + bubble;
  return {bubble / span, formula, "stage_span_bubble"};
}

bool weights_fill_gaps(const UniformCosts& costs) {
  return costs.weight_grad <= std::min(costs.forward, costs.input_grad) && 2 * costs.comm <= costs.weight_grad;
}

} // namespace ppsim::generator
