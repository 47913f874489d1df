// ZB-1p, ZB-2p and everything between (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 3.1): a
// heuristic that follows costs, transfers and a memory limit. Every stage runs one forward and one input gradient per
// round; the variants differ in when a stage waits instead.

#include "ppsim/base/call.hpp"

#include <algorithm>
#include <array>

#include "dispatch.hpp"
#include "generator_list.hpp"
#include "synthesized.hpp"

namespace ppsim::generator::zb_auto {
namespace {

/// No choice is always best, so all are tried.
struct Variant {
  bool warmup_overruns;    ///< the last forward of the warm-up may end after the first gradient arrives
  bool waits_for_gradient; ///< a stage far ahead of the next one skips a forward that would delay a gradient
  bool fills_every_gap;    ///< a W longer than the gap runs even if the gap would not lengthen the longest span
};

constexpr std::array<Variant, 8> variants{{{false, true, true},
                                           {false, true, false},
                                           {false, false, true},
                                           {false, false, false},
                                           {true, true, true},
                                           {true, true, false},
                                           {true, false, true},
                                           {true, false, false}}};

class Rounds {
public:
  Rounds(Dispatch& board, const Variant& variant)
      : board_{board}, variant_{variant}, stages_{board.input().shape.stages},
        microbatches_{board.input().shape.microbatches}, extra_(stages_) {}

  void run() {
    board_.clear();
    warm_up();
    for (std::size_t round = 1; round < microbatches_; ++round) {
      check_stop();
      forwards();
      for (std::size_t stage = stages_; stage-- > 0;) gradient(stage);
    }
    for (std::size_t stage = 0; stage < stages_; ++stage) board_.place_waiting_weights(stage);
  }

private:
  [[nodiscard]] const DispatchInput& input() const { return board_.input(); }

  /// Section 3.1: as many forwards before the first I as memory and the wait for that I allow.
  void warm_up() {
    for (std::size_t stage = 0; stage < stages_; ++stage) board_.place_forward(stage);
    plan_extra_forwards();
    for (std::size_t stage = 0; stage < stages_; ++stage)
      for (std::size_t i = 0; i < extra_[stage]; ++i) board_.place_forward(stage);
    for (std::size_t stage = stages_; stage-- > 0;) board_.place_input_grad(stage);
  }

  void plan_extra_forwards() {
    std::int64_t gradient_end = board_.now(stages_ - 1) + input().input_grad[stages_ - 1];
    extra_[stages_ - 1] = 0;
    for (std::size_t stage = stages_ - 1; stage-- > 0;) {
      const std::int64_t arrival = gradient_end + input().transfer[stage];
      const std::int64_t forward = input().forward[stage];
      const auto room = static_cast<std::int64_t>(microbatches_ - 1);
      const std::int64_t taken = input().taken[stage];
      const std::int64_t free = board_.free(stage);
      std::int64_t end = board_.now(stage);
      std::int64_t count = 0;
      while (count < room && (count + 1) * taken <= free &&
             (variant_.warmup_overruns ? end < arrival : end + forward <= arrival)) {
        end += forward;
        ++count;
      }
      extra_[stage] = static_cast<std::size_t>(count);
      gradient_end = std::max(end, arrival) + input().input_grad[stage];
    }
    // a forward needs that of the stage before, so all stages must have passed the earlier ones
    for (std::size_t stage = 1; stage < stages_; ++stage)
      if (extra_[stage - 1] + 1 < microbatches_)
        extra_[stage] = std::min(extra_[stage], std::max<std::size_t>(extra_[stage - 1], 1) - 1);
  }

  void forwards() {
    // a forward that the next stage cannot accept would only fill memory
    bool wanted = true;
    for (std::size_t stage = stages_; stage-- > 0;) {
      wanted = wanted && wants_forward(stage);
      extra_[stage] = wanted ? 1 : 0;
    }
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      if (extra_[stage] == 0) continue;
      while (!board_.fits(stage)) board_.place_weight_grad(stage);
      fill_gap(stage, board_.forward_input(stage));
      board_.place_forward(stage);
    }
  }

