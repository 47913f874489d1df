#pragma once
// Timelines as the readers of measured formats would find them.

#include "ppsim/graph/timeline.hpp"
#include "support/runs.hpp"

#include <vector>

#include "traces/imports/recorded.hpp"

namespace ppsim::test {

/// Where a recorded step comes from.
struct StepPlace {
  std::uint32_t replica = 0;
  std::int64_t step = 0;
  std::vector<std::int64_t> late = {}; ///< by stage: what its clock shows beyond the right time; empty: nothing
};

/// Adds the tasks of a timeline to `recorded`, and both sides of its transfers. The receiver waits from the end of the
/// task before.
inline void record(const TaskGraph& graph, const Timeline& timeline, const StepPlace& place,
                   traces::Recorded& recorded) {
  const Schedule& schedule = graph.schedule();
  const auto stage_of = [&](std::size_t id) {
    return static_cast<std::uint32_t>(index(schedule.stage_of(make_id<TaskId>(id))));
  };
  const auto shown = [&](std::uint32_t stage, SimTime at) {
    return at.time_since_epoch().count() + (place.late.empty() ? 0 : place.late[stage]);
  };
  for (std::size_t id = 0; id < graph.size(); ++id) {
    const std::uint32_t stage = stage_of(id);
    const Span& span = timeline.tasks[id];
    recorded.tasks.push_back(
        {place.replica, stage, place.step, schedule.tasks()[id], shown(stage, span.start), shown(stage, span.end)});
    const std::optional<TaskId> receiver = graph.receiver(make_id<TaskId>(id));
    if (!receiver) continue;
    const std::uint32_t other = stage_of(index(*receiver));
    const Pass direction = schedule.tasks()[id].pass == Pass::forward ? Pass::forward : Pass::backward;
    const auto acting = [&](std::size_t task) {
      return make_task(direction, schedule.tasks()[task].chunk_index, index(schedule.tasks()[task].microbatch));
    };
    const SimTime waits_from = schedule.first_task(make_id<StageId>(other)) == *receiver
                                   ? SimTime{}
                                   : std::min(timeline.tasks[index(*receiver) - 1].end, timeline.transfers[id].start);
    recorded.transfers.push_back({place.replica, stage, place.step, acting(id), true,
                                  shown(stage, timeline.transfers[id].start),
                                  shown(stage, timeline.transfers[id].end)});
    recorded.transfers.push_back({place.replica, other, place.step, acting(index(*receiver)), false,
                                  shown(other, waits_from), shown(other, timeline.transfers[id].end)});
  }
}

} // namespace ppsim::test
