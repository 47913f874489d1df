#include "pair_pieces.hpp"

#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/schedule/detail/sequences.hpp"

#include <algorithm>
#include <utility>

#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

/// By pass and chunk: what a task takes alone.
using Alone = std::vector<std::pair<Task, Duration>>;
Alone times_alone(const TaskGraph& plain, std::span<const Pass> passes) {
  Alone alone;
  for (const TaskId id : first_tasks(plain.schedule(), passes))
    alone.emplace_back(plain.schedule().task(id), plain.time_alone(id));
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

} // namespace ppsim
