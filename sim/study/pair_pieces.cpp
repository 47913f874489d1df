#include "pair_pieces.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/schedule/detail/sequences.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

// Tasks times moves of the search for an order that is nearly the best; of those for the best one, from each slack and
// for each round of effort, up to so many. Few tasks need no more moves than that.
constexpr std::uint64_t first_steps = 1'000'000, most_first_moves = 5'000;
constexpr std::uint64_t last_steps = 25'000'000, most_last_moves = 80'000, most_effort = 10;
constexpr std::array<std::int64_t, 6> slacks{0, 10, 20, 30, 50, 80}; // thousandths of its length
constexpr std::int64_t near_best = 100;                              // within that part of its length

/// By pass and chunk: what a task takes alone.
using Alone = std::vector<std::pair<Task, Duration>>;
Alone times_alone(const TaskGraph& plain, std::span<const Pass> passes) {
  const Schedule& schedule = plain.schedule();
  Alone alone(passes.size() * schedule.shape().chunks());
  for (const StageId stage : schedule.stage_ids())
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      const auto pass = static_cast<std::size_t>(std::ranges::find(passes, task.pass) - passes.begin());
      if (index(task.microbatch) == 0) alone[passes.size() * task.chunk_index + pass] = {task, plain.time_alone(id)};
    }
  return alone;
}

bool has_time(const std::vector<Duration>& times) {
  return std::ranges::any_of(times, [](Duration time) { return time > Duration{0}; });
}

std::uint16_t narrow(std::size_t number) {
  return static_cast<std::uint16_t>(number);
}

/// None if the sequences have other passes; a B counts as I and W.
std::vector<std::uint16_t> sequences_of(const Task& task, std::span<const Pass> passes) {
  const std::size_t own = passes.size() * task.chunk_index;
  const auto found = std::ranges::find(passes, task.pass);
  if (found != passes.end()) return {narrow(own + static_cast<std::size_t>(found - passes.begin()))};
  if (task.pass == Pass::backward) return {narrow(own + 1), narrow(own + 2)};
  return {};
}

/// None if there is no such piece.
std::optional<std::uint16_t> number_of(const synthesis::Pieces& pieces, const std::vector<std::uint16_t>& sequences) {
  if (sequences.size() == 1) return sequences.front();
  const auto joint = std::ranges::find(pieces.joints, sequences, &synthesis::Joint::sequences);
  if (joint == pieces.joints.end()) return std::nullopt;
  return narrow(pieces.instance.sequences.size() + static_cast<std::size_t>(joint - pieces.joints.begin()));
}

/// Asks SearchOptions::go_on, for several threads, also where it is not known what a search knows.
class Asking {
public:
  explicit Asking(std::function<bool(const synthesis::Progress&)> go_on) : go_on_{std::move(go_on)} {}
  bool ends(const synthesis::Progress& now) {
    const std::scoped_lock lock{asking_};
    last_ = {now.effort, std::min(now.makespan, last_ ? last_->makespan : now.makespan), now.bound};
    return ask();
  }
  bool ends() {
    const std::scoped_lock lock{asking_};
    return last_ && ask();
  }

private:
  bool ask() {
    if (!ended_) ended_ = go_on_ && !go_on_(*last_);
    return ended_;
  }

  std::mutex asking_;
  std::function<bool(const synthesis::Progress&)> go_on_;
  std::optional<synthesis::Progress> last_;
  bool ended_ = false;
};

/// Makes the best order of pieces of the orders of tasks that a search finds.
class PieceSearch {
public:
  /// `known`: begins with the best of them. `ends`: as of improve(), asked by several threads at the same time.
  PieceSearch(const synthesis::Pieces& pieces, std::uint64_t seed, std::vector<synthesis::PiecePlan> known,
              std::function<bool()> ends);

