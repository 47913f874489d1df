#include "ppsim/synthesis/interval.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/random.hpp"

#include <algorithm>

#include "ending.hpp"
#include "windows.hpp"

namespace ppsim::synthesis {
namespace {

constexpr std::size_t most_near = 100;          // starts that a round tries
constexpr std::uint64_t near_steps = 8'000'000; // of the search, on them
constexpr std::uint64_t most_rounds = 48;       // at the same starts
constexpr std::size_t most_passes = 8;          // of a search at the starts of the best order

/// As `instance`, but stage s begins `begin[s]` or later, and ends `behind[s]` before the end of the step or earlier.
Instance shifted(const Instance& instance, std::span<const std::int64_t> begin, std::span<const std::int64_t> behind) {
  const Views views{instance};
  Instance result = instance;
  const auto starter = static_cast<std::uint32_t>(instance.sequences.size());
  const auto is_led_to = [&](std::uint32_t sequence) {
    return std::ranges::any_of(views.on[views.stage(sequence)], [&](std::uint32_t from) {
      return from != sequence && views.leads_to[from][views.local[sequence]];
    });
  };
  for (std::uint32_t i = 0; i < starter; ++i) {
    Sequence& sequence = result.sequences[i];
    sequence.tail += behind[sequence.stage];
    if (begin[sequence.stage] > 0 && !is_led_to(i)) result.arcs.push_back({starter, i, begin[sequence.stage]});
  }
  result.sequences.push_back({.stage = static_cast<std::uint32_t>(instance.stages())});
  result.capacity.push_back(0);
  return result;
}

/// The order with what a shifted instance has besides.
Order with_starter(const Instance& instance, Order order) {
  order.emplace_back(instance.microbatches, static_cast<std::uint16_t>(instance.sequences.size()));
  return order;
}

/// From each stage's start to each stage's end, at least: [from * stages + to]; negative where nothing leads there.
std::optional<std::vector<std::int64_t>> lengths_between(const Instance& instance, const Order& order) {
  const std::size_t stages = instance.stages();
  std::vector<std::int64_t> lengths(stages * stages, -1);
  for (std::uint32_t from = 0; from < stages; ++from) {
    const auto [alone, margin] = span_instance(instance, from);
    const std::optional<Plan> plan = run(alone, with_starter(instance, order));
    if (!plan) return std::nullopt;
    for (std::size_t i = 0; i < instance.sequences.size(); ++i) {
      const Sequence& sequence = instance.sequences[i];
      const std::int64_t start = plan->start[i * instance.microbatches + instance.microbatches - 1];
      std::int64_t& length = lengths[from * stages + sequence.stage];
      length = std::max(length, start + sequence.duration + sequence.tail - margin);
    }
  }
  return lengths;
}

/// When stages begin a step at the pace of one in `length` ns, as early as they can beside each other; nothing where
/// they cannot keep it up. A stage that begins at b makes the next step of each other one begin at b + lengths or
/// later.
std::optional<std::vector<std::int64_t>> starts_at(std::span<const std::int64_t> lengths, std::size_t stages,
                                                   std::int64_t length) {
  std::vector<std::int64_t> start(stages); // longest paths; one more round that changes something has found a circle
  for (std::size_t round = 0; round <= stages; ++round) {
    bool changed = false;
    for (std::size_t from = 0; from < stages; ++from)
      for (std::size_t to = 0; to < stages; ++to) {
        const std::int64_t between = lengths[from * stages + to];
        if (between < 0 || start[from] + between - length <= start[to]) continue;
        start[to] = start[from] + between - length;
        changed = true;
      }
    if (!changed) return start;
  }
  return std::nullopt;
}

/// The same, but as late as they can.
std::vector<std::int64_t> late_starts_at(std::vector<std::int64_t> lengths, std::size_t stages, std::int64_t length) {
  for (std::size_t from = 0; from < stages; ++from)
    for (std::size_t to = 0; to < from; ++to) std::swap(lengths[from * stages + to], lengths[to * stages + from]);
  std::vector<std::int64_t> start = *starts_at(lengths, stages, length);
  const std::int64_t latest = std::ranges::max(start);
  for (std::int64_t& each : start) each = latest - each;
  return start;
}

class IntervalSearch {
public:
  IntervalSearch(const Instance& instance, const SearchOptions& options)
      : instance_{instance}, options_{options}, dice_{options.seed} {
    for (const Sequence& sequence : instance.sequences) longest_task_ = std::max(longest_task_, sequence.duration);
  }

