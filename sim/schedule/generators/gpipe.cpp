// GPipe (Huang et al., arXiv 1811.06965, section 2.3): all forwards, then all backwards.

#include "generator_list.hpp"

namespace ppsim::generator::gpipe {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const bool descending = request.descending_backward.value_or(false);
  for (std::size_t microbatch = 0; microbatch < microbatches; ++microbatch)
    builder.add(Pass::forward, stage, microbatch);
  builder.end_warmup();
  for (std::size_t i = 0; i < microbatches; ++i)
    builder.add(Pass::backward, stage, descending ? microbatches - 1 - i : i);
}

/// Fill and drain cost p-1 slots of F and of B. With all forwards before all backwards, all transfers except the first
/// of each direction overlap, so latency counts 2(p-1) times.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const auto work = static_cast<double>((costs.forward + costs.backward).count());
  const auto comm = 2.0 * static_cast<double>(costs.comm.count());
  const auto p = static_cast<double>(request.shape.stages);
  const auto m = static_cast<double>(request.shape.microbatches);
  if (costs.comm == Duration{0}) return ClosedForm{(p - 1) / m, "(p-1)/m"};
  return ClosedForm{(p - 1) * (work + comm) / (m * work), "(p-1)(F+B+2c)/(m(F+B))"};
}

} // namespace

const Generator definition{.name = "gpipe",
                           .placement = "loop",
                           .summary = "all forwards, then all backwards",
                           .promise = "makespan (m+p-1)(F+B) + 2(p-1)c; m live activations on every stage",
                           .constraints = "one chunk per stage",
                           .source = "Huang et al., arXiv 1811.06965",
                           .options = "gpipe-backward",
                           .add_stage = add_stage,
                           .closed_form = closed_form};

} // namespace ppsim::generator::gpipe
