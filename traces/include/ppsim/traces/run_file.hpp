#pragma once
// Run files: a measured run as JSON, schema 1 (docs/run-files.md: keys are added, never changed).

#include "ppsim/sim/measured.hpp"

#include <string>
#include <string_view>

namespace ppsim::traces {

/// One JSON document: how and where the run was made, its order, and per step the times of every task and transfer.
/// Times are whole nanoseconds, sizes bytes. What released a task is not in it: attribute() finds that again.
[[nodiscard]] std::string write_run(const MeasuredRun& run);

/// Reads what write_run() wrote, by whatever program. `where` names the file in errors. Throws Error (bad_input) with
/// every fault found: what is no JSON by line and column, all else by its key.
[[nodiscard]] MeasuredRun read_run(std::string_view text, std::string_view where);

} // namespace ppsim::traces
