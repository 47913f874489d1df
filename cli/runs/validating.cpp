#include "validating.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/study/predict_published.hpp"
#include "ppsim/traces/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include "files/files.hpp"
#include "files/run_files.hpp"
#include "files/scenario_file.hpp"
#include "options/commands.hpp"
#include "replaying.hpp"
#include "terminal/progress.hpp"

namespace ppsim::cli {
namespace {

namespace fs = std::filesystem;

constexpr double default_tolerance = 0.05;

/// Notes that costs of one shape do not apply to another. The order is always the run's.
void check_shape(const Inputs& inputs, const Schedule& ran, std::vector<std::string>& notes) {
  Problems problems;
  const auto check = [&](std::string_view option, std::size_t said, std::size_t found) {
    if (said != found)
      problems.add(inputs.place_of(option), fmt::format("{}, but the run has {}", said, found),
                   "validate with the costs of that run");
  };
  if (inputs.stages) check("stages", *inputs.stages, ran.shape().stages);
  if (inputs.vpp && inputs.vpp->size() == 1) check("vpp", inputs.vpp->front(), ran.shape().vpp);
  problems.throw_if_any();
  if (inputs.schedule && *inputs.schedule != ran.name())
    notes.push_back(fmt::format("{}: {}; the prediction uses the order of the run, {}", inputs.place_of("schedule"),
                                *inputs.schedule, ran.name()));
  if (inputs.microbatches && *inputs.microbatches != ran.shape().microbatches)
    notes.push_back(fmt::format("{}: {}; the prediction uses the {} microbatches of the run", inputs.place_of("mb"),
                                *inputs.microbatches, ran.shape().microbatches));
}

/// Whether the task times come from the scenario file and not from flags.
bool has_costs_of_file(const Inputs& inputs) {
  constexpr std::array passes{"forward", "backward", "input-grad", "weight-grad"};
  return inputs.scenario_file &&
         std::ranges::none_of(passes, [&](const char* option) { return inputs.is_asked(option); });
}

/// The step predicted with the times that the calibration measured one stage at a time.
std::optional<Duration> predict_alone(const Inputs& inputs, const MeasuredRun& run) {
  if (run.facts.timed) return std::nullopt; // its tasks had prescribed times, whether stages were busy or not
  const auto alone = inputs.scenario_file->alone_costs();
  if (!alone) return std::nullopt;
  if (const std::size_t chunks = run.schedule.shape().chunks(); alone->forward.size() != chunks)
    throw Error{ExitCode::bad_input,
                Problem{fmt::format("{}: [calibration] alone.forward", inputs.scenario_file->name()),
                        fmt::format("{} values for {} chunks", alone->forward.size(), chunks),
                        "calibrate again, or leave the table out"}};
  Inputs changed = inputs;
  changed.backward.reset();
  changed.forward = alone->forward;
  changed.input_grad = alone->input_grad;
  changed.weight_grad = alone->weight_grad;
  std::vector<std::string> said_before;
  const TaskGraph graph = graph_of(changed, run.schedule, false, said_before);
  return end_of(simulate(graph)).time_since_epoch();
}

PredictionFacts known_of(const Inputs& inputs, const MeasuredRun& run) {
  if (!has_costs_of_file(inputs)) return {};
  const bool changes_costs = std::ranges::any_of(
      run_fields(), [&](const RunField& field) { return field.is_cost && inputs.is_asked(field.name); });
  return {.alone = predict_alone(inputs, run),
          .costs_of = changes_costs ? std::string{} : inputs.scenario_file->measured_run()};
}

Validated validate(const Inputs& inputs, MeasuredRun run, std::vector<std::string>& notes) {
  require_same_work(inputs, run.facts.workload,
                    run.facts.timed ? "" : run.facts.backend); // timed tasks have no workload
  check_shape(inputs, run.schedule, notes);
  TaskGraph graph = graph_of(inputs, run.schedule, run.facts.timed, notes);
  Timeline prediction = simulate(graph);
  Validation validation =
      validate_run(graph, prediction, run, inputs.tolerance.value_or(default_tolerance), known_of(inputs, run));
  return {std::move(graph), std::move(prediction), std::move(run), std::move(validation)};
}

void require_costs(const Inputs& inputs) {
  Problems problems;
  check_costs(inputs, problems);
  problems.throw_if_any();
}

/// A path without the extension of run files.
std::string without_ending(std::string path) {
  for (const std::string_view ending : {".gz", ".json"})
    if (path.size() > ending.size() && path.ends_with(ending)) path.erase(path.size() - ending.size());
  return path;
}

/// The paths of the files in `folder` with one of the extensions, sorted by name.
std::vector<fs::path> files_in(const fs::path& folder, std::initializer_list<std::string_view> endings) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at{folder, error}, end; !error && at != end; at.increment(error))
    if (std::ranges::any_of(endings, [&](std::string_view ending) { return at->path().string().ends_with(ending); }))
      found.push_back(at->path());
  if (error)
    throw Error{ExitCode::bad_input, Problem{in_quotes(folder.string()),
                                             fmt::format("cannot be read: {}", error.message()), "check the path"}};
  std::ranges::sort(found);
  return found;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// "p4-2ms" of "runs/p4-2ms/".
std::string folder_name(const std::string& folder) {
  return fs::path{real_path(folder)}.filename().string();
}

/// The runs in a folder. Throws Error if there are none.
std::vector<fs::path> runs_in(const fs::path& folder) {
  std::vector<fs::path> runs = files_in(folder, {".json", ".json.gz"});
  if (!runs.empty()) return runs;
  const bool has_folders = std::ranges::any_of(files_in(folder, {""}), is_folder);
  throw Error{ExitCode::bad_input,
              Problem{in_quotes(folder.string()), "holds no run",
                      has_folders
                          ? "folders inside it are not searched: name them"
                          : "'ppsim replay -o RUN.json' writes one; compressed with gzip its name is *.json.gz"}};
}

/// Throws Error if the path does not exist, or its name is not one of a run file.
void require_run_name(const std::string& path) {
  std::error_code error;
  if (path != "-" && !fs::exists(path, error))
    throw Error{ExitCode::bad_input,
                Problem{in_quotes(path),
                        error ? fmt::format("cannot be read: {}", error.message()) : "there is no such file or folder",
                        error ? "check the path" : "name run files, or folders of them"}};
  if (path.ends_with(".toml"))
    throw Error{ExitCode::bad_input, Problem{in_quotes(path), "is a scenario, not a run",
                                             "give costs with --scenario, or put them into the folders of the runs"}};
}

/// The workload of a stage, as text that is equal for equal work. Empty if tasks were timed, or if it is unknown.
std::string work_of(const MeasuredRun& run) {
  std::string work;
  for (const auto& [key, value] : run.facts.workload) {
    std::size_t layers = 0;
    const bool by_chunk = key == "layers-per-chunk" &&
                          std::from_chars(value.data(), value.data() + value.size(), layers).ec == std::errc{};
    work += fmt::format("{}={};", key, by_chunk ? std::to_string(layers * run.schedule.shape().vpp) : value);
  }
  return work;
}

/// Rethrows an Error of `work` with the file before each place.
template <class Work>
auto naming(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems)
      if (problem.where.find(path) == std::string::npos) problem.where = fmt::format("{}: {}", path, problem.where);
    throw Error{error.code(), std::move(problems)};
  }
}

