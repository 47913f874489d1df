#pragma once
// Cases: tasks that are supposed to start early (rule 8 of docs/synthesis.md), at makespans between a bound and an
// order.

#include <functional>
#include <optional>

#include "arms.hpp"

namespace ppsim::synthesis {

class Cases {
public:
  /// `root`: what holds of all orders. Tries cases on up to `threads` threads, whose number changes nothing.
  Cases(const Views& views, const Windows& root, std::size_t threads);

  /// No order is shorter than `bound`, by `cases`.
  struct Proof {
    std::int64_t bound = 0;
    std::vector<Case> cases = {};
  };
  /// Continues where the last call ended: for about `steps`, which count down (to 0 if there is nothing left to try),
  /// until `goes_on` is false, or until a bound above `bound` is proven. `makespan`: of the best order.
  std::optional<Proof> raise(std::int64_t bound, std::int64_t makespan, std::uint64_t& steps,
                             const std::function<bool()>& goes_on);
  /// The root says more than before.
  void renew() {
    end_attempt();
    open_ = unlimited;
  }
  /// All steps of windows so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_ + (attempt_ ? attempt_->steps : 0); }
  /// Whether a task that cannot start early was ever found.
  [[nodiscard]] bool bring_something() const { return bring_something_; }

private:
  bool begin(std::int64_t bound, std::int64_t makespan);
  bool go_on(std::int64_t bound, std::int64_t makespan);
  bool lower(std::int64_t bound, std::int64_t makespan);
  void end_attempt();

  const Windows& root_;
  Arms arms_;
  std::optional<Attempt> attempt_;
  std::uint64_t from_ = 0;        ///< steps of the attempt when its makespan was chosen
  double share_;                  ///< of the gap: how far above the bound cases are tried
  std::uint64_t patience_;        ///< steps at a makespan before a shorter one is tried
  std::int64_t open_ = unlimited; ///< the least makespan at which nothing was left to try
  std::uint64_t steps_ = 0;       ///< of earlier attempts
  bool bring_something_ = false;
};

} // namespace ppsim::synthesis
