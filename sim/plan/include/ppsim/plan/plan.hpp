#pragma once
// Plan: the best configurations of a space, and how many others are proven to be no better.

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
  /// By which it is ranked: nanoseconds, or bytes.
  std::int64_t figure = 0;
  /// Those of others that are the same but for how ranks share a sequence and a batch, and take and hold the same.
  std::vector<Degrees> equals = {};
};

struct RankedPlan {
  std::vector<PlanRow> rows; ///< the best that fit, at most as many as were asked for; equals by peak memory
  std::uint64_t configurations = 0;
  std::uint64_t simulated = 0;
  std::uint64_t too_large = 0; ///< of all, those that are proven not to fit without a simulation
  std::optional<Bytes> memory_limit;
  std::uint64_t refused = 0;           ///< of those that were simulated, those that cannot run
  std::string refusal = {};            ///< why the first of them cannot
  std::optional<PlanRow> closest = {}; ///< where nothing fits: what needs least
};

/// The best of the space. Branch and bound: configurations are simulated by rising lower bound, in rounds whose size is
/// fixed, until none is left that could be better than the last row. The result does not depend on who works, and is
/// the same on all processes. Throws Error as PlanSpace does.
[[nodiscard]] RankedPlan find_plan(const PlanRequest& request, const PlanWorkers& workers);

/// One of them; nothing where it does not fit or cannot run.
[[nodiscard]] std::optional<PlanRow> simulate_alone(const PlanRequest& request, const Configuration& configuration);

/// The best one alone, where `known` are some of its space: with them it is found sooner.
[[nodiscard]] std::optional<PlanRow> find_best(const PlanRequest& request, std::span<const Configuration> known,
                                               const PlanWorkers& workers);

/// The best of these alone.
[[nodiscard]] std::optional<PlanRow> find_best_of(const PlanRequest& request, std::span<const Configuration> some,
                                                  const PlanWorkers& workers);

/// The same by simulating every configuration: what find_plan() is held to.
[[nodiscard]] RankedPlan find_plan_exhaustively(const PlanRequest& request, const PlanWorkers& workers);

} // namespace ppsim
