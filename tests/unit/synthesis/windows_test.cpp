// What must hold of every order that ends by a given time, with a pencil.

#include "ppsim/synthesis/search.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include "sim/synthesis/windows.hpp"

namespace ppsim::test::windows_test {

using namespace synthesis;

namespace {

/// Tasks of one stage, one microbatch, in no order.
Instance jobs(std::vector<Sequence> sequences) {
  Instance instance{.microbatches = 1, .capacity = {unlimited}, .sequences = std::move(sequences), .arcs = {}};
  return instance;
}

bool is_refuted(const Instance& instance, std::int64_t most) {
  const Views views{instance};
  Windows windows{views};
  return !windows.tighten(most);
}

/// The windows alone prove that, and no more.
void check_bound(const Instance& instance, std::int64_t bound) {
  CHECK(is_refuted(instance, bound - 1));
  CHECK_FALSE(is_refuted(instance, bound));
}

} // namespace

TEST_CASE("At first a task starts behind those of its sequence, and behind what leads to it over other stages too") {
  Instance instance = pipeline(linear(2), 3, {2, 3, 1, 5, unlimited}); // F0 I0 W0 F1 I1 W1
  instance.sequences[5].tail = 7;
  const Views views{instance};
  const Windows windows{views};
  CHECK(windows.head(0, 0) == 0);
  CHECK(windows.head(0, 2) == 4);          // F0 of microbatch 2
  CHECK(windows.head(1, 3 + 1) == 3);      // backwards, I0 of microbatch 1
  CHECK(windows.head(1, 15) == 7);         // W1 of the last one: the tail
  CHECK(windows.head(1, 17) == 7 + 2);     // and of the first one
  CHECK(windows.before(0, 3 + 1, 0) == 2); // I0(1): F0(0) and F0(1), by way of stage 1
  CHECK(windows.before(0, 6 + 2, 1) == 3); // W0(2): all of I0
  CHECK(windows.before(0, 0 + 1, 2) == 0); // F0(1): nothing of W0
  CHECK(windows.before(1, 0 + 1, 2) == 2); // backwards, F0 comes after W0
  CHECK(windows.before(0, 3 + 2, 1) == 2); // and each after those of its own
}

TEST_CASE("Without any rule that tries, the bound is the longest path with the work before and behind it") {
  const Instance instance = pipeline(linear(2), 4, {2, 3, 0, 1, unlimited});
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(unlimited, false));
  // stage 1: 4 of 2 + 3, between a forward and a link before and a link and a backward behind
  CHECK(windows.bound() == 3 + 20 + 4);
  CHECK(windows.head(0, 4 * 2) == 3);         // F1(0)
  CHECK(windows.head(0, 4) == 3 + 2 + 3 + 1); // B0(0)
}

TEST_CASE("What runs before a task on its stage has ended when it starts") {
  Instance instance = jobs({{0, 4}, {0, 5}, {0, 1}});
  instance.arcs = {{0, 2, 0}, {1, 2, 0}};
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(unlimited, false));
  CHECK(windows.head(0, 2) == 9); // not at 5, after the longer one
  CHECK(windows.head(1, 0) == 1);
}

TEST_CASE("A task that cannot run before another runs behind it") {
  // x with 10 after it first: 14. y first: 18
  const Instance instance = jobs({{.duration = 4, .tail = 10}, {.duration = 4}});
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(18));
  CHECK(windows.before(0, 1, 0) == 0);
  REQUIRE(windows.tighten(17));
  CHECK(windows.before(0, 1, 0) == 1); // by one nanosecond
  CHECK(windows.before(1, 0, 1) == 1); // and so it is backwards
  CHECK(windows.head(0, 1) == 4);
  check_bound(instance, 14);
}

TEST_CASE("Memory for one microbatch makes a step of all of them one by one") {
  const Instance instance = pipeline(linear(2), 3, {2, 3, 1, 5, 1});
  // F0, link, F1, I1, link, I0, W0 before the next F0; the last one ends with W0
  check_bound(instance, 3 * (2 + 5 + 2 + 3 + 5 + 3 + 1));
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(unlimited, false));
  CHECK(windows.before(0, 1, 2) == 1); // F0(1): W0(0)
  CHECK(windows.before(0, 2, 2) == 2);
  CHECK(windows.head(0, 1) == 21);
}

TEST_CASE("So many have to give memory as a task needs, rounded up") {
  // F takes 3 of 10 and W gives 3: the fifth F needs two of them back, and so on
  Instance instance = pipeline({0}, 5, {1, 1, 1, 0, 10});
  for (const std::size_t s : {0U, 2U}) (s == 0 ? instance.sequences[s].take : instance.sequences[s].give) = 3;
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(unlimited, false));
  CHECK(windows.before(0, 2, 2) == 0);
  CHECK(windows.before(0, 3, 2) == 1); // 12 of 10
  CHECK(windows.before(0, 4, 2) == 2);
}

