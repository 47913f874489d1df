#include "order_search.hpp"

#include "ppsim/base/call.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace ppsim::generator {
namespace {

constexpr std::size_t patience = 200; // exchanges without improvement
constexpr std::size_t memory = 12;    // exchanges that may not be reversed

using Steps = std::vector<std::vector<Plan::Step>>;

class OrderSearch {
public:
  OrderSearch(Dispatch& board, const Plan& plan)
      : board_{board}, input_{board.input()}, microbatches_{input_.shape.microbatches}, steps_{plan.steps},
        at_(steps_.size()), runs_(steps_.size()), forward_at_(input_.stage.size() * microbatches_),
        input_grad_at_(forward_at_.size()) {
    for (std::size_t stage = 0; stage < steps_.size(); ++stage) runs_[stage].resize(steps_[stage].size());
  }

  void run(BestPlan& best, std::size_t tries) {
    if (!replay()) return;
    PlanScore reached = board_.score();
    for (std::size_t since_better = 0; tries > 0 && since_better < patience; ++since_better) {
      check_stop();
      const std::optional<Place> swap = best_exchange(reached, tries);
      if (!swap) return;
      forbid(*swap);
      exchange(*swap);
      if (!replay()) return;
      if (!(board_.score() < reached)) continue;
      reached = board_.score();
      best.offer(board_);
      since_better = 0;
    }
  }

private:
  struct Place {
    std::size_t stage = 0;
    std::size_t position = 0;
  };
  /// Two exchanged tasks of a stage: not exchanged back for a while.
  struct Forbidden {
    std::size_t stage = 0;
    Plan::Step first, second;
    std::uint32_t first_microbatch = 0, second_microbatch = 0;
    bool operator==(const Forbidden&) const = default;
  };
  struct Run {
    bool by_input = false; // its input arrived after the end of the task before
    std::uint32_t microbatch = 0;
  };

  void exchange(const Place& at) {
    auto& row = steps_[at.stage];
    std::swap(row[at.position - 1], row[at.position]);
  }

  /// The exchange on the critical path with the best score, even if it is worse than the current one, to leave local
  /// optima.
  std::optional<Place> best_exchange(const PlanScore& best_score, std::size_t& tries) {
    std::optional<Place> best;
    PlanScore score{Dispatch::never, Dispatch::never};
    for (const Place& at : critical_neighbours()) {
      const auto& row = steps_[at.stage];
      if (tries == 0) break;
      if (row[at.position - 1].chunk == row[at.position].chunk && row[at.position - 1].pass == row[at.position].pass)
        continue;
      const bool is_forbidden = std::ranges::find(forbidden_, pair_at(at, false)) != forbidden_.end();
      --tries;
      exchange(at);
      const bool runs = replay();
      exchange(at);
      if (!runs || !(board_.score() < score) || (is_forbidden && !(board_.score() < best_score))) continue;
      score = board_.score();
      best = at;
    }
    replay();
    return best;
  }

  [[nodiscard]] Forbidden pair_at(const Place& at, bool exchanged) const {
    const auto& row = steps_[at.stage];
    const auto& runs = runs_[at.stage];
    const std::size_t first = exchanged ? at.position : at.position - 1;
    const std::size_t second = exchanged ? at.position - 1 : at.position;
    return {at.stage, row[first], row[second], runs[first].microbatch, runs[second].microbatch};
  }

  void forbid(const Place& at) {
    forbidden_.push_back(pair_at(at, true));
    if (forbidden_.size() > memory) forbidden_.pop_front();
  }

  /// Places the steps in order; false if that deadlocks or does not fit in memory.
  bool replay() {
    board_.clear();
    std::ranges::fill(at_, 0);
    std::size_t left = 0;
    for (const auto& row : steps_) left += row.size();
    for (bool moved = true; moved && left > 0;) {
      moved = false;
      for (std::size_t stage = 0; stage < steps_.size(); ++stage)
        while (at_[stage] < steps_[stage].size()) {
          const Plan::Step step = steps_[stage][at_[stage]];
          if (!board_.can_follow(step)) {
            if (step.pass == Pass::forward && board_.forward_input(step.chunk) != Dispatch::never) return false;
            break;
          }
          place(stage, step);
          ++at_[stage];
          --left;
          moved = true;
        }
    }
    return left == 0;
  }

  void place(std::size_t stage, Plan::Step step) {
    const std::size_t chunk = step.chunk;
    Run& run = runs_[stage][at_[stage]];
    run = {};
    if (step.pass == Pass::forward) {
      run = {board_.forward_input(chunk) > board_.now(stage), static_cast<std::uint32_t>(board_.forwards(chunk))};
      forward_at_[chunk * microbatches_ + run.microbatch] = at_[stage];
      board_.place_forward(chunk);
    } else if (step.pass == Pass::input_grad) {
      run = {board_.gradient_input(chunk) > board_.now(stage), static_cast<std::uint32_t>(board_.input_grads(chunk))};
      input_grad_at_[chunk * microbatches_ + run.microbatch] = at_[stage];
      board_.place_input_grad(chunk);
    } else {
      run.microbatch = static_cast<std::uint32_t>(board_.weight_grads(chunk));
      board_.place_weight_grad(chunk);
    }
  }

  /// Second tasks of the adjacent pairs on the critical path of the stage with the longest span, last first.
  [[nodiscard]] std::vector<Place> critical_neighbours() const {
    std::vector<Place> found;
    Place at{board_.longest_stage(), 0};
    at.position = steps_[at.stage].size() - 1;
    while (true) {
      const Run& run = runs_[at.stage][at.position];
      if (run.by_input) {
        if (!to_sender(at, run)) return found;
      } else {
        if (at.position == 0) return found;
        found.push_back(at);
        --at.position;
      }
    }
  }

  bool to_sender(Place& at, const Run& run) const {
    const auto [pass, chunk] = steps_[at.stage][at.position];
    if (pass == Pass::forward) {
      if (chunk == 0) return false;
      at = {input_.stage[chunk - 1], forward_at_[(chunk - 1U) * microbatches_ + run.microbatch]};
    } else if (chunk + 1U == input_.stage.size()) {
      at = {at.stage, forward_at_[chunk * microbatches_ + run.microbatch]};
    } else {
      at = {input_.stage[chunk + 1U], input_grad_at_[(chunk + 1U) * microbatches_ + run.microbatch]};
    }
    return true;
  }

  Dispatch& board_;
  const DispatchInput& input_;
  std::size_t microbatches_;
  Steps steps_;
  std::vector<std::size_t> at_;         // per stage, how many steps are placed
  std::vector<std::vector<Run>> runs_;  // per stage and step, of the last replay
  std::vector<std::size_t> forward_at_; // position on its stage, by chunk and microbatch
  std::vector<std::size_t> input_grad_at_;
  std::deque<Forbidden> forbidden_;
};

} // namespace

void exchange_neighbours(Dispatch& board, const Plan& start, BestPlan& best, std::size_t tries) {
  OrderSearch{board, start}.run(best, tries);
}

} // namespace ppsim::generator
