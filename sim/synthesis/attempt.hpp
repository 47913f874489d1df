#pragma once
// An attempt to refute a makespan case by case (rule 8 of docs/synthesis.md).

#include "ppsim/synthesis/search.hpp"

#include "windows.hpp"

namespace ppsim::synthesis {

enum class Outcome { open, nothing_left, refuted };

/// A task in a view.
struct Task {
  std::size_t view = 0;
  std::size_t task = 0;
  bool operator==(const Task&) const = default;
};

/// What is known of all orders that take at most `most`.
struct Attempt {
  std::int64_t most = 0;
  Windows windows;
  std::vector<Case> cases = {}; ///< each given those before
  std::uint64_t steps = 0;

  /// The task cannot start before `time`, by what is known of those microbatches.
  void add(const Views& views, const Task& task, std::int64_t time, const Neighbours& among = {}) {
    const auto m = static_cast<std::uint32_t>(views.m);
    const auto x = static_cast<std::uint32_t>(task.task);
    cases.push_back({static_cast<std::uint32_t>(task.view), x / m, x % m, time, among});
    windows.raise_start(task.view, task.task, time);
  }
  /// Applies the other rules. False: refuted.
  bool tighten() { return tighten(windows); }
  /// To windows of some of its microbatches.
  bool tighten(Windows& some) {
    const std::uint64_t before = some.steps();
    const bool possible = some.tighten(most);
    steps += some.steps() - before;
    return possible;
  }
};

constexpr std::size_t tasks_of_batch = 4; ///< that are tried on the same windows

} // namespace ppsim::synthesis
