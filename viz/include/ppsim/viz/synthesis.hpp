#pragma once
// A synthesis in words, and how its search went as a plot.

#include <span>
#include <string>

namespace ppsim {
struct Axis;
struct FrontPoint;
struct Scenario;
struct Synthesis;
struct SynthesizedOrder;
struct RunReport;
} // namespace ppsim

namespace ppsim::viz {

/// A line per placement: the order, what is proven, and the best schedule by name. `simulated`: what the run of the
/// shortest one takes under its transfer model.
[[nodiscard]] std::string synthesis_text(const Synthesis& synthesis, const RunReport& simulated);

/// A line per value: the best order of all placements there, what is proven of it, and the best schedule by name.
[[nodiscard]] std::string front_text(std::span<const FrontPoint> front, const Axis& axis);

/// The best order's makespan and the proven bound over the steps of the search, as one SVG document. Title and source
/// are those of `scenario`. Pure: the same inputs give the same bytes.
[[nodiscard]] std::string svg_progress(const SynthesizedOrder& order, const Scenario& scenario);

} // namespace ppsim::viz
