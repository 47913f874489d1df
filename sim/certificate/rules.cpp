// Rules 1 to 6.

#include "rules.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace ppsim::certificate {
namespace {

using Counts = std::vector<Count>;

Counts known_before(const Known& stage, std::size_t view, Place task) {
  const std::span<const Count> counts = stage.before(view, task);
  return {counts.begin(), counts.end()};
}

/// Raises `counts` to at least `more`.
void join(Counts& counts, std::span<const Count> more) {
  for (std::size_t v = 0; v < counts.size(); ++v) counts[v] = std::max(counts[v], more[v]);
}

/// Includes the first `count` tasks of sequence `v`, and what is known to run before them.
void join_first(const Known& stage, std::size_t view, Counts& counts, std::size_t v, Count count) {
  if (count == 0) return;
  join(counts, stage.before(view, {v, static_cast<std::size_t>(count) - 1}));
  counts[v] = std::max(counts[v], count);
}

/// Calls `work` for every task in both views, index by index.
template <class Work>
void for_each_task(const Known& stage, const Work& work) {
  for (const std::size_t view : both_views)
    for (std::size_t index = 0; index < stage.microbatches(); ++index)
      for (std::size_t v = 0; v < stage.sequences(); ++v) {
        if (stage.is_over()) return;
        work(view, Place{v, index});
      }
}

/// Rules 1 and 2: tasks before a task that runs before `x` also run before `x`. (Known::raise_earliest() is rule 1 for
/// times.)
void take_over_what_is_before(Known& stage, std::size_t view, Place x) {
  if (x.index > 0) {
    const Place previous{x.sequence, x.index - 1};
    for (std::size_t v = 0; v < stage.sequences(); ++v)
      if (v != x.sequence) stage.raise_before(view, x, v, stage.before(view, previous)[v]);
  }
  for (std::size_t v = 0; v < stage.sequences(); ++v) {
    const Count count = stage.before(view, x)[v];
    if (v != x.sequence && count > 0)
      stage.raise_before(view, x, stage.before(view, {v, static_cast<std::size_t>(count) - 1}));
  }
}

/// Rule 3.
void wait_for_work(Known& stage, std::size_t view, Place x) {
  stage.raise_earliest(view, x, stage.end_of(view, known_before(stage, view, x), stage.earliest(view, x)));
}

/// Rule 4. The last task of `v` before `x` is the first one in the other view; rule 1 covers the others there.
void tell_other_view(Known& stage, std::size_t view, Place x) {
  for (std::size_t v = 0; v < stage.sequences(); ++v) {
    const Count count = stage.before(view, x)[v];
    if (v == x.sequence || count == 0) continue;
    const Place last{v, static_cast<std::size_t>(count) - 1};
    stage.raise_before(1 - view, stage.other(last), x.sequence, static_cast<Count>(stage.microbatches() - x.index));
  }
}

/// The memory that must be freed before `x` starts, beyond the capacity; none if memory is unlimited. Ignores sequences
/// that free more than they take, except that of `x`.
std::optional<std::int64_t> to_be_given(const Known& stage, std::size_t view, Place x) {
  const std::optional<std::int64_t> room = stage.room(view);
  if (!room) return std::nullopt;
  const std::span<const Count> before = stage.before(view, x);
  std::int64_t need = stage.seen(view, x.sequence).take;
  for (std::size_t v = 0; v < stage.sequences(); ++v) {
    const std::int64_t net = stage.seen(view, v).net;
    if (v == x.sequence || net > 0) need += net * before[v];
  }
  return need - *room;
}

std::vector<std::size_t> givers(const Known& stage, std::size_t view, Place x) {
  std::vector<std::size_t> found;
  for (std::size_t v = 0; v < stage.sequences(); ++v)
    if (v != x.sequence && stage.seen(view, v).net < 0) found.push_back(v);
  return found;
}

std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return value <= 0 ? 0 : (value - 1) / by + 1;
}

/// The memory freed by the first `count` tasks of `v`.
std::int64_t given(const Known& stage, std::size_t view, std::size_t v, Count count) {
  return -stage.seen(view, v).net * count;
}

std::int64_t most_given(const Known& stage, std::size_t view, Place x, const std::vector<std::size_t>& by) {
  std::int64_t most = 0;
  for (const std::size_t v : by) most += given(stage, view, v, stage.most(view, x, v));
  return most;
}

/// Rules 5a and 5b.
void fit_into_memory(Known& stage, std::size_t view, Place x) {
  const std::optional<std::int64_t> needed = to_be_given(stage, view, x);
  if (!needed) return;
  const std::vector<std::size_t> by = givers(stage, view, x);
  const std::int64_t most = most_given(stage, view, x, by);
  if (most < *needed) return stage.contradict(Contradiction::Kind::memory, view, x);
  for (const std::size_t v : by) {
    const std::int64_t others = most - given(stage, view, v, stage.most(view, x, v));
    // At most the number that suffices, so it fits a Count.
    const auto count = static_cast<Count>(divided_up(*needed - others, -stage.seen(view, v).net));
    stage.raise_before(view, x, v, count);
  }
}

