#pragma once
// Nodes of a workload file, derived from a task graph.

#include "ppsim/graph/task_graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ppsim::traces {

/// Operation of a node.
enum class WorkloadKind : std::uint8_t { compute, send, receive };

/// One node, with the nodes that have to end before it starts.
struct WorkloadNode {
  WorkloadKind kind = WorkloadKind::compute;
  std::string name{};
  Duration duration{0};             ///< of compute
  std::size_t peer = 0;             ///< of a send or receive: the other rank
  std::size_t tag = 0;              ///< as above: of both sides the sender's TaskId
  Bytes bytes{};                    ///< as above
  std::vector<std::size_t> after{}; ///< positions among the nodes of its rank
};

/// Nodes by rank (= stage), each before the nodes that depend on it.
[[nodiscard]] std::vector<std::vector<WorkloadNode>> workload_of(const TaskGraph& graph);

} // namespace ppsim::traces
