#pragma once
// Run files: a measured run as JSON, schema 1 (docs/run-files.md: keys are added, never changed).

#include "ppsim/measured/measured.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace ppsim::traces {

/// Bytes of the longest text in a run file, as of each fact.
inline constexpr std::size_t longest_fact = std::size_t{1} << 16;

/// One JSON document: how and where the run was made, its order, and per step the times of every task and transfer.
/// Times are whole nanoseconds, sizes bytes; facts that are longer than longest_fact are cut. What released a task is
/// not in it: attribute() finds that again.
[[nodiscard]] std::string write_run(const MeasuredRun& run);

/// Reads what write_run() wrote, by whatever program. `where` names the file in errors. Throws Error (bad_input) with
/// every fault found: what is no JSON by line and column, all else by its key.
[[nodiscard]] MeasuredRun read_run(std::string_view text, std::string_view where);

} // namespace ppsim::traces
