#pragma once
// Plan: the best configurations of a space, and how many others are proven not to be better.

#include "ppsim/plan/space.hpp"
#include "ppsim/plan/workers.hpp"
#include "ppsim/study/comparison.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ppsim {

/// One configuration, simulated.
struct PlanRow {
  Configuration configuration;
  RunReport report;
  Demands demands;
  /// The ranking figure: nanoseconds, or bytes.
  std::int64_t figure = 0;
  /// Degrees of equal configurations: they differ only in how ranks share a sequence and a batch.
  std::vector<Degrees> equals = {};
};

struct RankedPlan {
  std::vector<PlanRow> rows; ///< the best that fit, at most PlanRequest::top; equals by peak memory
  std::uint64_t configurations = 0;
  std::uint64_t simulated = 0;
  std::uint64_t too_large = 0; ///< configurations proven not to fit without a simulation
  std::optional<Bytes> memory_limit;
  std::uint64_t refused = 0;           ///< simulated configurations that cannot run
  std::string refusal = {};            ///< why the first of them cannot run
  std::optional<PlanRow> closest = {}; ///< if nothing fits: the configuration that needs least
};

/// The best of the space. Branch and bound: simulates configurations by rising lower bound, in rounds of fixed size,
/// until none left could be better than the last row. The result does not depend on `workers` and is equal on all
/// processes. Throws Error as PlanSpace.
[[nodiscard]] RankedPlan find_plan(const PlanRequest& request, const PlanWorkers& workers);

/// Simulates one configuration; none if it does not fit or cannot run.
[[nodiscard]] std::optional<PlanRow> simulate_alone(const PlanRequest& request, const Configuration& configuration);

/// Only the best one. `known`, some of its space, speed up the search.
[[nodiscard]] std::optional<PlanRow> find_best(const PlanRequest& request, std::span<const Configuration> known,
                                               const PlanWorkers& workers);

/// The best of `some` only.
[[nodiscard]] std::optional<PlanRow> find_best_of(const PlanRequest& request, std::span<const Configuration> some,
                                                  const PlanWorkers& workers);

/// The same by simulating every configuration, to test find_plan().
[[nodiscard]] RankedPlan find_plan_exhaustively(const PlanRequest& request, const PlanWorkers& workers);

} // namespace ppsim
