// Guides that are not by windows: microbatches in waves, and the starts of an order.

#include "ppsim/synthesis/search.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "sim/synthesis/holding.hpp"
#include "sim/synthesis/waves.hpp"

namespace ppsim::test::waves_test {

using namespace synthesis;

namespace {

using Times = std::vector<std::int64_t>;

/// Two stages, transfers of 4: a microbatch alone runs F0 0-2, F1 6-8, I1 8-11, W1 11-12, I0 15-18, W0 18-19.
Instance two_stages(std::uint32_t microbatches, std::int64_t capacity) {
  return pipeline(linear(2), microbatches, {2, 3, 1, 4, capacity});
}

struct Known {
  explicit Known(const Instance& instance) : views{instance}, root{views} { REQUIRE(root.tighten(unlimited, false)); }
  Views views;
  Windows root;
};

} // namespace

TEST_CASE("For how many microbatches a stage has room, and for how long they leave it") {
  const Instance instance = two_stages(4, 3);
  const Known known{instance};
  const std::vector<Holding> holdings = holdings_of(known.views, known.root);
  REQUIRE(holdings.size() == 2);
  CHECK(holdings[0].taker == 0);
  CHECK(holdings[0].room == 3);
  CHECK(holdings[0].away == 15 - 2);
  CHECK(holdings[1].taker == 3);
  CHECK(holdings[1].away == 0);
}

TEST_CASE("What another task takes while it runs is no room for microbatches") {
  Instance instance = two_stages(8, 6);
  instance.sequences[1].take = 2; // I0 restores that much, and gives it back
  instance.sequences[1].give = 2;
  const Known known{instance};
  const std::vector<Holding> holdings = holdings_of(known.views, known.root);
  REQUIRE(holdings.size() == 2);
  CHECK(holdings[0].room == 4);
  CHECK(holdings[1].room == 6);
  // the fifth waits for the first, which leaves after 19
  CHECK(Waves(known.views, known.root).starts({.together = 1, .pace = 0})[4] >= 19);
}

TEST_CASE("A microbatch's way leads over a stage whose tasks take no time") {
  Instance instance = pipeline(linear(3), 4, {2, 3, 1, 4, 3});
  for (const std::size_t s : {3U, 4U, 5U}) instance.sequences[s].duration = 0;
  const Known known{instance};
  const Guide guide = Waves(known.views, known.root).guide({.together = 1, .pace = 0});
  CHECK(guide.urgency[6 * 4] == 10); // F2 after F0, and two transfers
  CHECK(guide.urgency[4 * 4] == 19); // I1, after F2, I2 and three transfers
}

TEST_CASE("When a step begins on other stages is not on a microbatch's way") {
  Instance instance = two_stages(2, 2);
  const Known alone{instance};
  instance.sequences.push_back({.stage = 2}); // takes no time
  instance.capacity.push_back(unlimited);
  instance.arcs.push_back({6, 3, 1000}); // F1
  const Known shifted{instance};
  const Wave wave{.together = 1, .pace = 0};
  CHECK(Waves(shifted.views, shifted.root).starts(wave) == Waves(alone.views, alone.root).starts(wave));
}

TEST_CASE("Without a limit, and with two chunks on a stage, there are no waves") {
  const Instance unbounded = two_stages(4, unlimited);
  const Known known{unbounded};
  CHECK_FALSE(Waves(known.views, known.root).exist());
  const Instance chunks = pipeline(wave(2), 4, {2, 3, 1, 4, 4});
  const Known of_chunks{chunks};
  CHECK_FALSE(Waves(of_chunks.views, of_chunks.root).exist());
}

TEST_CASE("Microbatches start as early as none waits for another") {
  // F1 and I1 of two meet if they start less than 5 apart, F0 and I0 if between 13 and 18
  const Instance instance = two_stages(2, 2);
  const Known known{instance};
  const Waves waves{known.views, known.root};
  REQUIRE(waves.exist());
  // the third: 19 after the first for its memory, which is 14 after the second; the fourth: 5 after the third
  CHECK(waves.starts({.together = 1, .pace = 0}) == Times{0, 5, 23, 28});
  SECTION("at some pace") {
    const Instance more = two_stages(4, 4); // 6 of work; the fifth needs memory 19 after the first
    const Known all{more};
    CHECK(Waves(all.views, all.root).starts({.together = 1, .pace = 1}) == Times{0, 6, 12, 18, 24, 30, 36, 42});
    CHECK(Waves(all.views, all.root).starts({.together = 2, .pace = 1}) == Times{0, 5, 12, 18, 24, 30, 36, 42});
  }
  SECTION("and tasks aside when their memory is needed") {
    const Guide guide = waves.guide({.together = 1, .pace = 0, .early = 2, .wait = 0.7});
    CHECK(guide.direction == 0);
    CHECK(guide.wait == 0.7);
    CHECK(guide.urgency == Times{0, 5, 15, 20, 23 - 2, 28 - 2,           // F0, I0, W0
                                 6, 11, 8, 13, 23 + 6 - 2, 28 + 6 - 2}); // F1, I1, W1
  }
}

TEST_CASE("Microbatches start as early as they can without meeting one before, at their pace, in memory") {
  SplitMix64 dice{11};
  for (int trial = 0; trial < 60; ++trial) {
    const auto from = [&](std::size_t least, std::size_t most) {
      return static_cast<std::int64_t>(least + dice.below(most - least + 1));
    };
    PipelineCosts costs;
    costs.forward = from(1, 6);
    costs.input_grad = from(1, 6);
    costs.weight_grad = from(0, 4);
    costs.lag = from(0, 9);
    costs.capacity = from(1, 6);
    const auto stages = static_cast<std::uint32_t>(from(2, 5));
    const Instance instance = pipeline(linear(stages), 12, costs);
    const Known known{instance};
    const Wave wave = draw_wave(dice);
    const Times starts = Waves(known.views, known.root).starts(wave);
    const std::uint32_t passes = costs.weight_grad > 0 ? 3 : 2;
    const auto begin = [&](std::size_t s) { return known.root.head(0, s * 12); };
    const auto end = [&](std::size_t s) { return begin(s) + known.views.duration(s); };
    const auto meet = [&](std::int64_t later) { // two microbatches, started so far apart
      for (std::size_t stage = 0; stage < stages; ++stage)
        for (std::size_t one = passes * stage; one < passes * stage + 2; ++one)
          for (std::size_t other = passes * stage; other < passes * stage + 2; ++other)
            if (begin(one) < later + end(other) && later + begin(other) < end(one)) return true;
      return false;
    };
    const double step = wave.pace * static_cast<double>(wave.together) *
                        static_cast<double>(costs.forward + costs.input_grad + costs.weight_grad);
    for (std::size_t j = 1; j < starts.size(); ++j) {
      std::int64_t least = starts[j - 1];
      if (j >= wave.together) least = std::max(least, starts[j - wave.together] + static_cast<std::int64_t>(step));
      const auto room = static_cast<std::size_t>(costs.capacity);
      for (std::size_t stage = 0; j >= room && stage < stages; ++stage)
        least = std::max(least, starts[j - room] + end(passes * stage + passes - 1) - begin(passes * stage));
      const auto meets_one = [&](std::int64_t start) {
        return std::any_of(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(j),
                           [&](std::int64_t before) { return meet(start - before); });
      };
      CHECK(starts[j] >= least);
      CHECK_FALSE(meets_one(starts[j]));
      for (std::int64_t start = least; start < starts[j]; ++start) CHECK(meets_one(start));
    }
  }
}

TEST_CASE("Waves by chance stay in their ranges, and near another they are much like it") {
  SplitMix64 dice{3};
  for (int i = 0; i < 200; ++i) {
    const Wave wave = draw_wave(dice);
    CHECK((wave.together >= 1 && wave.together <= 4));
    CHECK((wave.pace >= 0.95 && wave.pace <= 1.25));
    CHECK((wave.early >= 1 && wave.early <= 4));
    Wave near = draw_near(wave, dice);
    CHECK(near.together == wave.together);
    CHECK(std::abs(near.pace - wave.pace) <= 0.03);
    CHECK(std::abs(near.early - wave.early) <= 0.75);
    for (int again = 0; again < 20; ++again) near = draw_near(near, dice);
    CHECK((near.early >= 0 && near.early <= 5));
    CHECK((near.wait >= 0 && near.wait <= 1));
  }
}

TEST_CASE("The starts of an order lead to it, forwards and backwards") {
  const Instance instance = two_stages(3, 2);
  const Views views{instance};
  const Plan plan = search(instance, {.effort = 1, .go_on = {}}).plan.value();
  for (const std::size_t direction : {0U, 1U})
    CHECK(make_order(views, guide_of(views, plan, direction, 1)).value().makespan <= plan.makespan);
  CHECK(guide_of(views, plan, 0, 1).urgency == plan.start);
  // the last task of the first sequence is the first one backwards
  CHECK(guide_of(views, plan, 1, 1).urgency[0] == plan.makespan - plan.start[2] - 2);
}

} // namespace ppsim::test::waves_test
