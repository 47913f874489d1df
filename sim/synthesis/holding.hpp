#pragma once
// Holdings: on which stages memory is limited and one sequence takes it, for how many microbatches and how long.

#include "windows.hpp"

namespace ppsim::synthesis {

/// A stage on which one sequence takes memory that others give back.
struct Holding {
  std::uint32_t stage = 0;
  std::uint32_t taker = 0; ///< the sequence
  double room = 0;         ///< microbatches that fit
  std::int64_t away = 0;   ///< ns for which a microbatch leaves the stage after that sequence, at least
  std::int64_t held =
      0; ///< ns from the start of that sequence until the stage has done all of the microbatch, at least
};

/// All stages where memory is limited; nothing if several sequences of one take some, or if it is never given back.
/// `root`: what holds of all orders.
[[nodiscard]] std::vector<Holding> holdings_of(const Views& views, const Windows& root);

} // namespace ppsim::synthesis
