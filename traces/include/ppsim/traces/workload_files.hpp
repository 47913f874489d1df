#pragma once
// Workload files: a schedule with its costs, as input of other simulators: Chakra execution traces (ASTRA-sim) and GOAL
// (LogGOPSim).

#include "ppsim/graph/task_graph.hpp"

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
/// COMP; an overlapped pair that runs in one piece is one node. Every transfer is a COMM_SEND and a COMM_RECV that
/// agree in source, destination, tag (the sender's TaskId) and size. The data_deps of a task are the task before it on
/// the stage and the transfers that it receives; those of a send are its sender. Chakra counts whole microseconds:
/// duration_micros is rounded so that sums along a stage are correct to half a microsecond, and the attribute
/// duration_ns is exact.
///
/// Transfers have sizes but no times: the other simulator computes those. A transfer without a size (costs by --comm)
/// has one byte, because ASTRA-sim cannot send less. Slices, reductions and the optimizer step are not written.
[[nodiscard]] std::vector<NamedBytes> write_chakra(const TaskGraph& graph, std::string_view prefix);

/// LogGOPSim's GOAL, all stages in one text, times in nanoseconds. Otherwise the same nodes as write_chakra(), all
/// nodes of a stage on cpu 0.
[[nodiscard]] std::string write_goal(const TaskGraph& graph);

} // namespace ppsim::traces
