#pragma once
// Files that options name: a model's shape, a device's datasheet, an order of tasks.

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Finds the shipped model and device that the inputs name, or reads their files.
void load_model(Inputs& inputs, Problems& problems);

/// Reads the schedule file that the inputs name. Throws Error as traces::read_schedule() does.
void load_order(Inputs& inputs);

} // namespace ppsim::cli
