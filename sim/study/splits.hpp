#pragma once
// The runs of one search for a split of layers over chunks.

#include "ppsim/study/build_run.hpp"

namespace ppsim {

/// Throws Error if the costs of `spec` do not follow the layers, or there are no layers.
void check_layers(const RunSpec& spec, const BuiltRun& run);

/// Variants of the given run with other layouts.
class Splits {
public:
  /// The arguments must have passed check_layers().
  Splits(RunSpec spec, const BuiltRun& run);

  [[nodiscard]] Scenario scenario(const Layout& layout);

  /// Whether the order depends on costs.
  [[nodiscard]] bool searches() const;

  /// The order, made again if it depends on costs: one that is soon found while splits are `tried`.
  [[nodiscard]] Schedule schedule(const Scenario& scenario, bool tried) const;

private:
  RunSpec spec_;
  const BuiltRun& run_;
  std::vector<StageId> placement_;
};

} // namespace ppsim
