// Fewer stages: what is left of an instance, which stages say most, and what they show.

#include "ppsim/synthesis/search.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include "sim/synthesis/levels.hpp"

namespace ppsim::test::levels_test {

using namespace synthesis;

namespace {

using Stages = std::vector<std::uint32_t>;
using PerLevel = std::vector<Stages>;

PerLevel levels_of(const Instance& instance) {
  const Views views{instance};
  Windows root{views};
  REQUIRE(root.tighten(unlimited, false));
  return stages_of_levels(views, root);
}

std::vector<std::array<std::int64_t, 3>> arcs_of(const Instance& instance) {
  std::vector<std::array<std::int64_t, 3>> arcs;
  for (const Arc& arc : instance.arcs) arcs.push_back({arc.from, arc.to, arc.lag});
  return arcs;
}

} // namespace

TEST_CASE("Tasks of a stage that is left out are lags and tails") {
  Instance instance = pipeline(linear(3), 2, {5, 4, 2, 1, 3});
  instance.sequences[5].tail = 7; // W1
  const Views views{instance};
  const FewStages few = keep_stages(views, Stages{0, 2});
  CHECK(few.sequences == Stages{0, 1, 2, 6, 7, 8});
  CHECK(few.instance.microbatches == 2);
  CHECK(few.instance.capacity == std::vector<std::int64_t>{3, 3});
  // F0, I0, W0, F2, I2, W2: over F1, over I1, and from F0 to I0 over both
  CHECK(arcs_of(few.instance) ==
        std::vector<std::array<std::int64_t, 3>>{
            {0, 1, 1 + 5 + 4 + 1}, {0, 3, 1 + 5 + 1}, {1, 2, 0}, {3, 4, 0}, {4, 1, 1 + 4 + 1}, {4, 5, 0}});
  CHECK(few.instance.sequences[0].tail == 1 + 5 + 4 + 2 + 7); // F1, I1, W1
  CHECK(few.instance.sequences[4].tail == 1 + 4 + 2 + 7);
  CHECK(few.instance.sequences[1].tail == 0);
  CHECK(few.instance.sequences[3].stage == 1);
  CHECK(few.instance.sequences[2].give == 1);
  CHECK_FALSE(fault_of(few.instance));
}

TEST_CASE("No order of all stages is shorter than the best of some") {
  const Instance instance = pipeline(linear(3), 5, {5, 4, 2, 3, 2});
  const Found all = search(instance, {.effort = 4, .go_on = {}});
  REQUIRE(all.bound == all.plan->makespan);
  const Views views{instance};
  for (const Stages& stages : {Stages{0}, Stages{2}, Stages{0, 1}, Stages{0, 2}, Stages{0, 1, 2}}) {
    const FewStages few = keep_stages(views, stages);
    const Found some = search(few.instance, {.effort = 4, .go_on = {}});
    REQUIRE(some.bound == some.plan->makespan);
    CHECK(some.bound <= all.bound);
    CHECK((some.bound == all.bound || stages.size() < 3));
  }
}

TEST_CASE("The stages to begin with are those where memory is held longest, and where microbatches turn") {
  CHECK(levels_of(pipeline(linear(10), 30, {5, 4, 2, 1, 10})).empty());
  CHECK(levels_of(pipeline(linear(11), 30, {5, 4, 2, 1, 11})) == PerLevel{Stages{0, 7, 8, 9, 10}});
  CHECK(levels_of(pipeline(linear(19), 30, {5, 4, 2, 1, 19})) ==
        PerLevel{Stages{0, 15, 16, 17, 18}, Stages{0, 11, 12, 13, 14, 15, 16, 17, 18}});
  CHECK(levels_of(pipeline(linear(19), 30, {5, 4, 2, 1})).empty());       // memory without limit
  CHECK(levels_of(pipeline(wave(19), 30, {5, 4, 2, 1, 2 * 19})).empty()); // several chunks a stage
  Instance uneven = pipeline(linear(11), 30, {5, 4, 2, 1, 11});
  uneven.capacity[3] = 2;
  CHECK(levels_of(uneven) == PerLevel{Stages{3, 7, 8, 9, 10}});
  uneven.capacity.push_back(0); // a stage whose task takes no memory, as of what begins a step
  uneven.sequences.push_back({.stage = 11});
  CHECK(levels_of(uneven) == PerLevel{Stages{3, 7, 8, 9, 10}});
  uneven.sequences[1].take = 1; // recomputation for I0
  uneven.sequences[2].give = 2;
  CHECK(levels_of(uneven).empty());
}

TEST_CASE("One step at a time leads to the end") {
  const Instance instance = pipeline(linear(11), 8, {5, 4, 2, 1, 4});
  const Views views{instance};
  Windows root{views};
  REQUIRE(root.tighten(unlimited, false));
  Levels levels{views, root, 1};
  for (int turn = 0; !levels.are_done(); ++turn) {
    REQUIRE(turn < 10'000);
    levels.extend(root, 1, [] { return true; });
  }
}

TEST_CASE("A few stages raise the bound in fewer steps than all") {
  const Instance instance = pipeline(linear(12), 36, {8, 8, 4, 4, 12});
  const Views views{instance};
  Windows root{views};
  REQUIRE(root.tighten(unlimited, false));
  const std::int64_t before = root.bound();
  const std::function<bool()> always = [] { return true; };
  Windows by_few = root;
  Levels levels{views, by_few, 1};
  while (!levels.has_all_stages()) levels.extend(by_few, 100'000, always);
  Windows by_all = root;
  BothEnds ends{views, 1, whole_length(instance)};
  ends.extend(by_all, levels.steps(), always);
  CHECK(by_few.bound() > before);
  CHECK(by_few.bound() > by_all.bound());
}

} // namespace ppsim::test::levels_test
