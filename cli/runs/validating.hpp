#pragma once
// Validating: compares one or many runs with predictions that were not fitted to them.

#include "ppsim/measured/accuracy.hpp"
#include "ppsim/measured/published.hpp"
#include "ppsim/measured/validation.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "inputs.hpp"

namespace ppsim::cli {

/// A run, its prediction, and their differences.
struct Validated {
  TaskGraph graph;
  Timeline prediction;
  MeasuredRun run;
  Validation validation;
};

/// A run file, with its prediction's inputs.
struct RunSource {
  std::string path;
  std::string
      group;        ///< the name of its folder (the path if several have that name); empty if the file itself was named
  std::string name; ///< without its extension and folder
};

/// The named run files, and the runs in named folders, sorted by name (*.json, *.json.gz). Throws Error (bad_input) for
/// a folder that cannot be read or has no runs, and for repeated runs.
[[nodiscard]] std::vector<RunSource> run_sources(const Inputs& inputs);

/// The runs and the scenario files in their folders, which must not be overwritten.
[[nodiscard]] std::vector<std::string> files_read(const std::vector<RunSource>& sources);

/// Adds a problem if the inputs have no task times.
void check_costs(const Inputs& inputs, Problems& problems);

/// Compares the run in a file with the costs of the inputs. Adds notes for users to `notes`. Throws Error (bad_input)
/// if costs are missing or of another workload.
[[nodiscard]] Validated validate_file(const Inputs& inputs, const std::string& path, const std::string& where,
                                      std::vector<std::string>& notes);

/// Compares each run with the costs of --scenario or, by default, of the scenario file (*.toml) in its folder that has
/// its stages and chunks per stage. Adds to `notes`, each once. Throws Error (bad_input) as validate_file(), and if
/// there is no such file or several.
[[nodiscard]] Accuracy validate_files(const Inputs& inputs, const std::vector<RunSource>& sources,
                                      std::set<std::string>& notes);

/// Compares the runs of the table --published with the predictions from their own arguments. Throws Error (bad_input)
/// if the table cannot be read; a run that cannot be simulated is marked as refused.
[[nodiscard]] PublishedErrors validate_published(const Inputs& inputs);

} // namespace ppsim::cli
