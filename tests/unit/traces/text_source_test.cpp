// Text that is read from front to back, packed or not.

#include "ppsim/base/error.hpp"
#include "support/gzip.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

#include "traces/imports/kineto/json_windows.hpp"
#include "traces/imports/text_source.hpp"

namespace ppsim::test::text_source_test {

using namespace ppsim::traces;

namespace {

/// Several pieces as they are unpacked, no two lines alike.
std::string long_text() {
  std::string text;
  for (int line = 0; line < 200'000; ++line) text += std::to_string(line) + ",\n";
  return text;
}

} // namespace

TEST_CASE("A packed text reads like the plain one, from any position") {
  const std::string text = long_text();
  const std::string packed = test::pack(text);
  TextSource source{ImportFile{"f", packed}, text.size()};
  std::size_t at = 0;
  for (const std::size_t step : {0U, 1U, 10'000U, 100'000U, 7U, 350'000U})
    for (const std::size_t least : {1U, 5'000U, 400'000U}) {
      at += step;
      INFO("at " << at << ", at least " << least);
      REQUIRE(at < text.size());
      const std::string_view part = source.from(at, least);
      CHECK((part.size() >= least || part.size() == text.size() - at));
      CHECK(part == std::string_view{text}.substr(at, part.size()));
    }
  CHECK(source.from(text.size() - 1, 1) == "\n");
  CHECK(source.from(text.size(), 1).empty());
  CHECK(source.has_all());
  CHECK(source.share() == 1);
}

TEST_CASE("Only the text ahead of the position is kept in memory") {
  const std::string packed = test::pack(std::string(50'000'000, ' '));
  TextSource source{ImportFile{"f", packed}, 100'000'000};
  for (std::size_t at = 0; at < 50'000'000; at += 100'000) {
    const std::size_t part = source.from(at, 100'000).size();
    REQUIRE(part >= 100'000);
    REQUIRE(part <= 400'000);
  }
}

TEST_CASE("A packed text that is broken or too long is reported when it is read") {
  const std::string packed = test::pack(long_text());
  TextSource cut{ImportFile{"f", std::string_view{packed}.substr(0, packed.size() / 2)}, 1U << 30U};
  CHECK(cut.is_at(0, '0'));
  CHECK_THROWS_WITH(cut.from(0, 10'000'000), Catch::Contains("the gzip data ends too early"));
  TextSource bounded{ImportFile{"f", packed}, 300'000};
  CHECK_THROWS_WITH(bounded.from(0, 400'000), Catch::Contains("it decompresses to more than 300000 bytes"));
}

TEST_CASE("A JSON value that continues in the next piece is found as a whole") {
  const std::string list = "[" + long_text() + "0]";
  const std::string packed = test::pack("  " + list + " ,7");
  TextSource source{ImportFile{"f", packed}, 1U << 30U};
  const std::size_t at = skip_space(source, 0);
  CHECK(at == 2);
  CHECK(value_at(source, at) == list);
  const std::size_t comma = skip_space(source, at + list.size());
  CHECK(source.is_at(comma, ','));
  CHECK(value_at(source, comma + 1) == "7");
  CHECK(skip_space(source, comma + 2) == list.size() + 5);
  TextSource open{std::string_view{list}.substr(0, 100)};
  CHECK(!value_at(open, 0));
}

} // namespace ppsim::test::text_source_test
