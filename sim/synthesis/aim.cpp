#include "aim.hpp"

namespace ppsim::synthesis {
namespace {

constexpr std::uint64_t steps_of_turn = 4'000'000; // of arms, then of a sweep

} // namespace

Aim::Aim(const Views& views, const Windows& root, std::size_t threads)
    : root_{root}, arms_{views, threads}, sweep_{views, threads}, turn_end_{steps_of_turn} {}

void Aim::renew() {
  if (!attempt_) return;
  for (const std::size_t d : {0U, 1U}) attempt_->windows.raise_starts(d, root_, 0);
  attempt_->most = unlimited; // begins again
}

bool Aim::refute(std::int64_t most, std::uint64_t steps, const std::function<bool()>& goes_on) {
  const std::uint64_t end = this->steps() + steps;
  if (!attempt_) attempt_.emplace(Attempt{.most = unlimited, .windows = root_});
  bool refuted = most < attempt_->most && !begin(most);
  while (!refuted && !is_done() && attempt_->steps < end && goes_on()) refuted = go_on() == Outcome::refuted;
  return refuted;
}

/// What was found for longer ones holds as well. False: refuted.
bool Aim::begin(std::int64_t most) {
  attempt_->most = most;
  arms_.restart();
  sweep_.restart();
  are_done_ = {};
  return attempt_->tighten();
}

/// By turns, as long as there is something left for both.
Outcome Aim::go_on() {
  if (attempt_->steps >= turn_end_) {
    sweeps_ = !sweeps_;
    turn_end_ = attempt_->steps + steps_of_turn;
  }
  const bool sweeps = are_done_.at(sweeps_ ? 1 : 0) ? !sweeps_ : sweeps_;
  const std::size_t known = attempt_->cases.size();
  const Outcome outcome = sweeps ? sweep_.go_on(*attempt_) : arms_.go_on(*attempt_);
  if (outcome == Outcome::nothing_left) are_done_.at(sweeps ? 1 : 0) = true;
  if (attempt_->cases.size() == known) return outcome;
  are_done_ = {};
  if (sweeps)
    arms_.look_again();
  else
    sweep_.look_again();
  return outcome;
}

} // namespace ppsim::synthesis
