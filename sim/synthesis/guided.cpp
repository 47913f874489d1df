#include "guided.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace ppsim::synthesis {
namespace {

/// A number per stage, and the first stage with the least of them: a tournament, each of its games won by one of two.
class Tournament {
public:
  explicit Tournament(std::size_t stages) : leaves_{std::bit_ceil(stages)}, least_(2 * leaves_, never) {}

  void set(std::size_t stage, std::int64_t value) {
    std::size_t at = leaves_ + stage;
    least_[at] = value;
    while ((at /= 2) > 0) {
      const std::int64_t least = std::min(least_[2 * at], least_[2 * at + 1]);
      if (std::exchange(least_[at], least) == least) return;
    }
  }
  [[nodiscard]] std::optional<std::size_t> first() const {
    if (least_[1] == never) return std::nullopt;
    std::size_t at = 1;
    while (at < leaves_) at = least_[2 * at] == least_[1] ? 2 * at : 2 * at + 1;
    return at - leaves_;
  }
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

private:
  std::size_t leaves_;
  std::vector<std::int64_t> least_; ///< of the stages below each game; the last half are the stages' own
};

/// The tasks of one view, placed one by one.
class Board {
public:
  Board(const Views& views, const Guide& guide)
      : views_{views}, view_{views.view[guide.direction]}, guide_{guide}, next_(views.local.size()),
        arrived_(views.instance.tasks()), ready_(views.instance.tasks()), free_(views.on.size()),
        held_(views.on.size()), order_(views.on.size()), choice_(views.on.size()), ends_{views.on.size()} {
    for (std::size_t s = 0; s < next_.size(); ++s) ready_[s * views.m] = view_.release[s];
    find_chains();
  }

  bool run() {
    for (std::size_t stage = 0; stage < free_.size(); ++stage) choose(stage);
    for (std::size_t placed = 0; placed < views_.instance.tasks(); ++placed) {
      const std::optional<std::size_t> first = ends_.first();
      if (!first) return false;
      place(*first);
    }
    return true;
  }

  [[nodiscard]] Order order() const {
    Order result = order_;
    if (guide_.direction == 1)
      for (auto& stage : result) std::ranges::reverse(stage);
    return result;
  }

private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// What a stage would place next.
  struct Choice {
    std::size_t sequence = none;
    std::int64_t start = 0;
  };
  /// A sequence that takes memory, and what a task of it leads to on its stage until all of that is free again.
  struct Chain {
    std::size_t first = none;
    std::int64_t holds = 0; ///< by its first task, while the next ones wait
    std::int64_t peak = 0;  ///< more than that, at most, on its way
  };

  /// A chain per chunk: the sequences of a stage that follow each other on a path, from one that takes on.
  void find_chains() {
    chains_.resize(views_.on.size());
    for (std::size_t stage = 0; stage < views_.on.size(); ++stage)
      for (const std::uint32_t s : views_.on[stage]) {
        if (view_.take[s] - view_.give[s] <= 0 || takes_on_from_input(s)) continue;
        Chain chain{s, view_.take[s] - view_.give[s], 0};
        std::int64_t held = chain.holds;
        chain.peak = std::max(chain.peak, view_.take[s] - chain.holds);
        for (std::size_t at = next_on_stage(s); at != none; at = next_on_stage(at)) {
          chain.peak = std::max(chain.peak, held + view_.take[at] - chain.holds);
          held += view_.take[at] - view_.give[at];
        }
        chains_[stage].push_back(chain);
      }
  }
  [[nodiscard]] bool takes_on_from_input(std::size_t s) const {
    return std::ranges::any_of(view_.inputs[s], [&](const View::Input& in) {
      return views_.stage(in.sequence) == views_.stage(s) && view_.give[in.sequence] < view_.take[in.sequence];
    });
  }
  [[nodiscard]] std::size_t next_on_stage(std::size_t s) const {
    for (const View::Input& out : view_.outputs[s])
      if (views_.stage(out.sequence) == views_.stage(s) && view_.give[out.sequence] > 0) return out.sequence;
    return none;
  }

  [[nodiscard]] bool can_place(std::size_t s) const {
    const std::size_t task = s * views_.m + next_[s];
    if (next_[s] == views_.m || arrived_[task] < view_.inputs[s].size()) return false;
    if (!has_room(s)) return false;
    if (guide_.known == nullptr) return true;
    return std::ranges::all_of(views_.on[views_.stage(s)], [&](std::uint32_t other) {
      return other == s || next_[other] >= guide_.known->before(guide_.direction, task, views_.local[other]);
    });
  }

