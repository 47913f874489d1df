// The interval between steps where stages do not meet: against steps that are run one after another, and against all
// orders of what is small.

#include "ppsim/base/random.hpp"
#include "ppsim/synthesis/interval.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>

namespace ppsim::test::interval_test {

using namespace synthesis;

namespace {

/// One chunk on each of two stages, whole backwards: F takes 1, B 2, transfers `comm`; each stage holds at most so
/// many.
Instance two_stages(std::uint32_t microbatches, std::int64_t comm, std::int64_t most) {
  Instance instance{.microbatches = microbatches, .capacity = {most, most}, .sequences = {}, .arcs = {}};
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    instance.sequences.push_back({.stage = stage, .duration = 1, .take = 1});
    instance.sequences.push_back({.stage = stage, .duration = 2, .give = 1, .tail = 1});
  }
  instance.arcs = {{0, 2, comm}, {2, 3, 0}, {3, 1, comm}};
  return instance;
}

/// When task j of `sequence` may start: `free`, or what it waits for.
std::int64_t earliest(const Instance& instance, const std::vector<std::int64_t>& start, std::uint16_t sequence,
                      std::size_t j, std::int64_t free) {
  for (const Arc& arc : instance.arcs)
    if (arc.to == sequence)
      free = std::max(free, start[arc.from * std::size_t{instance.microbatches} + j] +
                                instance.sequences[arc.from].duration + arc.lag);
  return free;
}

/// When stages can begin the next step, if they begin this one at `begin`. Task by task, over and over until nothing
/// moves, so that it has nothing of what it is held against.
std::vector<std::int64_t> next_begin(const Instance& instance, const Order& order,
                                     const std::vector<std::int64_t>& begin) {
  std::vector<std::int64_t> start(instance.tasks());
  std::vector<std::int64_t> next = begin;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < order.size(); ++stage) {
      std::int64_t free = begin[stage];
      std::vector<std::size_t> index(instance.sequences.size());
      for (const std::uint16_t sequence : order[stage]) {
        const std::size_t j = index[sequence]++;
        std::int64_t& at = start[sequence * std::size_t{instance.microbatches} + j];
        const std::int64_t before = std::exchange(at, earliest(instance, start, sequence, j, free));
        moved = moved || at != before;
        free = at + instance.sequences[sequence].duration;
        next[stage] = std::max(next[stage], free + instance.sequences[sequence].tail);
      }
    }
  }
  return next;
}

/// Of many steps, one after another: the mean of the later half, rounded up.
std::int64_t pace(const Instance& instance, const Order& order) {
  constexpr std::int64_t half = 24;
  std::vector<std::int64_t> begin(instance.stages());
  for (std::int64_t step = 0; step < half; ++step) begin = next_begin(instance, order, begin);
  const std::int64_t middle = std::ranges::max(begin);
  for (std::int64_t step = 0; step < half; ++step) begin = next_begin(instance, order, begin);
  return (std::ranges::max(begin) - middle + half - 1) / half;
}

/// Costs, transfers and room by chance; a chunk of a forward and a backward on each stage.
Instance drawn(SplitMix64& dice, std::uint32_t stages, std::uint32_t microbatches) {
  const auto up_to = [&dice](std::size_t most) { return static_cast<std::int64_t>(dice.below(most + 1)); };
  Instance instance{.microbatches = microbatches, .capacity = {}, .sequences = {}, .arcs = {}};
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    instance.capacity.push_back(1 + up_to(microbatches - 1));
    instance.sequences.push_back({.stage = stage, .duration = 1 + up_to(4), .take = 1});
    instance.sequences.push_back({.stage = stage, .duration = 1 + up_to(4), .give = 1, .tail = up_to(2)});
    if (stage > 0) {
      instance.arcs.push_back({2 * stage - 2, 2 * stage, up_to(3)});
      instance.arcs.push_back({2 * stage + 1, 2 * stage - 1, up_to(3)});
    }
  }
  instance.arcs.push_back({2 * stages - 2, 2 * stages - 1, 0});
  return instance;
}

/// Calls `visit` with every order.
template <class Visit>
void for_each_order(const Instance& instance, Visit visit) {
  Order order;
  for (std::size_t stage = 0; stage < instance.stages(); ++stage) {
    order.emplace_back(instance.microbatches, static_cast<std::uint16_t>(2 * stage));
    order.back().insert(order.back().end(), instance.microbatches, static_cast<std::uint16_t>(2 * stage + 1));
  }
  for (std::size_t stage = 0; stage < order.size();) { // as a counter whose digits are permutations
    if (stage == 0) visit(order);
    stage = std::ranges::next_permutation(order[stage]).found ? 0 : stage + 1;
  }
}

