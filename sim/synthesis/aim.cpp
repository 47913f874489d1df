#include "aim.hpp"

namespace ppsim::synthesis {
namespace {

constexpr std::uint64_t arms_turn = 5'000'000; // steps; they are first
constexpr std::uint64_t slide_turn = 12 * arms_turn;

} // namespace

Aim::Aim(const Views& views, const Windows& root, std::size_t threads)
    : root_{root}, slide_{views, threads}, arms_{views, threads} {}

void Aim::renew() {
  if (!attempt_) return;
  for (const std::size_t d : {0U, 1U}) attempt_->windows.raise_starts(d, root_, 0);
  attempt_->most = unlimited; // begins again
}

bool Aim::refute(std::int64_t most, std::uint64_t steps, const std::function<bool()>& goes_on) {
  if (!attempt_) attempt_.emplace(Attempt{.most = unlimited, .windows = root_});
  const std::uint64_t end = attempt_->steps + steps;
  bool refuted = most < attempt_->most && !begin(most);
  while (!refuted && !is_done_ && attempt_->steps < end && goes_on()) refuted = go_on() == Outcome::refuted;
  is_done_ = is_done_ || refuted;
  return refuted;
}

/// What was found for longer ones holds as well. False: refuted.
bool Aim::begin(std::int64_t most) {
  attempt_->most = most;
  slide_.look_again();
  arms_.restart();
  slides_ = is_done_ = has_news_ = false;
  idle_ = 0;
  turn_end_ = attempt_->steps + arms_turn;
  return attempt_->tighten();
}

/// By turns, until each has come to its end on the same windows.
Outcome Aim::go_on() {
  const std::size_t known = attempt_->cases.size();
  const Outcome outcome = slides_ ? slide_.go_on(*attempt_) : arms_.go_on(*attempt_);
  has_news_ = has_news_ || attempt_->cases.size() > known;
  const bool is_over = attempt_->steps >= turn_end_ && (has_news_ || idle_ == 0);
  if (is_over || outcome == Outcome::nothing_left) change_turns(outcome == Outcome::nothing_left);
  return outcome;
}

void Aim::change_turns(bool is_at_end) {
  idle_ = is_at_end && !has_news_ ? idle_ + 1 : 0;
  is_done_ = idle_ == 2;
  slides_ = !slides_;
  if (has_news_ && slides_) slide_.look_again();
  if (has_news_ && !slides_) arms_.look_again();
  has_news_ = false;
  turn_end_ = attempt_->steps + (slides_ ? slide_turn : arms_turn);
}

} // namespace ppsim::synthesis
