// ppsim import: measurements of other programs, as costs and as a run.

#include "ppsim/traces/import.hpp"

#include "ppsim/base/percentile.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/measured/explanation.hpp"
#include "ppsim/traces/run_file.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <system_error>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "terminal/console.hpp"
#include "terminal/progress.hpp"

namespace ppsim::cli::import_command {
namespace {

/// Placeholder in the path of --timeline: the rank of each replica, for one file per replica.
constexpr std::string_view replica_mark = "{replica}";

/// A file was given instead of a format: suggests the intended command.
[[noreturn]] void no_format(const Inputs& inputs, const std::string& path, std::string_view choices) {
  const traces::ImportFormat* guess = traces::guess_import_format(FileBytes{path, "import"}.bytes());
  throw Error{ExitCode::bad_input,
              Problem{"import", fmt::format("{} is a file, not a format", in_quotes(path)),
                      guess != nullptr ? fmt::format("it looks like {0}: ppsim import {0} {1}{2}", guess->name, path,
                                                     inputs.files.empty() ? "" : " ...")
                                       : fmt::format("the format comes first, then files: {}", choices)}};
}

const traces::ImportFormat& format_of(const Inputs& inputs) {
  std::vector<std::string_view> names;
  for (const traces::ImportFormat* format : traces::import_formats()) names.push_back(format->name);
  const std::string choices = fmt::format("one of {}; see 'ppsim list formats'", joined(names, ", "));
  if (!inputs.file)
    throw Error{ExitCode::bad_input,
                Problem{"import", "no format and no file given", "for example: ppsim import kineto rank*.json.gz"}};
  if (const traces::ImportFormat* format = traces::find_import_format(*inputs.file)) return *format;
  std::error_code none; // an unreadable path is not a file
  if (std::filesystem::is_regular_file(*inputs.file, none)) no_format(inputs, *inputs.file, choices);
  throw Error{ExitCode::bad_input, Problem{"import", fmt::format("unknown format {}", in_quotes(*inputs.file)),
                                           did_you_mean(*inputs.file, names, choices)}};
}

void refuse_empty(std::span<const traces::ImportFile> files) {
  Problems problems;
  for (const traces::ImportFile& file : files)
    if (file.bytes.empty()) problems.add(file.name, "the file is empty", "record it again, or leave it out");
  problems.throw_if_any();
}

/// For files that `format` cannot read: throws Error if some seem to have another format.
void refuse_other_formats(std::span<const traces::ImportFile> files, const traces::ImportFormat& format) {
  Problems problems;
  for (const traces::ImportFile& file : files) {
    const traces::ImportFormat* guess = traces::guess_import_format(file.bytes);
    if (guess != nullptr && guess != &format)
      problems.add(file.name, fmt::format("this is not a {} file; it looks like {}", format.name, guess->name),
                   fmt::format("ppsim import {} {}{}", guess->name, file.name, files.size() == 1 ? "" : " ..."));
  }
  problems.throw_if_any();
}

traces::Imported read(const Inputs& inputs, const traces::ImportFormat& format) {
  if (inputs.files.empty())
    throw Error{ExitCode::bad_input, Problem{"import", "no file given",
                                             fmt::format("give the files after {}: {}", format.name, format.files)}};
  std::deque<FileBytes> contents; // pointers to elements stay valid
  std::vector<traces::ImportFile> files;
  files.reserve(inputs.files.size());
  for (const std::string& path : inputs.files)
    files.push_back({display_name(path), contents.emplace_back(path, "import").bytes()});
  refuse_empty(files);
  ProgressShare progress{"read"};
  try {
    return format.read(files, {.stages = inputs.stages,
                               .vpp = inputs.vpp ? std::optional{inputs.vpp->front()} : std::nullopt,
                               .microbatches = inputs.microbatches,
                               .progress = [&](double share) { progress.show(share); }});
  } catch (const Error&) {
    refuse_other_formats(files, format);
    throw;
  }
}

/// Refuses options that have no effect for the format.
void check_options(const Inputs& inputs, const traces::ImportFormat& format) {
  Problems problems;
  const auto refuse = [&](std::string_view option) {
    if (inputs.where.contains(option))
      problems.add(inputs.place_of(option), fmt::format("{} files do not need it", format.name), "leave it out");
  };
  if (!format.has_runs())
    for (const std::string_view option : {"timeline", "replica", "by-microbatch", "mean-stage"})
      if (inputs.where.contains(option))
        problems.add(inputs.place_of(option), fmt::format("{} files hold {}", format.name, format.no_runs),
                     "leave it out");
  if (!format.takes_stages) refuse("stages");
  if (!format.takes_vpp) refuse("vpp");
  if (!format.takes_mb) refuse("mb");
  if (inputs.vpp && inputs.vpp->size() > 1)
    problems.add(inputs.place_of("vpp"), fmt::format("{} values", inputs.vpp->size()), "a run has one");
  problems.throw_if_any();
}

/// The position of the replica that the costs are from: the requested rank, otherwise the lowest.
std::size_t chosen_replica(const Inputs& inputs, const traces::Imported& imported) {
  if (!inputs.replica) return 0;
  const auto found = std::ranges::find(imported.replicas, *inputs.replica);
  if (found != imported.replicas.end()) return static_cast<std::size_t>(found - imported.replicas.begin());
  throw Error{ExitCode::bad_input,
              Problem{inputs.place_of("replica"), fmt::format("there is no run of replica {}", *inputs.replica),
                      fmt::format("there are runs of {}", joined(imported.replicas, ", "))}};
}

Duration median_length(const MeasuredRun& run) {
  return end_of(run.steps[median_step(run)]).time_since_epoch();
}

std::string summary(const traces::Imported& imported, std::size_t chosen) {
  const MeasuredRun& run = imported.runs[chosen];
  const Shape& shape = run.schedule.shape();
  const auto counted = [](std::size_t count, std::string_view noun, std::string_view plural) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
  };
  std::string text =
      fmt::format("{}, {}, vpp {}, {}", counted(shape.stages, "stage", "s"),
                  counted(shape.microbatches, "microbatch", "es"), shape.vpp, counted(run.steps.size(), "step", "s"));
  text += imported.runs.size() == 1
              ? "\n"
              : fmt::format(" of replica {} of {}\n", imported.replicas[chosen], imported.runs.size());
  for (std::size_t at = 0; at < imported.runs.size(); ++at)
    text += fmt::format("  {:<18}  {}\n",
                        imported.runs.size() == 1 ? "median step"
                                                  : fmt::format("step of replica {}", imported.replicas[at]),
                        format_duration(median_length(imported.runs[at])));
  return text;
}

void note_dropped(const traces::Imported& imported) {
  note_all(imported.notes);
  for (const traces::Dropped& dropped : imported.dropped) note("left out ({}): {}", dropped.count, dropped.what);
}

/// A slow stage in the chosen replica makes its costs untypical. If there are others to compare with, prints a note
/// that names a replica without a slow stage.
void note_slow_stages(const traces::Imported& imported, std::size_t chosen) {
  const auto of_another_order = [&](const MeasuredRun& run) { return !(run.schedule == imported.runs[0].schedule); };
  if (imported.runs.size() < 2 || std::ranges::any_of(imported.runs, of_another_order)) return;
  const std::vector<Suspect> slow = slow_workers(imported.runs);
  const auto slowest_of = [&](std::size_t replica) { return std::ranges::find(slow, replica, &Suspect::replica); };
  const auto worst = slowest_of(chosen);
  if (worst == slow.end()) return;
  std::size_t whole = 0;
  while (whole < imported.runs.size() && slowest_of(whole) != slow.end()) ++whole;
  note("stage {} of replica {} takes {:.2f} times as long as in the other replicas, and these are "
       "costs of replica {}; {}",
       index(worst->stage), imported.replicas[chosen], worst->ratio(), imported.replicas[chosen],
       whole < imported.runs.size()
           ? fmt::format("--replica {} uses a replica without a slow stage", imported.replicas[whole])
           : "each replica has a slow stage: 'ppsim explain' names them");
}

std::string timeline_path(std::string path, std::uint32_t replica) {
  for (std::size_t mark = 0; (mark = path.find(replica_mark, mark)) != std::string::npos;)
    path.replace(mark, replica_mark.size(), fmt::format("{}", replica));
  return path;
}

/// Throws Error for other words in braces than replica_mark, which would become part of file names.
void check_marks(const Inputs& inputs) {
  if (!inputs.timeline) return;
  const std::string path = timeline_path(*inputs.timeline, 0);
  const std::size_t open = path.find('{');
  const std::size_t close = path.find('}', open);
  if (close == std::string::npos) return;
  throw Error{ExitCode::bad_input,
              Problem{inputs.place_of("timeline"),
                      fmt::format("{} is not a known placeholder", in_quotes(path.substr(open, close + 1 - open))),
                      fmt::format("{} stands for the rank of each data-parallel replica", replica_mark)}};
}

/// `path` with the placeholder for one file per replica: "run-{replica}.json" for "run.json".
std::string with_mark(const std::filesystem::path& path) {
  std::filesystem::path name = path;
  return name.replace_filename(fmt::format("{}-{}{}", path.stem().string(), replica_mark, path.extension().string()))
      .string();
}

/// Notes replicas without an output file.
void note_unwritten(const Inputs& inputs, const traces::Imported& imported, std::size_t chosen) {
  if (!inputs.timeline || imported.runs.size() == 1 || inputs.timeline->find(replica_mark) != std::string::npos) return;
  note("--timeline: only the run of data-parallel rank {1} of {0} is written; --timeline '{2}' writes a file for each",
       imported.runs.size(), imported.replicas[chosen],
       *inputs.timeline == "-" ? "run-{replica}.json" : with_mark(*inputs.timeline));
}

/// The output path of the chosen replica's run, or those of all.
std::vector<std::pair<std::size_t, std::string>>
timeline_paths(const Inputs& inputs, const std::vector<std::uint32_t>& replicas, std::size_t chosen) {
  if (!inputs.timeline) return {};
  if (inputs.timeline->find(replica_mark) == std::string::npos) return {{chosen, *inputs.timeline}};
  std::vector<std::pair<std::size_t, std::string>> paths;
  for (std::size_t at = 0; at < replicas.size(); ++at)
    paths.emplace_back(at, timeline_path(*inputs.timeline, replicas[at]));
  return paths;
}

/// Whether an output goes to stdout. Throws Error if one would overwrite an input or another output.
bool check_outputs(const Inputs& inputs, const std::optional<std::string>& costs,
                   const std::vector<std::uint32_t>& replicas) {
  std::vector<Destination> sources;
  std::vector<Destination> destinations{{"output", costs}};
  sources.reserve(inputs.files.size());
  for (const std::string& path : inputs.files) sources.push_back({"a file to import", path});
  for (const auto& [replica, path] : timeline_paths(inputs, replicas, 0)) destinations.push_back({"timeline", path});
  const bool stdout_taken = uses_stdout(destinations, sources);
  for (const auto& [option, path] : destinations)
    if (path) require_writable(*path, fmt::format("--{}", option));
  return stdout_taken;
}

traces::CostForm form_of(const Inputs& inputs) {
  if (inputs.by_microbatch && inputs.mean_stage)
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("mean-stage"), "given together with --by-microbatch", "leave one of them out"}};
  return inputs.by_microbatch ? traces::CostForm::by_microbatch
         : inputs.mean_stage  ? traces::CostForm::mean_stage
                              : traces::CostForm::by_chunk;
}

