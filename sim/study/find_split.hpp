#pragma once
// The split of layers over chunks for a synthesis.

#include "ppsim/study/balance.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/synthesize.hpp"

namespace ppsim {

/// A split with its best order; none if none fits.
struct FoundSplit {
  Balance balance; ///< its step times are makespans under `latency`
  std::optional<synthesis::Order> order;
};

/// The split with the shortest order, among those that balance() examines starting from that of `run`, a plain order.
/// The search restarts from its result while orders become shorter. Splits proven quickly to have no shorter order are
/// not searched. Effort is counted in steps, so that the result does not depend on the machine. `first`: an
/// order for the split of `run`; none if none fits. `run` must have passed check_layers().
[[nodiscard]] FoundSplit find_split(const RunSpec& spec, const BuiltRun& run, const SynthesisRequest& request,
                                    const ChunkPlacement& placement, std::optional<synthesis::Order> first);

} // namespace ppsim
