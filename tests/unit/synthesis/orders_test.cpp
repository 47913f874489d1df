// Orders of sequences with a pencil: when their tasks run, what they hold, and what is wrong with an instance.

#include "ppsim/synthesis/instance.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

namespace ppsim::test::orders_test {

using synthesis::Instance;
using synthesis::Order;
using synthesis::Plan;

namespace {

/// Two stages with whole backwards, sequences F0 B0 F1 B1, and 1F1B on them.
Instance two_stages() {
  return pipeline(linear(2), 2, {1, 2, 0, 2, synthesis::unlimited});
}
const Order one_f_one_b{{0, 0, 1, 1}, {2, 3, 2, 3}};

std::string fault(const Instance& instance) {
  return std::string{fault_of(instance).value_or("none")};
}

} // namespace

TEST_CASE("Each task starts when its stage is free and what it waits for has come") {
  const Plan plan = run(two_stages(), one_f_one_b).value();
  // F0 at 0 and 1, over the link by 3 and 4; F1 3-4, B1 4-6, F1 6-7, B1 7-9; back by 8 and 11
  CHECK(plan.start == std::vector<std::int64_t>{0, 1, 8, 11, 3, 6, 4, 7});
  CHECK(plan.makespan == 13);
  CHECK(plan.order == one_f_one_b);
}

TEST_CASE("A lag on one stage leaves it idle where nothing else runs") {
  Instance instance = pipeline({0}, 2, {1, 1, 0, 0, synthesis::unlimited});
  instance.arcs[0].lag = 3;
  CHECK(run(instance, {{0, 1, 0, 1}}).value().makespan == 10);
  CHECK(run(instance, {{0, 0, 1, 1}}).value().makespan == 6);
}

TEST_CASE("A tail counts from the end of its sequence's last task") {
  Instance instance = two_stages();
  instance.sequences[1].tail = 1;
  CHECK(run(instance, one_f_one_b).value().makespan == 14);
  instance.sequences[3].tail = 10; // 9 + 10
  CHECK(run(instance, one_f_one_b).value().makespan == 19);
}

TEST_CASE("An order whose tasks wait for each other does not run") {
  CHECK_FALSE(run(two_stages(), {{1, 0, 0, 1}, {2, 3, 2, 3}}));
  // each stage first runs what waits for what the other one runs second
  Instance crossed{.microbatches = 1, .capacity = {1, 1}, .sequences = {{0, 1}, {0, 1}, {1, 1}, {1, 1}}, .arcs = {}};
  crossed.arcs = {{0, 2, 0}, {3, 1, 0}};
  CHECK_FALSE(run(crossed, {{1, 0}, {2, 3}}));
  CHECK(run(crossed, {{0, 1}, {2, 3}}).value().makespan == 4);
}

TEST_CASE("An order fits as long as what a task takes and all that is held stay within the capacity of its stage") {
  Instance instance = two_stages();
  instance.capacity = {2, 1};
  CHECK(fits(instance, one_f_one_b));
  instance.capacity = {1, 1};
  CHECK_FALSE(fits(instance, one_f_one_b));
  CHECK(fits(instance, {{0, 1, 0, 1}, {2, 3, 2, 3}}));
  instance.capacity = {2, 0};
  CHECK_FALSE(fits(instance, one_f_one_b));
}

TEST_CASE("What a backward takes to compute again has to fit beside what is held, and is free when it ends") {
  Instance instance = two_stages();
  instance.sequences[1].take = 4;
  instance.sequences[1].give = 5;
  instance.capacity = {6, 1}; // two activations, and 4 for the first backward
  CHECK(fits(instance, one_f_one_b));
  instance.capacity = {5, 1};
  CHECK_FALSE(fits(instance, one_f_one_b));
  CHECK(fits(instance, {{0, 1, 0, 1}, {2, 3, 2, 3}}));
}

TEST_CASE("What is wrong with an instance is said") {
  CHECK(fault(two_stages()) == "none");
  const auto with = [](auto change) {
    Instance instance = two_stages();
    change(instance);
    return fault(instance);
  };
  CHECK(fault({}) == "it is empty");
  CHECK(with([](Instance& of) { of.microbatches = 0; }) == "it is empty");
  CHECK(with([](Instance& of) { of.microbatches = 0x8000; }) == "it is too large");
  CHECK(with([](Instance& of) { of.microbatches = 0x7FFF; }) == "none");
  CHECK(with([](Instance& of) { of.sequences.resize(0x10000); }) == "it is too large");
  CHECK(with([](Instance& of) { of.sequences[0].stage = 2; }) == "a sequence is on a stage that does not exist");
  CHECK(with([](Instance& of) { of.arcs[0].to = 4; }) == "an arc joins a sequence that does not exist");
  CHECK(with([](Instance& of) { of.arcs[0].from = 4; }) == "an arc joins a sequence that does not exist");
  CHECK(with([](Instance& of) { of.arcs.push_back({3, 2, 0}); }) == "its arcs form a cycle");
  CHECK(with([](Instance& of) { of.arcs.push_back({1, 1, 0}); }) == "its arcs form a cycle");
}

TEST_CASE("Numbers that are negative, or whose sums could overflow, are wrong") {
  constexpr std::int64_t half = std::int64_t{1} << 60U; // for two microbatches all there is
  const auto with = [](auto change) {
    Instance instance = two_stages();
    for (synthesis::Sequence& sequence : instance.sequences) sequence.duration = sequence.take = sequence.give = 0;
    for (synthesis::Arc& arc : instance.arcs) arc.lag = 0;
    change(instance);
    return fault(instance);
  };
  const std::string wrong = "a number is negative, or sums are out of range";
  for (auto part : {&synthesis::Sequence::duration, &synthesis::Sequence::take, &synthesis::Sequence::give,
                    &synthesis::Sequence::tail}) {
    CHECK(with([&](Instance& of) { of.sequences[1].*part = half; }) == "none");
    CHECK(with([&](Instance& of) { of.sequences[1].*part = half + 1; }) == wrong);
    CHECK(with([&](Instance& of) { of.sequences[1].*part = of.sequences[3].*part = half; }) == wrong);
    CHECK(with([&](Instance& of) { of.sequences[1].*part = -1; }) == wrong);
  }
  CHECK(with([](Instance& of) { of.arcs[0].lag = half; }) == "none");
  CHECK(with([](Instance& of) { of.arcs[0].lag = of.sequences[0].duration = half; }) == wrong);
  CHECK(with([](Instance& of) { of.arcs[0].lag = -1; }) == wrong);
  CHECK(with([](Instance& of) { of.capacity[1] = -1; }) == wrong);
  CHECK(with([](Instance& of) { of.capacity[1] = synthesis::unlimited; }) == "none");
  CHECK(with([](Instance& of) { of.capacity[1] = synthesis::unlimited + 1; }) == wrong);
}

} // namespace ppsim::test::orders_test
