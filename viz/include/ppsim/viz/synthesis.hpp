#pragma once
// A synthesis in words.

#include <string>

namespace ppsim {
struct Synthesis;
struct RunReport;
} // namespace ppsim

namespace ppsim::viz {

/// A line per placement: the order, what is proven, and the best schedule by name. `simulated`: what the run of the
/// shortest one takes under its transfer model.
[[nodiscard]] std::string synthesis_text(const Synthesis& synthesis, const RunReport& simulated);

} // namespace ppsim::viz
