#pragma once
// Aim: cases at the one makespan whose refutation is enough for the gap that was asked for.

#include <functional>
#include <optional>

#include "arms.hpp"
#include "slide.hpp"

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
  /// Whether there are many, for all its steps so far.
  [[nodiscard]] bool finds_many() const { return cases().size() * steps_of_case > attempt_->steps; }
  /// The root says more than before.
  void renew();
  /// Whether nothing is left to try.
  [[nodiscard]] bool is_done() const { return is_done_; }
  /// All steps of windows so far.
  [[nodiscard]] std::uint64_t steps() const { return slide_.root_steps() + (attempt_ ? attempt_->steps : 0); }

private:
  static constexpr std::uint64_t steps_of_case = 1'000'000; ///< at most, if there are many

  bool begin(std::int64_t most);
  Outcome go_on();
  void change_turns(bool is_at_end);

  const Windows& root_;
  Slide slide_;
  Arms arms_;
  std::optional<Attempt> attempt_;
  bool slides_ = false;   ///< whose turn it is
  bool has_news_ = false; ///< cases, in this turn
  std::size_t idle_ = 0;  ///< turns in a row that ended with nothing left and no case
  bool is_done_ = false;
  std::uint64_t turn_end_ = 0; ///< in steps
};

} // namespace ppsim::synthesis
