#include "dispatch.hpp"

#include "ppsim/base/call.hpp"
#include "ppsim/base/detail/wide.hpp"
#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>

namespace ppsim::generator {
namespace {

DispatchInput without_memory(const Scenario& scenario, const std::vector<StageId>& placement) {
  DispatchInput input;
  input.shape = scenario.shape;
  input.chunks.resize(scenario.shape.stages);
  const Costs& costs = scenario.costs;
  for (std::size_t chunk = 0; chunk < placement.size(); ++chunk) {
    const std::size_t stage = index(placement[chunk]);
    input.stage.push_back(static_cast<std::uint32_t>(stage));
    input.chunks[stage].push_back(static_cast<std::uint32_t>(chunk));
    const auto time = [&](Duration pass, const std::vector<Duration>& collective, Duration again) {
      const Duration sent = collective.empty() ? Duration{0} : collective[chunk];
      return costs.task_time(placement[chunk], pass, sent, again).count();
    };
    const Duration again = scenario.recompute.is_on() ? scenario.recompute.time[chunk] : Duration{0};
    input.forward.push_back(time(costs.forward[chunk], costs.forward_collective, Duration{0}));
    input.input_grad.push_back(time(costs.input_grad[chunk], costs.input_grad_collective, again));
    input.weight_grad.push_back(time(costs.weight_grad[chunk], {}, Duration{0}));
    if (chunk + 1 == placement.size()) continue;
    const StageId next = placement[chunk + 1];
    const bool same_stage = placement[chunk] == next;
    input.transfer.push_back(same_stage ? 0 : scenario.network.time_between(chunk, placement[chunk], next).count());
  }
  return input;
}

/// What waits for I. If some microbatches are not recomputed, no saving is certain.
Bytes waiting_bytes(const Scenario& scenario, std::size_t chunk) {
  const bool saves = scenario.recompute.is_on() && scenario.recompute.microbatches_without == 0;
  return saves ? scenario.recompute.checkpoint[chunk] : scenario.memory.activation[chunk];
}

/// A lower bound of the activations' time on each stage times their size: an activation waits until its microbatch has
/// passed the later chunks and returned.
std::vector<Int128> occupied(const DispatchInput& input) {
  std::vector<Int128> area(input.shape.stages);
  std::int64_t behind = 0; // from the end of a forward to the start of its input gradient
  for (std::size_t chunk = input.stage.size(); chunk-- > 0;) {
    if (chunk < input.transfer.size())
      behind += 2 * input.transfer[chunk] + input.forward[chunk + 1] + input.input_grad[chunk + 1];
    const std::int64_t waits = input.forward[chunk] + behind + input.input_grad[chunk];
    area[input.stage[chunk]] += static_cast<Int128>(input.shape.microbatches) *
                                (static_cast<Int128>(input.taken[chunk]) * waits +
                                 static_cast<Int128>(input.restored[chunk]) * input.input_grad[chunk] +
                                 static_cast<Int128>(input.kept[chunk]) * input.weight_grad[chunk]);
  }
  return area;
}

} // namespace

DispatchInput dispatch_input(const Scenario& scenario, const std::vector<StageId>& placement, std::size_t activations) {
  DispatchInput input = without_memory(scenario, placement);
  input.taken.assign(placement.size(), 1);
  input.restored.assign(placement.size(), 0);
  input.kept.assign(placement.size(), 1);
  constexpr std::uint64_t no_limit = std::uint64_t{1} << 40U; // far more than there can be
  input.limit.assign(scenario.shape.stages, static_cast<std::int64_t>(std::min<std::uint64_t>(activations, no_limit)));
  input.forward_limit = input.limit;
  return input;
}

DispatchInput dispatch_input_in_bytes(const Scenario& scenario, const std::vector<StageId>& placement) {
  DispatchInput input = without_memory(scenario, placement);
  const Memory& memory = scenario.memory;
  input.limit.assign(scenario.shape.stages, memory.limit.value().count());
  std::vector<std::int64_t> most_restored(input.limit.size()); // by one I of a stage
  for (std::size_t chunk = 0; chunk < placement.size(); ++chunk) {
    const Bytes taken = waiting_bytes(scenario, chunk);
    const Bytes restored = memory.activation[chunk] - taken;
    input.taken.push_back(taken.count());
    input.restored.push_back(restored.count());
    input.kept.push_back(memory.activation_for_weight[chunk].count());
    const Bytes fixed = memory.parameters[chunk] + memory.gradients[chunk] + memory.optimizer[chunk];
    input.limit[input.stage[chunk]] -= fixed.count();
    most_restored[input.stage[chunk]] = std::max(most_restored[input.stage[chunk]], restored.count());
  }
  std::ranges::transform(input.limit, most_restored, std::back_inserter(input.forward_limit), std::minus{});
  return input;
}

DispatchInput limited_input(const ScheduleRequest& request, const Scenario& scenario,
                            const std::vector<StageId>& placement, std::size_t otherwise) {
  const Memory& memory = scenario.memory;
  const bool sizes = std::ranges::any_of(memory.activation, [](Bytes bytes) { return bytes > Bytes{}; });
  if (request.activation_limit || !memory.limit || !sizes)
    return dispatch_input(scenario, placement, request.activation_limit.value_or(otherwise));
  DispatchInput input = dispatch_input_in_bytes(scenario, placement);
  std::int64_t missing = 0;
  for (std::size_t stage = 0; stage < input.limit.size(); ++stage) {
    std::int64_t needed = 0;
    for (const std::uint32_t chunk : input.chunks[stage]) needed += input.taken[chunk];
    missing = std::max(missing, needed - input.forward_limit[stage]);
  }
  if (missing == 0) return input;
  const Bytes least = *memory.limit + Bytes{missing};
  throw Error{
      ExitCode::no,
      Problem{"`memory-limit`",
              fmt::format("{} is too small for one activation of each chunk and the memory that a stage always holds",
                          format_bytes(*memory.limit)),
              fmt::format("give at least {}B", least.count())}};
}

void refuse_small_limit(const ScheduleRequest& request, Problems& problems) {
  const std::size_t least = request.shape.vpp;
  if (!request.activation_limit || *request.activation_limit >= least) return;
  problems.add("`activation-limit`", fmt::format("must be at least {} here, got {}", least, *request.activation_limit),
               "a stage must hold one activation of each of its chunks");
}

PlanScore lower_bound(const DispatchInput& input) {
  PlanScore bound;
  std::vector<std::int64_t> work(input.shape.stages);
  for (std::size_t chunk = 0; chunk < input.stage.size(); ++chunk)
    work[input.stage[chunk]] += static_cast<std::int64_t>(input.shape.microbatches) *
                                (input.forward[chunk] + input.input_grad[chunk] + input.weight_grad[chunk]);
  const std::vector<Int128> area = occupied(input);
  std::int64_t arrival = 0;
  std::vector<bool> seen(input.shape.stages);
  for (std::size_t chunk = 0; chunk < input.stage.size(); ++chunk) {
    const std::size_t stage = input.stage[chunk];
    const std::int64_t waits = input.limit[stage] > 0 ? static_cast<std::int64_t>(area[stage] / input.limit[stage]) : 0;
    if (!seen[stage]) bound.makespan = std::max(bound.makespan, arrival + std::max(work[stage], waits));
    seen[stage] = true;
    bound.span = std::max({bound.span, work[stage], waits});
    arrival += input.forward[chunk];
    if (chunk < input.transfer.size()) arrival += input.transfer[chunk];
  }
  return bound;
}

Schedule to_schedule(std::string_view name, const Shape& shape, const Plan& plan) {
  ScheduleBuilder builder{std::string{name}, shape};
  std::vector<std::array<std::size_t, 4>> next(shape.chunks());
  for (const std::vector<Plan::Step>& steps : plan.steps) {
    bool warmup = true;
    for (const auto& [pass, chunk] : steps) {
      if (warmup && pass != Pass::forward) builder.end_warmup();
      warmup = warmup && pass == Pass::forward;
      builder.add(pass, chunk, next[chunk][static_cast<std::size_t>(pass)]++);
    }
    builder.end_stage();
  }
  return builder.build();
}

Dispatch::Dispatch(const DispatchInput& input)
    : input_{input}, microbatches_{input.shape.microbatches}, stages_(input.shape.stages), chunks_(input.stage.size()),
      forward_end_(input.stage.size() * microbatches_), input_grad_end_(forward_end_.size()),
      steps_(input.shape.stages) {
  for (std::size_t stage = 0; stage < steps_.size(); ++stage)
    steps_[stage].reserve(3 * input.chunks[stage].size() * microbatches_);
}

void Dispatch::clear() {
  check_stop();
  std::ranges::fill(stages_, Stage{});
  std::ranges::fill(chunks_, Chunk{});
  for (std::vector<Plan::Step>& steps : steps_) steps.clear();
  most_idle_ = 0;
}

std::int64_t Dispatch::forward_input(std::size_t chunk) const {
  if (chunk == 0) return 0;
  const std::size_t microbatch = chunks_[chunk].forwards;
  if (microbatch >= chunks_[chunk - 1].forwards) return never;
  return forward_end_[(chunk - 1) * microbatches_ + microbatch] + input_.transfer[chunk - 1];
}

std::int64_t Dispatch::gradient_input(std::size_t chunk) const {
  const std::size_t microbatch = chunks_[chunk].input_grads;
  if (microbatch >= chunks_[chunk].forwards) return never;
  if (chunk + 1 == chunks_.size()) return forward_end_[chunk * microbatches_ + microbatch];
  if (microbatch >= chunks_[chunk + 1].input_grads) return never;
  return input_grad_end_[(chunk + 1) * microbatches_ + microbatch] + input_.transfer[chunk];
}

std::size_t Dispatch::waiting_weight(std::size_t stage) const {
  std::size_t oldest = none;
  std::int64_t since = never;
  for (const std::uint32_t chunk : input_.chunks[stage]) {
    const Chunk& at = chunks_[chunk];
    if (at.weight_grads == at.input_grads) continue;
    const std::int64_t end = input_grad_end_[chunk * microbatches_ + at.weight_grads];
    if (end >= since) continue;
    since = end;
    oldest = chunk;
  }
  return oldest;
}

std::int64_t Dispatch::place(Plan::Step step, std::int64_t input, std::int64_t duration) {
  const std::size_t stage_index = input_.stage[step.chunk];
  Stage& stage = stages_[stage_index];
  const std::int64_t start = std::max(stage.now, input);
  if (steps_[stage_index].empty()) {
    stage.first_start = start;
  } else if (start > stage.now) {
    stage.idle += start - stage.now;
    most_idle_ = std::max(most_idle_, stage.idle);
  }
  stage.now = start + duration;
  steps_[stage_index].push_back(step);
  return stage.now;
}

void Dispatch::place_forward(std::size_t chunk) {
  const std::int64_t end =
      place({Pass::forward, static_cast<std::uint16_t>(chunk)}, forward_input(chunk), input_.forward[chunk]);
  forward_end_[chunk * microbatches_ + chunks_[chunk].forwards++] = end;
  stages_[input_.stage[chunk]].held += input_.taken[chunk];
}

void Dispatch::place_input_grad(std::size_t chunk) {
  const std::size_t stage = input_.stage[chunk];
  while (stages_[stage].waiting > 0 && stages_[stage].held + input_.restored[chunk] > input_.limit[stage])
    place_weight_grad(waiting_weight(stage));
  const std::int64_t end =
      place({Pass::input_grad, static_cast<std::uint16_t>(chunk)}, gradient_input(chunk), input_.input_grad[chunk]);
  input_grad_end_[chunk * microbatches_ + chunks_[chunk].input_grads++] = end;
  stages_[stage].held += input_.kept[chunk] - input_.taken[chunk];
  stages_[stage].waiting += input_.kept[chunk];
}

void Dispatch::place_weight_grad(std::size_t chunk) {
  PPSIM_ASSERT(chunks_[chunk].weight_grads < chunks_[chunk].input_grads);
  place({Pass::weight_grad, static_cast<std::uint16_t>(chunk)}, 0, input_.weight_grad[chunk]);
  ++chunks_[chunk].weight_grads;
  stages_[input_.stage[chunk]].held -= input_.kept[chunk];
  stages_[input_.stage[chunk]].waiting -= input_.kept[chunk];
}

void Dispatch::place_waiting_weights(std::size_t stage) {
  for (std::size_t chunk = waiting_weight(stage); chunk != none; chunk = waiting_weight(stage))
    place_weight_grad(chunk);
}

bool Dispatch::complete() const {
  return std::ranges::all_of(chunks_, [&](const Chunk& chunk) { return chunk.weight_grads == microbatches_; });
}

bool Dispatch::follow(const Schedule& order) {
  clear();
  std::vector<std::size_t> next(stages_.size());
  for (bool placed = true; placed;) {
    placed = false;
    for (std::size_t stage = 0; stage < next.size(); ++stage) {
      const auto tasks = order.stage(make_id<StageId>(stage));
      for (; next[stage] < tasks.size(); ++next[stage]) {
        const Plan::Step step{tasks[next[stage]].pass, tasks[next[stage]].chunk_index};
        if (!can_follow(step)) break;
        place_next(step);
        placed = true;
      }
    }
  }
  return complete();
}

/// W has its input once I is placed.
bool Dispatch::has_input(Plan::Step step) const {
  if (step.pass == Pass::forward) return forward_input(step.chunk) != never;
  if (step.pass == Pass::input_grad) return gradient_input(step.chunk) != never;
  return chunks_[step.chunk].weight_grads < chunks_[step.chunk].input_grads;
}

bool Dispatch::can_follow(Plan::Step step) const {
  const std::size_t stage = input_.stage[step.chunk];
  const std::int64_t taken = step.pass == Pass::forward      ? input_.taken[step.chunk]
                             : step.pass == Pass::input_grad ? input_.restored[step.chunk]
                                                             : 0;
  return has_input(step) && stages_[stage].held + taken <= input_.limit[stage];
}

void Dispatch::place_next(Plan::Step step) {
  if (step.pass == Pass::forward) return place_forward(step.chunk);
  if (step.pass == Pass::input_grad) return place_input_grad(step.chunk);
  place_weight_grad(step.chunk);
}

bool Dispatch::place_if_ready(Pass pass, std::size_t chunk) {
  const Plan::Step step{pass, static_cast<std::uint16_t>(chunk)};
  if (!has_input(step) || (pass == Pass::forward && !fits(chunk))) return false;
  place_next(step);
  return true;
}

PlanScore Dispatch::score() const {
  PlanScore score;
  for (const Stage& stage : stages_) {
    score.span = std::max(score.span, stage.now - stage.first_start);
    score.makespan = std::max(score.makespan, stage.now);
  }
  return score;
}

std::size_t Dispatch::longest_stage() const {
  const auto longest =
      std::ranges::max_element(stages_, {}, [](const Stage& stage) { return stage.now - stage.first_start; });
  return static_cast<std::size_t>(longest - stages_.begin());
}

void BestPlan::offer(const Dispatch& dispatch) {
  const PlanScore score = dispatch.score();
  if (found() && plan_.score <= score) return;
  plan_.score = score;
  plan_.steps = dispatch.steps();
}

} // namespace ppsim::generator
