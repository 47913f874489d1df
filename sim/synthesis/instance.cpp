#include "ppsim/synthesis/instance.hpp"

#include <algorithm>
#include <string_view>

namespace ppsim::synthesis {
namespace {

/// The arcs that leave each sequence, one list after the other.
struct Leaving {
  explicit Leaving(const Instance& instance)
      : begin(instance.sequences.size() + 1), waiting(instance.sequences.size()) {
    for (const Arc& arc : instance.arcs) {
      ++begin[arc.from + 1];
      ++waiting[arc.to];
    }
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    arcs.resize(instance.arcs.size());
    std::vector<std::size_t> at(begin.begin(), begin.end() - 1);
    for (const Arc& arc : instance.arcs) arcs[at[arc.from]++] = arc;
  }
  [[nodiscard]] std::span<const Arc> of(std::size_t sequence) const {
    return {arcs.data() + begin[sequence], begin[sequence + 1] - begin[sequence]};
  }
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> waiting; ///< arcs that end at each sequence
  std::vector<Arc> arcs;
};

bool is_circular(const Instance& instance) {
  const Leaving leaving{instance};
  std::vector<std::uint32_t> waiting = leaving.waiting;
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0) ready.push_back(i);
  std::size_t done = 0;
  for (; done < ready.size(); ++done)
    for (const Arc& arc : leaving.of(ready[done]))
      if (--waiting[arc.to] == 0) ready.push_back(arc.to);
  return done < waiting.size();
}

bool is_in_range(const Instance& instance) {
  constexpr std::int64_t most = std::int64_t{1} << 61U;
  std::int64_t left = most;
  const auto spend = [&](std::int64_t value) {
    const std::int64_t tasks = instance.microbatches;
    if (value < 0 || value > left / tasks) return false;
    left -= value * tasks;
    return true;
  };
  for (const Sequence& sequence : instance.sequences)
    if (!spend(sequence.duration) || !spend(sequence.tail)) return false;
  for (const Arc& arc : instance.arcs)
    if (!spend(arc.lag)) return false;
  left = most;
  for (const Sequence& sequence : instance.sequences)
    if (!spend(sequence.take) || !spend(sequence.give)) return false;
  return std::ranges::all_of(instance.capacity, [](std::int64_t each) { return each >= 0 && each <= unlimited; });
}

} // namespace

std::optional<std::string_view> fault_of(const Instance& instance) {
  if (instance.microbatches == 0 || instance.capacity.empty() || instance.sequences.empty()) return "it is empty";
  if (instance.sequences.size() > 0xFFFF || instance.microbatches > 0x7FFF) return "it is too large";
  const std::size_t sequences = instance.sequences.size();
  for (const Sequence& sequence : instance.sequences)
    if (sequence.stage >= instance.stages()) return "a sequence is on a stage that does not exist";
  for (const Arc& arc : instance.arcs)
    if (arc.from >= sequences || arc.to >= sequences) return "an arc joins a sequence that does not exist";
  if (!is_in_range(instance)) return "a number is negative, or sums are out of range";
  if (is_circular(instance)) return "its arcs form a cycle";
  return std::nullopt;
}

std::int64_t whole_length(const Instance& instance) {
  const std::int64_t m = instance.microbatches;
  std::int64_t length = 0;
  for (const Sequence& sequence : instance.sequences) length += m * sequence.duration + sequence.tail;
  for (const Arc& arc : instance.arcs) length += m * arc.lag;
  return length;
}

std::optional<Plan> run(const Instance& instance, Order order, std::span<const std::int64_t> durations) {
  const std::size_t m = instance.microbatches;
  const Leaving leaving{instance};
  Plan plan{.order = std::move(order), .start = std::vector<std::int64_t>(instance.tasks()), .makespan = 0};
  std::vector<std::uint32_t> arrived(instance.tasks()); // inputs that are there
  std::vector<std::size_t> next(instance.stages());     // position on each stage
  std::vector<std::int64_t> free(instance.stages());    // when each stage is free
  std::vector<std::uint32_t> index(instance.sequences.size());
  std::vector<std::uint32_t> ready(instance.stages());
  for (std::uint32_t stage = 0; stage < ready.size(); ++stage) ready[stage] = stage;
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t stage = ready.back();
    ready.pop_back();
    for (; next[stage] < plan.order[stage].size(); ++next[stage], ++done) {
      const std::uint16_t sequence = plan.order[stage][next[stage]];
      const std::size_t task = sequence * m + index[sequence];
      if (arrived[task] < leaving.waiting[sequence]) break;
      const std::int64_t start = std::max(plan.start[task], free[stage]);
      const std::int64_t end = start + (durations.empty() ? instance.sequences[sequence].duration : durations[task]);
      plan.start[task] = start;
      free[stage] = end;
      plan.makespan = std::max(plan.makespan, end + instance.sequences[sequence].tail);
      for (const Arc& arc : leaving.of(sequence)) {
        const std::size_t to = arc.to * m + index[sequence];
        plan.start[to] = std::max(plan.start[to], end + arc.lag);
        ++arrived[to];
        if (instance.sequences[arc.to].stage != stage) ready.push_back(instance.sequences[arc.to].stage);
      }
      ++index[sequence];
    }
  }
  if (done < instance.tasks()) return std::nullopt;
  return plan;
}

bool fits(const Instance& instance, const Order& order) {
  for (std::size_t stage = 0; stage < order.size(); ++stage) {
    std::int64_t held = 0;
    for (const std::uint16_t sequence : order[stage]) {
      held += instance.sequences[sequence].take;
      if (held > instance.capacity[stage]) return false;
      held -= instance.sequences[sequence].give;
    }
  }
  return true;
}

} // namespace ppsim::synthesis
