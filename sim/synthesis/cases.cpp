#include "cases.hpp"

#include "ppsim/base/parallel.hpp"

#include <algorithm>

#include "ending.hpp"

namespace ppsim::synthesis {
namespace {

constexpr std::size_t batch_size = 4; // tasks that are tried on the same windows
constexpr double first_share = 1.0 / 16;
constexpr std::uint64_t first_patience = 12'000'000;
constexpr std::size_t first_quota = 4;

/// 0 to m-1: the last, then those halfway between, and so on.
std::vector<std::size_t> spread_of(std::size_t m) {
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

} // namespace

/// First halves of windows, what is near, and stages at the ends of the pipeline, where most is known.
Cases::Cases(const Views& views, const Windows& root, std::size_t threads)
    : views_{views}, root_{root}, threads_{threads}, spread_{spread_of(views.m)}, share_{first_share},
      patience_{first_patience} {
  std::vector<std::pair<std::size_t, Arm>> ranked;
  for (const std::size_t halvings : {0U, 1U, 2U, 3U})
    for (const bool looks_far : {false, true})
      for (std::size_t stage = 0; stage < views.on.size(); ++stage) {
        const std::size_t left = views.on.size() - 1 - stage;
        const std::size_t from_end = left <= stage ? 2 * left : 2 * stage + 1;
        ranked.emplace_back(from_end + 2 * halvings + (looks_far ? 2 : 0),
                            Arm{.stage = stage, .divisor = std::int64_t{1} << halvings, .looks_far = looks_far});
      }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, Arm>::first);
  for (const auto& [rank, arm] : ranked) arms_.push_back(arm);
}

std::optional<Cases::Proof> Cases::raise(std::int64_t bound, std::int64_t makespan, std::uint64_t& steps,
                                         const std::function<bool()>& goes_on) {
  const std::uint64_t end = steps_ + steps;
  std::optional<Proof> proof;
  while (!proof && steps_ < end && goes_on()) {
    if (work_ && work_->most < bound) work_.reset();
    bool possible = true;
    if (!work_) {
      if (std::min(makespan, open_) - bound <= bound / bisection_share) {
        steps = 0;
        return std::nullopt;
      }
      possible = begin(bound, makespan);
    } else if (work_->most >= makespan || work_->steps > patience_) {
      possible = lower(bound, makespan);
    } else if (next_batch()) {
      possible = try_batch();
      if (!possible) prefer_arm();
    } else { // nothing left to try here
      open_ = work_->most;
      possible = lower(bound, makespan);
    }
    if (possible) continue;
    proof = Proof{work_->most + 1, std::move(work_->cases)};
    patience_ = std::max(patience_, 2 * work_->steps);
    share_ = std::min(1.0, 2 * share_);
    work_.reset();
  }
  steps = end - std::min(end, steps_);
  return proof;
}

void Cases::count(std::uint64_t steps) {
  steps_ += steps;
  work_->steps += steps;
}

/// False: no order has the makespan that it begins with.
bool Cases::begin(std::int64_t bound, std::int64_t makespan) {
  const auto over = static_cast<double>(std::min(makespan, open_) - 1 - bound);
  work_.emplace(Work{.most = bound + static_cast<std::int64_t>(share_ * over), .windows = root_});
  restart_arms();
  const bool possible = work_->windows.tighten(work_->most);
  count(work_->windows.steps() - root_.steps());
  return possible;
}

/// Continues at a shorter makespan, where all that was found holds as well; gives up if there is hardly one.
bool Cases::lower(std::int64_t bound, std::int64_t makespan) {
  const bool is_slow = work_->steps > patience_;
  work_->most = bound + (std::min(work_->most, makespan - 1) - bound) / 2;
  share_ = std::max(first_share, share_ / 2);
  if (work_->most - bound <= bound / bisection_share) {
    if (is_slow) patience_ *= 2;
    work_.reset();
    return true;
  }
  work_->steps = 0;
  restart_arms();
  const std::uint64_t before = work_->windows.steps();
  const bool possible = work_->windows.tighten(work_->most);
  count(work_->windows.steps() - before);
  return possible;
}

void Cases::restart_arms() {
  for (Arm& arm : arms_) arm.next = arm.tried = 0;
  work_->again.clear();
  work_->arm = work_->missed = 0;
  work_->quota = first_quota;
  work_->found = false;
}

void Cases::prefer_arm() {
  const auto arm = arms_.begin() + static_cast<std::ptrdiff_t>(work_->arm);
  std::rotate(arms_.begin(), arm, arm + 1);
}

/// From the first again, if this one found something. False: each has tried all its tasks since the windows changed.
bool Cases::next_arm() {
  Work& work = *work_;
  if (work.found) {
    prefer_arm();
    work.arm = 0;
    work.quota = first_quota;
  } else if (++work.arm == arms_.size()) {
    if (std::ranges::all_of(arms_, [&](const Arm& arm) { return arm.tried == tasks_of(arm); })) return false;
    work.arm = 0;
    work.quota *= 4;
  }
  work.missed = 0;
  work.found = false;
  return true;
}

/// In both views.
std::size_t Cases::tasks_of(const Arm& arm) const {
  return 2 * views_.on[arm.stage].size() * views_.m;
}

/// The one to be tried next: of each sequence in turn, in both views.
Cases::Task Cases::task_of(const Arm& arm) const {
  const std::vector<std::uint32_t>& here = views_.on[arm.stage];
  const std::size_t column = arm.next % (2 * here.size());
  return {column / here.size(), here[column % here.size()] * views_.m + spread_[arm.next / (2 * here.size())]};
}

void Cases::add(const Arm& arm, Task task) {
  const auto& [view, x] = task;
  const std::int64_t earliest = work_->windows.head(view, x);
  const std::int64_t part = (work_->windows.latest(view, x) - earliest) / (1 + arm.divisor);
  const bool is_there =
      std::ranges::any_of(batch_, [&](const Trial& each) { return each.view == view && each.task == x; });
  if (part > 0 && !is_there) batch_.push_back({task, earliest + part});
}

/// Fills the batch. False: nothing is left to try.
bool Cases::next_batch() {
  Work& work = *work_;
  batch_.clear();
  do {
    Arm& arm = arms_[work.arm];
    for (const Task& task : work.again) add(arm, task);
    work.again.clear();
    const std::size_t quota = work.quota * 2 * views_.on[arm.stage].size();
    while (batch_.size() < batch_size && arm.tried < tasks_of(arm) && work.missed < quota) {
      add(arm, task_of(arm));
      arm.next = (arm.next + 1) % tasks_of(arm);
      ++arm.tried;
      ++work.missed;
    }
  } while (batch_.empty() && next_arm());
  return !batch_.empty();
}

/// Does an early start lead to a contradiction? Then the task starts later. False: no order is left.
bool Cases::try_batch() {
  Work& work = *work_;
  const Arm& arm = arms_[work.arm];
  for_each_index(batch_.size(), threads_, [&](std::size_t i) {
    Trial& trial = batch_[i];
    trial.possible = work.windows.allow_before(trial.view, trial.task, trial.time, trial.steps,
                                               arm.looks_far ? std::nullopt : std::optional{arm.stage});
  });
  for (const Trial& trial : batch_) {
    count(trial.steps);
    if (trial.possible) continue;
    const auto m = static_cast<std::uint32_t>(views_.m);
    const auto task = static_cast<std::uint32_t>(trial.task);
    work.cases.push_back({static_cast<std::uint32_t>(trial.view), task / m, task % m, trial.time});
    work.windows.raise_start(trial.view, trial.task, trial.time);
    work.again.push_back(trial);
  }
  if (work.again.empty()) return true;
  work.found = bring_something_ = true;
  work.missed = 0;
  for (Arm& each : arms_) each.tried = 0;
  const std::uint64_t before = work.windows.steps();
  const bool possible = work.windows.tighten(work.most);
  count(work.windows.steps() - before);
  return possible;
}

} // namespace ppsim::synthesis