/// The scenario files of folders, each read once.
class FolderCosts {
public:
  explicit FolderCosts(const Inputs& flags) : flags_{flags} {}

  /// The one in the run's folder with its shape.
  const Inputs& of(const fs::path& folder, const Shape& shape) {
    const auto [at, is_new] = read_.try_emplace(folder);
    if (is_new)
      for (const fs::path& file : files_in(folder, {".toml"}))
        at->second.push_back(with_scenario(flags_, file.string()));
    std::vector<const Inputs*> fitting;
    for (const Inputs& inputs : at->second)
      if (inputs.stages.value_or(shape.stages) == shape.stages && chunks_of_stage(inputs) == shape.vpp)
        fitting.push_back(&inputs);
    if (fitting.size() == 1) return *fitting.front();
    std::vector<std::string> names;
    std::ranges::transform(fitting, std::back_inserter(names),
                           [](const Inputs* inputs) { return fs::path{*inputs->scenario}.filename().string(); });
    throw Error{ExitCode::bad_input,
                Problem{in_quotes(folder.string()),
                        fmt::format("{} for {} with {} each",
                                    names.empty() ? "no costs" : fmt::format("several costs ({})", joined(names, ", ")),
                                    counted(shape.stages, "stage"), counted(shape.vpp, "chunk")),
                        "put the costs of its runs there, as 'ppsim calibrate' writes them: one file (*.toml) for each "
                        "number of stages and chunks; or give --scenario"}};
  }

private:
  const Inputs& flags_;
  std::map<fs::path, std::vector<Inputs>> read_;
};

} // namespace

