// Windows apply rules only where something has changed: they know as much as if all rules had been applied again. Cases
// come to an end, and their proofs hold; so do those of what cannot start early however long the step.

#include "ppsim/certificate/certificate.hpp"
#include "ppsim/study/synthesize.hpp"
#include "ppsim/synthesis/search.hpp"
#include "support/certificates.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/synthesis/aim.hpp"
#include "sim/synthesis/cases.hpp"
#include "sim/synthesis/ends.hpp"
#include "sim/synthesis/levels.hpp"
#include "sim/synthesis/slide.hpp"
#include "sim/synthesis/windows.hpp"

namespace ppsim::test::windows_property {

using namespace synthesis;

namespace {

/// A pipeline, or tasks on up to three stages with any use of memory and arcs; tasks without duration among them.
Instance drawn(Draw& draw, std::int64_t scale) {
  const auto time = [&](std::int64_t most) { return scale * draw(0, most); };
  if (draw(0, 2) > 0) {
    const auto stages = static_cast<std::uint32_t>(draw(1, 4));
    const std::int64_t kind = draw(0, 2);
    const auto microbatches = static_cast<std::uint32_t>(draw(1, 7));
    return pipeline(kind == 0   ? linear(stages)
                    : kind == 1 ? wave(stages)
                                : loop(stages, 2),
                    microbatches, {time(9), time(9), time(6), time(9), draw(0, 5) > 0 ? draw(1, 8) : unlimited});
  }
  Instance instance;
  instance.microbatches = static_cast<std::uint32_t>(draw(1, 6));
  for (std::int64_t stage = draw(0, 2); stage >= 0; --stage)
    instance.capacity.push_back(draw(0, 3) > 0 ? draw(3, 15) : unlimited);
  const auto count = static_cast<std::uint32_t>(draw(1, 7));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto stage = static_cast<std::uint32_t>(draw(0, static_cast<std::int64_t>(instance.stages()) - 1));
    instance.sequences.push_back(
        {stage, time(9), draw(0, 1) * draw(0, 4), draw(0, 1) * draw(0, 4), draw(0, 3) > 0 ? 0 : time(20)});
    for (std::uint32_t from = 0; from < i; ++from)
      if (draw(0, 3) == 0) instance.arcs.push_back({from, i, time(10)});
  }
  return instance;
}

/// A pipeline whose stages hold three microbatches at most; each fourth time, any.
Instance short_of_memory(Draw& draw, std::uint32_t seed, std::int64_t fewest, std::int64_t most) {
  const auto time = [&] { return draw(1, 9); };
  const auto stages = static_cast<std::uint32_t>(draw(2, 3));
  const auto microbatches = static_cast<std::uint32_t>(draw(fewest, most));
  if (seed % 4 == 0) return drawn(draw, 1);
  return pipeline(seed % 4 == 1 ? linear(stages) : wave(stages), microbatches,
                  {time(), time(), time(), time(), draw(1, 3)});
}

/// All that `windows` know.
std::vector<std::int64_t> known(const Views& views, const Windows& windows) {
  std::vector<std::int64_t> all;
  for (const std::size_t d : {0U, 1U})
    for (std::size_t task = 0; task < views.instance.tasks(); ++task) {
      all.push_back(windows.head(d, task));
      for (std::size_t local = 0; local < views.on[views.stage(task / views.m)].size(); ++local)
        all.push_back(windows.before(d, task, local));
    }
  return all;
}

/// Applies every rule to every task again: another makespan makes all new.
void require_nothing_left(const Views& views, const Windows& windows, std::int64_t most) {
  Windows again = windows;
  REQUIRE(again.tighten(most + 1, false));
  REQUIRE(again.tighten(most));
  REQUIRE(known(views, again) == known(views, windows));
}

Certificate certificate_for(const Instance& instance, const Plan& plan, const Cases::Proof& proof) {
  SynthesizedOrder order;
  order.instance = instance;
  order.found = {.plan = plan, .bound = proof.bound, .cases = proof.cases};
  return certificate_of(order);
}

bool holds(const Instance& instance, const Plan& plan, const Cases::Proof& proof) {
  return check_certificate(certificate_for(instance, plan, proof)).holds();
}

/// How many of the cases certify shows for orders that take as long as all tasks one after another.
std::size_t shown_at_any_makespan(const Instance& instance, const Plan& plan, const std::vector<Case>& cases) {
  Certificate certificate = certificate_for(instance, plan, {whole_length(instance) + 1, cases});
  certificate.order.reset();
  certificate.makespan.reset();
  return check_certificate(certificate).bound.cases_shown;
}

} // namespace