  [[nodiscard]] bool wants_forward(std::size_t stage) const {
    if (board_.forwards(stage) == microbatches_) return false;
    const bool far_ahead = stage + 1 < stages_ && board_.forwards(stage) >= board_.forwards(stage + 1) + 2;
    if (!variant_.waits_for_gradient || !far_ahead) return true;
    const std::int64_t gradient =
        board_.now(stage + 1) + input().forward[stage + 1] + input().input_grad[stage + 1] + input().transfer[stage];
    const std::int64_t now = board_.now(stage);
    if (now >= gradient) return false;
    if (now + input().forward[stage] + time_to_make_room(stage) <= gradient) return true;
    return gradient - now > board_.most_idle() - board_.idle(stage);
  }

  /// The time of the W that have to run before the next forward fits.
  [[nodiscard]] std::int64_t time_to_make_room(std::size_t stage) const {
    const std::int64_t over = input().taken[stage] - board_.free(stage);
    const std::int64_t kept = input().kept[stage];
    const auto waiting = static_cast<std::int64_t>(board_.input_grads(stage) - board_.weight_grads(stage));
    if (over <= 0 || kept == 0) return 0;
    return std::min((over + kept - 1) / kept, waiting) * input().weight_grad[stage];
  }

  void gradient(std::size_t stage) {
    fill_gap(stage, board_.gradient_input(stage));
    if (stage == 0 && board_.forwards(stage) == microbatches_)
      board_.place_waiting_weights(stage); // nothing waits for it
    board_.place_input_grad(stage);
  }

  /// Runs W until the input arrives. One that takes longer delays the input, but a wait may cost more: the stage with
  /// the longest wait decides the span.
  void fill_gap(std::size_t stage, std::int64_t arrival) {
    const auto waiting = [&] { return board_.input_grads(stage) > board_.weight_grads(stage); };
    while (waiting() && board_.now(stage) + input().weight_grad[stage] <= arrival) board_.place_weight_grad(stage);
    if (!waiting() || board_.now(stage) >= arrival) return;
    const bool can_wait = arrival - board_.now(stage) <= board_.most_idle() - board_.idle(stage);
    if (variant_.fills_every_gap || !can_wait) board_.place_weight_grad(stage);
  }

  Dispatch& board_;
  const Variant& variant_;
  std::size_t stages_;
  std::size_t microbatches_;
  std::vector<std::size_t> extra_; // forwards to place, per stage
};

Plan searched(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario) {
  Dispatch board{input};
  BestPlan best;
  const PlanScore bound = lower_bound(input);
  for (const Generator* handcrafted : {&zb_h1::definition, &zb_h2::definition}) // of equal plans they hold less
    if (board.follow(make_schedule(*handcrafted, {.shape = request.shape}, scenario))) best.offer(board);
  for (const Variant& variant : variants) {
    Rounds{board, variant}.run();
    best.offer(board);
    if (best.plan().score <= bound) break;
  }
  return best.plan();
}

std::vector<Schedule> search(const ScheduleRequest& request, const Scenario& scenario, bool all) {
  const DispatchInput input = limited_input(request, scenario, loop_placement(request.shape), request.shape.stages);
  std::array<Rival, 4> rivals{Rival{&zb_h1::definition}, Rival{&zb_h2::definition}, Rival{&one_f_one_b::definition},
                              Rival{&gpipe::definition}};
  const auto in_room = [&](const DispatchInput& room) { return searched(room, request, scenario); };
  const Plan plan = best_within(input, request, scenario, in_room, rivals);
  return to_schedules("zb-auto", input, scenario, plan, rivals, all);
}

} // namespace

const Generator definition{
    .name = "zb-auto",
    .placement = "loop",
    .summary = "zero bubble by search: follows costs, transfers and a memory limit",
    .promise = "never more memory than the limit; in training, without slow copies, no step longer than that of "
               "zb-h1, zb-h2, 1f1b and gpipe where they fit (but with transfers by latency whole backwards can hold "
               "less with recomputation, and pay an overhead once); with transfers by latency, up to some 1500 "
               "tasks, a higher activation limit makes no step longer, except with an optimizer step per stage; a "
               "note if the makespan is more than twice the proven bound; span no longer than the published "
               "heuristic's, unless the step is shorter",
    .constraints = "one chunk per stage; any m >= 1; the limit holds at least one activation",
    .source = "Qi et al., arXiv 2401.10241, section 3.1",
    .options = "activation-limit",
    .refuse = refuse_small_limit,
    .search = search};

} // namespace ppsim::generator::zb_auto
