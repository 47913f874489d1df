#pragma once
// Validating: a run, the prediction that did not know it, and how far they are apart. One, or many of them.

#include "ppsim/measured/accuracy.hpp"
#include "ppsim/measured/published.hpp"
#include "ppsim/measured/validation.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "inputs.hpp"

namespace ppsim::cli {

/// A run, the prediction that it did not see, and how far they are apart.
struct Validated {
  TaskGraph graph;
  Timeline prediction;
  MeasuredRun run;
  Validation validation;
};

/// A file that holds a run, and what is to predict it.
struct RunSource {
  std::string path;
  std::string group; ///< the folder it was found in, by its name or, of several with one name, by its path; empty where
                     ///< the file was named itself
  std::string name;  ///< without its ending; of a folder's file without the folder
};

/// What was named: run files, and of folders the runs in them by name (*.json, *.json.gz). Throws Error (bad_input) for
/// a folder that cannot be read or holds none, and where one is named twice.
[[nodiscard]] std::vector<RunSource> run_sources(const Inputs& inputs);

/// The runs, and the scenario files of their folders: nothing is to be written over them.
[[nodiscard]] std::vector<std::string> files_read(const std::vector<RunSource>& sources);

/// Adds a problem where the inputs do not say what tasks take.
void check_costs(const Inputs& inputs, Problems& problems);

/// The run of a file against the costs that the inputs give. Adds what people should know to `notes`. Throws Error
/// (bad_input) where costs are missing, or of other work.
[[nodiscard]] Validated validate_file(const Inputs& inputs, const std::string& path, const std::string& where,
                                      std::vector<std::string>& notes);

/// Each run against the costs of --scenario or, without one, against those of its folder: the scenario file (*.toml)
/// there that has its stages and chunks per stage. Adds to `notes`, each but once. Throws Error (bad_input) as
/// validate_file(), and where no such file is there or several are.
[[nodiscard]] Accuracy validate_files(const Inputs& inputs, const std::vector<RunSource>& sources,
                                      std::set<std::string>& notes);

/// The runs of the table --published, each held against what its own arguments predict. Throws Error (bad_input) where
/// the table cannot be read; a run that cannot be simulated is refused in the result.
[[nodiscard]] PublishedErrors validate_published(const Inputs& inputs);

} // namespace ppsim::cli
