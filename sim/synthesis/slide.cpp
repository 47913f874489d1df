#include "slide.hpp"

#include "ppsim/base/parallel.hpp"

#include <algorithm>

namespace ppsim::synthesis {
namespace {

constexpr std::int64_t units_of_microbatch = 16; // in what the busiest stage computes for it
constexpr std::size_t between_all = 8;           // microbatches after which all windows follow

/// All, where few do not have to do with each other only.
std::size_t near_each(const Views& views) {
  const std::size_t few = reach_of(views).few;
  return few > 1 ? few : views.m;
}

} // namespace

Slide::Slide(const Views& views, std::size_t threads)
    : views_{views}, threads_{threads}, near_{views, near_each(views)},
      unit_{std::max<std::int64_t>(1, views.most_microbatch_work() / units_of_microbatch)} {
  for (std::vector<Pace>& paces : paces_) paces.assign(views.local.size(), {.step = unit_});
}

void Slide::look_again() {
  few_.reset();
  start_over(true);
}

void Slide::start_over(bool with_pauses) {
  with_pauses_ = with_pauses;
  quiet_ = 0;
  for (std::vector<Pace>& paces : paces_)
    for (Pace& pace : paces) pace.pauses = false;
}

/// Of the few in this view, and in the other one: the first of all that are near.
std::array<std::int64_t, 2> Slide::shifts() const {
  const auto first = static_cast<std::int64_t>(near_.first(next_));
  return {first, static_cast<std::int64_t>(views_.m - near_.views().m) - first};
}

void Slide::take_sequences() {
  sequences_.clear();
  for (const std::uint32_t s : views_.view.at(view_).path) {
    Pace& pace = paces_.at(view_)[s];
    if (!pace.pauses) sequences_.push_back(s);
    pace.pauses = false;
  }
}

/// The windows near the microbatch in hand, if any of its tasks is tried. False: refuted.
bool Slide::begin(Attempt& attempt) {
  known_ = attempt.cases.size();
  tried_ = 0;
  take_sequences();
  if (sequences_.empty()) return true;
  if (near_.views().m == views_.m) {
    few_ = attempt.windows;
  } else {
    const auto [here, behind] = shifts();
    few_ = near_.root();
    few_->raise_starts(view_, attempt.windows, -here);
    few_->raise_starts(1 - view_, attempt.windows, -behind);
  }
  return attempt.tighten(*few_);
}

/// Supposes that it starts earlier than by its step, or in half of its window if that is less; then by twice as much,
/// as long as it cannot, and at all where that is more than is left; else by ever less.
Slide::Delay Slide::delay(std::uint32_t sequence) const {
  const std::size_t task = near_.task(sequence, next_);
  Delay result{.step = paces_.at(view_)[sequence].step};
  std::optional<Windows> later;
  while (true) {
    const Windows& known = later ? *later : *few_;
    const std::int64_t earliest = known.head(view_, task);
    const std::int64_t length = known.latest(view_, task) - earliest;
    if (length <= 0) break;
    const bool at_all = later && result.step > length;
    const std::int64_t time = earliest + (at_all ? length + 1 : std::min(result.step, (length + 1) / 2));
    if (!known.allow_before(view_, task, time, result.steps)) {
      result.times.push_back(time);
      if (!later) later.emplace(*few_);
      later->raise_start(view_, task, time);
      result.step *= 2;
    } else if (result.times.empty() && result.step > unit_) {
      result.step = std::max(unit_, result.step / 4);
    } else {
      break;
    }
  }
  result.step = std::max(unit_, result.step / 2);
  return result;
}

/// Each by itself, by the same windows. False: refuted.
bool Slide::try_batch(Attempt& attempt) {
  const std::span batch = std::span{sequences_}.subspan(tried_, std::min(tasks_of_batch, sequences_.size() - tried_));
  tried_ += batch.size();
  std::vector<Delay> found(batch.size());
  for_each_index(batch.size(), threads_, [&](std::size_t i) { found[i] = delay(batch[i]); });
  const std::size_t known = attempt.cases.size();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    attempt.steps += found[i].steps;
    paces_.at(view_)[batch[i]] = {found[i].step, with_pauses_ && found[i].times.empty()};
    for (const std::int64_t time : found[i].times) {
      attempt.add(views_, {.view = view_, .task = batch[i] * views_.m + next_}, time, near_.among(next_));
      few_->raise_start(view_, near_.task(batch[i], next_), time);
    }
  }
  return attempt.cases.size() == known || attempt.tighten(*few_);
}

/// What was found for its microbatch holds of all. False: refuted.
bool Slide::end(Attempt& attempt) {
  if (attempt.cases.size() > known_) {
    const auto [here, behind] = shifts();
    attempt.windows.raise_starts(view_, *few_, here);
    attempt.windows.raise_starts(1 - view_, *few_, behind);
    quiet_ = 0;
    has_news_ = true;
  }
  few_.reset();
  if (!has_news_ || (next_ + 1) % between_all != 0) return true;
  has_news_ = false;
  quiet_ = 0;
  return attempt.tighten();
}

/// False: none has brought anything in either view, without any pause.
bool Slide::next_microbatch() {
  if (++next_ == views_.m) {
    next_ = 0;
    view_ = 1 - view_;
  }
  if (++quiet_ <= 2 * views_.m) return true;
  const bool is_new = with_pauses_;
  start_over(false);
  return is_new;
}

Outcome Slide::go_on(Attempt& attempt) {
  if (!(few_ ? try_batch(attempt) : begin(attempt))) {
    const Task any{.view = view_, .task = sequences_.front() * views_.m + next_}; // it cannot start at all
    attempt.add(views_, any, attempt.most + 1, near_.among(next_));
    return Outcome::refuted;
  }
  if (tried_ < sequences_.size()) return Outcome::open;
  if (!end(attempt)) return Outcome::refuted;
  return next_microbatch() ? Outcome::open : Outcome::nothing_left;
}

} // namespace ppsim::synthesis
