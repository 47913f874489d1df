#pragma once
// Scenario files: TOML whose keys are the long flags without dashes in front.

#include "ppsim/runtime/calibration.hpp"
#include "ppsim/scenario/document.hpp"

#include <memory>

#include "options/options.hpp"

namespace ppsim::cli {

/// Times by chunk that a calibration measured with one stage at work at a time.
struct AloneCosts {
  std::vector<Duration> forward, input_grad, weight_grad;
};

/// How long transfers take by their size, as it was measured, and the stage of each chunk.
struct TransferLines {
  std::vector<runtime::TransferFit> edges; ///< without samples
  std::vector<StageId> placement;
};

/// What a scaled scenario says of the one that was measured.
struct Measured {
  std::string work;   ///< in words
  std::string source; ///< where and how, as its key `source` said
};

/// A scenario file, parsed. Copies share what was found.
class ScenarioFile {
public:
  /// `name` is the file's path, for places and for paths inside it. Adds unknown keys and unfit values to `problems`.
  /// Throws Error where `text` is not TOML.
  ScenarioFile(std::string_view text, std::string name, Problems& problems);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// What the file says, key by key, each with its place "name:line:column".
  [[nodiscard]] const std::vector<Assignment>& keys() const { return keys_; }

  /// Whether `ppsim calibrate` or `ppsim scale` wrote it: it has a table [calibration] or [scaled].
  [[nodiscard]] bool is_calibrated() const;
  /// Those of the [calibration] table; nothing where it has none. Throws Error where they are no times.
  [[nodiscard]] std::optional<AloneCosts> alone_costs() const;
  /// Those of the [calibration] table, or of the [scaled] one; nothing where it has none. Throws Error where they are
  /// none.
  [[nodiscard]] std::optional<TransferLines> transfer_lines() const;
  /// The run_id() of the run in which the costs were measured; empty: not given.
  [[nodiscard]] std::string measured_run() const;
  /// That of the [scaled] table; nothing where it has none.
  [[nodiscard]] std::optional<Measured> measured() const;

private:
  struct Parsed; ///< hides the parser

  std::string name_;
  std::shared_ptr<const Parsed> parsed_;
  std::vector<Assignment> keys_;
};

/// Such keys, to be written: in their order, an empty line between sections.
[[nodiscard]] ScenarioDocument as_document(const std::vector<Assignment>& keys);

} // namespace ppsim::cli
