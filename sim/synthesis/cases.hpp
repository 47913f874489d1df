#pragma once
// Cases: tasks of a stage tried in both orders (rule 8 of docs/synthesis.md), at makespans between a bound and an
// order.

#include "ppsim/synthesis/search.hpp"

#include <functional>
#include <optional>

#include "windows.hpp"

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
  /// All steps of windows so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

private:
  struct Pair {
    std::uint32_t x = 0, y = 0; ///< tasks of one stage
    std::int64_t slack = 0;     ///< ns by which y may start later than at its earliest after x
    std::uint64_t steps = 0;
    bool possible = true; ///< x may run before y
  };
  /// Cases at one makespan, and the next pair to try.
  struct Work {
    std::int64_t most = 0;
    Windows windows;
    std::vector<Case> cases = {};
    std::size_t stage = 0, pair = 0, index = 0;
    std::int64_t most_slack = 0; ///< of pairs that are tried
    bool skipped = false;        ///< pairs with more slack, since the first stage was begun
    bool changed = false;        ///< since then
  };

  bool begin(std::int64_t bound, std::int64_t makespan);
  bool next_batch();
  void gather();
  [[nodiscard]] std::optional<Pair> pair_at(std::uint32_t x, std::uint32_t y, std::size_t j) const;
  bool try_batch();
  void count(const Windows& windows, std::uint64_t before);

  const Views& views_;
  const Windows& root_;
  std::size_t threads_;
  std::optional<Work> work_;
  std::vector<Pair> batch_;
  std::int64_t first_slack_ = 1;
  double share_ = 1.0 / 16; ///< of the gap: how far above the bound cases are tried
  std::uint64_t steps_ = 0;
};

} // namespace ppsim::synthesis
