#pragma once
// Workload files, read back to check what ppsim writes.

#include "ppsim/traces/workload_files.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::test {

/// Operation of a node.
enum class WorkloadKind : std::uint8_t { compute, send, receive };

/// One node, with the nodes that have to end before it starts.
struct WorkloadNode {
  WorkloadKind kind = WorkloadKind::compute;
  std::uint32_t rank = 0;
  std::string name{};               ///< or label
  Duration duration{0};             ///< of compute
  std::uint32_t peer = 0;           ///< of a send or receive: the other rank
  std::uint64_t tag = 0;            ///< as above
  Bytes bytes{};                    ///< as above
  std::uint32_t cpu = 0;            ///< of GOAL
  std::vector<std::size_t> after{}; ///< positions in Workload::nodes, of the same rank
};

/// Contents of the files of one workload.
struct Workload {
  std::size_t ranks = 0;
  std::vector<WorkloadNode> nodes;  ///< rank by rank, each in the order of its file
  std::vector<std::size_t> partner; ///< by node: of a send its receive and the other way round; else the node itself
};

/// Reads Chakra files, of rank 0, 1 and so on. Throws Error (bad_input) for what is broken or no Chakra, for nodes of
/// other types than the three, for dependencies on nodes that are not there, and for a send or receive whose other side
/// is missing or differs: other simulators wait for ever there, without a word.
[[nodiscard]] Workload read_chakra(std::span<const traces::NamedBytes> files);
/// Reads GOAL, in the same way. `where` names the file in errors.
[[nodiscard]] Workload read_goal(std::string_view text, std::string_view where);

} // namespace ppsim::test
