#include "property/all_orders.hpp"

#include "support/pipelines.hpp"

#include <map>
#include <utility>

namespace ppsim::test {

using synthesis::Arc;
using synthesis::Instance;
using synthesis::Sequence;

namespace {

/// Places tasks by rising start, each as early as the tasks before it on its stage allow: every order of every stage,
/// once for each way to break ties of equal starts.
class Trial {
public:
  Trial(const Instance& instance, std::size_t most_states)
      : instance_{instance}, m_{instance.microbatches}, most_states_{most_states}, next_(instance.sequences.size()),
        end_(instance.sequences.size() * m_), free_(instance.stages()), held_(instance.stages()),
        order_(instance.stages()), behind_(instance.sequences.size()) {
    for (std::size_t i = 0; i < behind_.size(); ++i) behind_[i] = instance.sequences[i].tail;
    for (std::size_t i = 0; i < behind_.size(); ++i) // no path has more arcs than there are sequences
      for (const Arc& arc : instance.arcs)
        behind_[arc.from] =
            std::max(behind_[arc.from], arc.lag + instance.sequences[arc.to].duration + behind_[arc.to]);
  }

  AllOrders run() && {
    place(0, 0, 0);
    return std::move(result_);
  }

private:
  void place(std::size_t placed, std::int64_t last_start, std::int64_t makespan) {
    if (placed == instance_.tasks()) {
      if (result_.least && makespan >= *result_.least) return;
      result_.least = makespan;
      result_.plans.push_back(synthesis::run(instance_, order_).value());
      return;
    }
    if (++states_ > most_states_) result_.complete = false;
    if (!result_.complete || cannot_be_shorter(makespan) || was_as_good_before(last_start, makespan)) return;
    struct Choice {
      std::int64_t start;
      std::uint16_t sequence;
    };
    std::vector<Choice> choices;
    for (std::uint16_t s = 0; s < next_.size(); ++s)
      if (const std::optional<std::int64_t> start = start_of(s); start && *start >= last_start)
        choices.push_back({*start, s});
    std::ranges::stable_sort(choices, {}, &Choice::start);
    for (const auto& [start, s] : choices) {
      const Sequence& sequence = instance_.sequences[s];
      const std::int64_t end = start + sequence.duration;
      const std::int64_t free_before = std::exchange(free_[sequence.stage], end);
      held_[sequence.stage] += sequence.take - sequence.give;
      end_[s * m_ + next_[s]++] = end;
      order_[sequence.stage].push_back(s);
      place(placed + 1, start, std::max(makespan, end + sequence.tail));
      order_[sequence.stage].pop_back();
      --next_[s];
      held_[sequence.stage] -= sequence.take - sequence.give;
      free_[sequence.stage] = free_before;
    }
  }

  /// The start of its next task, if that can run and fits.
  [[nodiscard]] std::optional<std::int64_t> start_of(std::size_t s) const {
    const Sequence& sequence = instance_.sequences[s];
    if (next_[s] == m_ || held_[sequence.stage] + sequence.take > instance_.capacity[sequence.stage])
      return std::nullopt;
    std::int64_t start = free_[sequence.stage];
    for (const Arc& arc : instance_.arcs) {
      if (arc.to != s) continue;
      if (next_[arc.from] <= next_[s]) return std::nullopt;
      start = std::max(start, end_[arc.from * m_ + next_[s]] + arc.lag);
    }
    return start;
  }

  [[nodiscard]] bool cannot_be_shorter(std::int64_t makespan) const {
    if (!result_.least) return false;
    std::vector<std::int64_t> busy = free_;
    for (std::size_t s = 0; s < next_.size(); ++s) {
      const Sequence& sequence = instance_.sequences[s];
      busy[sequence.stage] += static_cast<std::int64_t>(m_ - next_[s]) * sequence.duration;
      if (next_[s] < m_)
        makespan = std::max(makespan, free_[sequence.stage] +
                                          static_cast<std::int64_t>(m_ - next_[s]) * sequence.duration + behind_[s]);
    }
    return std::max(makespan, std::ranges::max(busy)) >= *result_.least;
  }

  /// Whether the same tasks had been placed before with every relevant time as early.
  bool was_as_good_before(std::int64_t last_start, std::int64_t makespan) {
    std::vector<std::int64_t> times = free_;
    times.push_back(last_start);
    times.push_back(makespan);
    for (const Arc& arc : instance_.arcs)
      for (std::size_t j = next_[arc.to]; j < next_[arc.from]; ++j) times.push_back(end_[arc.from * m_ + j]);
    std::vector<std::vector<std::int64_t>>& seen = seen_[next_];
    const auto is_as_good = [](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
      return std::ranges::equal(a, b, std::ranges::less_equal{});
    };
    for (const std::vector<std::int64_t>& each : seen)
      if (is_as_good(each, times)) return true;
    std::erase_if(seen, [&](const std::vector<std::int64_t>& each) { return is_as_good(times, each); });
    seen.push_back(std::move(times));
    return false;
  }

