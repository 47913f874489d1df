#include "ppsim/measured/link_fit.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace ppsim::test::link_fit_test {

using std::chrono::microseconds;

TEST_CASE("Latency and bandwidth of a link are fitted exactly to times on a line", "[link_fit]") {
  const LinkFit fit =
      fit_link(std::vector<LinkSample>{{Bytes{1000}, microseconds{11}}, {Bytes{2000}, microseconds{12}}});
  CHECK(fit.latency == microseconds{10});
  CHECK(fit.bandwidth == Bandwidth{1'000'000'000}); // 1 us per 1000 B
  CHECK(fit.largest_residual == Approx(0).margin(1e-9));
}

TEST_CASE("A small transfer counts as much as a large one in the fit of a link", "[link_fit]") {
  // Least squares of absolute errors would follow the two large ones, and give a latency far from 10 us.
  const LinkFit fit = fit_link(std::vector<LinkSample>{
      {Bytes{1}, microseconds{10}}, {Bytes{1'000'000}, microseconds{1100}}, {Bytes{1'000'000}, microseconds{900}}});
  CHECK(fit.latency > microseconds{9});
  CHECK(fit.latency < microseconds{11});
}

TEST_CASE("Neither latency nor the time per byte of a link is negative", "[link_fit]") {
  const LinkFit steep =
      fit_link(std::vector<LinkSample>{{Bytes{1000}, microseconds{1}}, {Bytes{2000}, microseconds{4}}});
  CHECK(steep.latency == Duration{0});
  CHECK(steep.bandwidth);
  const LinkFit falling =
      fit_link(std::vector<LinkSample>{{Bytes{1000}, microseconds{4}}, {Bytes{9000}, microseconds{2}}});
  CHECK(falling.latency > microseconds{1});
  CHECK_FALSE(falling.bandwidth);
  CHECK(fit_link(std::vector<LinkSample>{{Bytes{0}, Duration{0}}}).latency <= Duration{1});
}

} // namespace ppsim::test::link_fit_test
