// Layers per chunk, as Megatron-LM splits them.

#include "ppsim/schedule/schedule.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace ppsim::test::partition_test {

using ppsim::test::refusal_of;
using Layers = std::vector<std::size_t>;

namespace {

Layers split(const Shape& shape, std::size_t total, std::optional<std::size_t> first = {},
             std::optional<std::size_t> last = {}) {
  return split_layers(shape, loop_placement(shape), total, first, last);
}

std::string refusal(const Shape& shape, std::size_t total, std::optional<std::size_t> first = {},
                    std::optional<std::size_t> last = {}) {
  const auto refusal = refusal_of([&] { (void)split(shape, total, first, last); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.first();
}

constexpr Shape four_by_two{.stages = 4, .microbatches = 8, .vpp = 2};
constexpr Shape eight{.stages = 8, .microbatches = 8, .vpp = 1};

} // namespace

TEST_CASE("Layers are distributed evenly over the chunks") {
  CHECK(split(four_by_two, 24) == Layers(8, 3));
  CHECK(split(eight, 8) == Layers(8, 1));
}

TEST_CASE("A remainder gives one layer more to the first chunks") {
  CHECK(split(eight, 22) == Layers{3, 3, 3, 3, 3, 3, 2, 2});
  CHECK(split(four_by_two, 10) == Layers{2, 2, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("The first and the last stage may have their own number, and the rest is distributed over the others") {
  CHECK(split(eight, 24, 2, 2) == Layers{2, 4, 4, 3, 3, 3, 3, 2}); // 20 over 6
  CHECK(split(eight, 29, 1) == Layers{1, 4, 4, 4, 4, 4, 4, 4});
  CHECK(split(eight, 29, {}, 1) == Layers{4, 4, 4, 4, 4, 4, 4, 1});
}

TEST_CASE("A stage's own number is divided over its chunks, which loop placement puts p apart") {
  // Stage 0 holds chunks 0 and 4, stage 3 holds 3 and 7; 24 - 2 - 4 = 18 over the 4 others
  CHECK(split(four_by_two, 24, 2, 4) == Layers{1, 5, 5, 2, 1, 4, 4, 2});
}

TEST_CASE("Two stages with their own numbers must hold all layers") {
  const Shape two{.stages = 2, .microbatches = 1, .vpp = 1};
  CHECK(split(two, 7, 3, 4) == Layers{3, 4});
  CHECK(refusal(two, 8, 3, 4) == "`layers`: 8 layers, but the first and last stage hold 7 -- make the counts add up");
}

TEST_CASE("A chunk without a layer is refused") {
  CHECK(refusal(eight, 7).starts_with("`layers`: 7 layers cannot fill 8 chunks"));
  CHECK(refusal(eight, 10, 3, 3)
            .starts_with("`layers`: 10 layers cannot fill 6 chunks in addition to the 6 on the first and last stage"));
  CHECK(refusal(eight, 10, 11).starts_with("`layers`: 10 layers cannot fill"));
}

TEST_CASE("A stage's own number must divide over its chunks") {
  CHECK(refusal(four_by_two, 24, 3) ==
        "`first-stage-layers`: 3 layers do not divide over the 2 chunks of that stage -- give a multiple of 2");
  CHECK(refusal(four_by_two, 24, {}, 5).starts_with("`last-stage-layers`: 5 layers do not divide"));
}

TEST_CASE("One stage has no separate first and last numbers") {
  const Shape one{.stages = 1, .microbatches = 1, .vpp = 1};
  CHECK(split(one, 5) == Layers{5});
  CHECK(split(one, 5, 5) == Layers{5});
  CHECK(refusal(one, 5, 4).starts_with("`first-stage-layers`: there is only one stage"));
  CHECK(refusal(one, 5, {}, 5).starts_with("`last-stage-layers`: there is only one stage"));
}

} // namespace ppsim::test::partition_test
