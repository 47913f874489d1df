// The times of tasks and transfers: properties for every order, cost and network.

#include "property/drawn_inputs.hpp"
#include "property/naive_model.hpp"
#include "property/timeline_checks.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::simulate_property {

namespace {

bool tasks_equal(const Timeline& a, const Timeline& b) {
  return a.tasks == b.tasks && a.transfers == b.transfers && a.released_by == b.released_by && a.cause == b.cause &&
         a.transfer_released_by == b.transfer_released_by;
}

/// Many tasks end together, and some need the same uplink.
Scenario draw_ties(const Shape& shape) {
  Scenario scenario = uniform_scenario(shape, zero, zero);
  for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
    for (Duration& cost : *costs) cost = draw_time(1);
  for (Duration& latency : scenario.network.latency) latency = draw_time(3);
  scenario.network.stages_per_node = draw(2, 3);
  scenario.network.model = TransferModel::link;
  return scenario;
}

} // namespace

TEST_CASE("Under latency, every task starts as in a naive recurrence over the stages") {
  rc::prop("any order, any costs", [] {
    const Schedule schedule = draw_order();
    const Scenario scenario = draw_scenario(schedule.shape());
    RC_ASSERT(run(schedule, scenario).timeline.tasks == naive_latency(schedule, scenario).spans);
  });
}

TEST_CASE("Under link, tasks and transfers run as in a naive event list with free links") {
  rc::prop("any order, any costs", [] {
    const Schedule schedule = draw_order();
    std::vector<Scenario> scenarios{draw_scenario(schedule.shape(), TransferModel::link)};
    for (int ties = 0; ties < 8; ++ties) scenarios.push_back(draw_ties(schedule.shape()));
    for (const Scenario& scenario : scenarios) {
      const Timeline timeline = run(schedule, scenario).timeline;
      const NaiveRun naive = naive_link(schedule, scenario);
      RC_ASSERT(timeline.tasks == naive.spans);
      RC_ASSERT(timeline.transfers == naive.transfers);
    }
  });
}

TEST_CASE(
    "Under blocking every task ends when a bare round of posting and waiting says, and deadlocks when it sticks") {
  rc::prop("any order without pairs, any costs", [] {
    const Schedule schedule = draw_order(false);
    const Scenario scenario = draw_scenario(schedule.shape(), TransferModel::blocking);
    const auto ends = naive_blocking(schedule, scenario);
    const auto outcome = try_run(schedule, scenario);
    RC_ASSERT(outcome.has_value() == ends.has_value());
    for (std::size_t id = 0; outcome && id < schedule.size(); ++id)
      RC_ASSERT(outcome->timeline.tasks[id].end == (*ends)[id]);
  });
}

TEST_CASE("No task starts before its inputs have arrived") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    if (!outcome) return;
    const auto& [graph, timeline, report] = *outcome;
    for (std::size_t id = 0; id < graph.size(); ++id) {
      const TaskId from = make_id<TaskId>(id);
      const auto receiver = graph.receiver(from);
      if (receiver) {
        RC_ASSERT(timeline.transfers[id].start >= timeline.tasks[id].end);
        RC_ASSERT(timeline.transfers[id].length() == graph.transfer_time(from));
        RC_ASSERT(timeline.tasks[index(*receiver)].start >= timeline.transfers[id].end);
      }
      for (const Edge& edge : graph.successors(from))
        if (edge.cause != Cause::pair) RC_ASSERT(timeline.tasks[index(edge.to)].start >= timeline.tasks[id].end);
      RC_ASSERT(timeline.tasks[id].length() == graph.duration(from));
    }
  });
}

TEST_CASE("A stage runs one task, or one pair, at a time") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    for (std::size_t stage = 0; outcome && stage < schedule.shape().stages; ++stage)
      check_one_at_a_time(*outcome, stage);
  });
}

TEST_CASE("The release of a task ends when the task starts, and the task before is named if it does") {
  rc::prop("under latency and link", [] {
    const Schedule schedule = draw_order(false);
    const auto [graph, timeline, report] =
        run(schedule, draw_scenario(schedule.shape(), one_in(2) ? TransferModel::latency : TransferModel::link));
    for (std::size_t id = 0; id < graph.size(); ++id) {
      const SimTime start = timeline.tasks[id].start;
      const bool first =
          graph.schedule().first_task(graph.schedule().stage_of(make_id<TaskId>(id))) == make_id<TaskId>(id);
      if (!first && timeline.tasks[id - 1].end == start) {
        RC_ASSERT(timeline.cause[id] == Cause::order);
        RC_ASSERT(timeline.released_by[id] == make_id<TaskId>(id - 1));
      } else if (timeline.cause[id] == Cause::activation || timeline.cause[id] == Cause::gradient) {
        RC_ASSERT(timeline.transfers[index(timeline.released_by[id])].end == start);
      } else {
        RC_ASSERT(timeline.cause[id] == Cause::none);
        RC_ASSERT(start == SimTime{});
      }
    }
  });
}

TEST_CASE("A link carries one transfer at a time") {
  rc::prop("under link", [] {
    const Schedule schedule = draw_order();
    RC_ASSERT(!transfers_meet(run(schedule, draw_scenario(schedule.shape(), TransferModel::link))));
  });
}

