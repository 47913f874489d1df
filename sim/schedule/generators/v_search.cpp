// The schedules of Pipeline Parallelism with Controllable Memory (Qi et al., arXiv 2405.15362): V-Half and V-Min
// (section 3.2) with half and a third of the activations of 1F1B, in the limit of many stages, and v-auto, a V of two
// chunks per stage under any memory limit (section 4 and appendix A): with 2p chunk activations it has the zero bubble
// of ZB-V, with fewer it waits. Which order keeps to a limit depends on costs and transfers, so it is searched for.

#include "ppsim/base/error.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator_list.hpp"
#include "key_dispatch.hpp"
#include "order_search.hpp"
#include "slot_grid.hpp"
#include "v_pattern.hpp"
#include "v_rounds.hpp"

namespace ppsim::generator {
namespace {

constexpr std::size_t fewest_plans = 8; // that every search tries
constexpr std::size_t fewest_after_rounds = 3;
constexpr std::size_t most_plans = 8000; // where plans are short, more do not find better ones
constexpr std::size_t most_starts = 8;   // plans that are changed in small steps
constexpr std::int64_t no_window = 1'000'000'000'000;

/// Places what a stage runs in a slot; false where its input is not there, or it does not fit in memory.
bool place_cell(Dispatch& board, std::size_t stage, const SlotCell& cell) {
  const std::size_t upper = 2 * board.input().shape.stages - 1 - stage;
  if (cell.kind == SlotCell::Kind::idle) return true;
  if (cell.kind == SlotCell::Kind::weight) {
    const std::size_t chunk = board.input_grads(upper) > board.weight_grads(upper) ? upper : stage;
    return board.place_if_ready(Pass::weight_grad, chunk);
  }
  const bool is_forward = cell.leg == Leg::forward_down || cell.leg == Leg::forward_up;
  const bool is_lower = cell.leg == Leg::forward_down || cell.leg == Leg::gradient_up;
  return board.place_if_ready(is_forward ? Pass::forward : Pass::input_grad, is_lower ? stage : upper);
}

/// Runs the order of a grid with real costs; false where it can not run so, or does not fit in memory.
bool follow_grid(Dispatch& board, const SlotGrid& grid) {
  board.clear();
  std::size_t slots = 0;
  for (const std::vector<SlotCell>& row : grid) slots = std::max(slots, row.size());
  for (std::size_t column = 0; column < slots; ++column)
    for (std::size_t stage = 0; stage < grid.size(); ++stage)
      if (column < grid[stage].size() && !place_cell(board, stage, grid[stage][column])) return false;
  return board.complete();
}

class Search {
public:
  Search(const DispatchInput& input, std::size_t placements)
      : board_{input}, input_{input}, stages_{input.shape.stages},
        plans_left_{std::clamp(placements / (6 * stages_ * input.shape.microbatches), fewest_plans, most_plans)},
        grids_{placements >= 6 * stages_ * input.shape.microbatches}, bound_{lower_bound(input)} {}

  Plan run() {
    try_rounds();
    if (best_.found() && (is_perfect() || !grids_)) return best_.plan(); // patterns cost more than such a budget
    const std::vector<VPattern> patterns = regular_patterns(stages_, most_live());
    if (!best_.found()) try_without_window(patterns.front());
    PPSIM_ASSERT(best_.found());
    if (grids_) try_grids(patterns);
    const std::vector<Start> starts = try_keys(patterns);
    keep_ = plans_left_ / 2;
    for (const auto& [score, pattern] : starts) climb(score, pattern);
    exchange();
    return best_.plan();
  }

private:
  [[nodiscard]] bool is_perfect() const { return best_.found() && best_.plan().score <= bound_; }

  /// False where no further plan is worth its time, which is that of `cost` list schedules.
  bool next_plan(std::size_t cost = 1) {
    if (plans_left_ < cost || is_perfect()) return false;
    plans_left_ -= cost;
    return true;
  }

  void try_rounds() {
    for (const bool gradients : {true, false})
      for (const bool forwards : {true, false}) {
        std::optional<std::vector<std::int64_t>> idle;
        std::int64_t worst = Dispatch::never;
        while (!is_perfect() && dispatch_v_rounds(board_, {forwards, gradients}, idle)) {
          if (plans_left_ > fewest_after_rounds) --plans_left_;
          best_.offer(board_);
          if (board_.most_idle() >= worst) break;
          worst = board_.most_idle();
          idle.emplace();
          for (std::size_t stage = 0; stage < stages_; ++stage) idle->push_back(board_.idle(stage));
        }
      }
  }

