#pragma once
// Holdings: on which stages memory is limited and one sequence takes it, for how many microbatches and how long.

#include "windows.hpp"

namespace ppsim::synthesis {

/// A stage on which one sequence takes memory that others give back.
struct Holding {
  std::uint32_t stage = 0;
  std::uint32_t taker = 0; ///< the sequence
  std::int64_t room = 0;   ///< microbatches that fit beside another task while it runs; 1 or more
  std::int64_t away = 0;   ///< ns for which a microbatch leaves the stage after that sequence, at least
};

/// All stages where memory is limited; nothing if several sequences of one take some, or if it is never given back.
/// `root`: what holds of all orders.
[[nodiscard]] std::vector<Holding> holdings_of(const Views& views, const Windows& root);

} // namespace ppsim::synthesis
