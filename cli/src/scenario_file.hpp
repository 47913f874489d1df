#pragma once
// Scenario files: TOML whose keys are the long flags without dashes in front.

#include "options.hpp"

namespace ppsim::cli {

/// What the file says, key by key, each with its place "name:line:column". `name` is the file's path, for places and
/// for paths inside it. Adds unknown keys and unfit values to `problems`; throws Error where it is not TOML.
[[nodiscard]] std::vector<Assignment> read_scenario(std::string_view text, std::string_view name, Problems& problems);

/// Whether `ppsim calibrate` wrote it: it has a [calibration] table. Throws Error where it is not TOML.
[[nodiscard]] bool is_calibrated(std::string_view text, std::string_view name);

/// Times by chunk that a calibration measured with one stage at work at a time.
struct AloneCosts {
  std::vector<Duration> forward, input_grad, weight_grad;
};
/// Those of a scenario file's [calibration] table; nothing where it has none. Throws Error where they are no times.
[[nodiscard]] std::optional<AloneCosts> read_alone_costs(std::string_view text, std::string_view name);

} // namespace ppsim::cli