  /// Rounds and windows may deadlock under a small limit; a list schedule without a window never does.
  void try_without_window(VPattern pattern) {
    pattern.policy.window = no_window;
    if (!dispatch_by_keys(board_, keys_of(pattern, input_.shape), pattern.policy)) return;
    best_.offer(board_);
    keep_start();
  }

  void try_grids(const std::vector<VPattern>& patterns) {
    const std::size_t keep = plans_left_ / 2; // for the rest of the search
    // however few microbatches there are, a grid is as long as one of them takes: 4p slots on each of p stages
    const std::size_t cost = 1 + 4 * stages_ / (6 * input_.shape.microbatches);
    for (const VPattern& pattern : patterns)
      for (const Pull pull : {Pull::ends, Pull::everything, Pull::tight_end}) {
        if (plans_left_ < keep + cost || !next_plan(cost)) return;
        const SlotGrid grid = repeat_pattern(slots_of(pattern, stages_), input_.shape.microbatches, most_live(), pull);
        if (grid.empty() || !follow_grid(board_, grid)) continue;
        best_.offer(board_);
        keep_start();
      }
  }

  /// Remembers the board's plan if it is among the best of its kind.
  void keep_start() {
    const PlanScore score = board_.score();
    const auto at = std::ranges::upper_bound(starts_, score, {}, &Plan::score);
    if (at - starts_.begin() >= static_cast<std::ptrdiff_t>(most_starts)) return;
    starts_.insert(at, Plan{board_.steps(), score});
    if (starts_.size() > most_starts) starts_.pop_back();
  }

  /// What is left of the budget goes to small changes of the best plans.
  void exchange() {
    const std::size_t tries = plans_left_ / (starts_.size() + 1);
    const Plan found = best_.plan();
    if (next_plan()) exchange_neighbours(board_, found, best_, tries);
    for (const Plan& start : starts_)
      if (next_plan()) exchange_neighbours(board_, start, best_, tries);
  }

  /// The most activations that fit on every stage.
  [[nodiscard]] std::int64_t most_live() const {
    auto most = static_cast<std::int64_t>(2 * input_.shape.microbatches);
    for (std::size_t chunk = 0; chunk < input_.stage.size(); ++chunk)
      if (input_.taken[chunk] > 0) most = std::min(most, input_.limit[input_.stage[chunk]] / input_.taken[chunk]);
    return most;
  }

  using Start = std::pair<PlanScore, VPattern>;

  /// The patterns by score, best first.
  std::vector<Start> try_keys(const std::vector<VPattern>& patterns) {
    std::vector<Start> starts;
    const std::size_t keep = plans_left_ / 2;
    for (VPattern pattern : patterns)
      for (const auto& [reserves, window] :
           {std::pair{Reserve::nothing, 0}, std::pair{Reserve::nothing, 12}, std::pair{Reserve::one, 48}}) {
        if (plans_left_ <= keep) break;
        pattern.policy.reserves = reserves;
        pattern.policy.window = window;
        for (const std::int64_t last : {12, 4}) {
          pattern.last_interval = last;
          if (const auto score = score_of(pattern)) starts.emplace_back(*score, pattern);
        }
      }
    std::ranges::stable_sort(starts, {}, &Start::first);
    return starts;
  }

  std::optional<PlanScore> score_of(const VPattern& pattern) {
    if (!next_plan() || !dispatch_by_keys(board_, keys_of(pattern, input_.shape), pattern.policy)) return std::nullopt;
    best_.offer(board_);
    keep_start();
    return board_.score();
  }

  /// Goes to the first better neighbour until there is none.
  void climb(PlanScore score, VPattern at) {
    for (bool moved = true; moved && plans_left_ > keep_;) {
      moved = false;
      for (const VPattern& next : neighbours(at)) {
        if (plans_left_ <= keep_) return;
        const auto reached = score_of(next);
        if (!reached || !(*reached < score)) continue;
        score = *reached;
        at = next;
        moved = true;
        break;
      }
    }
  }

