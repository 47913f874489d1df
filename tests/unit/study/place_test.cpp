// place_operations(): the stalls that people reported are gone, the tasks stay where they are.

#include "ppsim/engine/hang.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/place.hpp"
#include "support/lowered.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace ppsim::test::place_test {

using namespace std::chrono_literals;

namespace {

TaskGraph generated(std::string_view name, const Shape& shape, Duration comm) {
  ScheduleRequest request;
  request.shape = shape;
  const auto v = static_cast<std::int64_t>(shape.vpp);
  return lower(make_schedule(find_generator(name), request), uniform_scenario(shape, v * 1us, v * 2us, comm));
}

Duration without_contention(const TaskGraph& graph) {
  return end_of(simulate(graph)).time_since_epoch();
}

/// Fits its schedule and runs to its end in the time that it claims.
void check_result(const TaskGraph& graph, const Placement& placement, Communicators communicators) {
  check_operations(graph.schedule(), placement.order, "placed");
  CHECK_FALSE(find_hang(graph.schedule(), placement.order, communicators));
  CHECK(end_of(simulate(graph, placement.order, communicators)).time_since_epoch() == placement.after);
}

} // namespace

TEST_CASE("The stalls of pytorch#172668 disappear: two stages of two chunks, a receive posted before a send") {
  const TaskGraph graph = generated("interleaved", {.stages = 2, .microbatches = 8, .vpp = 2}, 10ns);
  const CommOrder pytorch = test::operations(graph, "pytorch");
  for (const Communicators communicators : {Communicators::group, Communicators::pair}) {
    const Placement placement = place_operations(graph, pytorch, communicators);
    check_result(graph, placement, communicators);
    CHECK(placement.stalls_before > 0ns);
    CHECK(placement.before > without_contention(graph));
    CHECK(placement.stalls_after == 0ns);
    CHECK(placement.after == without_contention(graph));
    CHECK(placement.moved > 0);
  }
}

TEST_CASE("The stalls of pytorch#188833 disappear: eight stages of two chunks, receives in front cost half a step") {
  const TaskGraph graph = generated("interleaved", {.stages = 8, .microbatches = 16, .vpp = 2}, 10ns);
  const Placement placement = place_operations(graph, test::operations(graph, "pytorch"), Communicators::group);
  check_result(graph, placement, Communicators::group);
  CHECK(10 * placement.before > 14 * without_contention(graph));
  CHECK(placement.after == without_contention(graph));
  CHECK(placement.stalls_after == 0ns);
}

TEST_CASE("An order without stalls stays unchanged") {
  const TaskGraph graph = generated("interleaved", {.stages = 8, .microbatches = 16, .vpp = 2}, 10ns);
  const CommOrder pytorch = test::operations(graph, "pytorch");
  const Placement placement = place_operations(graph, pytorch, Communicators::pair); // pairs do not hold each other up
  CHECK(placement.order == pytorch);
  CHECK(placement.moved == 0);
  CHECK(placement.before == placement.after);
}

TEST_CASE("Groups and waits of the given order are removed, even if nothing moves") {
  const TaskGraph graph = generated("1f1b", {.stages = 4, .microbatches = 8, .vpp = 1}, 3us);
  const Placement placement = place_operations(graph, test::operations(graph, "megatron"), Communicators::group);
  check_result(graph, placement, Communicators::group);
  for (const CommOp& op : placement.order.ops()) CHECK_FALSE((op.joins || op.holds));
  CHECK(placement.before == 93us);
  CHECK(placement.after == 121us); // groups carry both directions at once
}

TEST_CASE("An order that hangs is replaced by one that runs") {
  const TaskGraph graph = generated("1f1b", {.stages = 2, .microbatches = 4, .vpp = 1}, 10ns);
  const CommOrder late = test::operations(graph, "just-in-time");
  REQUIRE(find_hang(graph.schedule(), late, Communicators::pair)); // both send, then both receive
  const Placement placement = place_operations(graph, late, Communicators::pair);
  check_result(graph, placement, Communicators::pair);
  CHECK(placement.before == 0ns);
  CHECK(placement.after == without_contention(graph));
}

} // namespace ppsim::test::place_test