  /// For SearchOptions::as_run.
  synthesis::Plan as_run(synthesis::Plan plan);
  /// Improves the best order: so many rounds of `effort`, on up to `threads` threads, whose number changes nothing,
  /// until it takes at most `target` ns. The steps that it took.
  std::uint64_t finish(std::uint64_t effort, std::int64_t target, std::size_t threads);

  [[nodiscard]] const std::optional<synthesis::PiecePlan>& best() const { return best_; }

private:
  void take(synthesis::PiecePlan plan);

  const synthesis::Pieces& pieces_;
  std::uint64_t seed_;
  std::function<bool()> ends_;
  std::size_t tried_ = 0; ///< orders so far
  std::optional<synthesis::PiecePlan> best_;
};

PieceSearch::PieceSearch(const synthesis::Pieces& pieces, std::uint64_t seed, std::vector<synthesis::PiecePlan> known,
                         std::function<bool()> ends)
    : pieces_{pieces}, seed_{seed}, ends_{std::move(ends)} {
  for (synthesis::PiecePlan& plan : known) take(std::move(plan));
}

void PieceSearch::take(synthesis::PiecePlan plan) {
  if (!best_ || plan.plan.makespan < best_->plan.makespan) best_ = std::move(plan);
}

synthesis::Plan PieceSearch::as_run(synthesis::Plan plan) {
  std::optional<synthesis::PiecePlan> joined = join(pieces_, std::move(plan.order));
  PPSIM_ASSERT(joined);
  const std::int64_t best = best_ ? best_->plan.makespan : joined->plan.makespan;
  std::uint64_t moves = std::min(most_first_moves, first_steps / pieces_.instance.tasks());
  const std::int64_t slack = best / 1000 * slacks[tried_++ % slacks.size()];
  if (joined->plan.makespan <= best + best / near_best)
    joined = improve(pieces_, *std::move(joined), seed_ + tried_, moves, slack, 0, ends_);
  synthesis::Plan as_run = joined->plan;
  take(*std::move(joined));
  return as_run;
}