  /// Whether it fits, and leaves room for one microbatch to go all its way on this stage.
  [[nodiscard]] bool has_room(std::size_t s) const {
    const std::size_t stage = views_.stage(s);
    if (views_.instance.capacity[stage] == unlimited) return true;
    const std::int64_t after = held_[stage] + view_.take[s];
    if (after > view_.room[stage]) return false;
    if (view_.take[s] - view_.give[s] <= 0 || chains_[stage].size() < 2) return true;
    const auto begun = [&](const Chain& chain) {
      return static_cast<std::int64_t>(next_[chain.first] + (chain.first == s ? 1 : 0));
    };
    auto whole = static_cast<std::int64_t>(views_.m); // microbatches that all chains have begun
    for (const Chain& chain : chains_[stage]) whole = std::min(whole, begun(chain));
    if (whole == static_cast<std::int64_t>(views_.m)) return true;
    std::int64_t needed = 0;
    std::int64_t peak = 0;
    for (const Chain& chain : chains_[stage]) {
      needed += (std::max(begun(chain), whole + 1) - whole) * chain.holds;
      peak = std::max(peak, chain.peak);
    }
    return needed + peak <= view_.room[stage];
  }

  void choose(std::size_t stage) {
    Choice& choice = choice_[stage];
    choice = {};
    std::int64_t first_start = unlimited;
    std::int64_t first_end = Tournament::never;
    candidates_.clear();
    for (const std::uint32_t s : views_.on[stage]) {
      if (!can_place(s)) continue;
      const std::int64_t start = std::max(free_[stage], ready_[s * views_.m + next_[s]]);
      candidates_.push_back({s, start});
      first_start = std::min(first_start, start);
      first_end = std::min(first_end, start + views_.duration(s));
    }
    ends_.set(stage, first_end);
    if (candidates_.empty()) return;
    const std::int64_t last_start =
        first_start + static_cast<std::int64_t>(guide_.wait * static_cast<double>(first_end - first_start));
    std::int64_t best = unlimited;
    for (const Choice& each : candidates_) {
      if (each.start > last_start) continue;
      const std::int64_t urgency = guide_.urgency[each.sequence * views_.m + next_[each.sequence]];
      if (choice.sequence != none && urgency >= best) continue;
      best = urgency;
      choice = each;
    }
  }

  void place(std::size_t stage) {
    const Choice choice = choice_[stage];
    const std::size_t s = choice.sequence;
    const std::size_t j = next_[s]++;
    const std::int64_t end = choice.start + views_.duration(s);
    free_[stage] = end;
    held_[stage] += view_.take[s] - view_.give[s];
    order_[stage].push_back(static_cast<std::uint16_t>(s));
    for (const View::Input& output : view_.outputs[s]) {
      const std::size_t to = output.sequence * views_.m + j;
      ready_[to] = std::max(ready_[to], end + output.lag);
      ++arrived_[to];
      if (views_.stage(output.sequence) != stage) choose(views_.stage(output.sequence));
    }
    choose(stage);
  }

  const Views& views_;
  const View& view_;
  const Guide& guide_;
  std::vector<std::size_t> next_;
  std::vector<std::uint32_t> arrived_;
  std::vector<std::int64_t> ready_;
  std::vector<std::int64_t> free_, held_;
  Order order_;
  std::vector<Choice> choice_;
  Tournament ends_; ///< when the first of what a stage could place would end
  std::vector<Choice> candidates_;
  std::vector<std::vector<Chain>> chains_;
};

} // namespace

std::optional<Plan> make_order(const Views& views, const Guide& guide) {
  Board board{views, guide};
  if (!board.run()) return std::nullopt;
  return run(views.instance, board.order());
}

std::vector<std::int64_t> latest_starts(const Views& views, const Windows& windows, std::size_t direction,
                                        std::int64_t most) {
  std::vector<std::int64_t> starts(views.instance.tasks());
  for (std::size_t task = 0; task < starts.size(); ++task)
    starts[task] = most - views.duration(task / views.m) - windows.head(1 - direction, views.turned(task));
  return starts;
}

Guide guide_of(const Views& views, const Plan& plan, std::size_t direction, double wait) {
  Guide guide{.direction = direction, .urgency = plan.start, .wait = wait};
  if (direction == 0) return guide;
  for (std::size_t task = 0; task < plan.start.size(); ++task)
    guide.urgency[task] = plan.makespan - plan.start[views.turned(task)] - views.duration(task / views.m);
  return guide;
}

Plan improve_in_turns(const Views& views, Plan plan) {
  constexpr int most_turns = 6;
  Plan last = plan;
  for (int turn = 0; turn < most_turns; ++turn) {
    std::optional<Plan> next = make_order(views, guide_of(views, last, turn % 2 == 0 ? 1 : 0, 0.5));
    if (!next) break;
    last = *std::move(next);
    if (last.makespan < plan.makespan) plan = last;
  }
  return plan;
}

} // namespace ppsim::synthesis
