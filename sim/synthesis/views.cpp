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
  for (const bool backwards : {false, true}) {
    View& to = view[backwards ? 1 : 0];
    to.inputs.resize(count);
    to.outputs.resize(count);
    for (const Arc& arc : of.arcs) {
      to.inputs[backwards ? arc.from : arc.to].push_back({backwards ? arc.to : arc.from, arc.lag});
      to.outputs[backwards ? arc.to : arc.from].push_back({backwards ? arc.from : arc.to, arc.lag});
    }
    to.path = path_of(to);
    for (const Sequence& sequence : of.sequences) {
      to.take.push_back(backwards ? sequence.give : sequence.take);
      to.give.push_back(backwards ? sequence.take : sequence.give);
      to.release.push_back(backwards ? sequence.tail : 0);
    }
    for (std::size_t stage = 0; stage < of.stages(); ++stage)
      to.room.push_back(of.capacity[stage] - (backwards ? left[stage] : 0));
  }
}

} // namespace ppsim::synthesis
