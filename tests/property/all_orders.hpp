#pragma once
// The least makespan of a tiny synthesis instance, by trying all of its orders; and random tiny instances.

#include "ppsim/synthesis/instance.hpp"

#include <optional>
#include <random>
#include <vector>

namespace ppsim::test {

/// The result of trying all orders.
struct AllOrders {
  std::optional<std::int64_t> least;  ///< makespan; none if no order fits
  std::vector<synthesis::Plan> plans; ///< each shorter than the one before, the last one optimal
  bool complete = true;               ///< false: there were too many orders, and the optimum is unknown
};

/// Shares no code with the search, except run() on the result. `most_states`: the most tries.
[[nodiscard]] AllOrders try_all_orders(const synthesis::Instance& instance, std::size_t most_states);

/// Up to 3 stages and 3 microbatches in a line, a V or a loop; backwards whole or split; memory partly freed by the
/// input gradient, or taken for recomputation; or unstructured.
[[nodiscard]] synthesis::Instance draw_tiny_instance(std::mt19937& random);

/// Only pipelines, with at most these numbers of stages and microbatches.
[[nodiscard]] synthesis::Instance draw_pipeline(std::mt19937& random, std::size_t most_stages,
                                                std::size_t most_microbatches, std::size_t most_tasks = 0xFFFF);

} // namespace ppsim::test
