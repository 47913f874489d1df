#pragma once
// Orders, costs and networks drawn at random, for the properties of the core.

#include "ppsim/schedule/generators.hpp"
#include "support/runs.hpp"

#include <cstddef>
#include <optional>

namespace ppsim::test {

inline constexpr Duration zero{0};

/// From `low` to `high`, both included.
std::size_t draw(std::size_t low, std::size_t high);
bool one_in(std::size_t n);
/// In nanoseconds, from `low` or 0 to `high`, both included.
Duration draw_time(std::size_t high);
Duration draw_time(std::size_t low, std::size_t high);

inline std::int64_t number(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

/// A request that the generator accepts.
ScheduleRequest draw_request(const Generator& generator);
/// A named schedule or a random order, sometimes with forwards alone.
Schedule draw_order(bool may_pair = true);
TransferModel draw_model();
Scenario draw_scenario(const Shape& shape, TransferModel model = TransferModel::latency);
/// Costs that differ between chunks, transfers that differ between boundaries; all small, some zero.
Scenario draw_unequal(const Shape& shape);
/// Reductions and optimizer steps, or some of them.
Update draw_update(const Shape& shape);
/// By one nanosecond each, so that none is zero.
void lengthen_tasks(Scenario& scenario);

/// Whether the order runs to its end; otherwise RC_ASSERTs that it deadlocks.
bool runs(const Schedule& schedule);
/// None if the order deadlocks, as many do under `blocking`.
std::optional<Outcome> try_run(const Schedule& schedule, const Scenario& scenario);

} // namespace ppsim::test
