#pragma once
// Windows: what must hold of every order that ends by a given time. The rules and their proofs: docs/synthesis.md.

#include "changes.hpp"
#include "views.hpp"

namespace ppsim::synthesis {

/// For every task, forwards and backwards in time: the earliest start, and how many tasks of each sequence of its stage
/// run before it, at least. Each holds of every order whose makespan is at most the `most` of the calls of tighten() so
/// far.
class Windows {
public:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  explicit Windows(const Views& views);

  /// Applies the rules until nothing changes any more, for orders with a makespan of at most `most`. False: there are
  /// none. Once it has said so, the windows mean nothing. `pairs`: with the rules that try tasks in both orders. Ends
  /// early after so many `steps`, or a few more; what the windows say then holds, but is not all that the rules say,
  /// not even after another call for that makespan.
  bool tighten(std::int64_t most, bool pairs = true, std::uint64_t steps = no_limit);

  /// From now on only orders in which a task starts at `time` or later in view `d`.
  void raise_start(std::size_t d, std::size_t task, std::int64_t time);
  /// From now on only orders in which tasks start in view `d` no earlier than in `others`, for other microbatches of
  /// the same sequences: their microbatch i is i + `shift` here.
  void raise_starts(std::size_t d, const Windows& others, std::int64_t shift);
  /// From now on only orders in which it starts before `time`, of the makespans of the last tighten().
  void suppose_before(std::size_t d, std::size_t task, std::int64_t time);
  /// Whether the rules leave any of those; `focus`: tasks are tried in both orders on that stage only. Adds the steps.
  [[nodiscard]] bool allow_before(std::size_t d, std::size_t task, std::int64_t time, std::uint64_t& steps,
                                  std::optional<std::size_t> focus = {}) const;

  /// No order ends before that, by the windows as they are.
  [[nodiscard]] std::int64_t bound() const;
  /// Earliest start of a task of view `d`; what is left behind it backwards counts from the end of the step.
  [[nodiscard]] std::int64_t head(std::size_t d, std::size_t task) const { return head_[d][task]; }
  /// Latest start in view `d`, for the makespan of the last tighten().
  [[nodiscard]] std::int64_t latest(std::size_t d, std::size_t task) const;
  /// How many tasks of the stage's sequence `local` run before it in view `d`, at least.
  [[nodiscard]] std::uint32_t before(std::size_t d, std::size_t task, std::size_t local) const {
    return before_[d][task * views_->width + local];
  }
  /// Steps of rules so far: the measure of effort.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

private:
  struct Front { // the next task of a sequence, in a merge
    std::int64_t head = 0;
    std::int64_t duration = 0;
    std::uint16_t index = 0;
  };
  struct Idle {
    std::int64_t time = 0;
    std::int64_t idled = 0;
  };
  struct Kind { // of a sequence, in the calculation of idle time
    std::int64_t duration = 0;
    std::int64_t net = 0;   ///< memory that a task takes and does not give
    std::int64_t count = 0; ///< tasks that may have begun
  };
  struct Giver { // a sequence that gives memory, before a task that takes some
    std::uint32_t sequence = 0;
    std::size_t local = 0;
    std::int64_t gives = 0;
    std::int64_t least = 0, most = 0; ///< tasks before it
  };
  struct Share { // what two of them must give together
    std::int64_t need = 0;
    std::array<Giver, 2> givers;
  };
  struct Entry { // a task of the stage in hand
    std::int64_t head = 0;
    std::int64_t duration = 0;
    std::uint16_t local = 0;
    std::uint16_t index = 0;
  };

