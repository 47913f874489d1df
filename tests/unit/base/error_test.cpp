// Errors: problems are collected and shown with the value found and a hint.

#include "ppsim/base/error.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace ppsim::test::error_test {

using ppsim::test::refusal_of;

TEST_CASE("An error reads as its first problem") {
  const Error error{ExitCode::bad_input, {{"--mb", "must be at least 1, got 0", ""}, {"--vpp", "other", ""}}};
  CHECK(error.what() == std::string{"--mb: must be at least 1, got 0"});
  CHECK(error.code() == ExitCode::bad_input);
  CHECK(error.problems().size() == 2);
}

TEST_CASE("No problem, no error") {
  Problems problems;
  CHECK(problems.empty());
  CHECK_NOTHROW(problems.throw_if_any());
}

TEST_CASE("All problems are reported together, with the given exit code") {
  Problems problems;
  problems.add("a", "first", "mend a");
  problems.add("b", "second");
  const auto refusal = refusal_of([&] { problems.throw_if_any(ExitCode::no); });
  CHECK(refusal.code == ExitCode::no);
  CHECK(refusal.lines == std::vector<std::string>{"a: first -- mend a", "b: second -- "});
}

TEST_CASE("Twenty problems are shown in full") {
  Problems problems;
  for (int i = 0; i < 20; ++i) problems.add("w", std::to_string(i));
  const auto refusal = refusal_of([&] { problems.throw_if_any(); });
  REQUIRE(refusal.lines.size() == 20);
  CHECK(refusal.lines.back() == "w: 19 -- ");
}

TEST_CASE("Problems beyond the twentieth are counted") {
  Problems problems;
  for (int i = 0; i < 1'000; ++i) problems.add("w", std::to_string(i));
  CHECK(problems.count() == 1'000);
  CHECK(problems.list().size() == 20);
  const auto refusal = refusal_of([&] { problems.throw_if_any(); });
  REQUIRE(refusal.lines.size() == 21);
  CHECK(refusal.lines[19] == "w: 19 -- ");
  CHECK(refusal.lines[20].find("980 more") != std::string::npos);
}

TEST_CASE("A word near a known one is recognised") {
  CHECK(nearest_word("1fb1", {"sequential", "gpipe", "1f1b"}) == "1f1b");
  CHECK(nearest_word("gpip", {"sequential", "gpipe", "1f1b"}) == "gpipe");
  CHECK(nearest_word("interleave", {"interleaved", "1f1b"}) == "interleaved");
  CHECK(nearest_word("microbatch", {"microbatch-size", "microbatches", "microbatchs"}) == "microbatchs");
  CHECK(nearest_word("zzzzzz", {"sequential", "gpipe", "1f1b"}).empty());
  CHECK(nearest_word(std::string(100'000, 'x'), {"1f1b"}).empty());
  CHECK(nearest_word("anything", {}).empty());
}

TEST_CASE("Did you mean comes before the list of known words") {
  CHECK(did_you_mean("lnik", {"latency", "link"}, "one of latency, link") ==
        "did you mean 'link'? one of latency, link");
  CHECK(did_you_mean("carrier-pigeon", {"latency", "link"}, "one of latency, link") == "one of latency, link");
}

TEST_CASE("User text is quoted, escaped and truncated") {
  CHECK(in_quotes("1fb1") == "'1fb1'");
  CHECK(in_quotes("") == "''");
  CHECK(in_quotes("a\x1b[31m\n\x7f") == "'a\\x1b[31m\\x0a\\x7f'");
  CHECK(in_quotes("µ") == "'µ'");
  CHECK(in_quotes("\xED\xA0\x80") == "'\\xed\\xa0\\x80'"); // half a surrogate pair
  CHECK(in_quotes("\xE0\x80\xAF") == "'\\xe0\\x80\\xaf'"); // a slash in three bytes
  CHECK(in_quotes("abcdef", 3) == "'abc'... (6 bytes)");
  CHECK(in_quotes(std::string(100'000, 'x')).size() < 100);
}

TEST_CASE("A violated assertion names the condition and the place") {
  const int stages = 0;
  CHECK_NOTHROW(PPSIM_ASSERT(stages == 0));
  CHECK_THROWS_AS(PPSIM_ASSERT(stages > 0), std::logic_error);
  CHECK_THROWS_WITH(PPSIM_ASSERT(stages > 0),
                    Catch::Contains("error_test.cpp") && Catch::Contains("'stages > 0' does not hold"));
}

} // namespace ppsim::test::error_test
