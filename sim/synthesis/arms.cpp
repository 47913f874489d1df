#include "arms.hpp"

#include "ppsim/base/parallel.hpp"

#include <algorithm>

namespace ppsim::synthesis {
namespace {

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

/// All stages, those at the ends of the pipeline, where most is known, first: by turns from the last and from the
/// first.
std::vector<std::size_t> stages_from_ends(const Views& views) {
  std::vector<std::size_t> result;
  for (std::size_t behind = views.on.size(), first = 0; first < behind; ++first) {
    result.push_back(--behind);
    if (first < behind) result.push_back(first);
  }
  return result;
}

} // namespace

/// First halves of windows, what is near, and stages at the ends of the pipeline.
Arms::Arms(const Views& views, std::size_t threads) : views_{views}, threads_{threads}, spread_{spread_of(views.m)} {
  const std::vector<std::size_t> stages = stages_from_ends(views);
  std::vector<std::pair<std::size_t, Arm>> ranked;
  for (const std::size_t halvings : {0U, 1U, 2U, 3U})
    for (const bool looks_far : {false, true})
      for (std::size_t place = 0; place < stages.size(); ++place)
        ranked.emplace_back(
            place + 2 * halvings + (looks_far ? 2 : 0),
            Arm{.stage = stages[place], .divisor = std::int64_t{1} << halvings, .looks_far = looks_far});
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, Arm>::first);
  for (const auto& [rank, arm] : ranked) arms_.push_back(arm);
}

void Arms::restart() {
  for (Arm& arm : arms_) arm.next = arm.tried = 0;
  again_.clear();
  arm_ = missed_ = 0;
  quota_ = first_quota;
  found_ = false;
}

void Arms::look_again() {
  for (Arm& arm : arms_) arm.tried = 0;
}

void Arms::prefer() {
  const auto arm = arms_.begin() + static_cast<std::ptrdiff_t>(arm_);
  std::rotate(arms_.begin(), arm, arm + 1);
}

/// From the first again, if this one found something. False: each has tried all its tasks since the windows changed.
bool Arms::next_arm() {
  if (found_) {
    prefer();
    arm_ = 0;
    quota_ = first_quota;
  } else if (++arm_ == arms_.size()) {
    arm_ = 0;
    if (std::ranges::all_of(arms_, [&](const Arm& arm) { return arm.tried == tasks_of(arm); })) return false;
    quota_ *= 4;
  }
  missed_ = 0;
  found_ = false;
  return true;
}

/// In both views.
std::size_t Arms::tasks_of(const Arm& arm) const {
  return 2 * views_.on[arm.stage].size() * views_.m;
}

/// The one to be tried next: of each sequence in turn, in both views.
Task Arms::task_of(const Arm& arm) const {
  const std::vector<std::uint32_t>& here = views_.on[arm.stage];
  const std::size_t column = arm.next % (2 * here.size());
  return {column / here.size(), here[column % here.size()] * views_.m + spread_[arm.next / (2 * here.size())]};
}

void Arms::add(const Attempt& attempt, const Arm& arm, const Task& task) {
  const std::int64_t earliest = attempt.windows.head(task.view, task.task);
  const std::int64_t part = (attempt.windows.latest(task.view, task.task) - earliest) / (1 + arm.divisor);
  const bool is_there = std::ranges::any_of(batch_, [&](const Task& each) { return each == task; });
  if (part > 0 && !is_there) batch_.push_back({task, earliest + part});
}

/// Fills the batch. False: nothing is left to try.
bool Arms::next_batch(const Attempt& attempt) {
  batch_.clear();
  do {
    Arm& arm = arms_[arm_];
    for (const Task& task : again_) add(attempt, arm, task);
    again_.clear();
    const std::size_t quota = quota_ * 2 * views_.on[arm.stage].size();
    while (batch_.size() < tasks_of_batch && arm.tried < tasks_of(arm) && missed_ < quota) {
      add(attempt, arm, task_of(arm));
      arm.next = (arm.next + 1) % tasks_of(arm);
      ++arm.tried;
      ++missed_;
    }
  } while (batch_.empty() && next_arm());
  return !batch_.empty();
}

/// Does an early start lead to a contradiction? Then the task starts later.
Outcome Arms::go_on(Attempt& attempt) {
  if (!next_batch(attempt)) return Outcome::nothing_left;
  const Arm& arm = arms_[arm_];
  for_each_index(batch_.size(), threads_, [&](std::size_t i) {
    Trial& trial = batch_[i];
    trial.possible = attempt.windows.allow_before(trial.view, trial.task, trial.time, trial.steps,
                                                  arm.looks_far ? std::nullopt : std::optional{arm.stage});
  });
  for (const Trial& trial : batch_) {
    attempt.steps += trial.steps;
    if (trial.possible) continue;
    attempt.add(views_, trial, trial.time);
    again_.push_back(trial);
  }
  if (again_.empty()) return Outcome::open;
  found_ = true;
  missed_ = 0;
  look_again();
  if (attempt.tighten()) return Outcome::open;
  prefer(); // it is likely to bring the next
  return Outcome::refuted;
}

} // namespace ppsim::synthesis
