#pragma once
// What is known of every order of a stage that ends in time: by when tasks start at the earliest, and how many of each
// other sequence run before them. docs/synthesis.md calls the numbers h and n.

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
using Count = std::int32_t; ///< of tasks of one sequence

/// Time as it runs, and time backwards.
inline constexpr std::array<std::size_t, 2> both_views{0, 1};

/// A task of a stage in one view: `sequence` counts those of the stage, `index` the tasks of the sequence as the view
/// sees them.
struct Place {
  std::size_t sequence = 0;
  std::size_t index = 0;
};

/// How much has been calculated, and how much may be.
struct Meter {
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  [[nodiscard]] bool is_spent() const { return used >= limit; }
};

/// What cannot be: the number of the contradiction in docs/synthesis.md, and where it shows.
struct Contradiction {
  enum class Kind { late, itself, memory, idle };
  Kind kind{};
  std::size_t stage = 0;
  std::size_t view = 0;
  Place place{}; ///< not of `idle`
};

/// A sequence as one view sees it.
struct SeenSequence {
  Time duration = 0;
  std::int64_t take = 0;
  std::int64_t net = 0; ///< what it takes and does not give back
};

/// One stage, in both views.
class Known {
public:
  /// What is known before any rule is applied. `members` are the sequences of the stage; where `follows[i][k]`, arcs
  /// lead from the k-th of them to the i-th. `end` is the time by which the orders in question end.
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
  /// The capacity, less what the stage holds at first; none where there is no limit.
  [[nodiscard]] std::optional<std::int64_t> room(std::size_t view) const { return views_[view].room; }

  /// h: the task starts at that time or later.
  [[nodiscard]] Time earliest(std::size_t view, Place task) const { return views_[view].earliest[at(task)]; }
  [[nodiscard]] Time latest(std::size_t view, Place task) const {
    return end_ - seen(view, task.sequence).duration - earliest(1 - view, other(task));
  }
  /// n: at least so many of each sequence run before the task.
  [[nodiscard]] std::span<const Count> before(std::size_t view, Place task) const {
    return std::span{views_[view].before}.subspan(at(task) * sequences(), sequences());
  }
  [[nodiscard]] Count most(std::size_t view, Place task, std::size_t sequence) const {
    return static_cast<Count>(microbatches_) - before(1 - view, other(task))[sequence];
  }
  /// The same task as the other view names it.
  [[nodiscard]] Place other(Place task) const { return {task.sequence, microbatches_ - 1 - task.index}; }

  // What rules find. A number that is no news changes nothing. Times hold for the tasks after it in its sequence, too
  // (rule 1).
  void raise_earliest(std::size_t view, Place task, Time time);
  void raise_before(std::size_t view, Place task, std::size_t sequence, Count count);
  void raise_before(std::size_t view, Place task, std::span<const Count> counts);
  void contradict(Contradiction::Kind kind, std::size_t view, Place task);
  [[nodiscard]] const std::optional<Contradiction>& contradiction() const { return contradiction_; }
  /// Whether there is nothing more to do: a contradiction, or no more time.
  [[nodiscard]] bool is_over() const { return contradiction_.has_value() || meter_->is_spent(); }
  [[nodiscard]] Meter& meter() const { return *meter_; }

  /// No order of the first counts[v] tasks of each sequence v ends before that, nor before `floor`.
  [[nodiscard]] Time end_of(std::size_t view, std::vector<Count> counts, Time floor) const;

  // What has changed, so that rules look only at tasks that may follow from it.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  [[nodiscard]] bool has_news() const; ///< since the last next_sweep()
  /// Of what the rules look at for a task, since the next_sweep() before the last one: what changed in this sweep may
  /// have done so after the task's turn in the last one, or before its turn in this one.
  [[nodiscard]] bool has_news(std::size_t view, Place task) const;
  void next_sweep();

private:
  struct View {
    std::vector<SeenSequence> sequences;
    std::optional<std::int64_t> room;
    std::vector<Time> earliest;
    std::vector<Count> before;
    // By sequence the first task that has changed: in the sweep before this one, and in this one.
    std::vector<std::size_t> changed_before, changed_now;
  };

  void begin_times(std::size_t view, Time first);
  void begin_counts(std::size_t view, const std::vector<std::vector<bool>>& follows);
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
