// Interleaved 1F1B (Narayanan et al., arXiv 2104.04473, section 2.2; order as Megatron-LM's get_schedule_table with
// microbatch_group_size_per_vp_stage, and as PyTorch's ScheduleInterleaved1F1B where the group sizes agree).
//
// Interleaved zero bubble (order as PyTorch's ScheduleInterleavedZeroBubble; the idea is ZB-H1 of Qi et al., arXiv
// 2401.10241, over v chunks per stage): the gradient for the chunk below goes out first, weight gradients fill the
// gaps.

#include <fmt/format.h>

#include <algorithm>

#include "generator_list.hpp"

namespace ppsim::generator {
namespace {

/// A forward or backward in the order that all stages share.
struct Turn {
  std::uint32_t microbatch = 0;
  std::uint32_t local = 0; ///< place of the chunk on its stage, for a backward counted from the last
};

/// Microbatches in groups of g; within a group chunk after chunk. A last, shorter group keeps the same form.
std::vector<Turn> shared_order(const Shape& shape, std::size_t group) {
  std::vector<Turn> order;
  order.reserve(shape.microbatches * shape.vpp);
  for (std::size_t first = 0; first < shape.microbatches; first += group)
    for (std::uint32_t local = 0; local < shape.vpp; ++local)
      for (std::size_t microbatch = first; microbatch < std::min(first + group, shape.microbatches); ++microbatch)
        order.push_back({static_cast<std::uint32_t>(microbatch), local});
  return order;
}

} // namespace
} // namespace ppsim::generator

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
    const auto forward = [&](std::size_t i) {
      builder.add(Pass::forward, order[i].local * stages + stage, order[i].microbatch);
    };
    const auto backward = [&](std::size_t i) {
      builder.add(Pass::backward, (vpp - 1 - order[i].local) * stages + stage, order[i].microbatch);
    };
    const std::size_t distance = stages - 1 - stage;
    const std::size_t warmup = std::min(total, vpp == 1 ? distance : 2 * distance + (vpp - 1) * group_size(request));
    for (std::size_t i = 0; i < warmup; ++i) forward(i);
    builder.end_warmup();
    for (std::size_t i = warmup; i < total; ++i) {
      forward(i);
      backward(i - warmup);
    }
    for (std::size_t i = total - warmup; i < total; ++i) backward(i);
    builder.end_stage();
  }
  return builder.build();
}

/// A smaller group deadlocks: the first stage would need a backward before it has sent the forwards that lead to it. A
/// last group shorter than p does so too.
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
  if (costs.comm != Duration{0} || microbatches < stages) return std::nullopt;
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
    .options = "group-size",
    .vpp = {.standard = 1, .multiple = 1},
    .refuse = refuse,
    .make = make,
    .closed_form = closed_form};

} // namespace ppsim::generator::interleaved

namespace ppsim::generator::zb_interleaved {
namespace {

/// Microbatches that a chunk runs before the next one has its turn: m in as many equal rounds as hold p or more.
std::size_t round_size(const Shape& shape) {
  return shape.microbatches / std::max<std::size_t>(1, shape.microbatches / shape.stages);
}

bool in_equal_rounds(const Shape& shape) {
  return shape.microbatches % round_size(shape) == 0;
}

Schedule make(const ScheduleRequest& request, const Scenario& /*scenario*/) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::vector<Turn> order = shared_order(request.shape, round_size(request.shape));
  const std::size_t total = order.size();
  ScheduleBuilder builder{"zb-interleaved", request.shape};
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const auto forward = [&](std::size_t i) {
      builder.add(Pass::forward, order[i].local * stages + stage, order[i].microbatch);
    };
    const auto backward = [&](Pass pass, std::size_t i) {
      builder.add(pass, (vpp - 1 - order[i].local) * stages + stage, order[i].microbatch);
    };
    const std::size_t warmup = std::min(total, (vpp - 1) * round_size(request.shape) + stages - 1 - stage);
    for (std::size_t i = 0; i < warmup; ++i) forward(i);
    builder.end_warmup();
    for (std::size_t i = 0; i < total; ++i) {
      if (warmup + i < total) forward(warmup + i);
      backward(Pass::input_grad, i);
      if (i >= stage) backward(Pass::weight_grad, i - stage); // stage s stays s weight gradients behind
    }
    for (std::size_t i = total - std::min(total, stage); i < total; ++i) backward(Pass::weight_grad, i);
    builder.end_stage();
  }
  return builder.build();
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  const Shape& shape = request.shape;
  if (in_equal_rounds(shape)) return;
  Shape below = shape;
  Shape above = shape;
  while (!in_equal_rounds(below)) --below.microbatches; // multiples of p always are
  while (!in_equal_rounds(above)) ++above.microbatches;
  const std::size_t rounds = shape.microbatches / shape.stages;
  problems.add(
      "`mb`", fmt::format("must be a multiple of its {} rounds (m div p) here, got {}", rounds, shape.microbatches),
      fmt::format("{} and {} are the nearest to {}", below.microbatches, above.microbatches, shape.microbatches));
}

/// The bubble of ZB-H1, divided by v: the last stage starts p-1 forwards late, the first one has p-1 weight gradients
/// left when the last input gradient has come down. Where W is longer than F or I, weight gradients hold up the passes
/// that other stages wait for.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const bool covered = costs.weight_grad <= costs.forward && costs.weight_grad <= costs.input_grad;
  if (costs.comm != Duration{0} || microbatches < stages || !covered) return std::nullopt;
  const Duration wait = costs.forward + costs.input_grad - costs.weight_grad;
  const Duration work = costs.forward + costs.input_grad + costs.weight_grad;
  return ClosedForm{(static_cast<double>(stages) - 1) * static_cast<double>(wait.count()) /
                        (static_cast<double>(vpp * microbatches) * static_cast<double>(work.count())),
                    "(p-1)(F+I-W)/(v*m*(F+I+W))"};
}

} // namespace

const Generator definition{
    .name = "zb-interleaved",
    .placement = "loop",
    .summary = "interleaved with split backwards: stage s runs its weight gradients s behind",
    .promise =
        "bubble (p-1)(F+I-W)/v without comm for W <= F, W <= I and m >= p; at most (v-1)g + p chunk activations, "
        "g = m / max(1, m div p)",
    .constraints = "m a multiple of its max(1, m div p) rounds",
    .source = "PyTorch ScheduleInterleavedZeroBubble",
    .vpp = {.standard = 1, .multiple = 1},
    .refuse = refuse,
    .make = make,
    .closed_form = closed_form};

} // namespace ppsim::generator::zb_interleaved