std::uint64_t PieceSearch::finish(std::uint64_t effort, std::int64_t target, std::size_t threads) {
  if (!best_) return 0;
  std::array<std::optional<synthesis::PiecePlan>, slacks.size()> found;
  std::array<std::uint64_t, slacks.size()> left{};
  left.fill(std::min(effort, most_effort) * std::min(most_last_moves, last_steps / pieces_.instance.tasks()));
  std::uint64_t moves = slacks.size() * left.front();
  const synthesis::PiecePlan start = *best_;
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

bool pairs_overlap(const Scenario& scenario) {
  switch (scenario.pair.kind) {
  case PairRule::Kind::sum:
  case PairRule::Kind::serial:
    return false;
  case PairRule::Kind::max:
    return true;
  case PairRule::Kind::hide:
    return has_time(scenario.costs.forward_collective) || has_time(scenario.costs.input_grad_collective);
  case PairRule::Kind::factor:
    break;
  }
  constexpr std::int64_t whole = 1'000'000;
  return scenario.pair.factor_ppm < whole;
}

synthesis::Pieces pieces_of(const TaskGraph& plain, std::span<const Pass> passes, synthesis::Instance instance) {
  const Shape& shape = plain.schedule().shape();
  const bool splits = passes.size() > 2;
  const Alone alone = times_alone(plain, passes);
  const std::span<const Pass> whole_passes = sequence_passes(false);
  const Alone whole =
      splits ? times_alone(lower(plain_order(shape, placement_of(plain.schedule()), false), plain.scenario()),
                           whole_passes)
             : alone;
  synthesis::Pieces pieces{std::move(instance), {}};
  const auto add = [&](std::vector<std::uint16_t> sequences, const auto& forward, const auto& backward, bool is_whole) {
    const Duration time = plain.dag().pair_time(forward.first, forward.second, backward.first, backward.second);
    pieces.joints.push_back({std::move(sequences), time.count(), is_whole});
  };
  const auto stage_of = [&](std::size_t chunk) { return pieces.instance.sequences[passes.size() * chunk].stage; };
  for (std::size_t back = 0; back < shape.chunks(); ++back) {
    const std::size_t first = passes.size() * back + 1;
    const auto& backward = whole[whole_passes.size() * back + 1];
    if (splits) pieces.joints.push_back({{narrow(first), narrow(first + 1)}, backward.second.count(), true});
    for (std::size_t front = 0; front < shape.chunks(); ++front) {
      if (stage_of(front) != stage_of(back)) continue;
      const std::size_t own = passes.size() * front;
      add({narrow(own), narrow(first)}, alone[own], alone[first], false);
      if (splits) add({narrow(own), narrow(first), narrow(first + 1)}, alone[own], backward, true);
    }
  }
  return pieces;
}

std::optional<synthesis::Order> as_pieces(const Schedule& schedule, std::span<const StageId> placement,
                                          std::span<const Pass> passes, const synthesis::Pieces& pieces) {
  synthesis::Order order(schedule.shape().stages);
  for (const StageId stage : schedule.stage_ids()) {
    std::vector<std::uint16_t> piece;
    for (const Task& task : schedule.stage(stage)) {
      if (placement[task.chunk_index] != stage) return std::nullopt;
      const std::vector<std::uint16_t> own = sequences_of(task, passes);
      piece.insert(task.pass == Pass::forward ? piece.begin() : piece.end(), own.begin(), own.end());
      if (task.pairing == Pairing::first) continue;
      const std::optional<std::uint16_t> number = number_of(pieces, piece);
      if (!number) return std::nullopt;
      order[index(stage)].push_back(*number);
      piece.clear();
    }
  }
  return order;
}

Schedule as_schedule(std::string_view name, const Shape& shape, const synthesis::Order& order,
                     std::span<const Pass> passes, const synthesis::Pieces& pieces) {
  ScheduleBuilder builder{std::string{name}, shape};
  std::vector<std::size_t> next(passes.size() * shape.chunks());
  const auto take = [&](std::uint16_t sequence) {
    return make_task(passes[sequence % passes.size()], sequence / passes.size(), next[sequence]++);
  };
  std::vector<Task> tasks;
  for (const std::vector<std::uint16_t>& stage : order) {
    for (const std::uint16_t number : stage) {
      if (number < next.size()) {
        builder.add(take(number));
        continue;
      }
      const synthesis::Joint& joint = pieces.joints[number - next.size()];
      tasks.clear();
      for (const std::uint16_t sequence : joint.sequences) tasks.push_back(take(sequence));
      if (joint.whole) {
        tasks.pop_back();
        tasks.back().pass = Pass::backward;
      }
      if (tasks.size() == 1)
        builder.add(tasks.front());
      else
        builder.add_pair(tasks.front(), tasks.back());
    }
    builder.end_stage();
  }
  return builder.build();
}

FoundPieces search_pieces(const synthesis::Pieces& pieces, const synthesis::Instance& instance,
                          std::vector<synthesis::PiecePlan> known, synthesis::SearchOptions options) {
  Asking asking{std::move(options.go_on)};
  options.go_on = [&](const synthesis::Progress& now) { return !asking.ends(now); };
  PieceSearch search{pieces, options.seed, std::move(known), [&] { return asking.ends(); }};
  options.as_run = [&](synthesis::Plan plan) { return search.as_run(std::move(plan)); };
  FoundPieces result{synthesis::search(instance, options), std::nullopt};
  synthesis::Found& found = result.found;
  if (!search.best()) return result;
  const auto gap =
      static_cast<std::int64_t>(1e-6 * static_cast<double>(options.gap_ppm) * static_cast<double>(found.bound));
  found.steps += search.finish(options.effort, found.bound + gap, options.threads);
  const std::int64_t makespan = search.best()->plan.makespan;
  if (found.history.empty() || found.history.back().makespan > makespan)
    found.history.push_back({found.steps, makespan, found.bound});
  found.plan = search.best()->plan;
  result.order = search.best()->order;
  return result;
}

} // namespace ppsim