  FoundInterval run() {
    begin_stages();
    for (const Order& order : options_.starts)
      if (fits(instance_, order)) offer(order, interval_of(instance_, order));
    pass(std::vector<std::int64_t>(instance_.stages()), 0);
    if (result_.order) {
      passes();
      raise_bound();
      for (std::uint64_t rounds = 3; !done() && result_.found.effort < options_.effort;
           rounds = std::min(2 * rounds, most_rounds))
        round(std::min(rounds, options_.effort - result_.found.effort));
    }
    finish();
    return std::move(result_);
  }

private:
  struct Stage {
    SpanInstance span;
    std::int64_t open = unlimited; ///< the least interval that its span could not refute
  };

  [[nodiscard]] bool done() {
    if (options_.go_on && !stopped_ && result_.order)
      stopped_ = !options_.go_on({result_.found.effort, result_.interval, result_.bound});
    return stopped_ || is_near_enough(result_.interval, result_.bound, options_.gap_ppm);
  }

  void begin_stages() {
    for (std::uint32_t stage = 0; stage < instance_.stages(); ++stage) {
      const Stage& each = stages_.emplace_back(Stage{span_instance(instance_, stage)});
      const std::int64_t bound = first_bound(each.span.instance, result_.found.steps) - 2 * each.span.margin;
      if (bound <= result_.bound) continue;
      result_.bound = bound;
      result_.stage = stage;
    }
  }

  void note() { add_milestone(result_.found.history, {result_.found.steps, result_.interval, result_.bound}); }

  /// Whether it is the best so far.
  bool offer(const Order& order, const std::optional<Interval>& interval) {
    if (!interval || (result_.order && interval->length >= result_.interval)) return false;
    result_.order = order;
    result_.interval = interval->length;
    best_ = *interval;
    note();
    return true;
  }

  /// `rounds` of search at the starts of the best order, others near by, and as many for the bound.
  void round(std::uint64_t rounds) {
    const std::uint64_t end = result_.found.steps + rounds * near_steps;
    for (std::size_t i = 0; i < most_near && result_.found.steps < end && !done(); ++i)
      if (pass(starts_near_by(), 0)) passes();
    if (!done()) pass(best_.starts, rounds);
    if (!done()) search_span(rounds);
    passes();
    raise_bound();
    result_.found.effort += rounds;
  }

  /// Between the earliest and the latest starts of the best order, and up to a task before or after.
  std::vector<std::int64_t> starts_near_by() {
    std::vector<std::int64_t> starts;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      const auto wide = static_cast<double>(best_.late_starts[stage] - best_.starts[stage]);
      const double off = static_cast<double>(longest_task_) * (2 * dice_.share() - 1);
      starts.push_back(best_.starts[stage] + static_cast<std::int64_t>(dice_.share() * wide + off));
    }
    const std::int64_t least = std::ranges::min(starts);
    for (std::int64_t& each : starts) each -= least;
    return starts;
  }

  /// Looks for an order whose stages begin at `starts` or later, and end a step as early as they can after them.
  /// Whether it is the best so far.
  bool pass(const std::vector<std::int64_t>& starts, std::uint64_t effort) {
    const std::int64_t latest = std::ranges::max(starts);
    std::vector<std::int64_t> behind;
    behind.reserve(starts.size());
    for (const std::int64_t start : starts) behind.push_back(latest - start);
    const Instance instance = shifted(instance_, starts, behind);
    if (result_.order && first_bound(instance, result_.found.steps) >= result_.interval + latest) return false;
    SearchOptions options = options_;
    options.case_steps = 0; // its bound is for these starts only
    Found found = search_in(instance, std::move(options), effort, [&](const Progress& progress) {
      const std::int64_t known = progress.makespan - latest;
      return std::pair{result_.order ? std::min(result_.interval, known) : known, result_.bound};
    });
    if (!found.plan) return false;
    found.plan->order.pop_back();
    return offer(found.plan->order, interval_of(instance_, found.plan->order));
  }

