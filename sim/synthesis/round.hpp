#pragma once
// What the rounds of searches have in common: whether to continue, and tabu searches that run side by side.

#include "ppsim/synthesis/search.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "ending.hpp"
#include "views.hpp"

namespace ppsim::synthesis {

constexpr std::size_t searches = 3;      ///< tabu searches of a round
constexpr std::size_t longest_walk = 20; ///< moves by chance before one

/// Asks SearchOptions::go_on, for several threads.
class Watch {
public:
  explicit Watch(const std::function<bool(const Progress&)>& go_on) : go_on_{go_on} {}
  /// Whether to end with what is known. Makespans that are passed on never rise.
  bool ends(Progress known) {
    if (!go_on_ || ended_) return ended_;
    const std::scoped_lock lock{asking_};
    if (last_) known.makespan = std::min(last_->makespan, known.makespan);
    last_ = known;
    if (!ended_) ended_ = !go_on_(known);
    return ended_;
  }
  /// The same, of what was known last.
  bool ends() {
    const std::optional<Progress> last = (std::scoped_lock{asking_}, last_);
    return last && ends(*last);
  }
  [[nodiscard]] bool has_ended() const { return ended_; }

private:
  const std::function<bool(const Progress&)>& go_on_;
  std::mutex asking_;
  std::optional<Progress> last_;
  std::atomic<bool> ended_ = false;
};

/// What a job found that ran beside others; its steps count from 0.
struct Part {
  std::vector<Plan> plans = {};
  std::vector<Milestone> noted = {}; ///< where its best order changed
  std::uint64_t steps = 0;
  bool once = false; ///< of plans of one length one is enough
};

/// Adds its steps to `found`, and what it noted to the history.
inline void add_steps(Found& found, const Part& part) {
  for (const Milestone& each : part.noted)
    add_milestone(found.history,
                  {found.steps + each.steps, std::min(found.plan->makespan, each.makespan), found.bound});
  found.steps += part.steps;
}

/// Where a tabu search starts.
struct TabuStart {
  const Plan* plan = nullptr;
  std::uint64_t seed = 0;
  std::uint64_t walk = 0; ///< moves by chance that come first
};

/// What a tabu search takes, however little is asked for: tasks times moves.
[[nodiscard]] std::uint64_t least_work(const Views& views);

/// A tabu search; its part has a shorter order, if it finds one. Ends after so many tasks times moves, at a makespan of
/// at most `target`, or if `ends` of the best makespan. `durations`: as in Tabu.
[[nodiscard]] Part improve(const Views& views, const TabuStart& start, std::uint64_t work, std::int64_t target,
                           const std::function<bool(std::int64_t)>& ends, std::span<const std::int64_t> durations = {});

} // namespace ppsim::synthesis
