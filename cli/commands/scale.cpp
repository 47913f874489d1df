// ppsim scale: costs measured with one workload, scaled to another.

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/runtime/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "files/scenario_file.hpp"
#include "files/toml_file.hpp"
#include "options/commands.hpp"
#include "options/setters.hpp"
#include "runs/replaying.hpp"
#include "terminal/console.hpp"

namespace ppsim::cli::scale_command {
namespace {

using runtime::Ratio;
using runtime::Scaling;
using runtime::value_of;
using runtime::Workload;

/// A scenario file with its content.
struct CostFile {
  ScenarioFile scenario;
  Inputs inputs;
};

/// Adds problems that prevent scaling the costs of `file`.
void check_cost_file(const CostFile& file, Problems& problems) {
  const Inputs& inputs = file.inputs;
  for (const std::string_view key : {"tokens", "width"})
    if (!inputs.where.contains(key))
      problems.add(fmt::format("{}: {}", file.scenario.name(), key), "missing",
                   "say which workload its costs are for; 'ppsim calibrate -o FILE' writes both");
  if (!inputs.forward && !inputs.backward && !inputs.input_grad && !inputs.weight_grad)
    problems.add(file.scenario.name(), "it does not say how long tasks take",
                 "'ppsim calibrate -o FILE' measures that");
  for (const std::string_view key : {"model", "forward-collective", "backward-collective", "embedding", "head",
                                     "recompute-time", "checkpoint-bytes", "reduce", "tied-embedding-reduce"})
    if (inputs.where.contains(key))
      problems.add(inputs.place_of(key), "scale has no rule for it",
                   "leave it out: everything that 'ppsim calibrate' writes has a rule");
  if (inputs.schedule_file)
    problems.add(inputs.place_of("schedule-file"),
                 "it is a path relative to the scenario, and the result may be in another folder",
                 "leave it out, and use --schedule-file together with the result");
  if (inputs.vpp && inputs.vpp->size() > 1)
    problems.add(inputs.place_of("vpp"), fmt::format("{} values", inputs.vpp->size()), "costs are for one value");
}

/// Reads and checks a scenario file.
CostFile read_cost_file(const std::string& path) {
  Problems problems;
  CostFile file{.scenario = {read_file(path, "scale"), display_name(path), problems}, .inputs = {}};
  assign(file.scenario.keys(), file.inputs, problems);
  problems.throw_if_any();
  check_cost_file(file, problems);
  problems.throw_if_any();
  return file;
}

/// The first file.
CostFile read_costs(const Inputs& inputs) {
  if (!inputs.file)
    throw Error{ExitCode::bad_input, Problem{"scale", "no file given",
                                             "'ppsim calibrate -o costs.toml' writes one; then: ppsim scale costs.toml "
                                             "--tokens 1024"}};
  if (inputs.files.size() > 1)
    throw Error{ExitCode::bad_input, Problem{"scale", fmt::format("{} files", inputs.files.size() + 1),
                                             "give one calibration, or two; an output is written -o FILE"}};
  CostFile file = read_cost_file(*inputs.file);
  Problems problems;
  if (std::ranges::none_of(workload_sizes,
                           [&](const WorkloadSize& size) { return inputs.where.contains(size.option); }))
    problems.add("scale", "no size of the other workload given",
                 "give one of --tokens, --width, --heads and --layers-per-chunk");
  if (inputs.where.contains("heads") && file.inputs.workload.block == runtime::Block::mlp)
    problems.add(inputs.place_of("heads"), "mlp blocks have no heads", "leave it out");
  problems.throw_if_any();
  return file;
}

/// A workload with its sizes on its backend.
struct Work {
  Workload workload;
  runtime::ChunkSizes sizes;
};

/// Throws Error if the workload cannot run. `place` names it in errors without a place of their own.
Work work_of(Inputs inputs, std::string_view place) {
  runtime::Backend& backend = runtime::load_backend(inputs.backend.value_or("threads"));
  inputs.compute = runtime::Compute::real; // overrides the scenario's setting for replays
  try {
    const Workload workload = run_options(inputs, backend, {}, false).workload;
    return {workload, backend.sizes(workload)};
  } catch (const Error& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems)
      if (problem.where.starts_with("workload")) problem.where = fmt::format("{}{}", place, problem.where);
    throw Error{error.code(), std::move(problems)};
  }
}

/// The file's values, with the sizes from the command line.
Inputs asked_for(const Inputs& asked, const Inputs& file) {
  Inputs other = file;
  for (const auto& [option, member] : workload_sizes)
    if (asked.where.contains(option)) {
      other.workload.*member = asked.workload.*member;
      other.where[std::string{option}] = asked.place_of(option);
    }
  return other;
}

std::string times_of(const std::vector<Duration>& times) {
  return times.size() == 1 ? toml_time(times.front()) : toml_list(times, toml_time);
}

/// Times that are scaled: a key of the scenario, its name in the summary, and what its length depends on.
struct TimeKey {
  std::string_view key, name, counts;
  std::optional<std::vector<Duration>> Inputs::*times;
  Ratio Scaling::*ratio;
};
constexpr std::array time_keys{
    TimeKey{"forward", "F", "operations", &Inputs::forward, &Scaling::forward},
    TimeKey{"input-grad", "I", "operations", &Inputs::input_grad, &Scaling::input_grad},
    TimeKey{"weight-grad", "W", "operations", &Inputs::weight_grad, &Scaling::weight_grad},
    TimeKey{"backward", "B", "operations", &Inputs::backward, &Scaling::backward},
    TimeKey{"optimizer", "optimizer", "parameters", &Inputs::optimizer, &Scaling::optimizer},
};

/// Costs of the same blocks, measured with other sizes.
struct SecondCosts {
  CostFile file;
  Work work;
  Scaling scaling; ///< from the first file's workload to this one
  /// The time of one chunk under `key`; of no account if both workloads have as many operations.
  [[nodiscard]] runtime::SecondTime time(const TimeKey& key, std::size_t chunk) const {
    const auto& times = file.inputs.*key.times;
    return {times && chunk < times->size() ? (*times)[chunk] : Duration{0}, scaling.*key.ratio};
  }
};

/// Adds problems with the times of one key that both files need.
void compare_times(const CostFile& first, const SecondCosts& second, const TimeKey& key, Problems& problems) {
  const auto& before = first.inputs.*key.times;
  const auto& after = second.file.inputs.*key.times;
  const Ratio ratio = second.scaling.*key.ratio;
  if (!before || ratio.part == ratio.whole) return; // the times of the first count
  const std::string place = fmt::format("{}: {}", second.file.scenario.name(), key.key);
  if (!after || after->size() != before->size()) {
    problems.add(place,
                 fmt::format("{}; {} has {}", after ? counted(after->size(), "value") : "missing",
                             first.scenario.name(), before->size()),
                 "give calibrations with the same chunks");
    return;
  }
  const bool grows = ratio.part > ratio.whole;
  for (std::size_t chunk = 0; chunk < before->size(); ++chunk) {
    const Duration less = grows ? (*before)[chunk] : (*after)[chunk];
    const Duration more = grows ? (*after)[chunk] : (*before)[chunk];
    if (more < less || (less == Duration{0}) != (more == Duration{0}))
      problems.add(place,
                   fmt::format("value {} is {} for {} {}, and {} for {}", chunk + 1, format_duration((*after)[chunk]),
                               ratio.part, key.counts, format_duration((*before)[chunk]), ratio.whole),
                   "measure again, with larger sizes, on an idle machine");
  }
}

/// Adds problems with what both files must share.
void compare_settings(const CostFile& first, const CostFile& second, Problems& problems) {
  const auto same = [&](std::string_view key, const auto& before, const auto& after) {
    if (before != after)
      problems.add(fmt::format("{}: {}", second.scenario.name(), key),
                   fmt::format("differs from {}", first.scenario.name()),
                   "give calibrations of the same stages and blocks, with other sizes");
  };
  const auto chunks = [](const Inputs& inputs) { return inputs.vpp.value_or(std::vector<std::size_t>{1}); };
  same("stages", first.inputs.stages, second.inputs.stages);
  same("vpp", chunks(first.inputs), chunks(second.inputs));
  same("block", first.inputs.workload.block, second.inputs.workload.block);
  same("trainer", first.inputs.workload.optimizer, second.inputs.workload.optimizer);
  same("backend", first.inputs.backend.value_or("threads"), second.inputs.backend.value_or("threads"));
}

/// The second file, if there is one. Throws Error if it is not comparable with the first.
std::optional<SecondCosts> read_second(const Inputs& asked, const CostFile& first, const Work& work) {
  if (asked.files.empty()) return std::nullopt;
  CostFile file = read_cost_file(asked.files.front());
  Problems problems;
  compare_settings(first, file, problems);
  problems.throw_if_any();
  const Work other = work_of(file.inputs, fmt::format("{}: ", file.scenario.name()));
  if (runtime::operations(other.workload) == runtime::operations(work.workload))
    problems.add(file.scenario.name(), fmt::format("it has as many operations as {}", first.scenario.name()),
                 "give calibrations with different sizes");
  for (const auto& [option, member] : workload_sizes)
    if (!asked.where.contains(option) && work.workload.*member != other.workload.*member)
      problems.add(
          fmt::format("{}: {}", file.scenario.name(), option),
          fmt::format("{}, and {} in {}", other.workload.*member, work.workload.*member, first.scenario.name()),
          fmt::format("say which it is to be: --{} N", option));
  SecondCosts second{std::move(file), other, runtime::scaling(work.workload, other.workload)};
  for (const TimeKey& key : time_keys) compare_times(first, second, key, problems);
  problems.throw_if_any();
  return second;
}

/// The keys of the file, then additional keys of the result.
ScenarioDocument document_of(const CostFile& file, const Inputs& asked) {
  std::vector<Assignment> keys = file.scenario.keys();
  const auto need = [&](std::string_view key) {
    if (!file.inputs.where.contains(key)) keys.push_back({find_option(key), {}, {}});
  };
  need("source");
  for (const auto& [option, member] : workload_sizes)
    if (asked.where.contains(option)) need(option);
  ScenarioDocument document = as_document(keys);
  document.entries.front().comment = "Scaled, not measured: the table [scaled] says from which workload";
  return document;
}

/// The factors by which the times of one key change.
struct Factors {
  double least = std::numeric_limits<double>::infinity(), most = 0; ///< over the chunks
  double power = 0;                                                 ///< of the operations, the largest
  bool beyond = false;                                              ///< the workload lies outside of both calibrations
};

/// Scales the times of a key, if the file has them.
std::optional<Factors> scale_times(const CostFile& file, const std::optional<SecondCosts>& second, const TimeKey& key,
                                   const Ratio& ratio, ScenarioDocument& document) {
  const auto& times = file.inputs.*key.times;
  if (!times) return std::nullopt;
  std::vector<Duration> changed;
  Factors factors;
  for (std::size_t chunk = 0; chunk < times->size(); ++chunk) {
    const Duration time = (*times)[chunk];
    const runtime::SecondTime other = second ? second->time(key, chunk) : runtime::SecondTime{};
    const auto longer = runtime::scaled(time, ratio, other);
    if (!longer)
      throw Error{ExitCode::bad_input, Problem{file.inputs.place_of(key.key),
                                               fmt::format("{} would become longer than a day", format_duration(time)),
                                               "give a smaller workload"}};
    changed.push_back(*longer);
    const double power = runtime::exponent(time, other);
    const double factor = std::pow(value_of(ratio), power);
    factors.least = std::min(factors.least, factor);
    factors.most = std::max(factors.most, factor);
    factors.power = std::max(factors.power, power);
  }
  if (second) {
    const double end = value_of(second->scaling.*key.ratio);
    factors.beyond = value_of(ratio) < std::min(1.0, end) || value_of(ratio) > std::max(1.0, end);
  }
  document.set(key.key, times_of(changed));
  return factors;
}

/// The scaled values, as keys of the file.
struct Scaled {
  Work from, to;
  std::optional<SecondCosts> second;
  Scaling scaling;
  std::map<std::string_view, Factors> factors; ///< by key
  Measured measured;
  std::optional<TransferLines> transfers;
  ScenarioDocument document;
};

/// Equality except for rounding in the file; one time may represent all.
bool are_about(const std::vector<Duration>& said, const std::vector<Duration>& measured) {
  constexpr std::int64_t parts = 1000;
  const auto about = [](Duration a, Duration b) {
    return std::abs((a - b).count()) <= 2 + std::max(a, b).count() / parts;
  };
  if (said.size() == 1) return std::ranges::all_of(measured, [&](Duration time) { return about(said.front(), time); });
  return std::ranges::equal(said, measured, about);
}

/// Boundary times, from the measured lines. Throws Error if there are none.
void scale_transfers(const CostFile& file, Scaled& result) {
  const auto& comm = file.inputs.comm;
  const bool all_zero = comm && std::ranges::all_of(*comm, [](Duration time) { return time == Duration{0}; });
  const Bytes before = result.from.sizes.boundary;
  const Bytes after = result.to.sizes.boundary;
  if (!comm || all_zero || before == after) return;
  if (!result.transfers)
    throw Error{ExitCode::bad_input, Problem{file.inputs.place_of("comm"),
                                             fmt::format("it is for {}, and the scenario does not say how long {} take",
                                                         format_bytes(before), format_bytes(after)),
                                             "'ppsim calibrate' measures it; or give latency and bandwidth instead"}};
  const auto times = [&](Bytes bytes) {
    return runtime::boundary_times(result.transfers->edges, result.transfers->placement, bytes);
  };
  if (!are_about(*comm, times(before)))
    throw Error{ExitCode::bad_input, Problem{file.inputs.place_of("comm"),
                                             "it differs from the transfer times that the calibration measured",
                                             "give the measured times, or latency and bandwidth instead"}};
  result.document.set("comm", times_of(times(after)));
}

/// The measured work that the costs of `file` come from.
Measured origin_of(const CostFile& file, const Work& work) {
  return file.scenario.measured().value_or(Measured{in_words(work.workload), file.inputs.source.value_or("")});
}

/// Facts for readers, and the transfer lines, so that the result can be scaled again.
void add_facts(const Scaled& result, std::string_view command, ScenarioDocument& document) {
  document.add_table("scaled");
  document.add("from", toml_string(result.measured.work));
  std::string source = result.measured.source;
  if (result.second)
    if (const std::string other = origin_of(result.second->file, result.second->work).source; other != source)
      source += (source.empty() || other.empty() ? "" : "; ") + other;
  if (!source.empty()) document.add("source", toml_string(source));
  document.add("command", toml_string(command));
  if (!result.transfers) return;
  document.add("placement", runtime::toml_placement(result.transfers->placement));
  for (const runtime::TransferFit& edge : result.transfers->edges)
    runtime::add_edge_table("[scaled.edges]", edge, document);
}

Scaled scale(const CostFile& file, const Inputs& asked) {
  const Inputs& inputs = file.inputs;
  Scaled result{.from = work_of(inputs, fmt::format("{}: ", file.scenario.name())),
                .to = work_of(asked_for(asked, inputs), ""),
                .second = {},
                .scaling = {},
                .factors = {},
                .measured = {},
                .transfers = file.scenario.transfer_lines(),
                .document = document_of(file, asked)};
  result.second = read_second(asked, file, result.from);
  result.scaling = runtime::scaling(result.from.workload, result.to.workload);
  const std::string before = in_words(result.from.workload);
  const std::string after = in_words(result.to.workload);
  result.measured = origin_of(file, result.from);
  if (result.second) result.measured.work += " and " + origin_of(result.second->file, result.second->work).work;

  ScenarioDocument& document = result.document;
  if (inputs.title == before) document.set("title", toml_string(after));
  document.set("source", toml_string(fmt::format("scaled from {}{}{}", result.measured.work,
                                                 result.measured.source.empty() ? "" : ", ", result.measured.source)));
  for (const TimeKey& key : time_keys)
    if (const auto factors = scale_times(file, result.second, key, result.scaling.*key.ratio, document))
      result.factors[key.key] = *factors;
  scale_transfers(file, result);
  for (const auto& [key, value] : runtime::memory_keys(result.to.sizes, chunks_of_stage(inputs)))
    if (document.find(key) != nullptr) document.set(key, value);
  for (const auto& [option, member] : workload_sizes)
    if (asked.where.contains(option)) document.set(option, std::to_string(result.to.workload.*member));
  add_facts(result, asked.command, document);
  return result;
}

/// The factors and their reasons, for the terminal.
std::string summary(const Scaled& result) {
  std::string text = fmt::format("{}\n", in_words(result.to.workload));
  const auto row = [&](std::string_view name, std::string_view what) {
    text += fmt::format("  {:<11}  {}\n", name, what);
  };
  row("scaled from", in_words(result.from.workload));
  if (result.second) row("and", in_words(result.second->work.workload));
  for (const TimeKey& key : time_keys) {
    const auto found = result.factors.find(key.key);
    if (found == result.factors.end()) continue;
    const Ratio ratio = result.scaling.*key.ratio;
    const std::string least = fmt::format("{:.4g}", found->second.least);
    const std::string most = fmt::format("{:.4g}", found->second.most);
    row(key.name, ratio.part == ratio.whole
                      ? fmt::format("as long: {} {}", ratio.part, key.counts)
                      : fmt::format("{}{}{} times as long: {} {}, not {}", least, least == most ? "" : " to ",
                                    least == most ? "" : most, ratio.part, key.counts, ratio.whole));
  }
  row("transfers",
      fmt::format("{}, not {}", format_bytes(result.to.sizes.boundary), format_bytes(result.from.sizes.boundary)));
  row("stash",
      fmt::format("{}, not {}", format_bytes(result.to.sizes.stash()), format_bytes(result.from.sizes.stash())));
  return text;
}

/// Larger products reach more operations per second, so larger powers come from noise, or from memory.
constexpr double most_credible_power = 1.1;

/// Says where two calibrations say little about the workload.
void note_doubts(const Scaled& result) {
  if (!result.second) return;
  std::vector<std::string_view> beyond;
  for (const TimeKey& key : time_keys) {
    const auto found = result.factors.find(key.key);
    if (found == result.factors.end()) continue;
    if (found->second.beyond)
      beyond.push_back(key.name);
    else if (found->second.power > most_credible_power)
      note("{}: times grow faster than {} (to the power of {:.3g}); calibrate sizes further apart", key.name,
           key.counts, found->second.power);
  }
  if (!beyond.empty())
    note("{}: the workload is outside of both calibrations; replay it, or calibrate nearer to it",
         joined(beyond, ", "));
}

ExitCode run(const Inputs& inputs) {
  const std::string output = inputs.output.value_or("-");
  static_cast<void>(uses_stdout(std::array{Destination{"output", output}}, sources(inputs)));
  const Scaled result = scale(read_costs(inputs), inputs);
  write_file(output, result.document.text(), "--output");
  note_doubts(result);
  if (output != "-") write_file("-", summary(result), "summary");
  return ExitCode::done;
}

constexpr std::array<std::string_view, 5> extra{"tokens", "width", "heads", "layers-per-chunk", "output"};
constexpr std::array examples{
    Example{"ppsim scale costs.toml --tokens 2048 -o larger.toml",
            "costs that 'ppsim calibrate -o costs.toml' measured with 512 tokens, scaled to four times as many"},
    Example{"ppsim scale short.toml long.toml --tokens 1024 -o medium.toml",
            "costs between those of two calibrations: larger products reach more operations per second"},
    Example{"ppsim scale costs.toml --width 1024 --layers-per-chunk 2 | ppsim --scenario - --mb 8",
            "the step time of a larger model"},
};

} // namespace

const Command definition{
    .name = "scale",
    .summary = "scale measured costs to another workload by its number of operations",
    .usage =
        "ppsim scale COSTS.toml [COSTS.toml] [--tokens N] [--width N] [--heads N] [--layers-per-chunk N] [-o FILE]",
    .argument = "COSTS.toml",
    .argument_help =
        "a scenario that 'ppsim calibrate' wrote; sizes that you do not give stay as they are; '-' for stdin. A second "
        "one, of other sizes: times follow a power of the operations that meets both",
    .takes_several = true,
    .sections = {},
    .extra = extra,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli::scale_command
