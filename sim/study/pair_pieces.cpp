#include "pair_pieces.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/schedule/detail/sequences.hpp"

#include <algorithm>
#include <array>

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

} // namespace

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
  bool overlaps = false;
  const auto add = [&](std::vector<std::uint16_t> sequences, const auto& forward, const auto& backward, bool is_whole) {
    const Duration time = plain.dag().pair_time(forward.first, forward.second, backward.first, backward.second);
    overlaps |= time < forward.second + backward.second;
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
  if (!overlaps) pieces.joints.clear();
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

PieceSearch::PieceSearch(const synthesis::Pieces& pieces, std::uint64_t seed, std::vector<synthesis::PiecePlan> known)
    : pieces_{pieces}, seed_{seed} {
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
  if (joined->plan.makespan <= best + best / near_best)
    joined = improve(pieces_, *std::move(joined), seed_, moves, 0, 0, [] { return false; });
  synthesis::Plan as_run = joined->plan;
  take(*std::move(joined));
  return as_run;
}

std::uint64_t PieceSearch::finish(std::uint64_t effort, std::int64_t target, std::size_t threads,
                                  const std::function<bool()>& ends) {
  if (!best_) return 0;
  std::array<std::optional<synthesis::PiecePlan>, slacks.size()> found;
  std::array<std::uint64_t, slacks.size()> left{};
  left.fill(std::min(effort, most_effort) * std::min(most_last_moves, last_steps / pieces_.instance.tasks()));
  std::uint64_t moves = slacks.size() * left.front();
  const synthesis::PiecePlan start = *best_;
  for_each_index(slacks.size(), threads, [&](std::size_t i) {
    found[i] = improve(pieces_, start, seed_ + i, left[i], start.plan.makespan / 1000 * slacks[i], target, ends);
  });
  for (std::size_t i = 0; i < slacks.size(); ++i) {
    moves -= left[i];
    take(*std::move(found[i]));
  }
  return moves * pieces_.instance.tasks();
}

} // namespace ppsim
