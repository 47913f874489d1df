// DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1; order as github.com/deepseek-ai/DualPipe): two copies of the
// model, laid over the stages in opposite directions. Microbatches 0..m/2-1 enter at stage 0 and run chunk s on stage
// s, the others enter at stage p-1 and run chunk p-1-s.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dual_pipe.hpp"
#include "generator_list.hpp"

namespace ppsim::generator::dualpipe {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::size_t mirrored = stages - 1 - stage;
  std::array<Stream, 2> streams{Stream{stage, 0}, Stream{mirrored, microbatches / 2}};
  if (stage > mirrored) std::swap(streams[0], streams[1]);
  add_dual_pipe_stage(builder, {std::min(stage, mirrored), stages / 2}, streams, microbatches / 2);
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  const std::size_t p = request.shape.stages;
  const std::size_t m = request.shape.microbatches;
  if (p % 2 != 0)
    problems.add("`stages`", fmt::format("must be even here, as stages s and p-1-s hold the same chunks, got {}", p),
                 p == 1 ? "2 is the nearest" : fmt::format("{} and {} are the nearest to {}", p - 1, p + 1, p));
  if (m < 2 * p)
    problems.add("`mb`", fmt::format("must be at least 2p = {} here, got {}", 2 * p, m),
                 fmt::format("{} is the nearest", 2 * p));
  else if (m % 2 != 0)
    problems.add("`mb`", fmt::format("must be even here, as each direction takes half, got {}", m),
                 fmt::format("{} and {} are the nearest to {}", m - 1, m + 1, m));
}

std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const std::optional<double> bubble = dual_pipe_bubble(request.shape.stages / 2, costs);
  if (!bubble) return std::nullopt;
  const double work = static_cast<double>((costs.forward + costs.backward).count());
  return ClosedForm{*bubble / (static_cast<double>(request.shape.microbatches) * work),
                    "(p/2-1)(F&B+B-3W)/(m(F+B)) at F = I = W"};
}

} // namespace

const Generator definition{
    .name = "dualpipe",
    .placement = "bidirectional",
    .summary = "from both ends at once, forwards overlapped with backwards; two model copies",
    .promise = "bubble (p/2-1)(F&B + B - 3W) at F = I = W with F&B = F+B; p+1 live activations on every stage, "
               "two parameter copies",
    .constraints = "one chunk per stage; p even, m even, m >= 2p",
    .source = "DeepSeek-V3, arXiv 2412.19437; github.com/deepseek-ai/DualPipe",
    .refuse = refuse,
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::dualpipe
