#pragma once
// Candidates: the runs that a comparison of a spec simulates.

#include "ppsim/study/run_spec.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// One schedule to try; evaluate() decides whether it applies.
struct Candidate {
  std::string name;   ///< see Contender
  std::string fields; ///< as above
  RunSpec spec;
};

/// The candidates of this spec, in the order of generators(): each schedule (or those of `schedules`) with its fixed
/// number of chunks, or with each number in `vpp` if it has a choice (default: 2 and 4, or up to three that divide the
/// layers of a stage). A schedule file is an additional, first one; its shape applies to all. Options that only some
/// schedules accept apply to those. Throws Error if no candidate accepts a flag, or if a number of chunks is repeated.
[[nodiscard]] std::vector<Candidate> candidates(const RunSpec& spec);

/// `spec` for a given order: without what selects schedules by name, and without options of single schedules.
[[nodiscard]] RunSpec for_given_order(const RunSpec& spec);

} // namespace ppsim
