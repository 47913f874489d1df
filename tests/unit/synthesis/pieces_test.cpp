// Pieces of an order: what a pair leaves of its tasks in a bound, how pieces run, and which neighbours join.

#include "ppsim/synthesis/pieces.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

namespace ppsim::test::pieces_test {

using namespace synthesis;

namespace {

/// A stage with F = 4, I = 6, W = 5; pairs of F and I in `pair`, of F and a whole backward in 8.
Pieces one_stage(std::int64_t pair, std::int64_t capacity = unlimited) {
  return {pipeline(linear(1), 3, {4, 6, 5, 0, capacity}), {{{0, 1}, pair, false}, {{0, 1, 2}, 8, true}}};
}

constexpr std::uint16_t F = 0, I = 1, W = 2, pair = 3, whole_pair = 4;

} // namespace

TEST_CASE("A pair leaves the forward what its backward does not take, and the forward's result takes its time") {
  const Instance longer = relaxed({one_stage(9).instance, {{{0, 1}, 9, false}}});
  CHECK(longer.sequences[F].duration == 3);
  CHECK(longer.sequences[I].duration == 6);
  CHECK(longer.arcs[0].lag == 1); // from F: its result comes 4 after its start
  CHECK(longer.arcs[1].lag == 0);
  const Instance shorter = relaxed(one_stage(3)); // both pairs: 0 + 3, and 0 + 3 + 5
  CHECK(shorter.sequences[F].duration == 0);
  CHECK(shorter.sequences[I].duration == 3);
  CHECK(shorter.sequences[W].duration == 5);
  CHECK(shorter.arcs[0].lag == 3); // no more than the pair
  CHECK(shorter.arcs[1].lag == 0);
  const Instance by_whole = relaxed(one_stage(10)); // 0 + 3 + 5 in the whole pair only
  CHECK(by_whole.sequences[I].duration == 3);
  CHECK(by_whole.arcs[0].lag == 4);
  CHECK(by_whole.arcs[1].lag == 0); // in a pair W begins at once
}

TEST_CASE("A pair starts when both have their inputs, and ends after its own time") {
  const std::optional<PiecePlan> plan = run(one_stage(7), {{F, pair, W, whole_pair, I, W}});
  REQUIRE(plan);
  CHECK(plan->plan.makespan == 4 + 7 + 5 + 8 + 6 + 5);
  CHECK(plan->plan.order == Order{{F, F, I, W, F, I, W, I, W}});
  CHECK(plan->plan.start == std::vector<std::int64_t>{0, 4, 16, 4, 16, 24, 11, 16, 30});
}

TEST_CASE("A pair does not run whose backward waits for its forward, or whose backward is of two microbatches") {
  CHECK_FALSE(run(one_stage(7), {{pair, W, F, F, I, W, I, W}}));
  CHECK_FALSE(run(one_stage(7), {{F, F, I, whole_pair, I, W, W}}));
}

TEST_CASE("A pair holds what both take before it gives anything") {
  CHECK_FALSE(run(one_stage(7, 1), {{F, pair, W, whole_pair, I, W}}));
  CHECK(run(one_stage(7, 2), {{F, pair, W, whole_pair, I, W}}));
}

TEST_CASE("Neighbours join if the pair is shorter, fits and runs") {
  const auto joined = [](std::int64_t duration, std::int64_t capacity, Order order) {
    return join({one_stage(0, capacity).instance, {{{0, 1}, duration, false}}}, std::move(order)).value().order;
  };
  const Order alone{{F, F, I, W, F, I, W, I, W}};
  CHECK(joined(7, unlimited, alone) == Order{{F, pair, W, pair, W, I, W}});
  CHECK(joined(10, unlimited, alone) == alone);
  CHECK(joined(7, unlimited, {{F, I, W, F, I, W, F, I, W}}) == Order{{F, I, W, F, I, W, F, I, W}});
  CHECK(joined(7, unlimited, {{F, I, F, I, W, W, F, I, W}}) == Order{{F, pair, I, W, W, F, I, W}}); // I F: any order
}

} // namespace ppsim::test::pieces_test
