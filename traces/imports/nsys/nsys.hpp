#pragma once
// Nsight Systems, exported to SQLite: tasks and transfers by NVTX ranges and the kernels that were launched in them.

#include <span>

#include "imports/recorded.hpp"

namespace ppsim::traces {

/// Reads exports of one or several ranks. Throws Error (bad_input) with file and remedy.
[[nodiscard]] Recorded read_nsys(std::span<const ImportFile> files, const ImportOptions& options);

} // namespace ppsim::traces
