// Descents: an order is kept if it is no longer, and the same dice lead to the same one.

#include "ppsim/synthesis/search.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include "sim/synthesis/descents.hpp"

namespace ppsim::test::descents_test {

using namespace synthesis;

namespace {

const auto never = [](std::int64_t) { return false; };

/// Two stages with three chunks each and room for two microbatches.
Instance loops() {
  return pipeline({0, 1, 0, 1, 0, 1}, 2, {10, 13, 8, 4, 6});
}

/// One microbatch after the other.
Plan one_by_one(const Instance& instance) {
  Order order(2);
  for (std::size_t i = 0; i < instance.microbatches; ++i)
    for (std::size_t pass = 0; pass < 3; ++pass)
      for (std::size_t chunk = 0; chunk < 6; ++chunk) {
        const std::size_t at = pass == 1 ? 5 - chunk : chunk;
        order[at % 2].push_back(static_cast<std::uint16_t>(3 * at + pass));
      }
  return run(instance, order).value();
}

} // namespace

TEST_CASE("Descents find the shortest order of a small pipeline") {
  const Instance instance = loops();
  const Views views{instance};
  Descent descent{one_by_one(instance), SplitMix64{1}};
  CHECK(descend(views, descent, 200, 0, never).plans.size() == 1);
  CHECK(descent.plan.makespan == search(instance, {}).bound);
}

TEST_CASE("A descent never keeps a longer order, nor one that does not fit") {
  const Instance instance = pipeline(wave(4), 8, {9, 9, 5, 4, 5}); // from most orders 200 moves do not lead to the best
  const Views views{instance};
  Descent descent{search(instance, {}).plan.value(), SplitMix64{1}};
  const std::int64_t first = descent.plan.makespan;
  std::int64_t before = first;
  for (int i = 0; i < 60; ++i) {
    const Part part = descend(views, descent, 1, 0, never);
    CHECK(descent.plan.makespan <= before);
    CHECK(part.plans.size() == (descent.plan.makespan < before ? 1 : 0));
    CHECK(fits(instance, descent.plan.order));
    CHECK(run(instance, descent.plan.order).value().makespan == descent.plan.makespan);
    before = descent.plan.makespan;
  }
  CHECK(before < first);
}

TEST_CASE("Descents with the same dice are the same with any compiler, and end where that is asked for") {
  const Instance instance = loops();
  const Views views{instance};
  const Descent start{one_by_one(instance), SplitMix64{7}};
  Descent ten = start;
  const Part part = descend(views, ten, 10, 0, never);
  CHECK(ten.plan.makespan == 225);
  CHECK(part.steps == 10 * 201 * instance.tasks());
  CHECK(descend(views, ten, 10, ten.plan.makespan, never).steps == 0);

  Descent few = start;
  std::size_t asked = 0;
  const Part first = descend(views, few, 10, 0, [&asked](std::int64_t) { return ++asked > 4; });
  CHECK(asked == 5);
  CHECK(first.steps < part.steps);
  REQUIRE(first.plans.size() == 1);
  CHECK(first.plans.front().order == few.plan.order);
  CHECK(first.steps + descend(views, few, 6, 0, never).steps == part.steps);
  CHECK(few.plan.order == ten.plan.order);
}

} // namespace ppsim::test::descents_test
