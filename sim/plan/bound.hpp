#pragma once
// How long a step of a configuration takes at least, and how much memory it needs, before an order is made.

#include "ppsim/plan/space.hpp"

#include <map>
#include <optional>
#include <tuple>

namespace ppsim {

/// Of all orders alike.
struct PlanBound {
  Duration time{0};
  Bytes memory;
};

/// The memory that a run may fill.
[[nodiscard]] std::optional<Bytes> limit_of(const RunSpec& spec);

/// Bounds of the configurations with these degrees that fit into memory. Times of transfers are left out.
class DegreeBounds {
public:
  /// Nothing where the rules of the model's shape forbid it (model_costs()).
  static std::optional<DegreeBounds> of(const PlanRequest& request, const Degrees& degrees);

  /// Of all of them.
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
  /// Chunks, layers that are recomputed, whether ends meet, and what is not spread evenly.
  using Key = std::tuple<std::size_t, std::size_t, bool, const Layout*>;
  std::map<Key, std::vector<BlockCosts>> chunks_;
};

} // namespace ppsim
