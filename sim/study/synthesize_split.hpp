#pragma once
// The split of layers over chunks for a synthesis.

#include "ppsim/study/balance.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/synthesize.hpp"

namespace ppsim {

/// A split, and the best order of it that was found on the way; nothing where none fits.
struct FoundSplit {
  Balance balance;
  std::optional<synthesis::Order> order;
};

/// The split whose order is shortest, of those that balance() looks at from that of `run`, a plain order that is sought
/// in its place. A split of which it is proven at once that none of its orders is shorter than the best so far is not
/// searched. Counted in steps, so that it does not depend on the machine. Throws Error where the costs do not follow
/// the layers.
[[nodiscard]] FoundSplit find_split(const RunSpec& spec, const BuiltRun& run, const SynthesisRequest& request,
                                    const ChunkPlacement& placement);

} // namespace ppsim
