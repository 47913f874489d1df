#pragma once
// The facts about every order of a stage that ends in time: the earliest starts of tasks, and how many of each other
// sequence run before them. docs/synthesis.md calls these numbers h and n.

#include "ppsim/certificate/certificate.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim::certificate {

using Time = std::int64_t;  ///< nanoseconds
using Count = std::int32_t; ///< number of tasks of one sequence

/// Forward and backward in time.
inline constexpr std::array<std::size_t, 2> both_views{0, 1};

/// A task of a stage in one view: `sequence` is among those of the stage, `index` counts the tasks of the sequence in
/// the view's direction.
struct Place {
  std::size_t sequence = 0;
  std::size_t index = 0;
};

/// Calculation steps so far, and their limit.
struct Meter {
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  [[nodiscard]] bool is_spent() const { return used >= limit; }
};

/// A contradiction: its number in docs/synthesis.md, and its place.
struct Contradiction {
  enum class Kind { late, itself, memory, idle };
  Kind kind{};
  std::size_t stage = 0;
  std::size_t view = 0;
  Place place{}; ///< not for `idle`
};

/// A sequence in one view.
struct SeenSequence {
  Time duration = 0;
  std::int64_t take = 0;
  std::int64_t net = 0; ///< memory taken and not given back
};

/// One stage, in both views.
class Known {
public:
  /// The facts before any rule is applied. `members` are the sequences of the stage; `follows[i][k]`: arcs lead from
  /// the k-th of them to the i-th. `end` is the time by which the considered orders end.
  Known(const CertificateInstance& instance, std::size_t stage, std::vector<std::size_t> members,
        const std::vector<std::vector<bool>>& follows, Time end, Meter& meter);

  [[nodiscard]] std::size_t sequences() const { return members_.size(); }
  [[nodiscard]] std::size_t microbatches() const { return microbatches_; }
  [[nodiscard]] const std::vector<std::size_t>& members() const { return members_; }
  [[nodiscard]] Time end() const { return end_; }
  [[nodiscard]] Time work() const; ///< of the stage
  [[nodiscard]] const SeenSequence& seen(std::size_t view, std::size_t sequence) const {
    return views_[view].sequences[sequence];
  }
  /// The capacity minus the initial memory of the stage; none if unlimited.
  [[nodiscard]] std::optional<std::int64_t> room(std::size_t view) const { return views_[view].room; }

  /// h: the earliest start of the task.
  [[nodiscard]] Time earliest(std::size_t view, Place task) const { return views_[view].earliest[at(task)]; }
  [[nodiscard]] Time latest(std::size_t view, Place task) const {
    return end_ - seen(view, task.sequence).duration - earliest(1 - view, other(task));
  }
  /// n: the least number of tasks of each sequence that run before the task.
  [[nodiscard]] std::span<const Count> before(std::size_t view, Place task) const {
    return std::span{views_[view].before}.subspan(at(task) * sequences(), sequences());
  }
  [[nodiscard]] Count most(std::size_t view, Place task, std::size_t sequence) const {
    return static_cast<Count>(microbatches_) - before(1 - view, other(task))[sequence];
  }
  /// The same task in the other view.
  [[nodiscard]] Place other(Place task) const { return {task.sequence, microbatches_ - 1 - task.index}; }

  // Results of rules. Weaker values change nothing. Times also apply to the tasks after it in its sequence (rule 1).
  void raise_earliest(std::size_t view, Place task, Time time);
  void raise_before(std::size_t view, Place task, std::size_t sequence, Count count);
  void raise_before(std::size_t view, Place task, std::span<const Count> counts);
  void contradict(Contradiction::Kind kind, std::size_t view, Place task);
  [[nodiscard]] const std::optional<Contradiction>& contradiction() const { return contradiction_; }
  /// Whether the proof ends: a contradiction, or the limit of steps.
  [[nodiscard]] bool is_over() const { return contradiction_.has_value() || meter_->is_spent(); }
  [[nodiscard]] Meter& meter() const { return *meter_; }

  /// No order of the first counts[v] tasks of each sequence v ends before this time, or before `floor`.
  [[nodiscard]] Time end_of(std::size_t view, std::vector<Count> counts, Time floor);

  // Tracking of changes, so that rules run only on affected tasks.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  [[nodiscard]] bool has_news() const; ///< since the last next_sweep()
  /// Whether inputs of the rules for a task changed since the next_sweep() before the last one: a change may have come
  /// after the task's turn in the last sweep, or before its turn in this one.
  [[nodiscard]] bool has_news(std::size_t view, Place task) const;
  void next_sweep();

private:
  struct View {
    std::vector<SeenSequence> sequences;
    std::optional<std::int64_t> room;
    std::vector<Time> earliest;
    std::vector<Count> before;
    /// By task: when all tasks of the stage that start no later can have ended at the earliest.
    std::vector<Time> all_ended;
    std::size_t uses = 0; ///< of end_of() since the last change of a time; all_ended is made at one of them
    // By sequence, the first changed task: in the sweep before this one, and in this one.
    std::vector<std::size_t> changed_before, changed_now;
  };

  void begin_times(std::size_t view, Time first);
  void begin_counts(std::size_t view, const std::vector<std::vector<bool>>& follows);
  void find_all_ended(View& seen) const;
  [[nodiscard]] std::size_t at(Place task) const { return task.sequence * microbatches_ + task.index; }
  [[nodiscard]] std::size_t first_changed(std::size_t view, std::size_t sequence) const;
  void note_change(std::size_t view, Place task);

  std::size_t stage_;
  std::size_t microbatches_;
  std::vector<std::size_t> members_;
  Time end_;
  Meter* meter_;
  std::array<View, 2> views_;
  std::optional<Contradiction> contradiction_;
  std::uint64_t changes_ = 1;
};

} // namespace ppsim::certificate