TEST_CASE("Rules that were applied where something had changed have nothing to add anywhere") {
  std::size_t changed = 0;
  for (std::uint32_t seed = 1; seed <= 700; ++seed) {
    INFO("seed " << seed);
    Draw draw{seed};
    const Instance instance = drawn(draw, 1);
    REQUIRE_FALSE(fault_of(instance));
    const Views views{instance};
    Windows windows{views};
    if (!windows.tighten(unlimited, false)) continue;
    const std::optional<Plan> plan = search(instance, {.proves = false}).plan;
    if (!plan) continue;
    const std::int64_t most = plan->makespan + draw(0, 1 + plan->makespan / 8);
    Windows at_once{views};
    REQUIRE(at_once.tighten(most));
    REQUIRE(windows.tighten(most + draw(0, 3)));
    if (!windows.tighten(most)) FAIL("refuted by what holds at a longer makespan, too");
    REQUIRE(known(views, windows) == known(views, at_once));
    for (int step = 0; step < 8; ++step) {
      const auto d = static_cast<std::size_t>(draw(0, 1));
      const auto task = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(instance.tasks()) - 1));
      const std::int64_t earliest = windows.head(d, task);
      const std::int64_t time = earliest + (windows.latest(d, task) - earliest) / (1 + (std::int64_t{1} << draw(0, 3)));
      Windows next = windows;
      if (draw(0, 1) == 0)
        next.raise_start(d, task, time);
      else
        next.suppose_before(d, task, time);
      if (!next.tighten(most)) continue;
      changed += known(views, next) == known(views, windows) ? 0 : 1;
      windows = next;
      require_nothing_left(views, windows, most);
    }
  }
  CHECK(changed == 3184);
}

TEST_CASE("Cases end where nothing is left to try, and each of their proofs holds") {
  std::size_t proofs = 0, with_cases = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    Draw draw{seed};
    const Instance instance = drawn(draw, seed % 2 == 0 ? 1 : 1'000'000);
    const Views views{instance};
    Windows root{views};
    if (!root.tighten(unlimited, false)) continue;
    const std::optional<Plan> plan = search(instance, {.proves = false}).plan;
    if (!plan || plan->makespan <= root.bound()) continue;
    Cases cases{views, root, 1};
    std::int64_t bound = root.bound();
    std::uint64_t steps = 1;
    for (int turn = 0; steps > 0 && bound < plan->makespan; ++turn) {
      REQUIRE(turn < 1000);
      steps = 1'000'000;
      const std::optional<Cases::Proof> proof = cases.raise(bound, plan->makespan, steps, [] { return true; });
      if (!proof) continue;
      REQUIRE(proof->bound > bound);
      REQUIRE(proof->bound <= plan->makespan);
      REQUIRE(holds(instance, *plan, *proof));
      bound = proof->bound;
      ++proofs;
      with_cases += proof->cases.empty() ? 0 : 1;
    }
  }
  CHECK(proofs == 495);
  CHECK(with_cases == 23);
}

