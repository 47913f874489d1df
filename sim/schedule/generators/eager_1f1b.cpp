// Eager 1F1B: 1F1B with a warm-up twice as long, so that a transfer overlaps a pass of another microbatch (Zhuang et
// al., On Optimizing the Communication of Model Parallelism, arXiv 2211.05322; the order of PyTorch's
// ScheduleInterleaved1F1B with one chunk per stage).

#include <algorithm>
#include <functional>

#include "generator_list.hpp"
#include "one_f_one_b.hpp"

namespace ppsim::generator::eager_1f1b {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::size_t warmup = std::min(microbatches, 2 * (stages - 1 - stage));
  add_one_f_one_b_stage(builder, stage, microbatches, warmup, std::identity{});
}

/// While 2c <= F+B, only the first way up and the last way down expose their transfers, as in GPipe. Beyond that, the
/// longest chain of waits contains loops: d stages up and down again take (d+1)(F+B) + 2dc, in which 2d+1 microbatches
/// have (2d+1)(F+B) of work, so a loop costs d(2c-(F+B)) more than its work. The m-1 microbatches after the first
/// contain the loops, as many as possible with d = p-1.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const std::size_t p = request.shape.stages;
  const std::size_t m = request.shape.microbatches;
  const auto work = static_cast<double>((costs.forward + costs.backward).count());
  const auto comm = 2.0 * static_cast<double>(costs.comm.count());
  const double ideal = work * static_cast<double>(m);
  const double fill = (static_cast<double>(p) - 1) * (work + comm);
  if (costs.comm == Duration{0}) return ClosedForm{fill / ideal, "(p-1)/m"};
  if (comm <= work) return ClosedForm{fill / ideal, "(p-1)(F+B+2c)/(m(F+B))"};
  const std::size_t rest = (m - 1) % (2 * p - 1);
  const std::size_t depth = (m - 1) / (2 * p - 1) * (p - 1) + (rest > 0 ? (rest - 1) / 2 : 0);
  return ClosedForm{(fill + (comm - work) * static_cast<double>(depth)) / ideal,
                    "((p-1)(F+B+2c) + d(2c-F-B))/(m(F+B)), d = (p-1)floor((m-1)/(2p-1)) + "
                    "max(0, floor(((m-1) mod (2p-1) - 1)/2))"};
}

} // namespace

const Generator definition{
    .name = "eager-1f1b",
    .placement = "loop",
    .summary = "1f1b with twice the warm-up, so that transfers overlap passes",
    .promise = "with equal stages never slower than 1f1b; at most min(m, 2(p-1-s)+1) live activations on stage s",
    .constraints = "one chunk per stage; any m >= 1",
    .source = "Zhuang et al., arXiv 2211.05322; PyTorch ScheduleInterleaved1F1B at v = 1",
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::eager_1f1b
