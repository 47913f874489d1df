#pragma once
// Operation traces, before they are put together.

#include <span>

#include "imports/recorded.hpp"

namespace ppsim::traces {

/// What the files hold, with times as they stand there. Throws Error (bad_input) as the format's reader does.
[[nodiscard]] Recorded read_operations(std::span<const ImportFile> files, const ImportOptions& options);

} // namespace ppsim::traces
