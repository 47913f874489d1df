#pragma once
// The least makespan of a tiny instance of a synthesis, by trying all of its orders; and tiny instances, drawn.

#include "ppsim/synthesis/instance.hpp"

#include <optional>
#include <random>
#include <vector>

namespace ppsim::test {

/// What trying all orders has found.
struct AllOrders {
  std::optional<std::int64_t> least;  ///< makespan; nothing where no order fits
  std::vector<synthesis::Plan> plans; ///< each shorter than the one before, the last one of the least makespan
  bool complete = true;               ///< false: there were too many orders, and nothing is known
};

/// Shares no code with the search, but for run() on what it found. `most_states`: tries that it makes at most.
[[nodiscard]] AllOrders try_all_orders(const synthesis::Instance& instance, std::size_t most_states);

/// Up to 3 stages and 3 microbatches in a line, a V or a loop; backwards whole or split; memory that is released in
/// part with the input gradient, or taken to compute again; or anything at all.
[[nodiscard]] synthesis::Instance draw_tiny_instance(std::mt19937& random);

/// The pipelines among them, with so many stages and microbatches at most.
[[nodiscard]] synthesis::Instance draw_pipeline(std::mt19937& random, std::size_t most_stages,
                                                std::size_t most_microbatches, std::size_t most_tasks = 0xFFFF);

} // namespace ppsim::test
