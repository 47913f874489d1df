#include "ppsim/base/units.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/measured_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "axis.hpp"
#include "commands.hpp"
#include "files/files.hpp"
#include "files/load_model.hpp"
#include "files/scenario_file.hpp"
#include "setters.hpp"
#include <CLI/CLI.hpp>

namespace ppsim::cli {
namespace {

/// "GiB", "ms", "GB/s".
bool is_unit(std::string_view word) {
  if (word.empty() || std::isalpha(static_cast<unsigned char>(word.front())) == 0) return false;
  const std::string value = fmt::format("1{}", word);
  return parse_duration(value) || parse_bytes(value) || parse_bandwidth(value);
}

/// Parses the options of one command: CLI11 splits the words, the option table defines them.
class Parser {
public:
  explicit Parser(const Command& command) : command_{command} {
    app_.set_help_flag();
    app_.allow_extras();
    app_.prefix_command(false);
    for (const Option& option : options())
      if (command.takes(option)) add(option);
  }

  std::vector<Assignment> parse(const std::vector<std::string>& arguments, Inputs& inputs, Problems& problems) {
    std::vector<std::string> words = joined(arguments, problems);
    std::ranges::reverse(words); // CLI11 takes them from the back
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      problems.add("command line", error.what(), fmt::format("'ppsim {} --help' lists the options", command_.name));
      return {};
    }
    refuse_extras(inputs, problems);
    return assignments(problems);
  }

private:
  struct Known {
    const Option* option;
    CLI::Option* parsed;
  };

  void add(const Option& option) {
    std::string flags = fmt::format("--{}", option.name);
    for (const std::string_view alias : option.aliases()) flags += fmt::format(",--{}", alias);
    CLI::Option* parsed = app_.add_option(flags);
    parsed->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
    known_.push_back({&option, parsed});
  }

  /// Turns "--flag value" into "--flag=value", so that a value may start with a dash. An optional value may be a
  /// separate word only if the command has no argument (SPEC section 6).
  [[nodiscard]] std::vector<std::string> joined(const std::vector<std::string>& arguments, Problems& problems) const {
    std::vector<std::string> words;
    words.reserve(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& word = arguments[i] == "-o" ? output_flag_ : arguments[i];
      const std::size_t equals = std::min(word.find('='), word.size());
      const Option* option =
          word.starts_with("--") ? find_option(std::string_view{word}.substr(2, equals - 2)) : nullptr;
      if (option == nullptr || !command_.takes(*option)) {
        words.push_back(word);
        continue;
      }
      const bool apart = equals == word.size() && i + 1 < arguments.size() && takes_next(*option, arguments[i + 1]);
      const std::string value = apart ? arguments[++i] : value_in(word, equals, *option);
      const std::string flag = word.substr(0, equals);
      if (value.empty())
        problems.add(flag, "needs a value", fmt::format("give {}", option->placeholder));
      else
        words.push_back(fmt::format("{}={}", flag, value));
    }
    return words;
  }

  /// The text after the equals sign, or the value that the flag alone means.
  static std::string value_in(const std::string& word, std::size_t equals, const Option& option) {
    if (equals < word.size()) return word.substr(equals + 1);
    switch (option.argument) {
    case Argument::none:
      return "true";
    case Argument::optional:
      return "-";
    case Argument::required:
      break;
    }
    return {};
  }

  [[nodiscard]] bool takes_next(const Option& option, std::string_view next) const {
    if (option.argument == Argument::required) return !next.starts_with("--");
    return option.argument == Argument::optional && command_.argument.empty() &&
           (!next.starts_with('-') || next == "-");
  }

  void refuse_extras(Inputs& inputs, Problems& problems) {
    std::vector<std::string_view> flags;
    for (const Known& known : known_) {
      flags.push_back(known.option->name);
      std::ranges::copy(known.option->aliases(), std::back_inserter(flags));
    }
    bool after_unknown = false; // the next word is its value, not another error
    for (const std::string& word : app_.remaining()) {
      if (word.starts_with('-') && word != "-") {
        refuse_flag(word, flags, problems);
        after_unknown = word.find('=') == std::string::npos;
        continue;
      }
      if (!after_unknown && !command_.argument.empty() && !inputs.file)
        inputs.file = word;
      else if (!after_unknown && command_.takes_several)
        inputs.files.push_back(word);
      else if (!after_unknown)
        problems.add(in_quotes(word), "unexpected argument", instead_of(word));
      after_unknown = false;
    }
  }

