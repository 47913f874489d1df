// Deadlocks: the cycle of operations that wait for each other, in words, and a remedy.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/hang.hpp"
#include "ppsim/engine/streams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "program_graph.hpp"

namespace ppsim::runtime {
namespace {

using Node = ProgramGraph::Node;

constexpr WaitReason reason_of(const Waiting& wait) {
  return static_cast<WaitReason>(wait.why);
}

/// Merges consecutive steps along one stage's order. Starts with a task that waits for a slot, otherwise with one that
/// waits for data.
std::vector<Waiting> merge_order(const ProgramGraph& graph, std::vector<Waiting> cycle) {
  const auto other =
      std::ranges::find_if(cycle, [](const Waiting& wait) { return reason_of(wait) != WaitReason::order; });
  if (other == cycle.end()) return cycle;
  std::ranges::rotate(cycle, other);
  std::vector<Waiting> merged;
  for (const Waiting& wait : cycle)
    if (reason_of(wait) == WaitReason::order && reason_of(merged.back()) == WaitReason::order)
      merged.back().on = wait.on;
    else
      merged.push_back(wait);
  auto first = std::ranges::find_if(merged, [](const Waiting& wait) { return reason_of(wait) == WaitReason::slot; });
  if (first == merged.end())
    first = std::ranges::find_if(
        merged, [&](const Waiting& wait) { return graph.is_task(wait.node) && reason_of(wait) != WaitReason::order; });
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
  [[nodiscard]] const Channel& channel(Node transfer) const { return program_.channel(graph_.transfer(transfer)); }
  [[nodiscard]] std::string content(Node transfer) const {
    const Task& producer = program_.schedule.task(program_.transfer(graph_.transfer(transfer)).producer);
    return fmt::format("the {} of {}", producer.pass == Pass::forward ? "activation" : "gradient", to_string(producer));
  }
  [[nodiscard]] std::string whole(Node transfer) const {
    return fmt::format("{} from stage {} to stage {}", content(transfer), index(channel(transfer).from),
                       index(channel(transfer).to));
  }

  [[nodiscard]] std::string reason(const Waiting& wait) const {
    switch (reason_of(wait)) {
    case WaitReason::order:
      return fmt::format("{}, which is before it", name(wait.on));
    case WaitReason::output:
      return fmt::format("{} to make it", name(wait.on));
    case WaitReason::input:
      return fmt::format("{} from stage {}", content(wait.on), index(channel(wait.on).from));
    case WaitReason::slot:
      return fmt::format("a free slot to stage {}, where {} must end first", stage_of(wait.on), name(wait.on));
    case WaitReason::lane:
      return fmt::format("{}, which comes before it on their communicator", whole(wait.on));
    case WaitReason::posted:
      return fmt::format("stage {} to post it after {}", stage_of(wait.on), name(wait.on));
    case WaitReason::batch:
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

/// The fewest slots with which the program runs to its end; none if no number helps.
std::optional<std::size_t> fewest_slots(Program program) {
  const auto suffices = [&](std::size_t slots) {
    set_slots(program, slots);
    return ProgramGraph{program}.waits().runs_to_its_end();
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

/// Sends and receives follow from the order of tasks here, so another order of them is not a remedy.
std::string remedy(const Program& program) {
  if (const auto slots = fewest_slots(program)) return fmt::format("--slots {} suffices", *slots);
  if (program.p2p == P2p::edge) return "change the order of its tasks";
  const Program edges = with_edges(program);
  if (ProgramGraph{edges}.waits().runs_to_its_end())
    return "use --p2p edge: a communicator for each direction between two stages";
  if (const auto slots = fewest_slots(edges)) return fmt::format("use --p2p edge with --slots {}", *slots);
  return "change the order of its tasks";
}

Communicators communicators_of(P2p p2p) {
  if (p2p == P2p::edge) return Communicators::edge;
  return p2p == P2p::pair ? Communicators::pair : Communicators::group;
}

} // namespace

void refuse_deadlock(const Program& program) {
  if (const auto hang = find_hang(program.schedule, operations_of(program), communicators_of(program.p2p)))
    throw Error{ExitCode::no, Problem{program.place, in_a_line(*hang), remedy(program)}};
  const ProgramGraph graph{program};
  if (graph.waits().runs_to_its_end()) return;
  constexpr std::size_t most_said = 16;
  const std::vector<Waiting> cycle = merge_order(graph, shortest_cycle(graph.waits(), [](std::uint8_t why) {
                                                   return static_cast<WaitReason>(why) == WaitReason::order;
                                                 }));
  const Words words{program, graph};
  std::string said = "deadlock: ";
  for (std::size_t i = 0; i < cycle.size() && i < most_said; ++i)
    said += (i == 0 ? "" : "; ") + words.sentence(cycle[i]);
  if (cycle.size() > most_said)
    said += fmt::format("; and so on through {} more, back to the first", cycle.size() - most_said);
  throw Error{ExitCode::no, Problem{program.place, std::move(said), remedy(program)}};
}

} // namespace ppsim::runtime
