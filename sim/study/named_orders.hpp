#pragma once
// NamedOrders: schedules by name, and orders to start from, as a synthesis sees them.

#include "ppsim/schedule/schedule.hpp"
#include "ppsim/study/synthesize.hpp"
#include "ppsim/synthesis/by_microbatch.hpp"
#include "ppsim/synthesis/pieces.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim {

[[nodiscard]] TransferModel own_transfers(const RunSpec& spec);

/// What orders are sought for.
struct Sought {
  TaskGraph plain;
  synthesis::Durations durations; ///< of each task, if microbatches differ
  synthesis::Pieces pieces;
  std::span<const Pass> passes;
  bool by_interval = false;
  [[nodiscard]] bool pairs() const { return !pieces.joints.empty(); }
  /// Whether the run has another transfer model.
  [[nodiscard]] bool runs_otherwise(const RunSpec& spec) const {
    return own_transfers(spec) != plain.scenario().network.model;
  }
};

/// A schedule that fits; without a name if it was given to start from.
struct FittingSchedule {
  std::string name;
  Schedule schedule;
};

/// The orders of schedules by name that are of this placement, for a search to start from; and the best that fits.
struct NamedOrders {
  std::vector<FittingSchedule> fitting = {}; ///< with whole backwards and pairs, if the schedule has them
  std::vector<synthesis::Order> orders;
  std::vector<synthesis::PiecePlan> pieces = {}; ///< the same with pairs
  std::optional<NamedOrder> best = {};
  void name(std::string_view name, Duration length);
  /// With its pairs. False: it is not of these pieces, does not fit, or does not run.
  bool add(const Schedule& schedule, std::span<const StageId> placement, std::span<const Pass> passes,
           const synthesis::Pieces& of);
};

/// By `go_on` the search continues, given the best length so far; else those that search are left out.
[[nodiscard]] NamedOrders named_orders(const RunSpec& spec, const Sought& sought,
                                       const std::function<bool(Duration)>& go_on);
/// Adds what the request begins with.
void add_starts(const RunSpec& spec, const SynthesisRequest& request, const Sought& sought, NamedOrders& named);

} // namespace ppsim
