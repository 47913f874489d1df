#pragma once
// A synthesis in words.

#include <span>
#include <string>

namespace ppsim {
struct Axis;
struct FrontPoint;
struct Synthesis;
struct RunReport;
} // namespace ppsim

namespace ppsim::viz {

/// A line per placement: the order, what is proven, and the best schedule by name. `simulated`: what the run of the
/// shortest one takes under its transfer model.
[[nodiscard]] std::string synthesis_text(const Synthesis& synthesis, const RunReport& simulated);

/// A line per value: the best order of all placements there, what is proven of it, and the best schedule by name.
[[nodiscard]] std::string front_text(std::span<const FrontPoint> front, const Axis& axis);

} // namespace ppsim::viz
