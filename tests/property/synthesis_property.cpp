// Synthesis against all orders there are, on instances small enough to try them, and against orders made at random on
// larger ones. PPSIM_TINY_INSTANCES=20000 tries that many.

#include "ppsim/synthesis/search.hpp"
#include "property/all_orders.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <cstdlib>

#include "sim/synthesis/guided.hpp"
#include "sim/synthesis/tabu.hpp"

namespace ppsim::test::synthesis_property {

using namespace synthesis;

namespace {

constexpr std::size_t usual_instances = 2000;
constexpr std::size_t most_states = 200'000;

std::size_t instance_count() {
  const char* const asked = std::getenv("PPSIM_TINY_INSTANCES");
  return asked == nullptr ? usual_instances : static_cast<std::size_t>(std::atoll(asked));
}

/// To read it where a check fails, and to write a case of its own.
std::string text_of(const Instance& instance) {
  std::string text = fmt::format("m {}", instance.microbatches);
  for (const std::int64_t each : instance.capacity)
    text += each == unlimited ? " unlimited" : fmt::format(" capacity {}", each);
  for (const Sequence& s : instance.sequences)
    text += fmt::format(" [{}: {} +{} -{} tail {}]", s.stage, s.duration, s.take, s.give, s.tail);
  for (const Arc& arc : instance.arcs) text += fmt::format(" {}->{}+{}", arc.from, arc.to, arc.lag);
  return text;
}

/// What the windows say that no order of `plan`'s makespan does, which `plan` does; empty where all is well.
std::string contradicts(const Views& views, const Windows& windows, const Plan& plan) {
  std::vector<std::uint32_t> index(views.local.size());
  for (std::size_t stage = 0; stage < plan.order.size(); ++stage) {
    std::vector<std::uint32_t> before(views.on[stage].size());
    for (const std::uint16_t s : plan.order[stage]) {
      const std::size_t task = s * views.m + index[s]++;
      const std::int64_t end = plan.start[task] + views.duration(s);
      if (windows.head(0, task) > plan.start[task]) return fmt::format("task {} starts earlier", task);
      if (windows.head(1, views.turned(task)) > plan.makespan - end) return fmt::format("task {} ends later", task);
      for (std::size_t local = 0; local < before.size(); ++local) {
        if (windows.before(0, task, local) > before[local])
          return fmt::format("task {} has fewer of {} before it", task, views.on[stage][local]);
        const std::size_t behind = views.m - before[local] - (local == views.local[s] ? 1 : 0);
        if (windows.before(1, views.turned(task), local) > behind)
          return fmt::format("task {} has fewer of {} behind it", task, views.on[stage][local]);
      }
      ++before[views.local[s]];
    }
  }
  return "";
}

/// Whether the windows for the plan's makespan let it be, tightened at once and in steps.
void require_windows_hold(const Views& views, const Plan& plan) {
  Windows windows{views};
  REQUIRE(windows.tighten(plan.makespan));
  REQUIRE(contradicts(views, windows, plan) == "");
  REQUIRE(windows.bound() <= plan.makespan);
  Windows in_steps{views};
  REQUIRE(in_steps.tighten(unlimited, false));
  REQUIRE(in_steps.bound() <= plan.makespan);
  REQUIRE(in_steps.tighten(plan.makespan + 1 + plan.makespan / 8));
  REQUIRE(in_steps.tighten(plan.makespan));
  REQUIRE(contradicts(views, in_steps, plan) == "");
}

/// The largest makespan that the windows refute by themselves, and one more.
std::int64_t bound_of_windows(const Views& views, std::int64_t least) {
  std::int64_t refuted = -1;
  for (std::int64_t open = least; open - refuted > 1;) {
    const std::int64_t middle = refuted + (open - refuted) / 2;
    Windows windows{views};
    (windows.tighten(middle) ? open : refuted) = middle;
  }
  return refuted + 1;
}

} // namespace

TEST_CASE(
    "No rule refutes an order that there is, no bound is above the least makespan, and none is below the search's") {
  std::mt19937 random{20240711};
  std::size_t tried = 0, impossible = 0, proven = 0, by_windows = 0, not_found = 0, not_seen = 0, optimal = 0;
  for (std::size_t i = 0; i < instance_count(); ++i) {
    const Instance instance = draw_tiny_instance(random);
    REQUIRE_FALSE(fault_of(instance));
    const AllOrders all = try_all_orders(instance, most_states);
    if (!all.complete) continue;
    INFO("instance " << i << ": " << text_of(instance));
    const Views views{instance};
    const bool rounds = i % 20 == 0 || std::getenv("PPSIM_TINY_INSTANCES") != nullptr; // one takes a second or two
    const Found found = search(instance, {.effort = rounds ? 1U : 0U, .seed = i});
    ++tried;
    if (!all.least) {
      ++impossible;
      REQUIRE_FALSE(found.plan);
      not_seen += found.impossible ? 0 : 1;
      continue;
    }
    REQUIRE_FALSE(found.impossible);
    for (const Plan& plan : all.plans) require_windows_hold(views, plan);
    REQUIRE(found.bound <= *all.least);
    REQUIRE(prove(instance, all.plans.front().order, 2000).bound <= *all.least);
    proven += found.bound == *all.least ? 1 : 0;
    by_windows += bound_of_windows(views, *all.least) == *all.least ? 1 : 0;
    if (!found.plan) {
      ++not_found;
      continue;
    }
    REQUIRE(is_complete(instance, found.plan->order));
    REQUIRE(fits(instance, found.plan->order));
    REQUIRE(run(instance, found.plan->order).value().makespan == found.plan->makespan);
    REQUIRE(found.plan->makespan >= *all.least);
    optimal += found.plan->makespan == *all.least ? 1 : 0;
  }
  const std::size_t possible = tried - impossible;
  const std::string figures =
      fmt::format("{} instances tried, {} impossible ({} unseen); of {} possible, bound exact {}, by windows alone {}, "
                  "order optimal {}, none found {}",
                  tried, impossible, not_seen, possible, proven, by_windows, optimal, not_found);
  if (std::getenv("PPSIM_TINY_INSTANCES") != nullptr) WARN(figures);
  INFO(figures);
  CHECK(tried * 10 > instance_count() * 9);
  CHECK(impossible * 10 > tried);
  CHECK(not_seen * 40 < impossible);
  CHECK(not_found * 200 < possible);
  CHECK(by_windows * 100 > possible * 99); // rules that have become weaker say less
}

TEST_CASE("The windows of any makespan hold of every order that is that short, whoever made it") {
  std::mt19937 random{20240712};
  const std::size_t count = instance_count() / 10;
  std::size_t orders = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Instance instance = draw_pipeline(random, 4, 8);
    INFO("instance " << i << ": " << text_of(instance));
    const Views views{instance};
    for (const std::size_t direction : {0U, 1U}) {
      Guide guide{.direction = direction, .urgency = std::vector<std::int64_t>(instance.tasks())};
      for (std::int64_t& each : guide.urgency) each = static_cast<std::int64_t>(random() % 100);
      guide.wait = 0.25 * static_cast<double>(random() % 5);
      const std::optional<Plan> plan = make_order(views, guide);
      if (!plan) continue;
      ++orders;
      REQUIRE(is_complete(instance, plan->order));
      REQUIRE(fits(instance, plan->order));
      REQUIRE(run(instance, plan->order).value().start == plan->start);
      require_windows_hold(views, *plan);
      const Plan better = improve_in_turns(views, *plan);
      REQUIRE(better.makespan <= plan->makespan);
      require_windows_hold(views, better);
      Tabu tabu{views, better, i};
      tabu.run(200, 0);
      require_windows_hold(views, tabu.best_plan());
    }
  }
  CHECK(orders > count);
}

} // namespace ppsim::test::synthesis_property
