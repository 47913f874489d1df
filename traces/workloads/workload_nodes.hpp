#pragma once
// The nodes of a workload file, as a task graph gives them and as a reader finds them.

#include "ppsim/traces/workload_files.hpp"

#include <vector>

namespace ppsim::traces {

/// The nodes of every stage, each before those that wait for it. Partners are not filled in: tags say them.
[[nodiscard]] Workload workload_of(const TaskGraph& graph);

/// Fills in the partners of what was read. Throws Error (bad_input, `where`) where a send or receive has none.
void match_transfers(Workload& workload, std::string_view where);

} // namespace ppsim::traces
