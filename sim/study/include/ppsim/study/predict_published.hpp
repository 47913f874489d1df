#pragma once
// Predictions for published runs, many at once.

#include "ppsim/measured/published.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/run_spec.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace ppsim {

/// What a run asks for, from its arguments; called on any thread. Throws Error where they cannot be understood.
using SpecOfPublished = std::function<RunSpec(const PublishedRun&)>;

/// Evaluates each run, on up to `threads` threads: the step time in the long run, and the peak of the stage that needs
/// most. What throws Error is refused, and the others go on; notes are left out. The result does not depend on the
/// number of threads.
[[nodiscard]] std::vector<HeldPublished> predict_published(std::vector<PublishedRun> runs,
                                                           const SpecOfPublished& spec_of, std::size_t threads,
                                                           const Watch& watch = {});

} // namespace ppsim
