// No pipeline: one microbatch at a time passes all stages and returns. The baseline of all schedules.

#include "generator_list.hpp"

namespace ppsim::generator::sequential {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  builder.end_warmup(); // there is none
  for (std::size_t microbatch = 0; microbatch < microbatches; ++microbatch) {
    for (std::size_t local = 0; local < vpp; ++local) builder.add(Pass::forward, local * stages + stage, microbatch);
    for (std::size_t local = vpp; local-- > 0;) builder.add(Pass::backward, local * stages + stage, microbatch);
  }
}

/// Each microbatch takes p(F+B) and crosses the pv-1 boundaries twice.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const auto work = static_cast<double>((costs.forward + costs.backward).count());
  const auto crossings = 2.0 * static_cast<double>(request.shape.chunks() - 1);
  const double stages_waiting = static_cast<double>(request.shape.stages) - 1;
  if (costs.comm == Duration{0}) return ClosedForm{stages_waiting, "p-1"};
  return ClosedForm{stages_waiting + crossings * static_cast<double>(costs.comm.count()) / work,
                    "p-1 + 2(pv-1)c/(F+B)"};
}

} // namespace

const Generator definition{.name = "sequential",
                           .placement = "loop",
                           .summary = "one microbatch at a time through all stages: no pipeline",
                           .promise = "one stage busy at any time; bubble overhead p-1",
                           .constraints = "none",
                           .source = "baseline",
                           .vpp = {.standard = 1, .multiple = 1, .matters = false},
                           .add_stage = add_stage,
                           .closed_form = closed_form};

} // namespace ppsim::generator::sequential
