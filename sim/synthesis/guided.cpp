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
  explicit Tournament(std::size_t stages) : leaves_{std::bit_ceil(stages)}, won_(2 * leaves_, {never, 0}) {
    for (std::size_t at = 2 * leaves_ - 1; at > 0; --at)
      won_[at].stage = at < leaves_ ? won_[2 * at].stage : at - leaves_;
  }

  void set(std::size_t stage, std::int64_t value) {
    std::size_t at = leaves_ + stage;
    won_[at].value = value;
    while ((at /= 2) > 0) {
      const Player winner = won_[2 * at + 1].value < won_[2 * at].value ? won_[2 * at + 1] : won_[2 * at];
      if (std::exchange(won_[at], winner) == winner) return;
    }
  }
  [[nodiscard]] std::int64_t of(std::size_t stage) const { return won_[leaves_ + stage].value; }
  [[nodiscard]] std::optional<std::size_t> first() const {
    if (won_[1].value == never) return std::nullopt;
    return won_[1].stage;
  }
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

private:
  struct Player {
    std::int64_t value;
    std::size_t stage;
    bool operator==(const Player&) const = default;
  };
  std::size_t leaves_;
  std::vector<Player> won_; ///< by each game, from the last one, at 1; the second half are the stages
};

/// The tasks of one view, placed one by one.
class Board {
public:
  Board(const Views& views, const Guide& guide)
      : views_{views}, view_{views.view[guide.direction]}, guide_{guide}, slots_(views.instance.tasks()),
        free_(views.on.size()), held_(views.on.size()), last_start_(views.on.size()), order_(views.on.size()),
        choice_(views.on.size()), ends_{views.on.size()} {
    for (std::size_t s = 0; s < views.local.size(); ++s) {
      rows_.push_back({.duration = views.duration(s),
                       .take = view_.take[s],
                       .keep = view_.take[s] - view_.give[s],
                       .outputs = view_.outputs[s],
                       .inputs = view_.inputs[s].size(),
                       .stage = views.stage(s),
                       .first = s * views.m,
                       .next = s * views.m});
      slots_[s * views.m].start = view_.release[s];
    }
    for (std::size_t stage = 0; stage < order_.size(); ++stage) order_[stage].reserve(views.on[stage].size() * views.m);
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

  /// After a run that came to its end. Placed backwards, each task starts again as early as it can.
  [[nodiscard]] std::optional<Plan> plan() && {
    if (guide_.direction == 1) {
      for (auto& stage : order_) std::ranges::reverse(stage);
      return synthesis::run(views_.instance, std::move(order_));
    }
    Plan plan{.order = std::move(order_), .start = {}, .makespan = 0};
    plan.start.reserve(slots_.size());
    for (const Slot& slot : slots_) plan.start.push_back(slot.start);
    for (std::size_t s = 0; s < rows_.size(); ++s)
      plan.makespan = std::max(plan.makespan, plan.start[rows_[s].first + views_.m - 1] + rows_[s].duration +
                                                  views_.instance.sequences[s].tail);
    return plan;
  }

private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// A sequence, and how far it is.
  struct Row {
    std::int64_t duration = 0;
    std::int64_t take = 0;
    std::int64_t keep = 0; ///< of what it takes, after its end
    std::span<const View::Input> outputs;
    std::size_t inputs = 0;
    std::size_t stage = 0;
    std::size_t first = 0; ///< of its tasks
    std::size_t next = 0;  ///< of them to be placed
  };
  /// A task.
  struct Slot {
    std::int64_t start = 0; ///< by the inputs that are there; once it is placed, its own
    std::size_t arrived = 0;
  };
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
        if (rows_[s].keep <= 0 || takes_on_from_input(s)) continue;
        Chain chain{s, rows_[s].keep, 0};
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
    const Row& row = rows_[s];
    if (row.next == row.first + views_.m || slots_[row.next].arrived < row.inputs) return false;
    if (!has_room(s)) return false;
    if (guide_.known == nullptr) return true;
    return std::ranges::all_of(views_.on[row.stage], [&](std::uint32_t other) {
      return other == s || rows_[other].next - rows_[other].first >=
                               guide_.known->before(guide_.direction, row.next, views_.local[other]);
    });
  }

