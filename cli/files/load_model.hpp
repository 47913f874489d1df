#pragma once
// Files that options name: a model's shape, a device's datasheet, an order of tasks.

#include <string_view>

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Whether a model or a device of that name is a file: a shipped one has neither folder nor ending.
[[nodiscard]] bool names_file(std::string_view text);

/// Finds the shipped model and device that the inputs name, or reads their files.
void load_model(Inputs& inputs, Problems& problems);

/// Reads the schedule file that the inputs name. Throws Error as traces::read_schedule() does.
void load_order(Inputs& inputs);

} // namespace ppsim::cli