  [[nodiscard]] std::string instead_of(const std::string& word) const {
    if (is_unit(word)) return fmt::format("write a value and its unit without a space: 20{}", word);
    if (command_.argument.empty()) return "options start with --";
    return fmt::format("'{}' takes one {}; an output is written {}", command_.name, command_.argument, output_flag());
  }

  [[nodiscard]] std::string_view output_flag() const {
    return std::ranges::find(command_.extra, "output") != command_.extra.end() ? "-o FILE" : "--json=FILE";
  }

  void refuse_flag(const std::string& word, const std::vector<std::string_view>& flags, Problems& problems) const {
    const std::string flag = word.substr(0, word.find('='));
    const std::string_view bare = std::string_view{flag}.substr(std::min(flag.find_first_not_of('-'), flag.size()));
    const std::string_view near = nearest_word(bare, flags);
    problems.add(in_quotes(flag),
                 find_option(bare) != nullptr ? fmt::format("is not an option of '{}'", command_.name)
                                              : "unknown option",
                 near.empty() ? fmt::format("'ppsim {} --help' lists the options", command_.name)
                              : fmt::format("did you mean --{}?", near));
  }

  [[nodiscard]] std::vector<Assignment> assignments(Problems& problems) const {
    std::vector<Assignment> list;
    for (const auto& [option, parsed] : known_) {
      const std::string flag = fmt::format("--{}", option->name);
      if (parsed->count() == 0) continue;
      const std::vector<std::string>& values = parsed->results();
      if (values.size() > 1 && !is_repeatable(command_, *option))
        problems.add(flag, fmt::format("given {} times", values.size()), "give it once");
      for (const std::string& value : values) list.push_back({option, value, fmt::format("`{}`", option->name)});
    }
    return list;
  }

