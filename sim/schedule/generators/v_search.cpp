#include "v_search.hpp"

#include "ppsim/base/error.hpp"

#include <algorithm>
#include <array>
#include <numeric>
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

constexpr std::size_t fewest_plans = 8; // the least of every search
constexpr std::size_t fewest_after_rounds = 3;
constexpr std::size_t most_plans = 8000; // with short plans, more do not find better ones
constexpr std::size_t most_starts = 8;   // plans that are improved in small steps
constexpr std::int64_t no_window = 1'000'000'000'000;

/// Places a stage's task of a slot; false if its input is missing or it does not fit in memory.
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

/// Runs the order of a grid with real costs; false if it cannot run, or does not fit in memory.
bool follow_grid(Dispatch& board, const SlotGrid& grid) {
  board.clear();
  std::size_t slots = 0;
  for (const std::vector<SlotCell>& row : grid) slots = std::max(slots, row.size());
  for (std::size_t column = 0; column < slots; ++column)
    for (std::size_t stage = 0; stage < grid.size(); ++stage)
      if (column < grid[stage].size() && !place_cell(board, stage, grid[stage][column])) return false;
  return board.complete();
}

/// With tasks of the mean duration and no transfers, for which the patterns of a V are made.
DispatchInput with_equal_tasks(DispatchInput input) {
  std::int64_t work = 0;
  for (const auto* times : {&input.forward, &input.input_grad, &input.weight_grad})
    work = std::accumulate(times->begin(), times->end(), work);
  for (auto* const times : {&input.forward, &input.input_grad, &input.weight_grad})
    std::ranges::fill(*times, work / static_cast<std::int64_t>(3 * input.stage.size()));
  std::ranges::fill(input.transfer, 0);
  return input;
}

class Search {
public:
  Search(const DispatchInput& input, std::size_t placements)
      : board_{input}, input_{input}, stages_{input.shape.stages},
        plans_left_{std::clamp(placements / (6 * stages_ * input.shape.microbatches), fewest_plans, most_plans)},
        grids_{placements >= 6 * stages_ * input.shape.microbatches}, bound_{lower_bound(input)} {}

  Plan run() {
    try_rounds();
    if (best_.found() && (is_perfect() || !grids_)) return best_.plan(); // patterns exceed such a budget
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

  /// False if no further plan is affordable, at the price of `cost` list schedules.
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

  /// Rounds and windows may deadlock at a small limit; a list schedule without a window never does.
  void try_without_window(VPattern pattern) {
    pattern.policy.window = no_window;
    if (!dispatch_by_keys(board_, keys_of(pattern, input_.shape), pattern.policy)) return;
    best_.offer(board_);
    keep_start();
  }

  void try_grids(const std::vector<VPattern>& patterns) {
    const std::size_t keep = plans_left_ / 2; // for the rest of the search
    // with any number of microbatches, a grid is as long as one of them: 4p slots on each of p stages
    const std::size_t cost = 1 + 4 * stages_ / (6 * input_.shape.microbatches);
    for (const VPattern& pattern : patterns)
      for (const Compaction pull : {Compaction::ends, Compaction::everything, Compaction::tight_end}) {
        if (plans_left_ < keep + cost || !next_plan(cost)) return;
        const SlotGrid grid = repeat_pattern(slots_of(pattern, stages_), input_.shape.microbatches, most_live(), pull);
        if (grid.empty() || !follow_grid(board_, grid)) continue;
        best_.offer(board_);
        keep_start();
      }
  }

  /// Stores the board's plan if it is among the best of its kind.
  void keep_start() {
    const PlanScore score = board_.score();
    const auto at = std::ranges::upper_bound(starts_, score, {}, &Plan::score);
    if (at - starts_.begin() >= static_cast<std::ptrdiff_t>(most_starts)) return;
    starts_.insert(at, Plan{board_.steps(), score});
    if (starts_.size() > most_starts) starts_.pop_back();
  }

  /// Spends the remaining budget on small changes of the best plans.
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
      if (input_.taken[chunk] > 0)
        most = std::min(most, input_.forward_limit[input_.stage[chunk]] / input_.taken[chunk]);
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

  /// Moves to the first better neighbour until there is none.
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
  std::size_t keep_ = 0; // plans reserved after climbing
  bool grids_;           // slow if they are long: only if the budget allows one
  PlanScore bound_;
  BestPlan best_;
  std::vector<Plan> starts_; // best first
};

} // namespace

Plan search_v(const DispatchInput& input, std::size_t placements) {
  Plan plan = Search{input, placements}.run();
  if (plan.score <= lower_bound(input)) return plan;
  // The patterns suit equal tasks: if costs are nearly equal, an order found for equal ones is often shorter.
  const DispatchInput equal = with_equal_tasks(input);
  if (equal == input) return plan;
  Dispatch board{input};
  const bool fits = board.follow(to_schedule("", input.shape, Search{equal, placements}.run()));
  return fits && board.score() < plan.score ? Plan{board.steps(), board.score()} : plan;
}

std::vector<Schedule> search_within(std::string_view name, const Shape& shape, const Scenario& scenario,
                                    std::size_t activations, bool all) {
  std::array<Rival, 2> rivals{Rival{&zb_v::definition}, Rival{&hanayo::definition}};
  const DispatchInput input = dispatch_input(scenario, wave_placement(shape), activations);
  const Plan plan = better_plan(input, {.shape = shape}, scenario, search_v(input, 250'000), rivals);
  return to_schedules(name, input, scenario, plan, rivals, all);
}

} // namespace ppsim::generator
