// Deadlocks: the cycle of operations that wait for each other, in words, and what would break it.

#include "ppsim/sim/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <utility>

#include "program_graph.hpp"

namespace ppsim::runtime {
namespace {

using Node = ProgramGraph::Node;

/// `node` waits for `on`.
struct Waiting {
  Node node = 0;
  Node on = 0;
  Wait why{};
};

/// Finds a cycle among operations that never run: of the least waits other than for the order of a stage (which read as
/// one), then of the least operations.
class CycleSearch {
public:
  explicit CycleSearch(const ProgramGraph& graph)
      : graph_{graph}, distance_(graph.size(), far), reached_(graph.size()) {
    find_stuck();
  }

  /// Operation by operation, each waiting for the next one's, the last for the first.
  [[nodiscard]] std::vector<Waiting> shortest() {
    search_from(on_some_cycle());
    // Every cycle has an arc that no stage's order gives. Large programs have very many: as far as time allows.
    for (const Node start : ends_of_waits()) {
      if (visited_ > most_visited) break;
      search_from(start);
    }
    return std::move(best_);
  }

private:
  static constexpr std::uint64_t far = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t step_weight = 1;
  static constexpr std::uint64_t wait_weight = std::uint64_t{1} << 32U;
  static constexpr std::size_t most_visited = 4'000'000;

  /// What does not run; less what only stands behind a cycle, as nothing stuck waits for it.
  void find_stuck() {
    stuck_.assign(graph_.size(), true);
    for (const Node node : graph_.order([](Node) { return 0; })) stuck_[node] = false;
    std::vector<std::uint32_t> waited_for(graph_.size(), 0);
    std::vector<std::vector<Node>> before(graph_.size());
    std::vector<Node> loose;
    for (Node node = 0; node < graph_.size(); ++node) {
      if (!stuck_[node]) continue;
      for (const ProgramGraph::Arc& arc : graph_.waiting_for(node)) before[arc.to].push_back(node);
      waited_for[node] = static_cast<std::uint32_t>(graph_.waiting_for(node).size());
      if (waited_for[node] == 0) loose.push_back(node);
    }
    while (!loose.empty()) {
      const Node node = loose.back();
      loose.pop_back();
      stuck_[node] = false;
      for (const Node earlier : before[node])
        if (--waited_for[earlier] == 0) loose.push_back(earlier);
    }
  }

  /// Something stuck waits for each of the stuck: following them leads around a cycle.
  [[nodiscard]] Node on_some_cycle() const {
    const auto first_stuck = [&](Node node) {
      const auto arcs = graph_.waiting_for(node);
      return std::ranges::find_if(arcs, [&](const ProgramGraph::Arc& arc) { return stuck_[arc.to]; })->to;
    };
    std::vector<bool> seen(graph_.size(), false);
    auto node = static_cast<Node>(std::ranges::find(stuck_, true) - stuck_.begin());
    for (; !seen[node]; node = first_stuck(node)) seen[node] = true;
    return node;
  }

  [[nodiscard]] std::vector<Node> ends_of_waits() const {
    std::vector<Node> ends;
    std::vector<bool> listed(graph_.size(), false);
    for (Node node = 0; node < graph_.size(); ++node) {
      if (!stuck_[node]) continue;
      for (const ProgramGraph::Arc& arc : graph_.waiting_for(node))
        if (arc.why != Wait::order && stuck_[arc.to] && !listed[arc.to]) {
          listed[arc.to] = true;
          ends.push_back(arc.to);
        }
    }
    return ends;
  }

  /// Dijkstra's algorithm from `start` back to itself, no further than the best cycle so far.
  void search_from(Node start) {
    using Reached = std::pair<std::uint64_t, Node>;
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> open;
    std::vector<Node> touched;
    open.emplace(0, start);
    while (!open.empty() && open.top().first < best_weight_) {
      const auto [distance, node] = open.top();
      open.pop();
      if (node != start && distance > distance_[node]) continue;
      if (node == start && distance > 0) { // the first way back is the shortest
        best_weight_ = distance;
        keep_cycle(start);
        break;
      }
      for (const ProgramGraph::Arc& arc : graph_.waiting_for(node)) {
        ++visited_;
        const std::uint64_t next = distance + (arc.why == Wait::order ? step_weight : wait_weight);
        if (!stuck_[arc.to] || next >= distance_[arc.to]) continue;
        distance_[arc.to] = next;
        reached_[arc.to] = {arc.to, node, arc.why};
        touched.push_back(arc.to);
        open.emplace(next, arc.to);
      }
    }
    for (const Node node : touched) distance_[node] = far;
  }

  void keep_cycle(Node start) {
    best_.clear();
    Node node = start;
    do {
      best_.push_back(reached_[node]);
      node = reached_[node].on;
    } while (node != start);
  }

  const ProgramGraph& graph_;
  std::vector<bool> stuck_;
  std::vector<std::uint64_t> distance_;
  std::vector<Waiting> reached_;
  std::vector<Waiting> best_;
  std::uint64_t best_weight_ = far;
  std::size_t visited_ = 0;
};

/// Steps along one stage's order read as one. A task that waits for a slot comes first, else one that waits for data.
std::vector<Waiting> merge_order(const ProgramGraph& graph, std::vector<Waiting> cycle) {
  const auto other = std::ranges::find_if(cycle, [](const Waiting& wait) { return wait.why != Wait::order; });
  if (other == cycle.end()) return cycle;
  std::ranges::rotate(cycle, other);
  std::vector<Waiting> merged;
  for (const Waiting& wait : cycle)
    if (wait.why == Wait::order && merged.back().why == Wait::order)
      merged.back().on = wait.on;
    else
      merged.push_back(wait);
  auto first = std::ranges::find_if(merged, [](const Waiting& wait) { return wait.why == Wait::slot; });
  if (first == merged.end())
    first = std::ranges::find_if(
        merged, [&](const Waiting& wait) { return graph.is_task(wait.node) && wait.why != Wait::order; });
  if (first != merged.end()) std::ranges::rotate(merged, first);
  return merged;
}

/// Operations in words.
class Words {
public:
  Words(const Program& program, const ProgramGraph& graph) : program_{program}, graph_{graph} {}

