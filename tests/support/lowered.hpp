#pragma once
// Orders with the sends and receives that a lowering gives them.

#include "ppsim/sim/lowering.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <string>
#include <string_view>

namespace ppsim::test {

inline CommOrder operations(const TaskGraph& graph, std::string_view lowering, bool overlap = false) {
  return find_lowering(lowering)->place(graph, overlap);
}

/// As PyTorch writes it, with communication cells.
inline std::string csv_with_operations(const TaskGraph& graph, std::string_view lowering = "pytorch") {
  return traces::write_schedule_csv_comms(graph.schedule(), operations(graph, lowering));
}

} // namespace ppsim::test
