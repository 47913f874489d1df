// Gradient reductions and optimizer steps, for every order, every cost and every network.

#include "property/drawn_inputs.hpp"
#include "property/timeline_checks.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <optional>

#include <rapidcheck.h>

namespace ppsim::test::update_property {

TEST_CASE("With reductions and optimizer steps the accounts add up, and the critical path leads to the makespan") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    const auto bare = try_run(schedule, scenario);
    scenario.update = draw_update(schedule.shape());
    const auto outcome = try_run(schedule, scenario);
    if (!outcome) return;
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) check_account(*outcome, stage);
    check_critical_path(*outcome);
    RC_ASSERT(outcome->timeline.tasks == bare->timeline.tasks); // they overlap the tasks, or follow them
    RC_ASSERT(outcome->report.makespan >= bare->report.makespan);
  });
}

TEST_CASE("A reduction follows every task that adds to its chunk's weights, one at a time on a stage") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    scenario.update = draw_update(schedule.shape());
    const auto outcome = try_run(schedule, scenario);
    if (!outcome) return;
    const Timeline& timeline = outcome->timeline;
    for (std::size_t i = 0; i < timeline.reductions.size(); ++i) {
      const Reduction& reduction = timeline.reductions[i];
      for (std::size_t id = 0; id < schedule.size(); ++id) {
        const Task& task = schedule.tasks()[id];
        if (task.chunk() == reduction.chunk && frees_activation(task.pass))
          RC_ASSERT(reduction.span.start >= timeline.tasks[id].end);
      }
      if (i > 0 && !reduction.tied && timeline.reductions[i - 1].stage == reduction.stage)
        RC_ASSERT(reduction.span.start >= timeline.reductions[i - 1].span.end);
      const SimTime step = timeline.optimizer[index(reduction.stage)].span.start;
      RC_ASSERT(step >= reduction.span.end);
    }
  });
}

} // namespace ppsim::test::update_property