  const std::string output_flag_ = "--output"; // the only short flag
  const Command& command_;
  CLI::App app_;
  std::vector<Known> known_;
};

/// The options that flags set, including --vary.
std::vector<const Option*> options_set_by(const std::vector<Assignment>& flags) {
  std::vector<const Option*> list;
  for (const Assignment& flag : flags) {
    list.push_back(flag.option);
    const Option* varied = flag.option->name == "vary" ? varied_option(flag.value) : nullptr;
    if (varied != nullptr) list.push_back(varied);
  }
  return list;
}

/// Flags override the file: a key that a flag repeats or replaces is dropped.
void drop_overridden(const std::vector<Assignment>& flags, std::vector<Assignment>& keys) {
  std::set<std::string_view> dropped;
  for (const Option* option : options_set_by(flags)) {
    dropped.insert(option->name);
    for (const std::string_view replaced : split_list(option->replaces))
      if (replaced == every_schedule_option)
        for (const ScheduleOption& own : schedule_options()) dropped.insert(own.name);
      else
        dropped.insert(replaced);
  }
  std::erase_if(keys, [&](const Assignment& key) { return dropped.contains(key.option->name); });
}

/// --vary must not repeat another flag, and options that belong to it need it.
void check_vary(const Inputs& inputs, Problems& problems) {
  const RunField* const varied = inputs.vary ? find_run_field(inputs.vary->option) : nullptr;
  if (varied != nullptr && !varied->names_what_varies && inputs.where.contains(inputs.vary->option))
    problems.add(inputs.place_of(inputs.vary->option), "given although --vary varies it",
                 fmt::format("leave it out; --vary sets it from {} to {}", inputs.vary->format(inputs.vary->from),
                             inputs.vary->format(inputs.vary->to)));
  for (const std::string_view option : {"points", "precision"}) {
    if (!inputs.where.contains(option)) continue;
    if (!inputs.where.contains("vary"))
      problems.add(inputs.place_of(option), "there is nothing to vary", "add --vary NAME=FROM..TO, or leave it out");
    else if (inputs.vary && !inputs.vary->values.empty())
      problems.add(inputs.place_of(option), "--vary names the values, so nothing between them is tried",
                   "leave it out, or vary over a range without a step: NAME=FROM..TO");
  }
}

/// Quoted for a shell if necessary.
std::string as_shell_word(const std::string& word) {
  constexpr std::string_view plain = "%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word)
    if (c == '\'')
      quoted += R"('\'')";
    else
      quoted += c;
  return quoted + "'";
}

/// The command line for a shell.
std::string command_of(std::string_view name, const std::vector<std::string>& arguments) {
  std::string line = fmt::format("ppsim {}", name);
  for (const std::string& argument : arguments) line += " " + as_shell_word(argument);
  return line;
}

/// Whether it describes the run, directly or in a model's or a device's file.
bool is_of_run(const Option& option) {
  return is_scenario_key(option) && option.name != "schedule-file";
}

/// Fills `inputs` from its flags and the files that they name. Throws Error with all problems.
void take_flags(Inputs& inputs, Problems& problems) {
  std::vector<Assignment> keys;
  for (const Assignment& flag : inputs.flags)
    if (flag.option->name == "scenario") {
      if (!inputs.scenario_file)
        inputs.scenario_file =
            std::make_shared<const ScenarioFile>(read_file(flag.value, flag.where), display_name(flag.value), problems);
      keys = inputs.scenario_file->keys();
    }
  drop_overridden(inputs.flags, keys);
  assign(keys, inputs, problems);
  assign(inputs.flags, inputs, problems);
  if (inputs.scenario == "-" && inputs.schedule_file == "-")
    problems.add(inputs.place_of("schedule-file"), "--scenario already reads stdin", "name a file for one of them");
  if (inputs.jitter_from == "-" && (inputs.scenario == "-" || inputs.schedule_file == "-"))
    problems.add(inputs.place_of("jitter-from"), "another option already reads stdin", "name a file");
  load_model(inputs, problems);
  check_vary(inputs, problems);
  problems.throw_if_any();
  inputs.writes_operations = inputs.csv_comms.has_value();
  inputs.writes_sizes = inputs.chakra || inputs.goal;
  if (inputs.scenario_file && inputs.scenario_file->is_calibrated()) inputs.calibrated = inputs.scenario_file->name();
}

/// Applies a measured step to the costs.
void use_measured_step(Inputs& inputs) {
  if (inputs.measured_step && inputs.model_shape && inputs.device_sheet)
    inputs.training.compute_ppm = fit_measured_step(inputs);
}

/// Moves the axes of --vary from the flags to the grid.
void take_axes(Inputs& inputs, Problems& problems) {
  const auto is_of = [](std::string_view name) {
    return [name](const SweepAxis& axis) { return axis.option == name; };
  };
  std::vector<Assignment> others;
  for (Assignment& flag : inputs.flags) {
    SweepAxis axis;
    if (flag.option->name != "vary")
      others.push_back(std::move(flag));
    else if (auto wrong = parse_sweep_axis(flag.value, axis))
      problems.add(flag.where, std::move(wrong->what), std::move(wrong->hint));
    else if (std::ranges::any_of(inputs.grid.axes, is_of(axis.option)))
      problems.add(flag.where, fmt::format("`{}` is varied twice", axis.option), "give all its values at once");
    else
      inputs.grid.axes.push_back(std::move(axis));
  }
  inputs.flags = std::move(others);
  for (const Assignment& flag : inputs.flags)
    if (std::ranges::any_of(inputs.grid.axes, is_of(flag.option->name)))
      problems.add(flag.where, "given although --vary varies it", "leave it out; --vary sets it");
  if (inputs.grid.axes.empty() && problems.empty())
    problems.add("`vary`", "there is nothing to vary",
                 "give options and their values: --vary mb=8..256:x2 --vary schedule=all");
  if (const std::size_t points = inputs.grid.points(); points > most_sweep_points)
    problems.add("`vary`", fmt::format("the grid has {} points", points),
                 fmt::format("at most {}: take larger steps, or several sweeps", most_sweep_points));
}

/// `base` with the values of a point, without checks between options.
Inputs with_values(const Inputs& base, std::size_t point) {
  Inputs inputs;
  inputs.command = base.command;
  inputs.scenario_file = base.scenario_file;
  inputs.flags = base.flags;
  const std::vector<const SweepValue*> values = base.grid.at(point);
  for (std::size_t axis = 0; axis < values.size(); ++axis) {
    const std::string& option = base.grid.axes[axis].option;
    inputs.flags.push_back({find_option(option), values[axis]->said, fmt::format("`{}`", option)});
  }
  Problems problems;
  take_flags(inputs, problems);
  return inputs;
}

/// Common inputs of all points of a grid. Throws Error if an option refuses a value of its axis or a file cannot be
/// read.
Inputs sweep_inputs(Inputs base, Problems& problems) {
  take_axes(base, problems);
  problems.throw_if_any();
  Inputs first = with_values(base, 0);
  base.scenario_file = first.scenario_file;
  if (first.schedule_file) load_order(first);
  std::size_t stride = base.grid.points();
  for (const SweepAxis& axis : base.grid.axes) {
    stride /= axis.values.size();
    for (std::size_t value = 1; value < axis.values.size() && !axis.values[value].is_number; ++value)
      (void)with_values(base, value * stride); // models, devices and links must exist
  }
  first.flags = std::move(base.flags);
  first.grid = std::move(base.grid);
  return first;
}

} // namespace

