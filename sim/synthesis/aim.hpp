#pragma once
// Aim: cases at the one makespan whose refutation is enough for the gap that was asked for.

#include <array>
#include <functional>
#include <optional>

#include "arms.hpp"
#include "sweep.hpp"

namespace ppsim::synthesis {

class Aim {
public:
  /// `root`: what holds of all orders. Tries cases on up to `threads` threads, whose number changes nothing.
  Aim(const Views& views, const Windows& root, std::size_t threads);

  /// Whether that is refuted: no order takes at most `most`. Continues where the last call ended: for about `steps`,
  /// until nothing is left to try, or until `goes_on` is false. `most` never rises.
  bool refute(std::int64_t most, std::uint64_t steps, const std::function<bool()>& goes_on);
  /// By which it is; then nothing is left to refute.
  [[nodiscard]] const std::vector<Case>& cases() const { return attempt_->cases; }
  /// The root says more than before.
  void renew();
  /// Whether nothing is left to try.
  [[nodiscard]] bool is_done() const { return are_done_[0] && are_done_[1]; }
  /// All steps of windows so far.
  [[nodiscard]] std::uint64_t steps() const { return attempt_ ? attempt_->steps : 0; }

private:
  bool begin(std::int64_t most);
  Outcome go_on();

  const Windows& root_;
  Arms arms_;
  Sweep sweep_;
  std::optional<Attempt> attempt_;
  bool sweeps_ = false;            ///< whose turn it is
  std::array<bool, 2> are_done_{}; ///< nothing is left for arms, for the sweep
  std::uint64_t turn_end_;         ///< in steps
};

} // namespace ppsim::synthesis
