// The plot of a search.

#include "ppsim/scenario/scenario.hpp"
#include "ppsim/study/synthesize.hpp"
#include "ppsim/viz/synthesis.hpp"
#include "support/svg.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace ppsim::test::synthesis_views_test {

namespace {

SynthesizedOrder order_with(std::vector<synthesis::Milestone> history, std::uint64_t steps) {
  SynthesizedOrder order{};
  order.placement.name = "linear";
  order.length = Duration{history.back().makespan};
  order.bound = Duration{history.back().bound};
  order.instance.microbatches = 8;
  order.instance.capacity.resize(4);
  order.found.history = std::move(history);
  order.found.steps = steps;
  return order;
}

/// The y coordinates of a path of "x y" corners, which grow downwards in SVG.
std::vector<double> heights_of(const std::string& path) {
  std::vector<double> heights;
  for (std::size_t at = path.find(' '); at != std::string::npos; at = path.find(' ', at + 1))
    heights.push_back(std::stod(path.substr(at + 1)));
  return heights;
}

} // namespace

TEST_CASE("A plot of a search has the order falling and the bound rising to where they meet") {
  const SynthesizedOrder order =
      order_with({{100, 2'000'000, 1'000'000}, {1000, 1'600'000, 1'000'000}, {10'000, 1'500'000, 1'500'000}}, 10'000);
  const std::string svg = viz::svg_progress(order, {});
  const auto lines = elements_named(parsed(svg), "path", "line");
  REQUIRE(lines.size() == 2);
  const std::vector<double> makespans = heights_of(lines[0].get("d"));
  const std::vector<double> bounds = heights_of(lines[1].get("d"));
  CHECK(std::ranges::is_sorted(makespans)); // downwards
  CHECK(std::ranges::is_sorted(bounds, std::greater{}));
  CHECK(makespans.front() < bounds.front());
  CHECK(makespans.back() == bounds.back());
  CHECK(svg.find("proven: no order is shorter") != std::string::npos);
  CHECK(svg == viz::svg_progress(order, {}));
}

TEST_CASE("A search that is over with its first order has a plot, too") {
  for (const std::uint64_t steps : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{500}}) {
    const std::string svg = viz::svg_progress(order_with({{steps, 1'000'000, 900'000}}, steps), {});
    CHECK(xml_fault(svg).empty());
    CHECK(misplaced_texts(parsed(svg)).empty());
    const auto lines = elements_named(parsed(svg), "path", "line");
    REQUIRE(lines.size() == 2);
    for (const auto& line : lines) {
      const std::vector<double> heights = heights_of(line.get("d"));
      CHECK(heights.front() == heights.back());
    }
    CHECK(svg.find("at most 11.11 % above") != std::string::npos);
    CHECK(svg.find("nothing better was found") != std::string::npos);
  }
}

} // namespace ppsim::test::synthesis_views_test
