#include "ppsim/graph/detail/dag.hpp"

#include "models.hpp"

namespace ppsim {
namespace {

template <bool in_slices> // compiled separately: inlined beside the other models, its loop becomes slower
[[gnu::noinline]] Timeline run_latency(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  const Dag& dag = graph.dag();
  const Wiring::Graph& edges = dag.wiring->graph;
  const std::span<const Task> tasks = graph.schedule().tasks();
  const Durations durations{dag, tasks};
  Timeline timeline = empty_timeline(graph.schedule(), stage_ready);
  for (const TaskId task : dag.wiring->topological_order) {
    const auto from = static_cast<std::uint32_t>(index(task));
    Span& span = timeline.tasks[from];
    const Duration length = durations[from];
    span.end = span.start + length;
    for (auto [edge, end] = out_edges(from, edges); edge != end; ++edge) {
      const EdgeTag tag = edges[*edge];
      SimTime arrival = span.end;
      if (tag.link() != LinkClass::none) {
        arrival += dag.transfer_of(tasks[from], tag.link());
        timeline.transfers[from] = {span.end, arrival};
        if constexpr (in_slices) {
          if (dag.is_sliced(tasks[from], tag.link()))
            timeline.transfers[from] = dag.sliced_transfer(tasks[from], tag.link(), span, dag.first_slice(span));
          arrival = timeline.transfers[from].end;
        }
      } else if (tag.is_pair()) {
        arrival += durations.pair_delay(length);
      }
      release(timeline, from, target(*edge, edges), arrival, tag.cause(tasks[from]));
    }
  }
  return timeline;
}

} // namespace

Timeline simulate_latency(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  const bool in_slices = graph.dag().slices > 1; // decided once, so that the common loop has no test
  return in_slices ? run_latency<true>(graph, stage_ready) : run_latency<false>(graph, stage_ready);
}

} // namespace ppsim
