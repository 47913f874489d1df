#pragma once
// Run files, as a user names them.

#include "ppsim/measured/measured.hpp"

#include <string>
#include <string_view>

namespace ppsim::cli {

/// Reads a run file, "-" for stdin. Throws Error (bad_input) as read_file() and traces::read_run() do; of a file that
/// has one of the formats of `ppsim import` instead, with the command that makes a run of it. `where` as of
/// read_file().
[[nodiscard]] MeasuredRun read_run_file(const std::string& path, std::string_view where);

} // namespace ppsim::cli
