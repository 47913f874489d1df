#pragma once
// Files that options name: a model's shape, a device's datasheet, what was measured over a link, an order of tasks, a
// run.

#include <string>
#include <string_view>

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Whether a model or a device of that name is a file: a shipped one has neither folder nor ending.
[[nodiscard]] bool names_file(std::string_view text);

/// `value` of an option with the files that it names, of models, devices and links, found from `folder` on.
[[nodiscard]] std::string from_folder(const Option& option, std::string value, const std::string& folder);

/// Finds the shipped model and device that the inputs name, or reads their files, and those of links.
void load_model(Inputs& inputs, Problems& problems);

/// Reads the schedule file that the inputs name. Throws Error as traces::read_schedule() does.
void load_order(Inputs& inputs);

/// Reads the run file that tasks are to vary as. Throws Error as read_run_file() and measured_jitter() do.
void load_jitter(Inputs& inputs);

} // namespace ppsim::cli
