#pragma once
// Lower bounds on step time and memory of a configuration, before an order is made.

#include "ppsim/plan/space.hpp"

#include <map>
#include <optional>
#include <tuple>

namespace ppsim {

/// Bounds over all orders.
struct PlanBound {
  Duration time{0};
  Bytes memory;
};

/// The memory that a run may fill.
[[nodiscard]] std::optional<Bytes> limit_of(const RunSpec& spec);

/// Bounds of the configurations with these degrees that fit into memory. They ignore transfer times.
class DegreeBounds {
public:
  /// None if the rules of the model's shape forbid it (model_costs()).
  static std::optional<DegreeBounds> of(const PlanRequest& request, const Degrees& degrees);

  /// The bound over all configurations.
  [[nodiscard]] PlanBound all() const;
  [[nodiscard]] PlanBound of(const PlannedOrder& order, const Keeping& keeping);

private:
  DegreeBounds(const PlanRequest& request, const Degrees& degrees, const ModelCosts& costs);
  const std::vector<BlockCosts>& chunks(const PlannedOrder& order, const std::vector<StageId>& placement,
                                        std::size_t units);

  const PlanRequest* request_;
  Degrees degrees_;
  Model model_;
  std::optional<Bytes> limit_;
  ModelCosts costs_;
  /// Chunks, recomputed layers, whether ends share a stage, and the layout if it is uneven.
  using Key = std::tuple<std::size_t, std::size_t, bool, const Layout*>;
  std::map<Key, std::vector<BlockCosts>> chunks_;
};

} // namespace ppsim
