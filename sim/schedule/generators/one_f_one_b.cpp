// 1F1B (PipeDream-Flush, Narayanan et al., arXiv 2006.09503; order as Megatron-LM's
// forward_backward_pipelining_without_interleaving).

#include "one_f_one_b.hpp"

#include <algorithm>
#include <functional>

#include "generator_list.hpp"

namespace ppsim::generator::one_f_one_b {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::size_t warmup = std::min(microbatches, stages - 1 - stage);
  add_one_f_one_b_stage(builder, stage, microbatches, warmup, std::identity{});
}

/// Stage 0 waits p-1 slots of F+B between its warm-up and its last backward. With latency c, the chain crosses 2(p-1)
/// boundaries to fill and drain, and more on the way because only p microbatches are active: docs/model.md derives the
/// chain.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const std::size_t p = request.shape.stages;
  const std::size_t m = request.shape.microbatches;
  const auto ideal = static_cast<double>((costs.forward + costs.backward).count()) * static_cast<double>(m);
  const double fill = (static_cast<double>(p) - 1) / static_cast<double>(m);
  if (costs.comm == Duration{0}) return ClosedForm{fill, "(p-1)/m"};
  const std::size_t round_trips = (m - 1) * (p - 1) / p; // rounded down
  const auto crossings = static_cast<double>(2 * (p - 1 + round_trips));
  return ClosedForm{fill + crossings * static_cast<double>(costs.comm.count()) / ideal,
                    "(p-1)/m + 2c(p-1 + floor((m-1)(p-1)/p))/(m(F+B))"};
}

} // namespace

const Generator definition{.name = "1f1b",
                           .placement = "loop",
                           .summary = "a short warm-up, then one forward and one backward in turn",
                           .promise = "bubble (p-1)(F+B) without comm; at most min(m, p-s) live activations on stage s",
                           .constraints = "one chunk per stage; any m >= 1",
                           .source = "Narayanan et al., arXiv 2006.09503; Megatron-LM",
                           .add_stage = add_stage,
                           .closed_form = closed_form};

} // namespace ppsim::generator::one_f_one_b
