// When a set of tasks can have ended, against a loop over them.

#include <catch2/catch.hpp>

#include <random>

#include "sim/synthesis/earliest_end.hpp"

namespace ppsim::test::earliest_end_test {

using synthesis::EarliestEnd;

TEST_CASE("Nothing has no end, one task ends when it is done, and the second run of work counts where it is later") {
  const std::vector<std::int64_t> starts{0, 5, 10};
  EarliestEnd set;
  set.reset(starts);
  CHECK(set.end() == EarliestEnd::none);
  set.insert(2, 1);
  CHECK(set.end() == 11);
  set.insert(0, 4); // 0-4, then idle
  CHECK(set.end() == 11);
  set.insert(1, 7); // 5-12, and what starts at 10 after it
  CHECK(set.end() == 13);
  set.reset(starts);
  CHECK(set.end() == EarliestEnd::none);
}

TEST_CASE("Whatever is inserted, in whatever order, the end is that of the tasks one by one by rising start") {
  std::mt19937 random{1};
  for (int round = 0; round < 500; ++round) {
    const std::size_t size = 1 + random() % 40;
    std::vector<std::int64_t> start(size);
    for (std::int64_t& each : start) each = static_cast<std::int64_t>(random() % 60);
    std::ranges::sort(start);
    std::vector<std::size_t> places(size);
    for (std::size_t i = 0; i < size; ++i) places[i] = i;
    std::ranges::shuffle(places, random);
    std::vector<std::int64_t> duration(size, -1); // -1: not there yet
    EarliestEnd set;
    set.reset(start);
    for (const std::size_t place : places) {
      duration[place] = static_cast<std::int64_t>(random() % 6);
      set.insert(place, duration[place]);
      std::int64_t end = EarliestEnd::none;
      for (std::size_t i = 0; i < size; ++i)
        if (duration[i] >= 0) end = std::max(end, start[i]) + duration[i];
      REQUIRE(set.end() == end);
    }
  }
}

} // namespace ppsim::test::earliest_end_test