  void order_all(std::size_t first, std::size_t second);
  bool spread();
  bool visit(std::size_t d, std::uint32_t sequence);
  bool visit_task(std::size_t d, std::size_t task);
  [[nodiscard]] bool is_seen(std::size_t d, std::uint32_t sequence) const;
  bool needs_memory(std::size_t d, std::size_t task);
  bool fit_memory(std::size_t d, std::size_t task, std::span<std::uint16_t> counts) const;
  bool close_row(std::size_t d, std::size_t task, std::span<std::uint16_t> counts) const;
  void share(std::size_t from);
  void share_pair(std::size_t from, std::size_t x, std::size_t y);
  bool try_orders(std::size_t d);
  void raise_sequence(std::size_t d, std::size_t task, std::int64_t start);
  bool try_splits(std::size_t d, std::size_t stage);
  [[nodiscard]] std::optional<Share> share_of(std::size_t d, std::size_t task) const;
  void set_with(std::size_t d, std::size_t task, const Share& share, const std::array<std::int64_t, 2>& numbers,
                std::span<std::uint16_t> set) const;
  void find_ways(const Share& share);
  bool split_releases(std::size_t d, std::size_t task);
  [[nodiscard]] bool is_news(std::size_t d, std::size_t task, std::int64_t start,
                             std::span<const std::uint16_t> others) const;
  void learn(std::size_t d, std::size_t task, std::int64_t start, std::span<const std::uint16_t> others);
  bool try_pairs(std::size_t d, std::size_t stage);
  bool try_pair(std::size_t d, std::uint32_t x, std::uint32_t y);
  bool ends_too_late(std::size_t d, std::size_t task, std::size_t behind);
  void take_news(std::size_t d, std::size_t stage);
  void forget_visits();
  bool leaves_time(std::size_t stage);
  [[nodiscard]] static std::int64_t most_work(std::span<const Kind> kinds, std::span<const std::size_t> takers,
                                              std::int64_t room);
  [[nodiscard]] std::vector<Idle> idle(std::size_t d, std::size_t stage) const;
  void snapshot(std::size_t d, std::size_t stage);
  [[nodiscard]] std::int64_t end_of(std::span<const std::uint16_t> counts, std::int64_t known) const;
  /// How many tasks of sequence `local` run before it in view `d`, at most.
  [[nodiscard]] std::uint16_t at_most(std::size_t d, std::size_t task, std::size_t local) const {
    return static_cast<std::uint16_t>(views_->m - row(1 - d, views_->turned(task))[local]);
  }
  void note_change(std::size_t d, std::size_t task);
  [[nodiscard]] bool has_news(std::size_t d, std::span<const std::uint16_t> counts, std::uint32_t s) const;
  [[nodiscard]] bool has_news_to_split(std::size_t d, std::size_t task) const;
  [[nodiscard]] std::span<std::uint16_t> row(std::size_t d, std::size_t task) {
    return {before_[d].data() + task * views_->width, views_->width};
  }
  [[nodiscard]] std::span<const std::uint16_t> row(std::size_t d, std::size_t task) const {
    return {before_[d].data() + task * views_->width, views_->width};
  }

  const Views* views_;
  std::array<std::vector<std::int64_t>, 2> head_;
  std::array<std::vector<std::uint16_t>, 2> before_;
  std::int64_t most_ = unlimited;
  std::optional<std::size_t> focus_;
  std::uint64_t steps_ = 0;
  std::uint64_t last_step_ = no_limit;
  bool changed_ = false;
  std::uint64_t clock_ = 1;
  std::vector<std::uint64_t> stamp_;                  // by stage: of its last change
  std::array<std::vector<std::uint64_t>, 2> visited_; // by sequence: when its rules were applied last
  std::array<std::vector<std::uint64_t>, 2> shared_;  // by stage
  std::vector<std::uint64_t> seen_pairs_;             // by stage and view
  std::vector<std::uint64_t> idled_;                  // by stage: when rule 7 was applied
  Changes changes_;
  /// By view and position on the stage in hand: its first task that has changed.
  std::array<std::vector<std::uint16_t>, 2> news_;
  std::vector<Entry> sorted_;                     // by rising head
  std::vector<std::int64_t> latest_end_;          // by position: of all tasks up to that one
  std::vector<std::uint32_t> position_;           // there, by local * m + j
  std::vector<Front> fronts_;                     // by sequence of the stage
  std::vector<std::array<std::int64_t, 2>> ways_; // in which two sequences share what a task needs
  bool has_snapshot_ = false;                     // of the sequence in hand
  std::vector<std::uint16_t> other_;
};

} // namespace ppsim::synthesis
