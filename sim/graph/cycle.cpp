#include "ppsim/base/error.hpp"
#include "ppsim/graph/detail/dag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ppsim {
namespace {

/// One link of the chain: `task` waits for `for_task` because of `cause`.
struct Wait {
  TaskId task{};
  TaskId for_task{};
  Cause cause = Cause::none;
};

/// For each waiting task, one missing input; data before order, because it is more informative.
std::vector<Wait> missing_inputs(const Schedule& schedule, const Wiring::Graph& graph,
                                 const std::vector<std::uint8_t>& waiting) {
  std::vector<Wait> missing(waiting.size());
  for (std::uint32_t from = 0; from < waiting.size(); ++from) {
    if (waiting[from] == 0) continue;
    for (auto [edge, end] = out_edges(from, graph); edge != end; ++edge) {
      Wait& wait = missing[target(*edge, graph)];
      if (wait.cause == Cause::none || wait.cause == Cause::order)
        wait = {make_id<TaskId>(target(*edge, graph)), TaskId{from}, graph[*edge].cause(schedule.task(TaskId{from}))};
    }
  }
  return missing;
}

/// Follows missing inputs from a waiting task until a task repeats; the part between is a cycle.
std::vector<Wait> find_cycle(const Schedule& schedule, const Wiring::Graph& graph,
                             const std::vector<std::uint8_t>& waiting) {
  const std::vector<Wait> missing = missing_inputs(schedule, graph, waiting);
  std::vector<bool> seen(waiting.size());
  auto at =
      static_cast<std::size_t>(std::ranges::find_if(waiting, [](auto inputs) { return inputs > 0; }) - waiting.begin());
  for (; !seen[at]; at = index(missing[at].for_task)) seen[at] = true;
  std::vector<Wait> cycle;
  const std::size_t start = at;
  do {
    cycle.push_back(missing[at]);
    at = index(missing[at].for_task);
  } while (at != start);
  return cycle;
}

/// Merges consecutive steps back along one stage's order: "after 1F1 on stage 1".
std::vector<Wait> merge_order_steps(std::vector<Wait> cycle) {
  const auto data = std::ranges::find_if(cycle, [](const Wait& wait) { return wait.cause != Cause::order; });
  if (data == cycle.end()) return cycle;
  std::ranges::rotate(cycle, data);
  std::vector<Wait> merged;
  for (const Wait& wait : cycle)
    if (wait.cause == Cause::order && merged.back().cause == Cause::order)
      merged.back().for_task = wait.for_task;
    else
      merged.push_back(wait);
  return merged;
}

/// Whether the wait is for an input of the second half of a pair, which the first half also needs.
bool is_for_second_half(const Schedule& schedule, const Wait& wait) {
  const bool for_backward = wait.cause == Cause::gradient || wait.cause == Cause::own_forward;
  return schedule.task(wait.task).pass == Pass::forward ? for_backward : wait.cause == Cause::activation;
}

/// The position of a task on its microbatch's way down and up the chunks; a W is after its I.
std::size_t place_on_way(const Schedule& schedule, const Task& task) {
  const std::size_t chunks = schedule.shape().chunks();
  const std::size_t step = task.pass == Pass::forward ? task.chunk_index : 2 * chunks - 1 - task.chunk_index;
  return 2 * step + (task.pass == Pass::weight_grad ? 1 : 0);
}

/// Whether data dependencies require this step of a stage's order anyway, so that no other order is possible.
bool is_needed_anyway(const Schedule& schedule, const Wait& wait) {
  const Task& task = schedule.task(wait.task);
  const Task& before = schedule.task(wait.for_task);
  return task.microbatch == before.microbatch && before.pass != Pass::weight_grad &&
         place_on_way(schedule, before) < place_on_way(schedule, task);
}

std::string reason(const Schedule& schedule, const Wait& wait) {
  if (is_for_second_half(schedule, wait)) return "for the other half of its pair";
  switch (wait.cause) {
  case Cause::activation:
    return "its activation";
  case Cause::gradient:
    return "its gradient";
  case Cause::own_forward:
    return "its forward";
  case Cause::own_input_grad:
    return "its input gradient";
  case Cause::pair:
    return "the other half of its pair";
  default:
    if (is_needed_anyway(schedule, wait)) return "which comes first for the same microbatch";
    return fmt::format("before it on stage {}", index(schedule.stage_of(wait.for_task)));
  }
}

/// Each move of a task that ends this cycle: any of them may be the one that the order's author missed.
std::string remedy_of(const Schedule& schedule, const std::vector<Wait>& cycle) {
  constexpr std::size_t most_moves = 3;
  const auto on_stage = [&](TaskId task) {
    return fmt::format("on stage {}, {}", index(schedule.stage_of(task)), to_string(schedule.task(task)));
  };
  std::vector<Wait> moves;
  std::ranges::copy_if(cycle, std::back_inserter(moves), [&](const Wait& wait) {
    return wait.cause == Cause::order && !is_needed_anyway(schedule, wait);
  });
  const Wait& first = cycle.front();
  if (moves.empty() && cycle.size() == 1) return on_stage(first.task) + " cannot overlap with the task that needs it";
  if (moves.empty() && first.cause != Cause::own_forward && first.cause != Cause::own_input_grad)
    return "move one of these tasks earlier in its stage's order";
  if (moves.empty()) moves.push_back({first.for_task, first.task}); // the one needs the other
  if (moves.size() == 1)
    return fmt::format("{} must come before {}", on_stage(moves[0].task), to_string(schedule.task(moves[0].for_task)));
  std::string text = "move one task: ";
  for (std::size_t i = 0; i < std::min(moves.size(), most_moves); ++i)
    text += fmt::format("{}{} before {}", i == 0 ? "" : "; or ", on_stage(moves[i].task),
                        to_string(schedule.task(moves[i].for_task)));
  return text + (moves.size() > most_moves ? "; or another in this circle" : "");
}

} // namespace

void report_cycle(const Schedule& schedule, const Wiring::Graph& graph, const std::vector<std::uint8_t>& waiting,
                  std::string_view where) {
  constexpr std::size_t longest_chain = 12;
  const std::vector<Wait> cycle = merge_order_steps(find_cycle(schedule, graph, waiting));
  std::string chain = fmt::format("deadlock: {} on stage {}", to_string(schedule.task(cycle.front().task)),
                                  index(schedule.stage_of(cycle.front().task)));
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (i == longest_chain) {
      chain += fmt::format(", and so on through {} more tasks back to the first", cycle.size() - i);
      break;
    }
    chain += fmt::format("{} waits for {} on stage {} ({})", i == 0 ? "" : ", which",
                         to_string(schedule.task(cycle[i].for_task)), index(schedule.stage_of(cycle[i].for_task)),
                         reason(schedule, cycle[i]));
  }
  throw Error{ExitCode::no, Problem{std::string{where}, std::move(chain), remedy_of(schedule, cycle)}};
}

} // namespace ppsim
