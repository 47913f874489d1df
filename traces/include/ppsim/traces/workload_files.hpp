#pragma once
// Workload files: a schedule with its costs as input of other simulators: Chakra execution traces (ASTRA-sim) and GOAL
// (LogGOPSim). Written, and read back to check them.

#include "ppsim/graph/task_graph.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::traces {

/// A file in memory.
struct NamedBytes {
  std::string name;
  std::string bytes;
};

/// MLCommons Chakra execution traces (schema 0.0.4), one file per stage: "PREFIX.STAGE.et". A task is a node of type
/// COMP, an overlapped pair that runs in one piece is one node; every transfer is a COMM_SEND and a COMM_RECV that
/// agree in source, destination, tag (the sender's TaskId) and size. data_deps are the task before on the stage and
/// what the task receives, or, of a send, the task that made it. Chakra counts whole microseconds: duration_micros is
/// rounded so that the sums along a stage are right to half a microsecond, and the attribute duration_ns is exact.
///
/// Transfers have sizes and no times: those are the other simulator's. One without a size (costs by --comm) has one
/// byte, as ASTRA-sim can not send less. Slices, reductions and the optimizer step are not written.
[[nodiscard]] std::vector<NamedBytes> write_chakra(const TaskGraph& graph, std::string_view prefix);

/// LogGOPSim's GOAL, all stages in one text, times in nanoseconds; otherwise the same nodes as write_chakra(), all of a
/// stage on cpu 0.
[[nodiscard]] std::string write_goal(const TaskGraph& graph);

/// What a node of a workload does.
enum class WorkloadKind : std::uint8_t { compute, send, receive };

/// One node, with the nodes that have to end before it starts.
struct WorkloadNode {
  WorkloadKind kind = WorkloadKind::compute;
  std::uint32_t rank = 0;
  std::string name{};               ///< or label
  Duration duration{0};             ///< of compute
  std::uint32_t peer = 0;           ///< of a send or receive: the other rank
  std::uint64_t tag = 0;            ///< likewise
  Bytes bytes{};                    ///< likewise
  std::uint32_t cpu = 0;            ///< of GOAL
  std::vector<std::size_t> after{}; ///< positions in Workload::nodes, of the same rank
};

/// What the files of one workload hold.
struct Workload {
  std::size_t ranks = 0;
  std::vector<WorkloadNode> nodes;  ///< rank by rank, each in the order of its file
  std::vector<std::size_t> partner; ///< by node: of a send its receive and the other way round; else the node itself
};

/// Reads Chakra files, of rank 0, 1 and so on. Throws Error (bad_input) for what is broken or no Chakra, for nodes of
/// other types than the three, for dependencies on nodes that are not there, and for a send or receive whose other side
/// is missing or differs: other simulators wait for ever there, without a word.
[[nodiscard]] Workload read_chakra(std::span<const NamedBytes> files);
/// Reads GOAL, likewise. `where` names the file in errors.
[[nodiscard]] Workload read_goal(std::string_view text, std::string_view where);

} // namespace ppsim::traces
