#include "sweep.hpp"

#include "ppsim/base/parallel.hpp"

#include <algorithm>
#include <optional>

namespace ppsim::synthesis {
namespace {

constexpr std::size_t most_sweeps_without = 15;
constexpr std::int64_t units_of_microbatch = 64; // in what the busiest stage computes for it

} // namespace

Sweep::Sweep(const Views& views, std::size_t threads)
    : views_{views}, threads_{threads},
      unit_{std::max<std::int64_t>(1, views.most_microbatch_work() / units_of_microbatch)} {
  const std::vector<std::size_t> stages = stages_from_ends(views);
  for (const std::size_t j : spread_of(views.m))
    for (const std::size_t stage : stages)
      for (const std::uint32_t s : views.on[stage])
        for (const std::size_t d : {0U, 1U}) places_.push_back({{.view = d, .task = s * views.m + j}});
}

void Sweep::restart() {
  for (Place& place : places_) place.pause = place.left = 0;
  next_ = 0;
  look_again();
}

void Sweep::look_again() {
  quiet_ = 0;
  left_none_out_ = true;
}

/// Fills the batch. False: nothing is left to try.
bool Sweep::next_batch(const Attempt& attempt) {
  batch_.clear();
  while (batch_.size() < tasks_of_batch) {
    if (quiet_ >= places_.size()) {
      if (left_none_out_ || !batch_.empty()) break;
      for (Place& place : places_) place.left = 0;
      left_none_out_ = true;
      quiet_ = 0;
    }
    Place& place = places_[next_];
    if (place.left > 0) {
      --place.left;
      left_none_out_ = false;
    } else if (attempt.windows.head(place.view, place.task) < attempt.windows.latest(place.view, place.task)) {
      batch_.push_back({.place = next_});
    }
    next_ = (next_ + 1) % places_.size();
    ++quiet_;
  }
  return !batch_.empty();
}

/// Supposes that it starts earlier than by its pace, or in half of its window if that is less; then by twice as much,
/// as long as it cannot, and at all where that is more than is left.
void Sweep::delay(const Attempt& attempt, Trial& trial) const {
  const Place& place = places_[trial.place];
  std::optional<Windows> later;
  trial.pace = std::max(unit_, place.pace);
  while (true) {
    const Windows& windows = later ? *later : attempt.windows;
    const std::int64_t earliest = windows.head(place.view, place.task);
    const std::int64_t length = windows.latest(place.view, place.task) - earliest;
    if (length <= 0) break;
    const bool at_all = later && trial.pace > length;
    const std::int64_t time = earliest + (at_all ? length + 1 : std::min(trial.pace, (length + 1) / 2));
    if (!windows.allow_before(place.view, place.task, time, trial.steps)) {
      trial.times.push_back(time);
      if (!later) later.emplace(attempt.windows);
      later->raise_start(place.view, place.task, time);
      trial.pace *= 2;
    } else if (trial.times.empty() && trial.pace > unit_) {
      trial.pace = std::max(unit_, trial.pace / 4);
    } else {
      break;
    }
  }
  trial.pace /= 2;
}

Outcome Sweep::go_on(Attempt& attempt) {
  if (!next_batch(attempt)) return Outcome::nothing_left;
  for_each_index(batch_.size(), threads_, [&](std::size_t i) { delay(attempt, batch_[i]); });
  const std::size_t known = attempt.cases.size();
  for (const Trial& trial : batch_) {
    attempt.steps += trial.steps;
    Place& place = places_[trial.place];
    place.pace = trial.pace;
    place.pause = trial.times.empty() ? std::min(most_sweeps_without, 2 * place.pause + 1) : 0;
    place.left = place.pause;
    for (const std::int64_t time : trial.times) attempt.add(views_, place, time);
  }
  if (attempt.cases.size() == known) return Outcome::open;
  look_again();
  return attempt.tighten() ? Outcome::open : Outcome::refuted;
}

} // namespace ppsim::synthesis
