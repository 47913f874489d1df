#pragma once
// Imports: measurements of other programs, as runs and as costs.

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

/// An input file: its bytes as on disk (possibly gzip).
struct ImportFile {
  std::string name; ///< for errors
  std::string_view bytes;
};

/// The user's values for facts that files lack.
struct ImportOptions {
  std::optional<std::size_t> stages, vpp;         ///< if a file does not contain them
  std::optional<std::size_t> microbatches = {};   ///< if a file does not contain it
  std::function<void(double)> progress = nullptr; ///< called from time to time with the share that is read, 0 to 1
};

/// Content that was not imported, with the reason.
struct Dropped {
  std::string what; ///< "events of other kinds", "incomplete steps"
  std::size_t count = 0;
  bool operator==(const Dropped&) const = default;
};

/// The imported data.
struct Imported {
  std::vector<MeasuredRun>
      runs; ///< one per data-parallel replica, by rising rank, all with the same steps; empty for formats without runs
  std::vector<std::uint32_t> replicas; ///< rank of each run's replica: replicas without a complete step have no run
  ScenarioDocument costs;              ///< for formats without runs; otherwise cost_lines() makes them
  std::vector<Dropped> dropped;
  std::vector<std::string> notes; ///< for users
};

/// One format, by name. To add one: a file in traces/imports/, a line in imports.def there, one in CMake.
struct ImportFormat {
  std::string_view name;
  std::string_view files;        ///< their file names: "*.json, *.json.gz"
  std::string_view what;         ///< their program, and the content of a file: "one file per rank"
  std::string_view sign;         ///< text near the beginning of most such files and of no others
  bool takes_stages = true;      ///< whether ImportOptions::stages supplies or checks the number of stages
  bool takes_vpp = true;         ///< as above
  bool takes_mb = false;         ///< as above, of ImportOptions::microbatches
  std::string_view no_runs = {}; ///< content of files that only give costs: "transfers, and no tasks"
  [[nodiscard]] bool has_runs() const { return no_runs.empty(); }
  /// Reads untrusted files. Throws Error (bad_input) with place, value and remedy.
  Imported (*read)(std::span<const ImportFile> files, const ImportOptions& options) = nullptr;
};
[[nodiscard]] std::span<const ImportFormat* const> import_formats();
/// By name; null if unknown.
[[nodiscard]] const ImportFormat* find_import_format(std::string_view name);
/// The format of a file with these bytes (possibly gzip), by its sign; null if none matches.
[[nodiscard]] const ImportFormat* guess_import_format(std::string_view bytes);

/// The granularity of a scenario's costs.
enum class CostForm : std::uint8_t {
  by_chunk,
  by_microbatch, ///< of each chunk
  mean_stage,    ///< one value, and the extra time of the first and the last chunk: for any number of chunks
};
/// The costs of a model as keys of a scenario, with spread and drift in comments.
[[nodiscard]] ScenarioDocument cost_lines(const CostModel& model, CostForm form = CostForm::by_chunk);

} // namespace ppsim::traces
