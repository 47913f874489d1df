#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/synthesis/pieces.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ending.hpp"
#include "round.hpp"

namespace ppsim::synthesis {
namespace {

// Tasks times moves of the search for an order that is nearly the best; of those for the best one, from each slack and
// for each round of effort, up to so many. Few tasks need no more moves than that.
constexpr std::uint64_t first_steps = 1'000'000, moves_of_task = 100;
constexpr std::uint64_t last_steps = 25'000'000, most_last_moves = 80'000, most_effort = 10;
constexpr std::array<std::int64_t, 6> slacks{0, 10, 20, 30, 50, 80}; // thousandths of its length
constexpr std::int64_t near_best = 100;                              // within that part of its length

/// Makes the best order of pieces of the orders of tasks that a search finds.
class PieceSearch {
public:
  /// `known`: begins with the best of them. `ends`: as of improve(), asked by several threads at the same time.
  PieceSearch(const Pieces& pieces, std::uint64_t seed, std::vector<PiecePlan> known, std::function<bool()> ends);

  /// For SearchOptions::as_run.
  Plan as_run(Plan plan);
  /// Improves the best order: so many rounds of `effort`, on up to `threads` threads, whose number changes nothing,
  /// until it takes at most `target` ns. The steps that it took.
  std::uint64_t finish(std::uint64_t effort, std::int64_t target, std::size_t threads);

  [[nodiscard]] const std::optional<PiecePlan>& best() const { return best_; }

private:
  void take(PiecePlan plan);

  const Pieces& pieces_;
  std::uint64_t seed_;
  std::function<bool()> ends_;
  std::size_t tried_ = 0; ///< orders so far
  std::optional<PiecePlan> best_;
};

PieceSearch::PieceSearch(const Pieces& pieces, std::uint64_t seed, std::vector<PiecePlan> known,
                         std::function<bool()> ends)
    : pieces_{pieces}, seed_{seed}, ends_{std::move(ends)} {
  for (PiecePlan& plan : known) take(std::move(plan));
}

void PieceSearch::take(PiecePlan plan) {
  if (!best_ || plan.plan.makespan < best_->plan.makespan) best_ = std::move(plan);
}

Plan PieceSearch::as_run(Plan plan) {
  std::optional<PiecePlan> joined = join(pieces_, std::move(plan.order));
  PPSIM_ASSERT(joined);
  const std::int64_t best = best_ ? best_->plan.makespan : joined->plan.makespan;
  const std::uint64_t tasks = pieces_.instance.tasks();
  std::uint64_t moves = std::min(moves_of_task * tasks, first_steps / tasks);
  const std::int64_t slack = best / 1000 * slacks[tried_++ % slacks.size()];
  if (joined->plan.makespan <= best + best / near_best)
    joined = improve(pieces_, *std::move(joined), seed_ + tried_, moves, slack, 0, ends_);
  Plan as_run = joined->plan;
  take(*std::move(joined));
  return as_run;
}

std::uint64_t PieceSearch::finish(std::uint64_t effort, std::int64_t target, std::size_t threads) {
  if (!best_) return 0;
  std::array<std::optional<PiecePlan>, slacks.size()> found;
  std::array<std::uint64_t, slacks.size()> left{};
  left.fill(std::min(effort, most_effort) * std::min(most_last_moves, last_steps / pieces_.instance.tasks()));
  std::uint64_t moves = slacks.size() * left.front();
  const PiecePlan start = *best_;
  for_each_index(slacks.size(), threads, [&](std::size_t i) {
    found[i] = improve(pieces_, start, seed_ + i, left[i], start.plan.makespan / 1000 * slacks[i], target, ends_);
  });
  for (std::size_t i = 0; i < slacks.size(); ++i) {
    moves -= left[i];
    take(*std::move(found[i]));
  }
  return moves * pieces_.instance.tasks();
}

} // namespace

FoundPieces search_pieces(const Pieces& pieces, const Instance& instance, std::vector<PiecePlan> known,
                          SearchOptions options) {
  const std::function<bool(const Progress&)> go_on = std::exchange(options.go_on, {});
  Watch watch{go_on};
  if (go_on) options.go_on = [&](const Progress& now) { return !watch.ends(now); };
  PieceSearch pieced{pieces, options.seed, std::move(known), [&] { return watch.ends(); }};
  options.as_run = [&](Plan plan) { return pieced.as_run(std::move(plan)); };
  FoundPieces result{search(instance, options), std::nullopt};
  Found& found = result.found;
  if (!pieced.best()) return result;
  found.steps +=
      pieced.finish(options.effort, found.bound + allowed_gap(found.bound, options.gap_ppm), options.threads);
  const std::int64_t makespan = pieced.best()->plan.makespan;
  add_milestone(found.history, {found.steps, makespan, found.bound});
  found.plan = pieced.best()->plan;
  result.order = pieced.best()->order;
  return result;
}

} // namespace ppsim::synthesis
