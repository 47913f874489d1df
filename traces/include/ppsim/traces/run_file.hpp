#pragma once
// Run files: a measured run as JSON, schema 1 (docs/run-files.md: keys are added, never changed).

#include "ppsim/measured/measured.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace ppsim::traces {

/// The most bytes of a text in a run file, such as a fact.
inline constexpr std::size_t longest_fact = std::size_t{1} << 16;

/// One JSON document: how and where the run was made, its order, and per step the times of every task and transfer.
/// Times are in whole nanoseconds, sizes in bytes; facts longer than longest_fact are cut. It does not contain what
/// released a task; attribute() finds that.
[[nodiscard]] std::string write_run(const MeasuredRun& run);

/// Reads a run, written by write_run() or another program. `where` names the file in errors. Throws Error (bad_input)
/// with every fault: invalid JSON by line and column, others by key.
[[nodiscard]] MeasuredRun read_run(std::string_view text, std::string_view where);

} // namespace ppsim::traces
