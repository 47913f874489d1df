#pragma once
// Copies: data-parallel copies of the pipeline with unequal devices. A step takes as long as the slowest.

#include "ppsim/study/jitter.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/study/run_spec.hpp"

#include <optional>
#include <vector>

namespace ppsim {

/// The factors of the stages, as Costs::stage_ppm: from the entries for all copies, then from those for `copy`. Ignores
/// nonexistent stages.
[[nodiscard]] std::vector<std::int64_t> stage_factors(const UnevenSpec& spec, std::size_t stages,
                                                      std::optional<std::size_t> copy = std::nullopt);

/// The copy that is at least as slow as each other one on every stage. For any order, its step time is that of all
/// copies.
struct SlowestCopy {
  std::size_t number = 0; ///< the lowest of equal ones
  RunSpec spec;           ///< of this copy alone
};
/// For a run that names copies. None if a named copy or stage does not exist, which is an error elsewhere. Throws Error
/// if two copies are each slower than the other on some stage.
[[nodiscard]] std::optional<SlowestCopy> slowest_copy(const RunSpec& spec);

/// A group of equal copies: the common order with their task times.
struct LoweredCopies {
  std::size_t first = 0; ///< the lowest of their numbers
  std::size_t count = 1;
  TaskGraph graph;
};
/// All copies of a run that names some, by rising lowest number; `graph` is that of any of them. Empty if no copy is
/// named, because all are then equal.
[[nodiscard]] std::vector<LoweredCopies> lower_copies(const RunSpec& spec, const TaskGraph& graph);

/// The copies to sample: `copies`, or if there are none `count` copies of `graph`. The result refers to both.
[[nodiscard]] std::vector<SampledCopies> sampled_copies(const TaskGraph& graph, std::size_t count,
                                                        const std::vector<LoweredCopies>& copies);

/// The step time of each group, and the slowest; of equals the first. `copies` must not be empty.
[[nodiscard]] CopiesReport compare_copies(const std::vector<LoweredCopies>& copies);

} // namespace ppsim