  const Instance& instance_;
  std::size_t m_;
  std::size_t most_states_;
  std::size_t states_ = 0;
  std::vector<std::uint8_t> next_;
  std::vector<std::int64_t> end_;
  std::vector<std::int64_t> free_, held_;
  synthesis::Order order_;
  std::vector<std::int64_t> behind_; // by sequence: the least time from the end of a task to the end of the step
  std::map<std::vector<std::uint8_t>, std::vector<std::vector<std::int64_t>>> seen_;
  AllOrders result_;
};

/// Random numbers that are equal with every library.
class Draw {
public:
  explicit Draw(std::mt19937& random) : random_{random} {}
  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most + 1));
  }
  bool one_in(std::int64_t n) { return up_to(n - 1) == 0; }

private:
  std::mt19937& random_;
};

/// Sequences anywhere, arcs between any of them.
Instance draw_anything(Draw draw) {
  Instance instance;
  instance.microbatches = static_cast<std::uint32_t>(1 + draw.up_to(2));
  const std::int64_t stages = 1 + draw.up_to(1);
  const std::int64_t sequences = 2 + draw.up_to(instance.microbatches < 3 ? 4 : 2);
  for (std::int64_t stage = 0; stage < stages; ++stage)
    instance.capacity.push_back(draw.one_in(4) ? synthesis::unlimited : 3 + draw.up_to(12));
  for (std::int64_t s = 0; s < sequences; ++s)
    instance.sequences.push_back({.stage = static_cast<std::uint32_t>(draw.up_to(stages - 1)),
                                  .duration = draw.up_to(7),
                                  .take = draw.one_in(2) ? draw.up_to(4) : 0,
                                  .give = draw.one_in(2) ? draw.up_to(4) : 0,
                                  .tail = draw.one_in(3) ? draw.up_to(9) : 0});
  for (std::uint32_t to = 1; to < sequences; ++to)
    for (std::uint32_t from = 0; from < to; ++from)
      if (draw.one_in(4)) instance.arcs.push_back({from, to, draw.up_to(5)});
  return instance;
}

/// Sizes of a chunk's activation, and how it is freed.
void draw_memory(Draw draw, Instance& instance, std::size_t passes, bool equal) {
  std::int64_t size = 1, released = 0, again = 0;
  for (std::size_t own = 0; own < instance.sequences.size(); own += passes) {
    if (!equal || own == 0) {
      size = 1 + draw.up_to(3);
      released = draw.one_in(2) ? draw.up_to(size) : 0;
      again = draw.one_in(3) ? draw.up_to(3) : 0;
    }
    instance.sequences[own].take = size;
    instance.sequences[own + 1].take = again;
    instance.sequences[own + 1].give = passes == 2 ? size + again : released + draw.up_to(again);
    if (passes == 3) instance.sequences[own + 2].give = size + again - instance.sequences[own + 1].give;
  }
}

} // namespace

AllOrders try_all_orders(const Instance& instance, std::size_t most_states) {
  return Trial{instance, most_states}.run();
}

Instance draw_tiny_instance(std::mt19937& random) {
  Draw draw{random};
  return draw.one_in(4) ? draw_anything(draw) : draw_pipeline(random, 3, 3, 27);
}

Instance draw_pipeline(std::mt19937& random, std::size_t most_stages, std::size_t most_microbatches,
                       std::size_t most_tasks) {
  Draw draw{random};
  const auto stages = static_cast<std::uint32_t>(1 + draw.up_to(static_cast<std::int64_t>(most_stages) - 1));
  const std::int64_t kind = draw.up_to(3);
  const std::vector<std::uint32_t> placement = kind < 2 ? linear(stages) : kind == 2 ? wave(stages) : loop(stages, 2);
  const bool splits = !draw.one_in(3);
  const std::size_t passes = splits ? 3 : 2;
  const std::size_t most = std::clamp<std::size_t>(most_tasks / (passes * placement.size()), 1, most_microbatches);
  const auto microbatches = static_cast<std::uint32_t>(1 + draw.up_to(static_cast<std::int64_t>(most) - 1));
  const std::int64_t longest = draw.one_in(3) ? 2 : 9;
  Instance instance = pipeline(placement, microbatches, {1, 1, splits ? 1 : 0, 0, synthesis::unlimited});
  const bool equal = draw.one_in(2); // chunks
  for (std::size_t s = 0; s < instance.sequences.size(); ++s) {
    Sequence& sequence = instance.sequences[s];
    sequence.duration = equal && s >= passes ? instance.sequences[s - passes].duration : draw.up_to(longest);
    if (s % passes + 1 == passes && draw.one_in(4)) sequence.tail = draw.up_to(longest);
  }
  const std::int64_t lag = draw.one_in(2) ? 0 : draw.up_to(2 * longest);
  for (Arc& arc : instance.arcs)
    if (instance.sequences[arc.from].stage != instance.sequences[arc.to].stage) arc.lag = equal ? lag : draw.up_to(lag);
  draw_memory(draw, instance, passes, equal);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    std::int64_t one = 0; // about what one microbatch needs
    for (const Sequence& sequence : instance.sequences)
      if (sequence.stage == stage) one += sequence.take;
    if (!draw.one_in(5)) instance.capacity[stage] = std::max<std::int64_t>(0, one - 1 + draw.up_to(2 * one));
  }
  return instance;
}

} // namespace ppsim::test
