#pragma once
// Scenario files: TOML whose keys are the long flags without dashes in front.

#include "ppsim/runtime/calibration.hpp"
#include "ppsim/scenario/document.hpp"

#include "options/options.hpp"

namespace ppsim::cli {

/// What the file says, key by key, each with its place "name:line:column". `name` is the file's path, for places and
/// for paths inside it. Adds unknown keys and unfit values to `problems`; throws Error where it is not TOML.
[[nodiscard]] std::vector<Assignment> read_scenario(std::string_view text, std::string_view name, Problems& problems);

/// Such keys, to be written: in their order, an empty line between sections.
[[nodiscard]] ScenarioDocument as_document(const std::vector<Assignment>& keys);

/// Whether `ppsim calibrate` or `ppsim scale` wrote it: it has a table [calibration] or [scaled]. Throws Error where it
/// is not TOML.
[[nodiscard]] bool is_calibrated(std::string_view text, std::string_view name);

/// Times by chunk that a calibration measured with one stage at work at a time.
struct AloneCosts {
  std::vector<Duration> forward, input_grad, weight_grad;
};
/// Those of a scenario file's [calibration] table; nothing where it has none. Throws Error where they are no times.
[[nodiscard]] std::optional<AloneCosts> read_alone_costs(std::string_view text, std::string_view name);

/// How long transfers take by their size, as it was measured, and the stage of each chunk.
struct TransferLines {
  std::vector<runtime::TransferFit> edges; ///< without samples
  std::vector<StageId> placement;
};
/// Those of a scenario file's [calibration] table, or of its [scaled] one; nothing where it has none. Throws Error
/// where they are none.
[[nodiscard]] std::optional<TransferLines> read_transfer_lines(std::string_view text, std::string_view name);

/// What a scaled scenario says of the one that was measured.
struct Measured {
  std::string work;   ///< in words
  std::string source; ///< where and how, as its key `source` said
};
/// That of a scenario file's [scaled] table; nothing where it has none.
[[nodiscard]] std::optional<Measured> read_measured(std::string_view text, std::string_view name);

} // namespace ppsim::cli
