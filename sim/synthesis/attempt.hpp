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

  /// The task cannot start before `time`.
  void add(const Views& views, const Task& task, std::int64_t time) {
    const auto m = static_cast<std::uint32_t>(views.m);
    const auto x = static_cast<std::uint32_t>(task.task);
    cases.push_back({static_cast<std::uint32_t>(task.view), x / m, x % m, time});
    windows.raise_start(task.view, task.task, time);
  }
  /// Applies the other rules. False: refuted.
  bool tighten() {
    const std::uint64_t before = windows.steps();
    const bool possible = windows.tighten(most);
    steps += windows.steps() - before;
    return possible;
  }
};

constexpr std::size_t tasks_of_batch = 4; ///< that are tried on the same windows

/// 0 to m-1: the last, then those halfway between, and so on.
[[nodiscard]] inline std::vector<std::size_t> spread_of(std::size_t m) {
  std::vector<std::size_t> result;
  std::vector<bool> seen(m);
  for (std::size_t stride = m; stride > 0; stride /= 2)
    for (std::size_t back = 1; back <= m; back += stride)
      if (!seen[m - back]) {
        seen[m - back] = true;
        result.push_back(m - back);
      }
  return result;
}

/// All stages, those at the ends of the pipeline, where most is known, first: by turns from the last and from the
/// first.
[[nodiscard]] inline std::vector<std::size_t> stages_from_ends(const Views& views) {
  std::vector<std::size_t> result;
  for (std::size_t behind = views.on.size(), first = 0; first < behind; ++first) {
    result.push_back(--behind);
    if (first < behind) result.push_back(first);
  }
  return result;
}

} // namespace ppsim::synthesis
