#pragma once
// The tests are written for Catch2 2.13 (one header). With Catch2 3, this file stands in for that header.

#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch::Matchers {

template <std::size_t N>
auto Contains(const char (&text)[N]) {
  return ContainsSubstring(std::string{text});
}
inline auto Contains(const std::string& text) {
  return ContainsSubstring(text);
}

} // namespace Catch::Matchers
