// DualPipeV (github.com/deepseek-ai/DualPipe, from Sea AI Lab's cut-in-half idea; order as there and as PyTorch's
// ScheduleDualPipeV): DualPipe's first half of stages with the way back through the same stages, so that one copy of
// the model is enough.

#include <fmt/format.h>

#include "dual_pipe.hpp"
#include "generator_list.hpp"

namespace ppsim::generator::dualpipe_v {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  add_dual_pipe_stage(builder, {stage, stages}, {Stream{stage, 0}, Stream{2 * stages - 1 - stage, 0}}, microbatches);
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  const std::size_t chunks = request.shape.chunks();
  if (request.shape.microbatches < chunks)
    problems.add("`mb`", fmt::format("must be at least 2p = {} here, got {}", chunks, request.shape.microbatches),
                 fmt::format("{} is the nearest", chunks));
}

/// Chunks take half of a stage's times, and each has a stage on the way to the turn.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const std::optional<double> bubble = dual_pipe_bubble(request.shape.stages, costs);
  if (!bubble) return std::nullopt;
  const double work = static_cast<double>((costs.forward + costs.backward).count());
  return ClosedForm{*bubble / (2.0 * static_cast<double>(request.shape.microbatches) * work),
                    "(p-1)(F&B+B-3W)/(2m(F+B)) at F = I = W"};
}

} // namespace

const Generator definition{
    .name = "dualpipe-v",
    .placement = "v",
    .summary = "down and up a V, forwards overlapped with backwards; one model copy",
    .promise = "bubble (p-1)(F&B + B - 3W)/2 at F = I = W with F&B = F+B; 2p+1 live chunk activations on every "
               "stage, one parameter copy",
    .constraints = "two chunks per stage; m >= 2p",
    .source = "github.com/deepseek-ai/DualPipe; PyTorch ScheduleDualPipeV",
    .vpp = {.standard = 2},
    .refuse = refuse,
    .place = wave_placement,
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::dualpipe_v
