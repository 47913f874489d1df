#pragma once
// Vary: simulates the candidates of a RunSpec while one field runs over a range.

#include "ppsim/base/error.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/variation.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// A variation with its notes for users.
struct Varied {
  Variation variation;
  std::vector<std::string> notes; ///< notes at both ends of the range; candidates that never apply, with reasons
  bool order_refused = false;     ///< the given order applies at neither end of the range
};

/// Varies RunSpec::vary, which must be set and name a numeric field; the result does not depend on the number of
/// threads. At each value the candidates are those of the spec with that value; orders that depend on costs are made
/// again. Compares RunSpec::rank_by (with jitter, the mean by default). Throws Error if nothing applies anywhere, with
/// the reason at the first value.
[[nodiscard]] Varied vary(const RunSpec& given, const VaryOptions& options, const Watch& watch = {});

} // namespace ppsim