TEST_CASE(
    "The makespan is no shorter than the busiest stage, and the critical path leads without a gap from zero to it") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    if (!outcome) return;
    RC_ASSERT(outcome->report.makespan >= outcome->report.ideal);
    check_critical_path(*outcome);
  });
}

TEST_CASE("Link equals latency if no two transfers meet, and starts nothing earlier if they do") {
  rc::prop("any order, any network", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    const Outcome latency = run(schedule, scenario);
    scenario.network.model = TransferModel::link;
    const Outcome link = run(schedule, scenario);
    const bool meet = transfers_meet(latency);
    RC_CLASSIFY(meet, "transfers meet");
    RC_ASSERT(none_earlier(link.timeline, latency.timeline));
    if (meet) return;
    RC_ASSERT(link.timeline.tasks == latency.timeline.tasks);
    RC_ASSERT(link.timeline.transfers == latency.timeline.transfers);
    RC_ASSERT(link.timeline.released_by == latency.timeline.released_by);
    RC_ASSERT(link.timeline.cause == latency.timeline.cause);
  });
}

TEST_CASE("Blocking starts nothing earlier than latency does") {
  rc::prop("any order that does not deadlock", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    const Outcome latency = run(schedule, scenario);
    scenario.network.model = TransferModel::blocking;
    const auto blocking = try_run(schedule, scenario);
    RC_CLASSIFY(!blocking.has_value(), "deadlock");
    if (blocking) RC_ASSERT(none_earlier(blocking->timeline, latency.timeline));
  });
}

TEST_CASE("GPipe and 1F1B never deadlock under blocking") {
  rc::prop("any shape, any costs", [] {
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 12), .vpp = 1};
    const Schedule schedule = make_schedule(find_generator(one_in(2) ? "gpipe" : "1f1b"), {.shape = shape});
    RC_ASSERT(try_run(schedule, draw_scenario(shape, TransferModel::blocking)).has_value());
  });
}

TEST_CASE("Under latency a faster network never makes the makespan longer") {
  rc::prop("less latency, more bandwidth", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    const Duration before = run(schedule, scenario).report.makespan;
    Network& network = scenario.network;
    for (Duration& latency : network.latency) latency -= std::min(latency, draw_time(3));
    if (network.bandwidth)
      network.bandwidth = Bandwidth{network.bandwidth->bytes_per_second() + number(draw(0, 3)) * 1'000'000'000};
    RC_ASSERT(run(schedule, scenario).report.makespan <= before);
  });
}

TEST_CASE("Equal inputs give equal timelines") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    const auto first = try_run(schedule, scenario);
    const auto second = try_run(schedule, scenario);
    RC_ASSERT(first.has_value() == second.has_value());
    if (first) RC_ASSERT(tasks_equal(first->timeline, second->timeline));
  });
}

TEST_CASE("A pair with rule hide lasts at most the sum and at least the longer half") {
  rc::prop("any order and costs, under latency", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    scenario.pair.kind = PairRule::Kind::hide;
    const TaskGraph hidden = lower(schedule, scenario);
    scenario.pair.kind = PairRule::Kind::sum;
    const TaskGraph sum = lower(schedule, scenario);
    scenario.pair.kind = PairRule::Kind::max;
    const TaskGraph max = lower(schedule, scenario);
    for (std::size_t id = 0; id < schedule.size(); ++id) {
      const TaskId task = make_id<TaskId>(id);
      RC_ASSERT(hidden.duration(task) <= sum.duration(task));
      RC_ASSERT(hidden.duration(task) >= max.duration(task));
    }
  });
}

TEST_CASE("With slices no task starts later than with whole transfers, nor with more slices") {
  rc::prop("any order under latency", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    const Timeline whole = run(schedule, scenario).timeline;
    scenario.network.slices = draw(2, 6);
    const Outcome few = run(schedule, scenario);
    scenario.network.slices += draw(1, 6);
    RC_ASSERT(none_earlier(whole, few.timeline));
    RC_ASSERT(none_earlier(few.timeline, run(schedule, scenario).timeline));
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) check_account(few, stage);
  });
}

TEST_CASE("With slices the accounts add up, the critical path has no gap, and a link carries one transfer at a time") {
  rc::prop("under latency and link", [] {
    const Schedule schedule = draw_order();
    const bool link = one_in(2);
    Scenario scenario = draw_scenario(schedule.shape(), link ? TransferModel::link : TransferModel::latency);
    scenario.network.slices = draw(2, 6);
    const Outcome outcome = run(schedule, scenario);
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) check_account(outcome, stage);
    check_critical_path(outcome);
    if (link) RC_ASSERT(!transfers_meet(outcome));
    for (std::size_t id = 0; id < schedule.size(); ++id)
      if (const auto receiver = outcome.graph.receiver(make_id<TaskId>(id))) {
        RC_ASSERT(outcome.timeline.tasks[index(*receiver)].start >= outcome.timeline.transfers[id].end);
        RC_ASSERT(outcome.timeline.transfers[id].length() >= outcome.graph.transfer_time(make_id<TaskId>(id)));
      }
  });
}

} // namespace ppsim::test::simulate_property
