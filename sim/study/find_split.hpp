#pragma once
// The split of layers over chunks for a synthesis.

#include "ppsim/study/balance.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/synthesize.hpp"

namespace ppsim {

/// An order of the split where a search begins, and its makespan.
struct FirstOrder {
  synthesis::Order order;
  Duration makespan{0};
};

/// A split, and the best order of all that was found on the way; nothing where none fits.
struct FoundSplit {
  Balance balance; ///< its step times are makespans under `latency`
  std::optional<synthesis::Order> order;
};

/// The split whose order is shortest, of those that balance() looks at from that of `run`, a plain order that is sought
/// in its place; from what it finds it begins again, while that finds shorter orders. A split of which it is proven at
/// once that none of its orders is shorter than the best so far is not searched. Counted in steps, so that it does not
/// depend on the machine. `first` is of the split of `run`; nothing where none fits. check_layers() has passed the run.
[[nodiscard]] FoundSplit find_split(const RunSpec& spec, const BuiltRun& run, const SynthesisRequest& request,
                                    const ChunkPlacement& placement, const std::optional<FirstOrder>& first);

} // namespace ppsim
