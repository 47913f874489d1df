#include "cases.hpp"

#include <algorithm>

#include "ending.hpp"

namespace ppsim::synthesis {
namespace {

constexpr double first_share = 1.0 / 16;
constexpr std::uint64_t first_patience = 12'000'000;

} // namespace

Cases::Cases(const Views& views, const Windows& root, std::size_t threads)
    : root_{root}, arms_{views, threads}, share_{first_share}, patience_{first_patience} {}

std::optional<Cases::Proof> Cases::raise(std::int64_t bound, std::int64_t makespan, std::uint64_t& steps,
                                         const std::function<bool()>& goes_on) {
  const std::uint64_t end = this->steps() + steps;
  std::optional<Proof> proof;
  while (!proof && this->steps() < end && goes_on()) {
    if (attempt_ && attempt_->most < bound) end_attempt();
    bool possible = true;
    if (!attempt_) {
      if (std::min(makespan, open_) - bound <= bound / bisection_share) {
        steps = 0;
        return std::nullopt;
      }
      possible = begin(bound, makespan);
    } else if (attempt_->most >= makespan || attempt_->steps - from_ > patience_) {
      possible = lower(bound, makespan);
    } else {
      possible = go_on(bound, makespan);
    }
    if (possible) continue;
    proof = Proof{attempt_->most + 1, std::move(attempt_->cases)};
    patience_ = std::max(patience_, 2 * (attempt_->steps - from_));
    share_ = std::min(1.0, 2 * share_);
    end_attempt();
  }
  steps = end - std::min(end, this->steps());
  return proof;
}

/// At the makespan in hand, or at a shorter one if nothing is left to try. False: refuted.
bool Cases::go_on(std::int64_t bound, std::int64_t makespan) {
  const std::size_t known = attempt_->cases.size();
  const Outcome outcome = arms_.go_on(*attempt_);
  if (attempt_->cases.size() > known) bring_something_ = true;
  if (outcome != Outcome::nothing_left) return outcome == Outcome::open;
  open_ = attempt_->most;
  return lower(bound, makespan);
}

void Cases::end_attempt() {
  if (attempt_) steps_ += attempt_->steps;
  attempt_.reset();
}

/// False: no order has the makespan that it begins with.
bool Cases::begin(std::int64_t bound, std::int64_t makespan) {
  const auto over = static_cast<double>(std::min(makespan, open_) - 1 - bound);
  attempt_.emplace(Attempt{.most = bound + static_cast<std::int64_t>(share_ * over), .windows = root_});
  from_ = 0;
  arms_.restart();
  return attempt_->tighten();
}

/// Continues at a shorter makespan, where all that was found holds as well; gives up if there is hardly one.
bool Cases::lower(std::int64_t bound, std::int64_t makespan) {
  const bool is_slow = attempt_->steps - from_ > patience_;
  attempt_->most = bound + (std::min(attempt_->most, makespan - 1) - bound) / 2;
  share_ = std::max(first_share, share_ / 2);
  if (attempt_->most - bound <= bound / bisection_share) {
    if (is_slow) patience_ *= 2;
    end_attempt();
    return true;
  }
  from_ = attempt_->steps;
  arms_.restart();
  return attempt_->tighten();
}

} // namespace ppsim::synthesis
