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

/// A request that the generator takes.
ScheduleRequest draw_request(const Generator& generator);
/// A schedule by name or a random order, with forwards alone now and then.
Schedule draw_order(bool may_pair = true);
TransferModel draw_model();
Scenario draw_scenario(const Shape& shape, TransferModel model = TransferModel::latency);
/// Costs that differ between chunks, transfers that differ between boundaries; all small, some nothing.
Scenario draw_unequal(const Shape& shape);
/// Reductions and optimizer steps, or some of them.
Update draw_update(const Shape& shape);
/// By a nanosecond each, so that none is without length.
void lengthen_tasks(Scenario& scenario);

/// Whether the order runs to its end; RC_ASSERTs that it deadlocks where it does not.
bool runs(const Schedule& schedule);
/// Under `blocking` many orders deadlock; nothing then.
std::optional<Outcome> try_run(const Schedule& schedule, const Scenario& scenario);

} // namespace ppsim::test