bool is_repeatable(const Command& command, const Option& option) {
  return option.name == "fail-if" || (option.name == "vary" && command.spans_grid);
}

namespace {

/// Completes inputs whose flags and arguments are set.
Inputs complete(const Command& command, Inputs inputs, Problems& problems) {
  if (command.spans_grid) return sweep_inputs(std::move(inputs), problems);
  take_flags(inputs, problems);
  if (inputs.schedule_file && command.makes_run) load_order(inputs);
  if (inputs.jitter_from) load_jitter(inputs);
  use_measured_step(inputs);
  return inputs;
}

} // namespace

Inputs parse_arguments(const Command& command, const std::vector<std::string>& arguments) {
  Inputs inputs;
  inputs.command = command_of(command.name, arguments);
  Problems problems;
  inputs.flags = Parser{command}.parse(arguments, inputs, problems);
  return complete(command, std::move(inputs), problems);
}

Inputs take_assignments(const Command& command, std::vector<Assignment> flags, const std::vector<std::string>& files) {
  Inputs inputs;
  std::vector<std::string> arguments{files};
  for (const Assignment& flag : flags) {
    arguments.push_back(fmt::format("--{}", flag.option->name));
    if (flag.option->argument != Argument::none) arguments.push_back(flag.value);
  }
  inputs.command = command_of(command.name, arguments);
  inputs.flags = std::move(flags);
  if (!files.empty()) {
    inputs.file = files.front();
    inputs.files.assign(files.begin() + 1, files.end());
  }
  Problems problems;
  return complete(command, std::move(inputs), problems);
}

Inputs parse_run_arguments(const std::vector<std::string>& arguments, const std::string& folder) {
  Inputs inputs;
  inputs.command = command_of("simulate", arguments);
  Problems problems;
  inputs.flags = Parser{find_command("simulate")}.parse(arguments, inputs, problems);
  for (Assignment& flag : inputs.flags) {
    const bool is_sheet = flag.option->name == "model" || flag.option->name == "device";
    if (!is_of_run(*flag.option) || (is_sheet && flag.value == "-"))
      problems.add(flag.where, "cannot be in a table of runs",
                   is_sheet ? "name a file in the folder of the table" : "leave it out: a row only says what ran");
    else
      flag.value = from_folder(*flag.option, std::move(flag.value), folder);
  }
  problems.throw_if_any();
  take_flags(inputs, problems);
  use_measured_step(inputs);
  return inputs;
}

Inputs inputs_at(const Inputs& base, std::size_t point) {
  Inputs inputs = with_values(base, point);
  inputs.order = base.order;
  use_measured_step(inputs);
  return inputs;
}

Inputs with_scenario(const Inputs& inputs, const std::string& path) {
  Inputs others;
  others.command = fmt::format("{} --scenario {}", inputs.command, as_shell_word(path));
  others.file = inputs.file;
  others.files = inputs.files;
  others.flags = inputs.flags;
  others.flags.push_back({find_option("scenario"), path, "`scenario`"});
  Problems problems;
  take_flags(others, problems);
  use_measured_step(others);
  return others;
}

} // namespace ppsim::cli
