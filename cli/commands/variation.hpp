#pragma once
// The command 'compare' with --vary.

#include "ppsim/base/error.hpp"

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Runs it and writes the outputs. Exit status 3 if nothing fits anywhere.
[[nodiscard]] ExitCode run_variation(const Inputs& inputs);

} // namespace ppsim::cli