  /// Whether it fits, and leaves room for one microbatch to go all its way on this stage.
  [[nodiscard]] bool has_room(std::size_t s) const {
    const std::size_t stage = rows_[s].stage;
    if (views_.instance.capacity[stage] == unlimited) return true;
    if (held_[stage] + rows_[s].take > view_.room[stage]) return false;
    if (rows_[s].keep <= 0 || chains_[stage].size() < 2) return true;
    const auto begun = [&](const Chain& chain) {
      const Row& row = rows_[chain.first];
      return static_cast<std::int64_t>(row.next - row.first + (chain.first == s ? 1 : 0));
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
      const std::int64_t start = start_of(s);
      candidates_.push_back({s, start});
      first_start = std::min(first_start, start);
      first_end = std::min(first_end, start + rows_[s].duration);
    }
    ends_.set(stage, first_end);
    if (candidates_.empty()) return;
    last_start_[stage] =
        first_start + static_cast<std::int64_t>(guide_.wait * static_cast<double>(first_end - first_start));
    std::int64_t best = unlimited;
    for (const Choice& each : candidates_) {
      if (each.start > last_start_[stage]) continue;
      const std::int64_t urgency = guide_.urgency[rows_[each.sequence].next];
      if (choice.sequence != none && urgency >= best) continue;
      best = urgency;
      choice = each;
    }
  }
  [[nodiscard]] std::int64_t start_of(std::size_t s) const {
    return std::max(free_[rows_[s].stage], slots_[rows_[s].next].start);
  }

  /// The next task of a sequence has all its inputs. Its stage chooses again, unless the task would start after what it
  /// chooses from, and end no sooner: then nothing that choose() looks at is another. (A stage without anything to
  /// choose ends never.)
  void arrive(std::size_t s) {
    if (!can_place(s)) return;
    const std::size_t stage = rows_[s].stage;
    const std::int64_t start = start_of(s);
    if (start <= last_start_[stage] || start + rows_[s].duration < ends_.of(stage)) choose(stage);
  }

  void place(std::size_t stage) {
    const Choice choice = choice_[stage];
    Row& row = rows_[choice.sequence];
    const std::size_t task = row.next++;
    const std::int64_t end = choice.start + row.duration;
    slots_[task].start = choice.start;
    free_[stage] = end;
    held_[stage] += row.keep;
    order_[stage].push_back(static_cast<std::uint16_t>(choice.sequence));
    for (const View::Input& output : row.outputs) {
      const Row& to = rows_[output.sequence];
      const std::size_t waiting = to.first + task - row.first;
      Slot& slot = slots_[waiting];
      slot.start = std::max(slot.start, end + output.lag);
      if (++slot.arrived == to.inputs && to.stage != stage && to.next == waiting) arrive(output.sequence);
    }
    choose(stage);
  }

  const Views& views_;
  const View& view_;
  const Guide& guide_;
  std::vector<Row> rows_;   ///< by sequence
  std::vector<Slot> slots_; ///< by task
  std::vector<std::int64_t> free_, held_;
  std::vector<std::int64_t> last_start_; ///< by stage, of what it might place
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
  return std::move(board).plan();
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

void limit_to_part(Moved& moved, std::int64_t length, double share, SplitMix64& dice) {
  const auto whole = static_cast<double>(length);
  moved.from = static_cast<std::int64_t>(whole * ((1 + share) * dice.share() - share));
  moved.to = moved.from + static_cast<std::int64_t>(whole * share);
}

void move_starts(Guide& guide, const Moved& moved, SplitMix64& dice) {
  for (std::int64_t& urgency : guide.urgency)
    if (urgency >= moved.from && urgency < moved.to)
      urgency += static_cast<std::int64_t>(moved.most * (dice.share() - 0.5));
}

Plan improve_in_turns(const Views& views, Plan plan) {
  constexpr std::size_t most_turns = 12;
  constexpr std::size_t most_quiet_turns = 4;
  Plan last = plan;
  std::size_t quiet = 0;
  for (std::size_t turn = 0; turn < most_turns && quiet < most_quiet_turns; ++turn) {
    std::optional<Plan> next = make_order(views, guide_of(views, last, turn % 2 == 0 ? 1 : 0, 0.5));
    if (!next) break;
    last = *std::move(next);
    const bool is_shorter = last.makespan < plan.makespan;
    quiet = is_shorter ? 0 : quiet + 1;
    if (is_shorter) plan = last;
  }
  return plan;
}

} // namespace ppsim::synthesis
