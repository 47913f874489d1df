#pragma once
// Loads the files named in options: a model's shape, a device's datasheet, measurements of a link, an order of tasks, a
// run.

#include <string>
#include <string_view>

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Whether the name of a model or a device is a file: shipped ones have neither folder nor extension.
[[nodiscard]] bool names_file(std::string_view text);

/// `value` of an option, with the paths of model, device and link files in it made relative to `folder`.
[[nodiscard]] std::string from_folder(const Option& option, std::string value, const std::string& folder);

/// Finds the shipped model and device that the inputs name, or reads their files, and link files.
void load_model(Inputs& inputs, Problems& problems);

/// Reads the schedule file that the inputs name. Throws Error as traces::read_schedule().
void load_order(Inputs& inputs);

/// Reads the run file for measured jitter. Throws Error as read_run_file() and measured_jitter().
void load_jitter(Inputs& inputs);

} // namespace ppsim::cli
