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

TEST_CASE("Descents find the shortest order of a small pipeline, and never keep a longer one") {
  const Instance instance = loops();
  const Views views{instance};
  const Plan start = one_by_one(instance);
  const std::int64_t bound = search(instance, {}).bound;
  Descent descent{start, SplitMix64{1}};
  std::int64_t before = start.makespan;
  for (int i = 0; i < 40; ++i) {
    const Part part = descend(views, descent, 5, 0, never);
    CHECK(descent.plan.makespan <= before);
    CHECK(part.plans.size() == (descent.plan.makespan < before ? 1 : 0));
    CHECK(fits(instance, descent.plan.order));
    CHECK(run(instance, descent.plan.order).value().makespan == descent.plan.makespan);
    before = descent.plan.makespan;
  }
  INFO(start.makespan << " to " << before << ", not below " << bound);
  CHECK(before == bound);
}

TEST_CASE("Descents with the same dice are the same, and end where that is asked for") {
  const Instance instance = loops();
  const Views views{instance};
  Descent one{one_by_one(instance), SplitMix64{7}};
  Descent other = one;
  const Part part = descend(views, one, 10, 0, never);
  CHECK(part.steps == descend(views, other, 10, 0, never).steps);
  CHECK(one.plan.order == other.plan.order);
  CHECK(descend(views, one, 10, one.plan.makespan, never).steps == 0);
  CHECK(descend(views, one, 10, 0, [](std::int64_t) { return true; }).steps == 0);
}

} // namespace ppsim::test::descents_test
