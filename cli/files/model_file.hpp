#pragma once
// Model and device files: TOML whose keys are the members of Model and DeviceSheet, with dashes.

#include "ppsim/base/error.hpp"
#include "ppsim/scenario/model.hpp"

#include <string_view>

namespace ppsim::cli {

/// The model or device in the file. `name` is the file's path, for places ("name:line:column"). Adds unknown keys,
/// values of the wrong type or out of range, and invalid shapes to `problems`. Throws Error if it is not TOML.
[[nodiscard]] Model read_model(std::string_view text, std::string_view name, Problems& problems);
[[nodiscard]] DeviceSheet read_device(std::string_view text, std::string_view name, Problems& problems);

} // namespace ppsim::cli
