#pragma once
// Candidates: the runs that a comparison of this spec is about.

#include "ppsim/study/run_spec.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// One schedule to try; whether it applies is for evaluate() to say.
struct Candidate {
  std::string name;   ///< see Contender
  std::string fields; ///< as above
  RunSpec spec;
};

/// The candidates of this spec, in the order of generators(): each schedule (or those of `schedules`) with the
/// number of chunks that it fixes, or with each that `vpp` lists where it can choose (where nothing is said 2 and 4, or
/// up to three that divide the layers of a stage). A schedule file is one more, the first; its shape is everyone's.
/// Options that only some schedules take are left to those. Throws Error where a flag says what none of them takes, or
/// a number of chunks twice.
[[nodiscard]] std::vector<Candidate> candidates(const RunSpec& spec);

/// `spec` for an order that is given: what chooses among schedules by name, and options of single ones, are left out.
[[nodiscard]] RunSpec for_given_order(const RunSpec& spec);

} // namespace ppsim