/// Rule 5c, for two sequences that free memory: what holds for `x` in every way in which they may free enough.
class TwoGivers {
public:
  TwoGivers(Known& stage, std::size_t view, Place x, std::size_t a, std::size_t b)
      : stage_{stage}, view_{view}, x_{x}, a_{a}, b_{b}, least_(stage.sequences(), std::numeric_limits<Count>::max()) {}

  /// Together they must free `needed`.
  void apply(std::int64_t needed) {
    const Count least_of_b = stage_.before(view_, x_)[b_];
    for (Count of_a = stage_.before(view_, x_)[a_]; of_a <= stage_.most(view_, x_, a_); ++of_a) {
      const std::int64_t missing = needed - given(stage_, view_, a_, of_a);
      const std::int64_t of_b = std::max<std::int64_t>(least_of_b, divided_up(missing, -stage_.seen(view_, b_).net));
      if (of_b > stage_.most(view_, x_, b_)) continue;
      try_counts(of_a, static_cast<Count>(of_b));
      // More of a and at least as many of b is more work; and nothing is new if the bounds of x do not change.
      if (of_b == least_of_b || says_nothing()) break;
    }
    if (!end_) return stage_.contradict(Contradiction::Kind::memory, view_, x_);
    stage_.raise_earliest(view_, x_, *end_);
    stage_.raise_before(view_, x_, least_);
  }

private:
  void try_counts(Count of_a, Count of_b) {
    Counts counts = known_before(stage_, view_, x_);
    join_first(stage_, view_, counts, a_, of_a);
    join_first(stage_, view_, counts, b_, of_b);
    for (std::size_t v = 0; v < counts.size(); ++v)
      if (counts[v] > (v == x_.sequence ? static_cast<Count>(x_.index) : stage_.most(view_, x_, v))) return;
    const Time end = stage_.end_of(view_, counts, stage_.earliest(view_, x_));
    if (end > stage_.latest(view_, x_)) return;
    end_ = std::min(end_.value_or(end), end);
    for (std::size_t v = 0; v < counts.size(); ++v) least_[v] = std::min(least_[v], counts[v]);
  }

  [[nodiscard]] bool says_nothing() const {
    return end_ == stage_.earliest(view_, x_) && std::ranges::equal(least_, stage_.before(view_, x_));
  }

  Known& stage_;
  std::size_t view_;
  Place x_;
  std::size_t a_;
  std::size_t b_;
  std::optional<Time> end_; ///< the least end
  Counts least_;            ///< by sequence
};

void try_pairs_of_givers(Known& stage, std::size_t view, Place x) {
  const std::vector<std::size_t> by = givers(stage, view, x);
  for (std::size_t a = 0; a < by.size(); ++a)
    for (std::size_t b = a + 1; b < by.size(); ++b) {
      if (stage.is_over()) return;
      const std::int64_t most = most_given(stage, view, x, by);
      const std::int64_t others = most - given(stage, view, by[a], stage.most(view, x, by[a])) -
                                  given(stage, view, by[b], stage.most(view, x, by[b]));
      TwoGivers{stage, view, x, by[a], by[b]}.apply(*to_be_given(stage, view, x) - others);
    }
}

/// Rule 6, for the tasks of `v` from the first one that may run before or after `x`.
void try_before_next(Known& stage, std::size_t view, Place x, std::size_t v) {
  while (!stage.is_over()) {
    const Count count = stage.before(view, x)[v];
    if (count == stage.most(view, x, v)) return; // x runs before all others
    const Place y{v, static_cast<std::size_t>(count)};
    Counts counts = known_before(stage, view, x);
    join(counts, stage.before(view, y));
    join_first(stage, view, counts, x.sequence, static_cast<Count>(x.index + 1));
    const Time latest = stage.latest(view, y);
    if (stage.end_of(view, std::move(counts), latest) <= latest) return;
    stage.raise_before(view, x, stage.before(view, y));
    stage.raise_before(view, x, v, count + 1);
  }
}

} // namespace

void apply_rules_of_tasks(Known& stage) {
  while (stage.has_news() && !stage.is_over()) {
    stage.next_sweep();
    for_each_task(stage, [&](std::size_t view, Place x) {
      if (!stage.has_news(view, x)) return;
      take_over_what_is_before(stage, view, x);
      if (!stage.is_over()) wait_for_work(stage, view, x);
      tell_other_view(stage, view, x);
      if (!stage.is_over()) fit_into_memory(stage, view, x);
    });
  }
}

void apply_rule_of_two_givers(Known& stage) {
  for_each_task(stage, [&](std::size_t view, Place x) {
    if (stage.room(view)) try_pairs_of_givers(stage, view, x);
  });
}

void apply_rule_of_two_orders(Known& stage) {
  for_each_task(stage, [&](std::size_t view, Place x) {
    for (std::size_t v = 0; v < stage.sequences(); ++v)
      if (v != x.sequence) try_before_next(stage, view, x, v);
  });
}

} // namespace ppsim::certificate