void write_costs(const std::string& path, ScenarioDocument costs, std::string_view source) {
  costs.entries.insert(costs.entries.begin(), {"source", toml_string(source)});
  write_file(path, costs.text(), "--output");
}

ExitCode run(const Inputs& inputs) {
  const traces::ImportFormat& format = format_of(inputs);
  check_options(inputs, format);
  const traces::CostForm form = form_of(inputs);
  std::optional<std::string> output = inputs.output;
  if (!output && !inputs.timeline) output = "-";
  check_marks(inputs);
  const bool stdout_taken = check_outputs(inputs, output, {0});
  traces::Imported imported = read(inputs, format);
  note_dropped(imported);
  const std::string source = fmt::format("{} of {}", format.name, joined(inputs.files, " "));
  if (imported.runs.empty()) {
    write_costs(output.value_or("-"), imported.costs, source);
    return ExitCode::done;
  }
  const std::size_t chosen = chosen_replica(inputs, imported);
  const MeasuredRun& of = imported.runs[chosen];
  static_cast<void>(check_outputs(inputs, output, imported.replicas));
  if (output) note_slow_stages(imported, chosen);
  note_unwritten(inputs, imported, chosen);
  if (output) write_costs(*output, traces::cost_lines(cost_model(of, 0, of.steps.size()), form), source);
  for (const auto& [replica, path] : timeline_paths(inputs, imported.replicas, chosen)) {
    imported.runs[replica].facts.command = inputs.command;
    write_file(path, traces::write_run(imported.runs[replica]), "--timeline");
  }
  if (!stdout_taken) write_file("-", summary(imported, chosen), "summary");
  return ExitCode::done;
}

