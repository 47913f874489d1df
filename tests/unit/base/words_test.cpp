// Words for people: fields in messages, and what counts.

#include "ppsim/base/words.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace ppsim::test::words_test {

TEST_CASE("A field in backticks gets its reader's name, and other text stays unchanged") {
  const auto named = [](std::string_view text) {
    return name_fields(text, [](std::string_view field) { return "<" + std::string{field} + ">"; });
  };
  CHECK(named("`vpp`") == "<vpp>");
  CHECK(named("give `first-stage-layers` 2, or leave `p2p` out") == "give <first-stage-layers> 2, or leave <p2p> out");
  CHECK(named("").empty());
  CHECK(named("a `b c` d") == "a `b c` d"); // no field has a space
  CHECK(named("``") == "``");
  CHECK(named("`") == "`");
  CHECK(named("`mb") == "`mb");
  CHECK(named("`Mb` `mb`") == "`Mb` <mb>");
}

TEST_CASE("A single field is recognised, and text that contains one") {
  CHECK(as_field("`mb`") == "mb");
  CHECK_FALSE(as_field("run.toml:3:1"));
  CHECK_FALSE(as_field("`mb` and more"));
  CHECK_FALSE(as_field("`mb` `vpp`"));
  CHECK_FALSE(as_field("``"));
}

} // namespace ppsim::test::words_test
