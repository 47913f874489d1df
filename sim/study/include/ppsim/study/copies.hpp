#pragma once
// Copies: data-parallel copies of the pipeline whose devices are not alike, of which a step takes the longest.

#include "ppsim/study/jitter.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/study/run_spec.hpp"

#include <optional>
#include <vector>

namespace ppsim {

/// What the stages take, as Costs::stage_ppm: by what is said of all copies, then by what is said of `copy`. Stages
/// that there are not are left out.
[[nodiscard]] std::vector<std::int64_t> stage_factors(const UnevenSpec& spec, std::size_t stages,
                                                      std::optional<std::size_t> copy = std::nullopt);

/// The copy that takes at least as long as each other one on every stage: what it does in some order takes as long as a
/// step of all copies in that order.
struct SlowestCopy {
  std::size_t number = 0; ///< the lowest of those that are alike
  RunSpec spec;           ///< of it alone
};
/// Of a run that names copies; none where a copy or stage is named that there is not, which is refused elsewhere.
/// Throws Error where two copies are each slower than the other somewhere.
[[nodiscard]] std::optional<SlowestCopy> slowest_copy(const RunSpec& spec);

/// The run of copies that are alike: the order of all, with what their devices take.
struct LoweredCopies {
  std::size_t first = 0; ///< the lowest of their numbers
  std::size_t count = 1;
  TaskGraph graph;
};
/// All copies of a run that names some, from the lowest number on; `graph` is that of any of them. None where no copy
/// is named: they are alike then.
[[nodiscard]] std::vector<LoweredCopies> lower_copies(const RunSpec& spec, const TaskGraph& graph);

/// What is to be sampled: those, or where there are none so many copies of `graph`. Holds references to both.
[[nodiscard]] std::vector<SampledCopies> sampled_copies(const TaskGraph& graph, std::size_t count,
                                                        const std::vector<LoweredCopies>& copies);

/// The step time of each; the slowest, of equals the first, is found. There have to be some.
[[nodiscard]] CopiesReport compare_copies(const std::vector<LoweredCopies>& copies);

} // namespace ppsim
