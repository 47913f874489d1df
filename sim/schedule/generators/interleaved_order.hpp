#pragma once
// Shared by interleaved and zb-interleaved: the order of every stage's chunks and microbatches.

#include "ppsim/schedule/generators.hpp"

#include <algorithm>
#include <vector>

namespace ppsim::generator {

/// A forward or backward in the order common to all stages.
struct Turn {
  std::uint32_t microbatch = 0;
  std::uint32_t local = 0; ///< position of the chunk on its stage, for a backward counted from the last
};

/// Microbatches in groups of g; within a group, chunk after chunk. A shorter last group has the same form.
[[nodiscard]] inline std::vector<Turn> shared_order(const Shape& shape, std::size_t group) {
  std::vector<Turn> order;
  order.reserve(shape.microbatches * shape.vpp);
  for (std::size_t first = 0; first < shape.microbatches; first += group)
    for (std::uint32_t local = 0; local < shape.vpp; ++local)
      for (std::size_t microbatch = first; microbatch < std::min(first + group, shape.microbatches); ++microbatch)
        order.push_back({static_cast<std::uint32_t>(microbatch), local});
  return order;
}

} // namespace ppsim::generator
