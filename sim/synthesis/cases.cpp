#include "cases.hpp"

#include "ppsim/base/parallel.hpp"

#include <algorithm>

namespace ppsim::synthesis {
namespace {

constexpr std::size_t batch_size = 16; // pairs that are tried on the same windows
constexpr double least_share = 1.0 / 512;

} // namespace

Cases::Cases(const Views& views, const Windows& root, std::size_t threads)
    : views_{views}, root_{root}, threads_{threads} {
  for (const Sequence& sequence : views.instance.sequences) first_slack_ = std::max(first_slack_, sequence.duration);
}

std::optional<Cases::Proof> Cases::raise(std::int64_t bound, std::int64_t makespan, std::uint64_t& steps,
                                         const std::function<bool()>& goes_on) {
  const std::uint64_t end = steps_ + steps;
  std::optional<Proof> proof;
  while (!proof && steps_ < end && goes_on()) {
    if (!work_ || work_->most < bound || work_->most >= makespan) {
      if (share_ < least_share) {
        steps = 0;
        return std::nullopt;
      }
      if (!begin(bound, makespan)) proof = Proof{work_->most + 1};
    } else if (!next_batch()) { // nothing left to try here
      share_ /= 2;
      work_.reset();
      continue;
    } else if (!try_batch()) {
      proof = Proof{work_->most + 1, std::move(work_->cases)};
      share_ = std::min(1.0, 2 * share_);
    }
    if (proof) work_.reset();
  }
  steps = end - std::min(end, steps_);
  return proof;
}

void Cases::count(const Windows& windows, std::uint64_t before) {
  steps_ += windows.steps() - before;
}

/// False: no order has the makespan that it begins with.
bool Cases::begin(std::int64_t bound, std::int64_t makespan) {
  const auto over = static_cast<double>(makespan - 1 - bound);
  work_.emplace(Work{.most = bound + static_cast<std::int64_t>(share_ * over), .windows = root_});
  work_->most_slack = first_slack_;
  const bool possible = work_->windows.tighten(work_->most);
  count(work_->windows, root_.steps());
  return possible;
}

/// The task j of x and the first of y that is not known to run before it; nothing if that runs after it.
std::optional<Cases::Pair> Cases::pair_at(std::uint32_t x, std::uint32_t y, std::size_t j) const {
  const std::size_t first = x * views_.m + j;
  const std::size_t other = work_->windows.before(0, first, views_.local[y]);
  if (other >= work_->windows.at_most(0, first, views_.local[y])) return std::nullopt;
  const std::size_t second = y * views_.m + other;
  const std::int64_t earliest =
      std::max(work_->windows.head(0, second), work_->windows.head(0, first) + views_.duration(x));
  const std::int64_t latest = work_->most - work_->windows.head(1, views_.turned(second)) - views_.duration(y);
  return Pair{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second), latest - earliest};
}

/// Fills the batch: pairs with little slack first, as those lead to most contradictions. False: all were tried since
/// the windows changed.
bool Cases::next_batch() {
  batch_.clear();
  gather();
  while (batch_.empty() && (work_->changed || work_->skipped)) {
    if (!work_->changed) work_->most_slack *= 2;
    work_->stage = 0;
    work_->skipped = work_->changed = false;
    gather();
  }
  return !batch_.empty();
}

void Cases::gather() {
  Work& work = *work_;
  for (; work.stage < views_.on.size(); ++work.stage, work.pair = 0) {
    const std::vector<std::uint32_t>& here = views_.on[work.stage];
    for (; work.pair < here.size() * here.size(); ++work.pair, work.index = 0) {
      const std::uint32_t x = here[work.pair / here.size()];
      const std::uint32_t y = here[work.pair % here.size()];
      for (; x != y && work.index < views_.m; ++work.index) {
        if (batch_.size() == batch_size) return;
        const std::optional<Pair> pair = pair_at(x, y, work.index);
        if (!pair) continue;
        if (pair->slack <= work.most_slack)
          batch_.push_back(*pair);
        else
          work.skipped = true;
      }
    }
  }
}

/// Does x before y lead to a contradiction? Then y is before x. False: no order is left.
bool Cases::try_batch() {
  Work& work = *work_;
  for_each_index(batch_.size(), threads_, [&](std::size_t i) {
    Pair& pair = batch_[i];
    Windows supposed = work.windows;
    supposed.suppose(pair.x, pair.y);
    pair.possible = supposed.tighten(work.most);
    pair.steps = supposed.steps() - work.windows.steps();
  });
  const std::size_t before = work.cases.size();
  for (const Pair& pair : batch_) {
    steps_ += pair.steps;
    if (pair.possible) continue;
    const auto m = static_cast<std::uint32_t>(views_.m);
    work.cases.push_back({pair.x / m, pair.x % m, pair.y / m, pair.y % m});
    work.windows.suppose(pair.y, pair.x);
  }
  if (work.cases.size() == before) return true;
  work.changed = true;
  const std::uint64_t steps = work.windows.steps();
  const bool possible = work.windows.tighten(work.most);
  count(work.windows, steps);
  return possible;
}

} // namespace ppsim::synthesis
