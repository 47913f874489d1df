#pragma once
// Imports: what other programs measured, as runs and as costs.

#include "ppsim/measured/cost_model.hpp"
#include "ppsim/measured/measured.hpp"
#include "ppsim/scenario/document.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::traces {

/// A file that is read: its bytes, as they are on disk (perhaps gzip).
struct ImportFile {
  std::string name; ///< that errors name
  std::string_view bytes;
};

/// What a user says that files do not.
struct ImportOptions {
  std::optional<std::size_t> stages, vpp;         ///< where a file does not show them
  std::optional<std::size_t> microbatches = {};   ///< as above
  std::function<void(double)> progress = nullptr; ///< called now and then with the share that is read, 0 to 1
};

/// Something that was not taken over, and why.
struct Dropped {
  std::string what; ///< "events of other kinds", "steps that are not complete"
  std::size_t count = 0;
  bool operator==(const Dropped&) const = default;
};

/// What was found.
struct Imported {
  std::vector<MeasuredRun> runs; ///< one per data-parallel replica, by rising rank, all of the same steps; empty where
                                 ///< a format has none
  std::vector<std::uint32_t> replicas; ///< rank of each run's replica: those without a whole step have no run
  ScenarioDocument costs;              ///< of a format that has no runs; else cost_lines() makes them of those
  std::vector<Dropped> dropped;
  std::vector<std::string> notes; ///< for people
};

/// One format, by name. To add one: a file in traces/imports/, a line in imports.def there, one in CMake.
struct ImportFormat {
  std::string_view name;
  std::string_view files;        ///< what they are called: "*.json, *.json.gz"
  std::string_view what;         ///< whose, and which file is what: "one file per rank"
  std::string_view sign;         ///< text that stands near the beginning of most of them, and of no others
  bool takes_stages = true;      ///< whether ImportOptions::stages says what a file does not, or is checked against it
  bool takes_vpp = true;         ///< as above
  bool takes_mb = false;         ///< as above, of ImportOptions::microbatches
  std::string_view no_runs = {}; ///< what its files hold where that makes costs alone: "transfers, and no tasks"
  [[nodiscard]] bool has_runs() const { return no_runs.empty(); }
  /// Reads. Nothing in a file is trusted. Throws Error (bad_input) with place, value and remedy.
  Imported (*read)(std::span<const ImportFile> files, const ImportOptions& options) = nullptr;
};
[[nodiscard]] std::span<const ImportFormat* const> import_formats();
/// By name; null where there is none.
[[nodiscard]] const ImportFormat* find_import_format(std::string_view name);
/// The one that a file with these bytes (perhaps gzip) seems to have, by its sign; null where it has none.
[[nodiscard]] const ImportFormat* guess_import_format(std::string_view bytes);

/// What the costs of a scenario are given for.
enum class CostForm : std::uint8_t {
  by_chunk,
  by_microbatch, ///< of each chunk
  mean_stage,    ///< one value, and what the first and the last chunk take beyond it: for any number of chunks
};
/// The costs of a model as keys of a scenario, with spread and drift in comments.
[[nodiscard]] ScenarioDocument cost_lines(const CostModel& model, CostForm form = CostForm::by_chunk);

} // namespace ppsim::traces
