// GOAL, the text that LogGOPSim's txt2bin reads:
//
//   num_ranks 2
//   rank 0 {
//   c0F0: calc 1000000 cpu 0
//   s0SEND_F0: send 4096b to 1 tag 0 cpu 0
//   s0SEND_F0 requires c0F0
//   }
//
// A number after calc is nanoseconds. `a requires b`: a starts when b has ended. LogGOPSim starts what is ready as soon
// as its cpu is free, even where what it required ended later on another cpu. So all of a rank is on one: a receive
// moves on the clock that the tasks go by. Without -o, -O and -G it takes none of it.

#include "ppsim/traces/workload_files.hpp"

#include <fmt/format.h>

#include "schedules/formats.hpp"
#include "workload_nodes.hpp"

namespace ppsim::traces {
namespace {

/// The name of a node as a label, which begins with a letter and holds letters, digits and '_'.
std::string label_of(const WorkloadNode& node) {
  constexpr std::string_view letters = "csr";
  std::string label{letters[static_cast<std::size_t>(node.kind)]};
  for (const char c : node.name) {
    const bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    label += is_letter || is_digit(c) ? c : '_';
  }
  return label;
}

} // namespace

std::string write_goal(const TaskGraph& graph) {
  const std::vector<std::vector<WorkloadNode>> ranks = workload_of(graph);
  std::string out;
  const auto put = [&]<class... Arguments>(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out += fmt::format(format, std::forward<Arguments>(arguments)...);
  };
  put("num_ranks {}\n", ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    put("\nrank {} {{\n", rank);
    for (const WorkloadNode& node : ranks[rank]) {
      const std::string label = label_of(node);
      if (node.kind == WorkloadKind::compute)
        put("{}: calc {} cpu 0\n", label, node.duration.count());
      else if (node.kind == WorkloadKind::send)
        put("{}: send {}b to {} tag {} cpu 0\n", label, node.bytes.count(), node.peer, node.tag);
      else
        put("{}: recv {}b from {} tag {} cpu 0\n", label, node.bytes.count(), node.peer, node.tag);
      for (const std::size_t before : node.after) put("{} requires {}\n", label, label_of(ranks[rank][before]));
    }
    put("}}\n");
  }
  return out;
}

} // namespace ppsim::traces