/// Of any stage, between its first start and its last end, if the others have nothing else to do.
std::int64_t longest_span(const Instance& instance, const Order& order) {
  std::int64_t longest = 0;
  for (std::uint32_t stage = 0; stage < instance.stages(); ++stage) {
    const SpanInstance span = span_instance(instance, stage);
    Order whole = order;
    whole.emplace_back(instance.microbatches, static_cast<std::uint16_t>(instance.sequences.size()));
    longest = std::max(longest, run(span.instance, whole).value().makespan - 2 * span.margin);
  }
  return longest;
}

} // namespace

TEST_CASE("One step runs into the next: the span of a stage counts, and not the makespan") {
  // stage 0: F F . B B, stage 1: F B F B; 1F1B's order takes 9 from the first F to the last B, with the tail 10, and
  // so does stage 0 from step to step; stage 1 works 6 of them
  const Instance instance = two_stages(2, 0, 2);
  const Interval interval = interval_of(instance, {{0, 0, 1, 1}, {2, 3, 2, 3}}).value();
  CHECK(interval.length == 10);
  CHECK(interval.starts == std::vector<std::int64_t>{0, 0});
  // F B F B on both: the second F waits for the first B to end, which takes 1+1+2+2
  CHECK(interval_of(instance, {{0, 1, 0, 1}, {2, 3, 2, 3}}).value().length == 13);
  CHECK_FALSE(interval_of(instance, {{1, 0, 0, 1}, {2, 3, 2, 3}})); // B before its F
}

TEST_CASE("Two stages can hold each other up for longer than the span of either") {
  // a on stage 0 starts c on stage 1, d there starts b on stage 0, each 10 later: a, b have nothing to wait for within
  // their stage, but round both a step takes 1 + 10 + 1 to the next
  Instance instance{.microbatches = 1, .capacity = {unlimited, unlimited}, .sequences = {}, .arcs = {}};
  instance.sequences = {{.stage = 0, .duration = 1},
                        {.stage = 0, .duration = 1},
                        {.stage = 1, .duration = 1},
                        {.stage = 1, .duration = 1}};
  instance.arcs = {{0, 2, 10}, {3, 1, 10}};
  const Order order{{0, 1}, {3, 2}};
  CHECK(longest_span(instance, order) == 2);
  CHECK(interval_of(instance, order).value().length == 12);
  CHECK(pace(instance, order) == 12);
}

TEST_CASE("The interval of an order is that of many steps, and of all orders none beats the bound") {
  SplitMix64 dice{7};
  std::size_t optimal = 0;
  for (int i = 0; i < 40; ++i) {
    const std::uint32_t stages = i % 2 == 0 ? 3 : 2;
    const Instance instance = drawn(dice, stages, stages == 2 ? 3 : 2);
    const FoundInterval found = search_interval(instance, {.effort = 1, .go_on = {}});
    REQUIRE(found.order);
    REQUIRE(fits(instance, *found.order));
    std::int64_t least = unlimited;
    for_each_order(instance, [&](const Order& order) {
      const std::optional<Interval> interval = interval_of(instance, order);
      REQUIRE(interval.has_value() == run(instance, order).has_value());
      if (!interval) return;
      REQUIRE(interval->length == pace(instance, order));
      if (fits(instance, order)) least = std::min(least, interval->length);
    });
    INFO("instance " << i);
    CHECK(found.bound <= least);
    CHECK(found.interval == least);
    optimal += found.bound == least ? 1 : 0;
  }
  CHECK(optimal > 30);
}

TEST_CASE("What is proven of the interval is proven of an instance that others can check") {
  const Instance instance = pipeline(wave(2), 4, {9, 9, 5, 4, 3});
  const FoundInterval found = search_interval(instance, {.effort = 1, .seed = 3, .go_on = {}});
  const SpanInstance span = span_instance(instance, found.stage);
  REQUIRE_FALSE(fault_of(span.instance));
  CHECK(found.found.bound == found.bound + 2 * span.margin);
  CHECK(found.found.plan.value().makespan <= found.interval + 2 * span.margin);
  CHECK(found.found.history.back().makespan == found.interval);
  CHECK(found.found.history.back().bound == found.bound);
  // shorter than any order for one step, whose stages meet
  CHECK(found.interval <= search(instance, {.effort = 1, .go_on = {}}).plan.value().makespan);
  const FoundInterval again = search_interval(instance, {.effort = 1, .seed = 3, .go_on = {}});
  CHECK(again.order == found.order);
  CHECK(again.bound == found.bound);
}

} // namespace ppsim::test::interval_test