  Dispatch board_;
  const DispatchInput& input_;
  std::size_t stages_;
  std::size_t plans_left_;
  std::size_t keep_ = 0; // plans that climbing leaves
  bool grids_;           // slow where they are long: only if the budget holds one
  PlanScore bound_;
  BestPlan best_;
  std::vector<Plan> starts_; // best first
};

/// The best plan found: by rounds (v_rounds.hpp), by patterns slot for slot (slot_grid.hpp), and by patterns that real
/// costs bend (key_dispatch.hpp), the best of which are improved in small steps. `placements` bounds how many tasks may
/// be placed in all; where that is too few for the rounds and a handful of other plans, it is raised.
Plan search_v(const DispatchInput& input, std::size_t placements) {
  return Search{input, placements}.run();
}

/// Of a schedule that holds at most so many activations on each stage.
Schedule search_within(std::string_view name, const Shape& shape, const Scenario& scenario, std::size_t activations) {
  const DispatchInput input = dispatch_input(scenario, wave_placement(shape), activations);
  return to_schedule(name, shape, search_v(input, 250'000));
}

bool holds_zero_bubble(const DispatchInput& input) {
  const auto most = static_cast<std::int64_t>(input.shape.stages);
  for (std::size_t stage = 0; stage < input.limit.size(); ++stage) {
    std::int64_t microbatch = 0;
    for (const std::uint32_t chunk : input.chunks[stage]) microbatch += input.taken[chunk];
    if (most * microbatch > input.limit[stage]) return false;
  }
  return true;
}

} // namespace

const Generator v_half::definition{
    .name = "v-half",
    .placement = "v",
    .summary = "a V of two chunks per stage with half the activations of 1f1b",
    .promise = "at most 2 floor(p/2) + 2 chunk activations on every stage; span no longer than the published order's",
    .constraints = "two chunks per stage; any m >= 1",
    .source = "Qi et al., arXiv 2405.15362",
    .vpp = {.standard = 2, .multiple = 0},
    .searches = true,
    .place = wave_placement,
    .make = [](const ScheduleRequest& request, const Scenario& scenario) {
      // What the published order holds, for any p: the two slots per stage on the way down make a microbatch live 3p
      // slots of its six on average.
      return search_within("v-half", request.shape, scenario, 2 * (request.shape.stages / 2) + 2);
    }};

const Generator v_min::definition{
    .name = "v-min",
    .placement = "v",
    .summary = "a V of two chunks per stage with a third of the activations of 1f1b",
    .promise =
        "at most 2 floor((p+1)/3) + 2 chunk activations on every stage; span no longer than the published order's",
    .constraints = "two chunks per stage; any m >= 1",
    .source = "Qi et al., arXiv 2405.15362",
    .vpp = {.standard = 2, .multiple = 0},
    .searches = true,
    .place = wave_placement,
    .make = [](const ScheduleRequest& request, const Scenario& scenario) {
      // What the published order holds, for any p: with one slot per stage on every leg a microbatch lives 2p slots of
      // its six on average.
      return search_within("v-min", request.shape, scenario, 2 * ((request.shape.stages + 1) / 3) + 2);
    }};

const Generator v_auto::definition{
    .name = "v-auto",
    .placement = "v",
    .summary = "a V of two chunks per stage by search: follows costs, transfers and a memory limit",
    .promise = "never more memory than the limit; span no longer than the published ZB-V heuristic's under it",
    .constraints = "two chunks per stage; any m >= 1; the limit holds one activation of each chunk",
    .source = "Qi et al., arXiv 2405.15362",
    .options = "activation-limit",
    .vpp = {.standard = 2, .multiple = 0},
    .searches = true,
    .refuse = refuse_small_limit,
    .place = wave_placement,
    .make = [](const ScheduleRequest& request, const Scenario& scenario) {
      const Shape& shape = request.shape;
      const DispatchInput input = limited_input(request, scenario, wave_placement(shape), 2 * shape.stages);
      // with room for 2p activations the rounds of ZB-V are hard to beat, with less room patterns are
      return to_schedule("v-auto", shape, search_v(input, holds_zero_bubble(input) ? 0 : 3'000'000));
    }};

} // namespace ppsim::generator
