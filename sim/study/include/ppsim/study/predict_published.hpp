#pragma once
// Predictions for published runs.

#include "ppsim/measured/published.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/run_spec.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace ppsim {

/// The spec of a run, from its arguments; called on any thread. Throws Error for invalid arguments.
using SpecOfPublished = std::function<RunSpec(const PublishedRun&)>;

/// Evaluates each run on up to `threads` threads: the step time in the long run, and the peak of the stage that needs
/// most. A run that throws Error is marked as refused. Notes are dropped. The result does not depend on the number of
/// threads.
[[nodiscard]] std::vector<PublishedPrediction> predict_published(std::vector<PublishedRun> runs,
                                                                 const SpecOfPublished& spec_of, std::size_t threads,
                                                                 const Watch& watch = {});

} // namespace ppsim