TEST_CASE("An aim ends where nothing is left to try, or is refuted by cases that prove it") {
  constexpr std::size_t most_tasks = 80; // with more it takes long
  std::size_t refuted = 0, with_cases = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    Draw draw{seed};
    const Instance instance = drawn(draw, seed % 2 == 0 ? 1 : 100);
    if (instance.tasks() > most_tasks) continue;
    const Views views{instance};
    Windows root{views};
    if (!root.tighten(unlimited, false)) continue;
    const std::optional<Plan> plan = search(instance, {.proves = false}).plan;
    if (!plan || plan->makespan <= root.bound()) continue;
    Aim aim{views, root, 1};
    for (std::int64_t most = plan->makespan - 1; most >= root.bound(); most -= 1 + (most - root.bound()) / 2) {
      if (!aim.refute(most, 400'000'000, [] { return true; })) {
        REQUIRE(aim.is_done());
        aim.renew();
        continue;
      }
      REQUIRE(holds(instance, *plan, {most + 1, aim.cases()}));
      ++refuted;
      with_cases += aim.cases().empty() ? 0 : 1;
      break;
    }
  }
  CHECK(refuted == 80);
  CHECK(with_cases == 7);
}

TEST_CASE("What cannot start early however long the step is proven among neighbours") {
  std::size_t some = 0, nearby = 0, higher = 0;
  for (std::uint32_t seed = 1; seed <= 120; ++seed) {
    INFO("seed " << seed);
    Draw draw{seed};
    const Instance instance = short_of_memory(draw, seed, 4, 9);
    const Views views{instance};
    Windows root{views};
    if (!root.tighten(unlimited, false)) continue;
    const std::optional<Plan> plan = search(instance, {.proves = false}).plan;
    if (!plan) continue;
    const auto bound = [&] { // the best that the windows prove by halving
      std::int64_t proven = root.bound(), open = plan->makespan;
      while (proven < open) {
        const std::int64_t most = proven + (open - proven) / 2;
        if (Windows{root}.tighten(most))
          open = most;
        else
          proven = most + 1;
      }
      return proven;
    };
    const std::int64_t before = bound();
    BothEnds ends{views, 1 + seed % 2, whole_length(instance)};
    for (int turn = 0; !ends.are_done(); ++turn) { // at once, or with steps for a task or two at a time
      REQUIRE(turn < 10'000);
      const std::size_t known = ends.cases().size();
      const bool found = ends.extend(root, seed % 3 == 0 ? 100 : 100'000'000, [] { return true; });
      REQUIRE(found == (ends.cases().size() > known));
    }
    if (ends.cases().empty()) continue;
    ++some;
    nearby += ends.microbatches() < views.m ? 1 : 0;
    const std::int64_t after = bound();
    REQUIRE(after <= plan->makespan);
    higher += after > before ? 1 : 0;
    REQUIRE(holds(instance, *plan, {after, ends.cases()}));
    REQUIRE(shown_at_any_makespan(instance, *plan, ends.cases()) == ends.cases().size());
  }
  CHECK(some == 48);
  CHECK(nearby == 36);
  CHECK(higher == 26);
}

TEST_CASE("What a few microbatches show of a makespan is proven, among those") {
  std::size_t with_cases = 0, nearby = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    Draw draw{seed};
    const Instance instance = short_of_memory(draw, seed, 6, 9);
    const Views views{instance};
    Windows root{views};
    if (!root.tighten(unlimited, false)) continue;
    const std::optional<Plan> plan = search(instance, {.proves = false}).plan;
    if (!plan || plan->makespan <= root.bound()) continue;
    const auto refuted_with = [&](std::size_t threads) {
      Slide slide{views, threads};
      Attempt attempt{.most = plan->makespan - 1, .windows = root};
      bool is_refuted = !attempt.tighten();
      for (int turn = 0; !is_refuted; ++turn) {
        REQUIRE(turn < 10'000);
        const synthesis::Outcome outcome = slide.go_on(attempt);
        is_refuted = outcome == synthesis::Outcome::refuted;
        if (outcome != synthesis::Outcome::nothing_left) continue;
        attempt.most -= 1 + (attempt.most - root.bound()) / 4;
        slide.look_again();
        is_refuted = !attempt.tighten();
      }
      return attempt;
    };
    const Attempt attempt = refuted_with(1);
    if (attempt.cases.empty()) continue;
    REQUIRE(holds(instance, *plan, {attempt.most + 1, attempt.cases}));
    ++with_cases;
    if (reach_of(views).few == 1 || reach_of(views).few == views.m) continue;
    ++nearby;
    REQUIRE(
        std::ranges::all_of(attempt.cases, [&](const Case& each) { return each.among.count == reach_of(views).few; }));
    const Attempt other = refuted_with(2);
    REQUIRE(other.most == attempt.most);
    REQUIRE(std::ranges::equal(other.cases, attempt.cases, {}, &Case::time, &Case::time));
    REQUIRE(other.steps == attempt.steps);
  }
  CHECK(with_cases == 8);
  CHECK(nearby == 7);
}

TEST_CASE("What a few stages show is proven by the rules for all of them") {
  std::size_t some = 0, cases = 0;
  for (std::uint32_t seed = 1; seed <= 13; ++seed) {
    INFO("seed " << seed);
    Draw draw{seed};
    const bool repeats = seed == 13; // as many microbatches as lead to what is not tried again
    const auto stages = static_cast<std::uint32_t>(draw(11, 13));
    const auto microbatches = static_cast<std::uint32_t>(repeats ? 60 : draw(8, 10));
    Instance instance = pipeline(linear(stages), microbatches, {7, 7, 4, 9, 6});
    if (!repeats) {
      for (Sequence& sequence : instance.sequences) {
        sequence.duration = draw(5, 9);
        sequence.tail = std::max<std::int64_t>(0, draw(-20, 20));
      }
      for (Arc& arc : instance.arcs) arc.lag = draw(0, 6);
      for (std::int64_t& capacity : instance.capacity) capacity = draw(3, 6);
    }
    const Views views{instance};
    Windows root{views};
    REQUIRE(root.tighten(unlimited, false));
    Windows by_cases = root;
    REQUIRE(stages_of_levels(views, root).size() == 1);
    const std::optional<Plan> plan = search(instance, {.proves = false}).plan;
    REQUIRE(plan);
    Levels levels{views, root, 1 + seed % 2};
    std::size_t of_few = 0;
    while (!levels.has_all_stages()) {
      levels.extend(root, seed % 3 == 0 ? 2'000 : 10'000, [] { return true; });
      if (!levels.has_all_stages()) of_few = levels.cases().size();
    }
    some += of_few > 0 ? 1 : 0;
    cases += levels.cases().size();
    REQUIRE(shown_at_any_makespan(instance, *plan, levels.cases()) == levels.cases().size());
    for (const Case& each : levels.cases())
      by_cases.raise_start(each.view, each.sequence * views.m + each.index, each.time);
    REQUIRE(by_cases.tighten(unlimited, false));
    for (const std::size_t d : {0U, 1U})
      for (std::size_t task = 0; task < instance.tasks(); ++task) REQUIRE(by_cases.head(d, task) >= root.head(d, task));
  }
  CHECK(some == 12);
  CHECK(cases == 97);
}

TEST_CASE("What was found near one microbatch is not sought again near those that are as much later") {
  const auto ends_of = [](std::uint32_t microbatches) {
    const Instance instance = pipeline(wave(1), microbatches, {70, 50, 40, 10, 2});
    const Views views{instance};
    Windows root{views};
    REQUIRE(root.tighten(unlimited, false));
    BothEnds ends{views, 1, whole_length(instance)};
    REQUIRE(ends.extend(root, Windows::no_limit / 2, [] { return true; }));
    REQUIRE(ends.are_done());
    const std::optional<Plan> plan = search(instance, {.proves = false}).plan;
    REQUIRE(plan);
    REQUIRE(shown_at_any_makespan(instance, *plan, ends.cases()) == ends.cases().size());
    return std::pair{ends.cases().size(), ends.steps()};
  };
  const auto [few_cases, few_steps] = ends_of(40);
  const auto [more_cases, more_steps] = ends_of(80);
  CHECK(more_cases == few_cases + 2 * 40);
  CHECK(more_steps < few_steps + few_steps / 2);
}

} // namespace ppsim::test::windows_property
