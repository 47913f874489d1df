#pragma once
// Reads run files named by a user.

#include "ppsim/measured/measured.hpp"

#include <string>
#include <string_view>

namespace ppsim::cli {

/// Reads a run file, "-" for stdin. Throws Error (bad_input) as read_file() and traces::read_run(). For a file in a
/// format of `ppsim import`, the error names the command that makes a run of it. `where` as in read_file().
[[nodiscard]] MeasuredRun read_run_file(const std::string& path, std::string_view where);

} // namespace ppsim::cli