  [[nodiscard]] std::string sentence(const Waiting& wait) const {
    const std::string subject = graph_.is_task(wait.node)
                                    ? fmt::format("stage {}: {}", stage_of(wait.node), name(wait.node))
                                    : whole(wait.node);
    return fmt::format("{} waits for {}", subject, reason(wait));
  }

private:
  [[nodiscard]] std::size_t stage_of(Node task) const {
    return index(program_.schedule.stage_of(ProgramGraph::task(task)));
  }
  [[nodiscard]] std::string name(Node task) const {
    return to_string(program_.schedule.task(ProgramGraph::task(task)));
  }
  [[nodiscard]] const Channel& channel(Node transfer) const {
    return program_.channels[index(graph_.transfer(transfer).channel)];
  }
  [[nodiscard]] std::string content(Node transfer) const {
    const Task& producer = program_.schedule.task(program_.transfer(graph_.transfer(transfer)).producer);
    return fmt::format("the {} of {}", producer.pass == Pass::forward ? "activation" : "gradient", to_string(producer));
  }
  [[nodiscard]] std::string whole(Node transfer) const {
    return fmt::format("{} from stage {} to stage {}", content(transfer), index(channel(transfer).from),
                       index(channel(transfer).to));
  }

  [[nodiscard]] std::string reason(const Waiting& wait) const {
    switch (wait.why) {
    case Wait::order:
      return fmt::format("{}, which stands before it", name(wait.on));
    case Wait::output:
      return fmt::format("{} to make it", name(wait.on));
    case Wait::input:
      return fmt::format("{} from stage {}", content(wait.on), index(channel(wait.on).from));
    case Wait::slot:
      return fmt::format("a free slot to stage {}, where {} has to end first", stage_of(wait.on), name(wait.on));
    case Wait::lane:
      return fmt::format("{}, which comes before it on their communicator", whole(wait.on));
    case Wait::posted:
      return fmt::format("stage {} to post it behind {}", stage_of(wait.on), name(wait.on));
    case Wait::batch:
      return fmt::format("{}, which is in the batch before it", whole(wait.on));
    }
    return "?";
  }

  const Program& program_;
  const ProgramGraph& graph_;
};

void set_slots(Program& program, std::size_t slots) {
  for (Channel& channel : program.channels)
    if (!channel.is_local()) channel.slots = std::min(slots, channel.transfers.size());
}

/// The fewest slots with which the program runs to its end; nothing where no number helps.
std::optional<std::size_t> fewest_slots(Program program) {
  const auto suffices = [&](std::size_t slots) {
    set_slots(program, slots);
    return ProgramGraph{program}.runs_to_its_end();
  };
  std::size_t enough = 1;
  for (const Channel& channel : program.channels) enough = std::max(enough, channel.transfers.size());
  if (!suffices(enough)) return std::nullopt;
  std::size_t too_few = 0;
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    (suffices(middle) ? enough : too_few) = middle;
  }
  return enough;
}

/// The same program with a communicator per directed edge.
Program with_edges(Program program) {
  program.p2p = P2p::edge;
  for (StageProgram& stage : program.stages) stage.batches.clear();
  program.lanes.clear();
  for (std::size_t id = 0; id < program.channels.size(); ++id) {
    const Channel& channel = program.channels[id];
    if (channel.is_local()) continue;
    Lane lane{channel.from, channel.to, {}};
    for (std::uint32_t position = 0; position < channel.transfers.size(); ++position)
      lane.transfers.push_back({make_id<ChannelId>(id), position});
    program.lanes.push_back(std::move(lane));
  }
  return program;
}

std::string remedy(const Program& program) {
  if (const auto slots = fewest_slots(program)) return fmt::format("--slots {} suffices", *slots);
  if (program.p2p == P2p::edge) return "its tasks have to stand in another order";
  const Program edges = with_edges(program);
  if (ProgramGraph{edges}.runs_to_its_end())
    return "use --p2p edge: a communicator for each direction between two stages";
  if (const auto slots = fewest_slots(edges)) return fmt::format("use --p2p edge with --slots {}", *slots);
  return "its tasks have to stand in another order";
}

} // namespace

void refuse_deadlock(const Program& program) {
  const ProgramGraph graph{program};
  if (graph.runs_to_its_end()) return;
  constexpr std::size_t most_said = 16;
  const std::vector<Waiting> cycle = merge_order(graph, CycleSearch{graph}.shortest());
  const Words words{program, graph};
  std::string said = "deadlock: ";
  for (std::size_t i = 0; i < cycle.size() && i < most_said; ++i)
    said += (i == 0 ? "" : "; ") + words.sentence(cycle[i]);
  if (cycle.size() > most_said)
    said += fmt::format("; and so on through {} more, back to the first", cycle.size() - most_said);
  throw Error{ExitCode::no, Problem{program.place, std::move(said), remedy(program)}};
}

} // namespace ppsim::runtime