constexpr std::array<std::string_view, 8> extra{"stages",   "mb",      "vpp",           "output",
                                                "timeline", "replica", "by-microbatch", "mean-stage"};
constexpr std::array examples{
    Example{"ppsim import kineto rank*.json.gz -o costs.toml --timeline run.json",
            "a PyTorch profile of every rank: costs of tasks and transfers, and the timeline"},
    Example{"ppsim import kineto rank*.json.gz --mean-stage -o costs.toml",
            "costs of the mean stage, with --embedding and --head: for other numbers of chunks, other splits and "
            "'ppsim compare'"},
    Example{"ppsim import nccl-tests sendrecv.txt", "latency and bandwidth, on stdout"},
    Example{"ppsim import megatron-timers train.log --stages 4 --mb 16",
            "a log without the arguments that Megatron-LM prints when it starts"},
    Example{"ppsim import op-trace trace.csv.gz --timeline 'run-{replica}.json'",
            "a run file for every data-parallel replica, for 'ppsim explain'"},
};

} // namespace

const Command definition{.name = "import",
                         .summary =
                             "read costs and a timeline from other programs' measurements: profiles, traces, logs",
                         .usage = "ppsim import FORMAT FILE... [-o COSTS.toml] [--timeline RUN.json] [options]",
                         .argument = "FORMAT",
                         .argument_help = "format of the files ('ppsim list formats'), then the files",
                         .takes_several = true,
                         .sections = {},
                         .extra = extra,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::import_command
