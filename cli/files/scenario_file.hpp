#pragma once
// Scenario files: TOML with long flags, without leading dashes, as keys.

#include "ppsim/runtime/calibration.hpp"
#include "ppsim/scenario/document.hpp"

#include <memory>

#include "options/options.hpp"

namespace ppsim::cli {

/// Times by chunk that a calibration measured with one stage at work at a time.
struct AloneCosts {
  std::vector<Duration> forward, input_grad, weight_grad;
};

/// Measured transfer time by size, and the stage of each chunk.
struct TransferLines {
  std::vector<runtime::TransferFit> edges; ///< without samples
  std::vector<StageId> placement;
};

/// The measured scenario that a scaled one comes from.
struct Measured {
  std::string work;   ///< in words
  std::string source; ///< machine and command, from its key `source`
};

/// A parsed scenario file. Copies share the content.
class ScenarioFile {
public:
  /// `name` is the file's path, for places and for paths inside it. Adds unknown keys and invalid values to `problems`.
  /// Throws Error if `text` is not TOML.
  ScenarioFile(std::string_view text, std::string name, Problems& problems);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The assignments in the file, key by key, each with its place "name:line:column".
  [[nodiscard]] const std::vector<Assignment>& keys() const { return keys_; }

  /// Whether `ppsim calibrate` or `ppsim scale` wrote it: it has a table [calibration] or [scaled].
  [[nodiscard]] bool is_calibrated() const;
  /// From the [calibration] table; none without it. Throws Error if they are not times.
  [[nodiscard]] std::optional<AloneCosts> alone_costs() const;
  /// From the [calibration] or the [scaled] table; none without both. Throws Error if they are invalid.
  [[nodiscard]] std::optional<TransferLines> transfer_lines() const;
  /// The run_id() of the run in which the costs were measured; empty: unknown.
  [[nodiscard]] std::string measured_run() const;
  /// From the [scaled] table; none without it.
  [[nodiscard]] std::optional<Measured> measured() const;

private:
  struct Parsed; ///< hides the parser

  std::string name_;
  std::shared_ptr<const Parsed> parsed_;
  std::vector<Assignment> keys_;
};

/// The document with these keys, in their order, with an empty line between sections.
[[nodiscard]] ScenarioDocument as_document(const std::vector<Assignment>& keys);

} // namespace ppsim::cli
