#pragma once
// Vary: the candidates of a RunSpec, simulated while one field runs over a range.

#include "ppsim/base/error.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/variation.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// A variation with what people are shown beside it.
struct Varied {
  Variation variation;
  std::vector<std::string> notes; ///< what is said at both ends of the range; the candidates that never apply, and why
};

/// Varies RunSpec::vary, which has to be there and to name a field that takes numbers; the result does not depend on
/// the number of threads. At each value the candidates are those of the spec with that value; orders that follow costs
/// are made anew. What is compared is RunSpec::rank_by, with jitter the mean where nothing is said. Throws Error where
/// nothing applies anywhere: the reason is that at the first value.
[[nodiscard]] Varied vary(const RunSpec& given, const VaryOptions& options, const Watch& watch = {});

} // namespace ppsim
