// Interleaved 1F1B (Narayanan et al., arXiv 2104.04473, section 2.2; order as Megatron-LM's get_schedule_table with
// microbatch_group_size_per_vp_stage, and as PyTorch's ScheduleInterleaved1F1B where the group sizes agree).

#include <fmt/format.h>

#include <algorithm>

#include "generator_list.hpp"
#include "interleaved_order.hpp"

namespace ppsim::generator::interleaved {
namespace {

std::size_t group_size(const ScheduleRequest& request) {
  return request.group_size.value_or(std::min(request.shape.stages, request.shape.microbatches));
}

Schedule make(const ScheduleRequest& request, const Scenario& /*scenario*/) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::vector<Turn> order = shared_order(request.shape, group_size(request));
  const std::size_t total = order.size();
  ScheduleBuilder builder{"interleaved", request.shape};
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const auto forward_of = [&](std::size_t i) {
      return make_task(Pass::forward, order[i].local * stages + stage, order[i].microbatch);
    };
    const auto backward_of = [&](std::size_t i) {
      return make_task(Pass::backward, (vpp - 1 - order[i].local) * stages + stage, order[i].microbatch);
    };
    const std::size_t distance = stages - 1 - stage;
    // One more forward if pairs follow; otherwise the last stage's backward would be that of the forward in its pair.
    const std::size_t ahead = request.overlap_expert_exchange ? 1 : 0;
    const std::size_t warmup =
        std::min(total, ahead + (vpp == 1 ? distance : 2 * distance + (vpp - 1) * group_size(request)));
    for (std::size_t i = 0; i < warmup; ++i) builder.add(forward_of(i));
    builder.end_warmup();
    for (std::size_t i = warmup; i < total; ++i) {
      if (request.overlap_expert_exchange) {
        builder.add_pair(forward_of(i), backward_of(i - warmup));
        continue;
      }
      builder.add(forward_of(i));
      builder.add(backward_of(i - warmup));
    }
    for (std::size_t i = total - warmup; i < total; ++i) builder.add(backward_of(i));
    builder.end_stage();
  }
  return builder.build();
}

/// A smaller group deadlocks: the first stage would need a backward before it has sent the required forwards. So does a
/// last group shorter than p.
void refuse(const ScheduleRequest& request, Problems& problems) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::size_t group = group_size(request);
  if (request.group_size && (group < std::min(stages, microbatches) || group > microbatches)) {
    const std::size_t lowest = std::min(stages, microbatches);
    problems.add("`group-size`",
                 fmt::format("must be {} (the smaller of p and m) to {} (m), got {}", lowest, microbatches, group),
                 fmt::format("leave it out for {}", lowest));
    return;
  }
  const std::size_t rest = microbatches % group;
  if (rest == 0 || rest >= stages || vpp == 1) return;
  if (request.group_size) {
    problems.add("`group-size`",
                 fmt::format("{} microbatches in groups of {} leave a last group of {}, fewer than the {} stages",
                             microbatches, group, rest, stages),
                 fmt::format("m mod g must be 0 or at least p = {}", stages));
    return;
  }
  const std::size_t below = microbatches - rest;
  const std::size_t above = below + group;
  problems.add("`mb`", fmt::format("must be a multiple of p = {} here, got {}", stages, microbatches),
               fmt::format("{} and {} are the nearest to {}; or give `group-size`, with m mod g = 0 or >= p", below,
                           above, microbatches));
}

/// Section 2.2 of the paper: the bubble of 1F1B divided by v.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  if (costs.comm != Duration{0} || microbatches < stages || request.overlap_expert_exchange) return std::nullopt;
  return ClosedForm{(static_cast<double>(stages) - 1) / static_cast<double>(vpp * microbatches), "(p-1)/(v*m)"};
}

} // namespace

const Generator definition{
    .name = "interleaved",
    .placement = "loop",
    .summary = "1f1b over v chunks per stage, microbatches in groups of g",
    .promise =
        "bubble (p-1)(F+B)/v without comm for m >= p; stage 0 holds at most 2(p-1) + (v-1)g + 1 chunk activations",
    .constraints = "p <= g <= m and m mod g = 0 or >= p (default g = p); m < p with g = m",
    .source = "Narayanan et al., arXiv 2104.04473; Megatron-LM",
    .options = "group-size,overlap-moe-expert-parallel-comm",
    .vpp = {.standard = 1, .multiple = 1},
    .refuse = refuse,
    .make = make,
    .closed_form = closed_form};

} // namespace ppsim::generator::interleaved