  /// From the best order on. `known`: what interval and bound the progress of that search stands for.
  template <class Known>
  Found search_in(const Instance& instance, SearchOptions options, std::uint64_t effort, Known known) {
    options.effort = effort;
    options.seed = dice_.next();
    options.starts.clear();
    if (result_.order) options.starts.push_back(with_starter(instance_, *result_.order));
    if (options_.go_on)
      options.go_on = [&](const Progress& progress) {
        const auto [interval, bound] = known(progress);
        stopped_ = !options_.go_on({result_.found.effort + progress.effort, interval, bound});
        return !stopped_;
      };
    Found found = search(instance, options);
    result_.found.steps += found.steps;
    result_.found.impossible = found.impossible;
    return found;
  }

  /// The best order and bound for the span that bounds the interval, by cases as well.
  void search_span(std::uint64_t rounds) {
    const SpanInstance& span = stages_[result_.stage].span;
    const std::int64_t before = result_.bound;
    Found found = search_in(span.instance, options_, rounds, [&](const Progress& progress) {
      return std::pair{result_.interval, std::max(before, progress.bound - 2 * span.margin)};
    });
    if (found.bound - 2 * span.margin > result_.bound) {
      result_.bound = found.bound - 2 * span.margin;
      result_.found.cases = std::move(found.cases);
      note();
    }
    if (!found.plan || done()) return;
    found.plan->order.pop_back();
    const std::optional<Interval> interval = interval_of(instance_, found.plan->order);
    if (!offer(found.plan->order, interval)) // other stages wait there, but those starts may be good ones
      pass(interval.value().starts, 0);
  }

  void passes() {
    std::size_t in_vain = 0;
    for (std::size_t i = 0; i < most_passes && in_vain < 2 && !done(); ++i)
      in_vain = pass(i % 2 == 0 ? best_.starts : best_.late_starts, 0) ? 0 : in_vain + 1;
  }

  /// Whether the span of a stage proves that no order has so short an interval.
  bool refute(std::int64_t interval) {
    for (std::uint32_t stage = 0; stage < stages_.size() && !done(); ++stage) {
      Stage& each = stages_[stage];
      if (interval >= each.open) continue;
      const Views views{each.span.instance};
      Windows windows{views};
      const bool possible = windows.tighten(interval + 2 * each.span.margin);
      result_.found.steps += windows.steps();
      if (possible) {
        each.open = interval;
        continue;
      }
      result_.bound = interval + 1;
      result_.stage = stage;
      result_.found.cases.clear();
      note();
      return true;
    }
    return false;
  }

  void raise_bound() {
    if (done() || refute(result_.interval - 1)) return;
    std::int64_t open = result_.interval - 1;
    while (!done() && open - result_.bound > result_.bound / bisection_share) {
      const std::int64_t middle = result_.bound + (open - result_.bound) / 2;
      if (!refute(middle)) open = middle;
    }
  }

  void finish() {
    const SpanInstance& span = stages_[result_.stage].span;
    result_.found.bound = result_.bound + 2 * span.margin;
    if (result_.order) result_.found.plan = synthesis::run(span.instance, with_starter(instance_, *result_.order));
    PPSIM_ASSERT(!result_.order || result_.bound <= result_.interval);
  }

  const Instance& instance_;
  const SearchOptions& options_;
  FoundInterval result_;
  SplitMix64 dice_;
  std::int64_t longest_task_ = 0;
  Interval best_;
  std::vector<Stage> stages_;
  bool stopped_ = false;
};

} // namespace

SpanInstance span_instance(const Instance& instance, std::uint32_t stage) {
  const std::int64_t margin = whole_length(instance);
  std::vector<std::int64_t> shift(instance.stages());
  shift[stage] = margin;
  return {shifted(instance, shift, shift), margin};
}

std::optional<Interval> interval_of(const Instance& instance, const Order& order) {
  const auto lengths = lengths_between(instance, order);
  if (!lengths) return std::nullopt;
  const std::size_t stages = instance.stages();
  std::int64_t least = 0;
  for (std::size_t stage = 0; stage < stages; ++stage) least = std::max(least, (*lengths)[stage * stages + stage]);
  std::int64_t most = std::max(least, std::ranges::max(*lengths));
  while (least < most) {
    const std::int64_t middle = least + (most - least) / 2;
    if (starts_at(*lengths, stages, middle))
      most = middle;
    else
      least = middle + 1;
  }
  return Interval{most, *starts_at(*lengths, stages, most), late_starts_at(*lengths, stages, most)};
}

FoundInterval search_interval(const Instance& instance, const SearchOptions& options) {
  return IntervalSearch{instance, options}.run();
}

} // namespace ppsim::synthesis
