#include "views.hpp"

#include <algorithm>

namespace ppsim::synthesis {
namespace {

std::vector<std::uint32_t> path_of(const View& view) {
  std::vector<std::size_t> waiting;
  std::vector<std::uint32_t> path;
  path.reserve(view.inputs.size());
  for (std::uint32_t i = 0; i < view.inputs.size(); ++i) {
    waiting.push_back(view.inputs[i].size());
    if (view.inputs[i].empty()) path.push_back(i);
  }
  for (std::size_t done = 0; done < path.size(); ++done)
    for (const View::Input& output : view.outputs[path[done]])
      if (--waiting[output.sequence] == 0) path.push_back(output.sequence);
  return path;
}

/// One direction of time; `left`: what a step leaves in memory, by stage.
View view_of(const Instance& of, const std::vector<std::int64_t>& left, bool backwards) {
  View view;
  view.inputs.resize(of.sequences.size());
  view.outputs.resize(of.sequences.size());
  for (const Arc& arc : of.arcs) {
    view.inputs[backwards ? arc.from : arc.to].push_back({backwards ? arc.to : arc.from, arc.lag});
    view.outputs[backwards ? arc.to : arc.from].push_back({backwards ? arc.from : arc.to, arc.lag});
  }
  view.path = path_of(view);
  for (const Sequence& sequence : of.sequences) {
    view.take.push_back(backwards ? sequence.give : sequence.take);
    view.give.push_back(backwards ? sequence.take : sequence.give);
    view.release.push_back(backwards ? sequence.tail : 0);
  }
  for (std::size_t stage = 0; stage < of.stages(); ++stage)
    view.room.push_back(of.capacity[stage] - (backwards ? left[stage] : 0));
  return view;
}

/// Where arcs lead from `from`, over other stages as well, by position on its own stage.
std::vector<bool> led_to(const Views& views, std::size_t from) {
  std::vector<bool> result(views.width);
  std::vector<bool> reached(views.local.size());
  std::vector<std::size_t> open{from};
  while (!open.empty()) {
    const std::size_t sequence = open.back();
    open.pop_back();
    for (const View::Input& output : views.view[0].outputs[sequence]) {
      if (reached[output.sequence]) continue;
      reached[output.sequence] = true;
      open.push_back(output.sequence);
      if (views.stage(output.sequence) == views.stage(from)) result[views.local[output.sequence]] = true;
    }
  }
  return result;
}

} // namespace

Views::Views(const Instance& of)
    : instance{of}, m{of.microbatches}, width{0}, on(of.stages()), local(of.sequences.size()), work(of.stages()) {
  const std::size_t count = of.sequences.size();
  std::vector<std::int64_t> left(of.stages()); // what a step leaves in memory
  for (std::uint32_t i = 0; i < count; ++i) {
    const Sequence& sequence = of.sequences[i];
    local[i] = static_cast<std::uint32_t>(on[sequence.stage].size());
    on[sequence.stage].push_back(i);
    width = std::max(width, on[sequence.stage].size());
    work[sequence.stage] += sequence.duration * of.microbatches;
    left[sequence.stage] += (sequence.take - sequence.give) * of.microbatches;
  }
  for (const bool backwards : {false, true}) view[backwards ? 1 : 0] = view_of(of, left, backwards);
  for (std::size_t from = 0; from < count; ++from) leads_to.push_back(led_to(*this, from));
}

std::int64_t Views::most_microbatch_work() const {
  return std::ranges::max(work) / static_cast<std::int64_t>(m);
}

} // namespace ppsim::synthesis
