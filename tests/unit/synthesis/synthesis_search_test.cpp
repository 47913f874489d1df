// Orders made by windows, made better by a tabu search, and what a search as a whole promises.

#include "ppsim/synthesis/search.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include "sim/synthesis/ends.hpp"
#include "sim/synthesis/guided.hpp"
#include "sim/synthesis/round.hpp"
#include "sim/synthesis/tabu.hpp"
#include "sim/synthesis/waves.hpp"

namespace ppsim::test::synthesis_search_test {

using namespace synthesis;

namespace {

/// Links of half a forward, a V in memory that makes it hard: the bound is not reached at once.
Instance hard() {
  return pipeline(wave(4), 8, {9, 9, 5, 4, 5});
}

constexpr std::uint64_t short_tabu = 400'000, few_cases = 1'000'000; // steps: rounds that take a moment

/// Chunk after chunk, microbatch by microbatch: slow, and as little memory as can be.
Order one_by_one(const Instance& instance) {
  Order order(instance.stages());
  for (std::uint32_t j = 0; j < instance.microbatches; ++j) {
    for (const bool forward : {true, false})
      for (std::size_t i = 0; i < instance.sequences.size(); i += 3) {
        const std::size_t own = forward ? i : instance.sequences.size() - 3 - i;
        std::vector<std::uint16_t>& stage = order[instance.sequences[own].stage];
        const auto first = static_cast<std::uint16_t>(own);
        if (forward)
          stage.push_back(first);
        else
          stage.insert(stage.end(), {static_cast<std::uint16_t>(first + 1U), static_cast<std::uint16_t>(first + 2U)});
      }
  }
  return order;
}

void check_plan(const Instance& instance, const Plan& plan) {
  CHECK(is_complete(instance, plan.order));
  CHECK(fits(instance, plan.order));
  const Plan again = run(instance, plan.order).value();
  CHECK(again.makespan == plan.makespan);
  CHECK(again.start == plan.start);
}

bool are_same(const Found& a, const Found& b) {
  return a.bound == b.bound && a.effort == b.effort && a.plan->order == b.plan->order && a.plan->start == b.plan->start;
}

} // namespace

TEST_CASE("The most urgent task goes first, and a stage waits for it only where it may") {
  // a comes at 3, b could run at 0; a is urgent. c stands for what a waits for
  Instance instance{.microbatches = 1, .capacity = {unlimited, unlimited}, .sequences = {}, .arcs = {}};
  instance.sequences = {{.stage = 1, .duration = 3}, {.duration = 2, .tail = 20}, {.duration = 5}};
  instance.arcs = {{0, 1, 0}};
  const Views views{instance};
  Guide guide{.urgency = {0, 1, 2}, .wait = 0};
  CHECK(make_order(views, guide).value().order == Order{{2, 1}, {0}});
  CHECK(make_order(views, guide).value().makespan == 27);
  guide.wait = 1;
  CHECK(make_order(views, guide).value().order == Order{{1, 2}, {0}});
  CHECK(make_order(views, guide).value().makespan == 25);
  guide.wait = 0.5; // up to 2.5
  CHECK(make_order(views, guide).value().order == Order{{2, 1}, {0}});
}

TEST_CASE("Backwards an order is made from its last task on, within the same memory") {
  const Instance instance = hard();
  const Views views{instance};
  for (const std::size_t direction : {0U, 1U}) {
    Windows windows{views};
    REQUIRE(windows.tighten(1000));
    Guide guide{.direction = direction, .urgency = latest_starts(views, windows, direction, 1000), .wait = 0.5};
    const std::optional<Plan> plan = make_order(views, guide);
    REQUIRE(plan);
    check_plan(instance, *plan);
    const Plan better = improve_in_turns(views, *plan);
    check_plan(instance, better);
    CHECK(better.makespan <= plan->makespan);
  }
}

TEST_CASE("An order is made that runs what windows say must run before a task") {
  const Instance instance = pipeline({0}, 2, {1, 1, 1, 0, 1}); // memory for one
  const Views views{instance};
  Windows windows{views};
  REQUIRE(windows.tighten(unlimited));
  const Guide guide{.urgency = std::vector<std::int64_t>(instance.tasks()), .known = &windows};
  CHECK(make_order(views, guide).value().order == Order{{0, 1, 2, 0, 1, 2}});
}

TEST_CASE("However many moves a tabu search makes, its best order is whole, fits, and is as long as it says") {
  for (const Instance& instance :
       {hard(), pipeline(linear(4), 8, {9, 9, 5, 4, 3}), pipeline(loop(3, 2), 6, {2, 3, 0, 9, 6})}) {
    const Views views{instance};
    Order start;
    if (instance.sequences[2].give > 0) start = one_by_one(instance);
    const std::optional<Plan> first = start.empty()
                                          ? make_order(views, {.urgency = std::vector<std::int64_t>(instance.tasks())})
                                          : run(instance, start);
    REQUIRE(first);
    Tabu tabu{views, *first, 7};
    CHECK(tabu.best() == first->makespan);
    std::int64_t before = first->makespan;
    for (int i = 0; i < 40; ++i) {
      const bool better = tabu.run(i < 20 ? 1 : 100, 0);
      CHECK(better == (tabu.best() < before));
      before = tabu.best();
      REQUIRE(tabu.best_plan().makespan == tabu.best());
      check_plan(instance, tabu.best_plan());
    }
    CHECK(tabu.best() < first->makespan);
  }
}

TEST_CASE("A stage without tasks stays without any") {
  Instance instance = hard();
  instance.capacity.push_back(unlimited);
  const Views views{instance};
  Order start = one_by_one(hard());
  start.emplace_back();
  Tabu tabu{views, run(instance, start).value(), 7};
  tabu.run(100, 0);
  check_plan(instance, tabu.best_plan());
}

TEST_CASE("A tabu search ends at what is asked of it") {
  const Instance instance = hard();
  const Views views{instance};
  const Plan start = run(instance, one_by_one(instance)).value();
  Tabu tabu{views, start, 7};
  const std::int64_t target = start.makespan - start.makespan / 20;
  CHECK(tabu.run(100'000, target));
  CHECK(tabu.best() <= target);
  const std::int64_t best = tabu.best();
  CHECK_FALSE(tabu.run(1000, best));
  CHECK(tabu.best() == best);
}

TEST_CASE("The same effort gives the same order, more effort never a longer one or a lower bound, and what is asked "
          "rises too") {
  const Instance instance = hard();
  std::optional<Found> last;
  for (std::uint64_t effort = 0; effort < 2; ++effort) {
    std::vector<Progress> asked;
    Found found = search(
        instance,
        {.effort = effort, .tabu_steps = short_tabu, .case_steps = few_cases, .go_on = [&](const Progress& progress) {
           asked.push_back(progress);
           return true;
         }});
    if (last) {
      CHECK(found.plan->makespan <= last->plan->makespan);
      CHECK(found.bound >= last->bound);
    }
    REQUIRE(asked.size() > 1);
    for (std::size_t i = 1; i < asked.size(); ++i) {
      CHECK(asked[i].bound >= asked[i - 1].bound);
      CHECK(asked[i].effort >= asked[i - 1].effort);
      CHECK(asked[i].makespan <= asked[i - 1].makespan);
    }
    CHECK(asked.back().bound <= found.bound);
    check_plan(instance, found.plan.value());
    CHECK(are_same(found, search(instance, {.effort = effort, .tabu_steps = short_tabu, .case_steps = few_cases})));
    last = std::move(found);
  }
}

TEST_CASE("The number of threads changes nothing in what a search finds") {
  const bool has_waves = GENERATE(false, true);
  const Instance instance = has_waves ? pipeline(linear(8), 24, {9, 9, 5, 9, 8}) : hard();
  const auto found_by = [&](std::size_t threads) {
    return search(
        instance,
        {.effort = 1, .tabu_steps = short_tabu, .case_steps = few_cases, .seed = 5, .threads = threads, .go_on = {}});
  };
  const Found one = found_by(1);
  CHECK(one.effort == 1);
  if (has_waves) {
    const Views views{instance};
    REQUIRE(Waves(views, Windows{views}).exist());
    CHECK(one.plan->makespan < search(instance, {.effort = 0, .seed = 5, .go_on = {}}).plan->makespan);
  }
  CHECK_FALSE(one.cases.empty()); // else nothing was tried side by side there
  const Found found = found_by(3);
  CHECK(are_same(found, one));
  CHECK(found.steps == one.steps);
  CHECK(found.cases.size() == one.cases.size());
  REQUIRE(found.history.size() == one.history.size());
  for (std::size_t i = 0; i < one.history.size(); ++i) CHECK(found.history[i].steps == one.history[i].steps);
}

TEST_CASE("A search ends at the gap that is asked for, and at once where the bound is reached") {
  const Instance instance = hard();
  const Found found = search(instance, {.effort = 1000, .gap_ppm = 100'000});
  CHECK(found.effort < 1000);
  CHECK(10 * (found.plan->makespan - found.bound) <= found.bound);
  const Found easy = search(pipeline(linear(4), 8, {9, 9, 5, 0, 8}), {.effort = 1000});
  CHECK(easy.effort == 0);
  CHECK(easy.plan->makespan == easy.bound);
}

TEST_CASE("What a search found is told step by step: orders get shorter, bounds rise, and the last is the result") {
  const Instance instance = hard();
  const Order slow = one_by_one(instance);
  for (const Found& found :
       {search(instance, {.effort = 1, .tabu_steps = short_tabu, .case_steps = few_cases, .starts = {slow}}),
        search(instance, {.effort = 1, .proves = false, .tabu_steps = short_tabu, .case_steps = few_cases}),
        search(instance, {.effort = 1000,
                         .tabu_steps = short_tabu,
                         .case_steps = few_cases,
                         .go_on = [](const Progress& progress) { return progress.effort == 0; }}),
        search(pipeline(linear(4), 8, {9, 9, 5, 0, 8}), {}), prove(instance, slow, 100'000)}) {
    const std::vector<Milestone>& history = found.history;
    REQUIRE_FALSE(history.empty());
    for (std::size_t i = 1; i < history.size(); ++i) {
      CHECK(history[i].steps > history[i - 1].steps);
      CHECK(history[i].makespan <= history[i - 1].makespan);
      CHECK(history[i].bound >= history[i - 1].bound);
      CHECK((history[i].makespan < history[i - 1].makespan || history[i].bound > history[i - 1].bound));
    }
    CHECK(history.front().steps > 0);
    CHECK(history.back().steps <= found.steps);
    CHECK(history.back().makespan == found.plan->makespan);
    CHECK(history.back().bound == found.bound);
  }
  const std::vector<Milestone> history =
      search(instance, {.effort = 1, .tabu_steps = short_tabu, .case_steps = few_cases, .starts = {slow}}).history;
  CHECK(history.size() > 4);
  CHECK(history.front().makespan == run(instance, slow)->makespan);
}

TEST_CASE("A search that is told to end gives what it has") {
  const Instance instance = hard();
  std::size_t asked = 0;
  const Found found = search(instance, {.effort = 1000, .go_on = [&](const Progress&) { return ++asked < 3; }});
  CHECK(asked == 3);
  check_plan(instance, found.plan.value());
}

TEST_CASE("Orders to start from are looked at where they fit and run") {
  const Instance instance = hard();
  const Order slow = one_by_one(instance);
  const Found best = search(instance, {});
  Order broken = slow;
  std::ranges::reverse(broken[0]);
  Instance roomy = instance;
  roomy.capacity.assign(4, unlimited);
  const Order unfit = search(roomy, {}).plan.value().order;
  REQUIRE_FALSE(fits(instance, unfit));
  for (const Order& start : {slow, broken, unfit, best.plan->order}) {
    const Found found = search(instance, {.starts = {start}});
    check_plan(instance, found.plan.value());
    if (start == best.plan->order) CHECK(found.plan->makespan <= best.plan->makespan);
  }
  // told to end as soon as it has one: the one it was given
  const Found given = search(instance, {.starts = {slow}, .go_on = [](const Progress&) { return false; }});
  CHECK(given.plan->makespan <= run(instance, slow).value().makespan);
}

TEST_CASE("Where no order fits a search says so") {
  Instance instance = hard();
  instance.capacity[2] = 1; // two chunks: a microbatch holds two activations at the turn
  const Found found = search(instance, {.effort = 5});
  CHECK(found.impossible);
  CHECK_FALSE(found.plan);
}

TEST_CASE("An order is found however far it is above the first bound") {
  // a V that has to turn on its last stage before anything else: 39 % above what paths and work say
  const Found found = search(pipeline(wave(3), 2, {9, 9, 0, 14, 3}), {});
  REQUIRE(found.plan);
  CHECK(found.plan->makespan == 330);
  CHECK(found.bound == 330);
}

TEST_CASE("Where even the shortest tabu searches are longer than was asked for, there are fewer of them") {
  const Instance instance = hard();
  const Views views{instance};
  const auto steps = [&](std::uint64_t tabu_steps) { // with as_run there are no descents, which it limits, too
    SearchOptions options{.effort = 1, .tabu_steps = tabu_steps, .case_steps = 0};
    options.as_run = [](Plan plan) { return plan; };
    return search(instance, options).steps;
  };
  CHECK(steps(4 * least_work(views)) > steps(4) + 5 * least_work(views)); // a quarter each in the first round
}

TEST_CASE("Cases from both ends come first until there are some, if their pace leads to what repeats") {
  const Instance instance = pipeline(linear(4), 32, {2, 2, 1, 1, 4});
  const Views views{instance};
  Windows root{views};
  REQUIRE(root.tighten(unlimited, false));
  BothEnds ends{views, 1, whole_length(instance)};
  const std::function<bool()> always = [] { return true; };
  CHECK(ends.may_reach_repeats(1));  // nothing is known of its pace
  ends.extend(root, 20'000, always); // a microbatch or two
  CHECK_FALSE(ends.may_reach_repeats(1));
  CHECK(ends.may_reach_repeats(1'000'000'000));
  while (!ends.are_done()) ends.extend(root, 1'000'000, always);
  CHECK_FALSE(ends.may_reach_repeats(1'000'000'000));
}

TEST_CASE("The bound that is enough for a gap is the least one") {
  CHECK(enough_for(101, 10'000) == 100);
  CHECK(enough_for(100, 0) == 100);
  for (std::int64_t length = 1; length < 2000; length += 7)
    for (const std::int64_t gap_ppm : {0, 1, 999, 10'000, 333'333, 1'000'000}) {
      const std::int64_t bound = enough_for(length, gap_ppm);
      REQUIRE(is_near_enough(length, bound, gap_ppm));
      REQUIRE_FALSE(is_near_enough(length, bound - 1, gap_ppm));
    }
}

TEST_CASE("A gap that was asked for is aimed at") {
  const Instance instance = pipeline(wave(4), 8, {9'261, 9'043, 4'669, 601, 5});
  const auto found = [&](std::int64_t gap_ppm, std::size_t threads) {
    return search(
        instance,
        {.effort = 2, .tabu_steps = 1'000'000, .case_steps = 4'000'000, .gap_ppm = gap_ppm, .threads = threads});
  };
  constexpr std::int64_t gap_ppm = 12'000;
  const Found plain = found(0, 1);
  CHECK_FALSE(is_near_enough(plain.plan->makespan, plain.bound, gap_ppm));
  const Found aimed = found(gap_ppm, 1);
  CHECK(aimed.plan->makespan == plain.plan->makespan);
  CHECK(aimed.bound == enough_for(aimed.plan->makespan, gap_ppm));
  CHECK(found(gap_ppm, 3).steps == aimed.steps);
}

} // namespace ppsim::test::synthesis_search_test