TEST_CASE("Where two sequences give what a task needs, each share is looked at: many of one, or few of the other") {
  // h takes 3 that a gives back, x takes 4 that b gives back, 20 later. The second x is after both h and the first x,
  // which hold all 10: it needs both a, or one b
  Instance instance{.microbatches = 2, .capacity = {10}, .sequences = {}, .arcs = {}};
  instance.sequences = {
      {.duration = 1, .take = 3}, {.duration = 1, .give = 3}, {.duration = 1, .take = 4}, {.duration = 1, .give = 4}};
  instance.arcs = {{0, 1, 0}, {0, 2, 0}, {2, 3, 20}};
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(unlimited));
  CHECK(windows.head(0, 2 * 2 + 1) == 5);      // two h, two a, one x
  CHECK(windows.before(0, 2 * 2 + 1, 1) == 0); // none is in both shares
  CHECK(windows.before(0, 2 * 2 + 1, 3) == 0);
  REQUIRE(windows.tighten(30)); // by then b has not ended in time
  CHECK(windows.before(0, 2 * 2 + 1, 1) == 2);
  CHECK(windows.before(0, 2 * 2 + 1, 3) == 0);
}

TEST_CASE("An instance with a task that never fits is refuted at any makespan") {
  Instance instance = pipeline(linear(2), 3, {2, 3, 1, 5, 0});
  CHECK(is_refuted(instance, unlimited));
  instance.capacity = {1, 1};
  CHECK_FALSE(is_refuted(instance, unlimited));
  instance.sequences[4].take = 1; // I1, computed again beside the activation
  instance.sequences[4].give = 1;
  CHECK(is_refuted(instance, unlimited));
}

TEST_CASE("In a V what idles before and behind counts: half of 1F1B's memory") {
  // proven optimal elsewhere: 83 forwards of a chunk, where the busiest stage computes 72
  check_bound(pipeline(wave(4), 12, {500, 500, 500, 0, 4}), 41500);
  check_bound(pipeline(wave(4), 12, {500, 500, 500, 0, 6}), 38500);
}

TEST_CASE("The rules together prove what they did, no less") {
  check_bound(pipeline(loop(3, 2), 4, {7, 1, 4, 0, 2}), 168);
  check_bound(pipeline(loop(4, 2), 6, {4, 6, 5, 1, 5}), 244);
  const std::vector<std::pair<std::int64_t, std::int64_t>> by_capacity{
      {4, 1027924}, {5, 939056}, {6, 875025}, {8, 800196}};
  for (const auto& [capacity, bound] : by_capacity)
    check_bound(pipeline(wave(4), 8, {18522, 18086, 9337, 1202, capacity}), bound);
}

TEST_CASE("Windows that were tightened go on from there, and only ever know more") {
  const Instance instance = pipeline(wave(3), 5, {3, 4, 2, 1, 4});
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(unlimited, false));
  std::int64_t bound = windows.bound();
  for (std::int64_t most = 2 * bound; windows.tighten(most); most -= 7) {
    CHECK(windows.bound() >= bound);
    bound = windows.bound();
    Windows anew{views};
    REQUIRE(anew.tighten(most));
    for (const std::size_t d : {0U, 1U})
      for (std::size_t task = 0; task < instance.tasks(); ++task) REQUIRE(windows.head(d, task) >= anew.head(d, task));
  }
}

TEST_CASE("A task may start in time for the best order, and no earlier where all are shortest") {
  const Instance instance = pipeline(wave(3), 5, {3, 4, 2, 1, 4});
  const Plan best = search(instance, {.effort = 3}).plan.value();
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(best.makespan));
  const auto can_start_before = [&](std::size_t d, std::size_t task, std::int64_t time) {
    Windows supposed = windows;
    supposed.suppose_before(d, task, time);
    return supposed.tighten(best.makespan);
  };
  int shown = 0;
  for (std::size_t task = 0; task < instance.tasks(); ++task) {
    INFO("task " << task);
    const std::int64_t left = best.makespan - best.start[task] - views.duration(task / views.m);
    CHECK(can_start_before(0, task, best.start[task] + 1));
    CHECK(can_start_before(1, views.turned(task), left + 1));
    shown += can_start_before(0, task, best.start[task]) ? 0 : 1;
  }
  CHECK(shown == 38);
}

} // namespace ppsim::test::windows_test
