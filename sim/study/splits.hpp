#pragma once
// The runs of one search for a split of layers over chunks.

#include "ppsim/study/build_run.hpp"

namespace ppsim {

/// Throws Error where the costs of `spec` do not follow the layers, or there are none.
void check_layers(const RunSpec& spec, const BuiltRun& run);

/// Those of the given run with other layouts.
class Splits {
public:
  /// check_layers() has passed them.
  Splits(RunSpec spec, const BuiltRun& run);

  [[nodiscard]] Scenario scenario(const Layout& layout);

  /// Whether the order follows from the costs.
  [[nodiscard]] bool searches() const;

  /// The order, made anew where it follows from the costs.
  [[nodiscard]] Schedule schedule(const Scenario& scenario) const;

private:
  RunSpec spec_;
  const BuiltRun& run_;
  std::vector<StageId> placement_;
};

} // namespace ppsim
