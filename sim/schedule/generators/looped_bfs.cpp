// Breadth-first pipeline (Lamy-Poirier, arXiv 2211.05953; order as PyTorch's ScheduleLoopedBFS): a chunk
// runs all its microbatches before the next chunk begins.

#include <algorithm>

#include "generator_list.hpp"

namespace ppsim::generator::looped_bfs {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  for (std::size_t local = 0; local < vpp; ++local)
    for (std::size_t microbatch = 0; microbatch < microbatches; ++microbatch)
      builder.add(Pass::forward, local * stages + stage, microbatch);
  builder.end_warmup();
  for (std::size_t local = vpp; local-- > 0;)
    for (std::size_t microbatch = microbatches; microbatch-- > 0;)
      builder.add(Pass::backward, local * stages + stage, microbatch);
}

/// Fill and drain cost p-1 chunk passes of F and of B, with their transfers. Between two chunks, a stage waits if its m
/// microbatches take less time than the first of them needs to pass all stages, p passes and transfers.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const auto p = static_cast<double>(request.shape.stages);
  const auto m = static_cast<double>(request.shape.microbatches);
  const auto v = static_cast<double>(request.shape.vpp);
  const auto forward = static_cast<double>(costs.forward.count());
  const auto backward = static_cast<double>(costs.backward.count());
  const auto comm = v * static_cast<double>(costs.comm.count());
  const auto wait = [&](double pass) { return std::max(0.0, p * (pass + comm) - m * pass); };
  const double fill = (p - 1) * (forward + backward + 2 * comm);
  const double bubble = fill + (v - 1) * (wait(forward) + wait(backward));
  return ClosedForm{bubble / (v * m * (forward + backward)),
                    costs.comm == Duration{0}
                        ? "((p-1) + (v-1)max(0, p-m))/(v*m)"
                        : "((p-1)(F+B+2vc) + (v-1)(max(0, p(F+vc)-mF) + max(0, p(B+vc)-mB)))/(vm(F+B))"};
}

} // namespace

const Generator definition{.name = "looped-bfs",
                           .placement = "loop",
                           .summary = "all microbatches per chunk, chunk by chunk, then back in exactly reverse order",
                           .promise = "bubble ((p-1) + (v-1)max(0, p-m))(F+B)/v without comm; v*m live activations",
                           .constraints = "none",
                           .source = "Lamy-Poirier, arXiv 2211.05953; PyTorch ScheduleLoopedBFS",
                           .vpp = {.standard = 1, .multiple = 1},
                           .add_stage = add_stage,
                           .closed_form = closed_form};

} // namespace ppsim::generator::looped_bfs