void check_costs(const Inputs& inputs, Problems& problems) {
  if (!knows_costs(inputs))
    problems.add("--scenario", inputs.scenario ? "it does not say how long tasks take" : "missing",
                 "which costs? 'ppsim calibrate -o costs.toml' writes a scenario; or give --forward and --backward");
}

std::vector<RunSource> run_sources(const Inputs& inputs) {
  std::vector<std::string> named;
  if (inputs.file) named.push_back(*inputs.file);
  named.insert(named.end(), inputs.files.begin(), inputs.files.end());
  std::map<std::string, std::set<fs::path>> folders; // by their names
  for (const std::string& path : named)
    if (is_folder(path)) folders[folder_name(path)].insert(real_path(path));
  std::vector<RunSource> sources;
  std::set<fs::path> seen;
  std::set<std::pair<std::string, std::string>> names;
  const auto add = [&](const fs::path& path, const std::string& group, std::string name) {
    if (!seen.insert(real_path(path.string())).second || !names.emplace(group, name).second)
      throw Error{ExitCode::bad_input,
                  Problem{in_quotes(path.string()), "is given twice", "name each run once, plain or compressed"}};
    sources.push_back({path.string(), group, std::move(name)});
  };
  for (const std::string& path : named) {
    if (!is_folder(path)) {
      require_run_name(path);
      add(path, "", without_ending(path));
      continue;
    }
    // Of several folders with the same name, each is named by its path.
    const bool one = folders[folder_name(path)].size() == 1;
    const std::string group = one ? folder_name(path) : fs::path{path}.lexically_normal().string();
    for (const fs::path& run : runs_in(path)) add(run, group, without_ending(run.filename().string()));
  }
  return sources;
}

std::vector<std::string> files_read(const std::vector<RunSource>& sources) {
  std::vector<std::string> files;
  std::set<fs::path> folders;
  for (const RunSource& source : sources) {
    files.push_back(source.path);
    if (!source.group.empty()) folders.insert(fs::path{source.path}.parent_path());
  }
  for (const fs::path& folder : folders)
    for (const fs::path& file : files_in(folder, {".toml"})) files.push_back(file.string());
  return files;
}

Validated validate_file(const Inputs& inputs, const std::string& path, const std::string& where,
                        std::vector<std::string>& notes) {
  require_costs(inputs);
  return validate(inputs, read_run_file(path, where), notes);
}

Accuracy validate_files(const Inputs& inputs, const std::vector<RunSource>& sources, std::set<std::string>& notes) {
  FolderCosts folders{inputs};
  std::vector<ValidatedRun> held;
  for (const RunSource& source : sources) {
    MeasuredRun run = read_run_file(source.path, "validate");
    std::string work = work_of(run);
    std::vector<std::string> said;
    Validated result = naming(source.path, [&] {
      const bool brings_own = !source.group.empty() && !inputs.scenario;
      if (!brings_own && !inputs.scenario && !knows_costs(inputs))
        throw Error{ExitCode::bad_input, Problem{"--scenario", "missing: only folders can hold the costs of their runs",
                                                 "'ppsim calibrate -o costs.toml' writes a scenario"}};
      const Inputs& costs = brings_own ? folders.of(fs::path{source.path}.parent_path(), run.schedule.shape()) : inputs;
      require_costs(costs);
      return validate(costs, std::move(run), said);
    });
    notes.insert(said.begin(), said.end());
    held.push_back({.name = source.name,
                    .group = source.group,
                    .schedule = result.run.schedule.name(),
                    .shape = result.run.schedule.shape(),
                    .work = std::move(work),
                    .validation = std::move(result.validation)});
  }
  return accuracy_of(std::move(held));
}

PublishedErrors validate_published(const Inputs& inputs) {
  const std::string& path = inputs.published.value();
  const std::string folder = fs::path{path}.parent_path().string();
  Progress progress{"runs"};
  return published_errors(predict_published(
                              traces::read_published(read_file(path, inputs.place_of("published")), display_name(path)),
                              [&folder](const PublishedRun& run) {
                                const Inputs said = parse_run_arguments(run.arguments, folder);
                                return RunSpec{static_cast<const RunSpec&>(said)}; // a row sets nothing else
                              },
                              inputs.threads.value_or(machine_threads()), watched_by(progress)),
                          inputs.tolerance);
}

} // namespace ppsim::cli
