#pragma once
// The commands. To add one: a file in commands/, a line in commands.def there, a line in CMake.

#include "ppsim/base/error.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"
#include "runs/inputs.hpp"

namespace ppsim::cli {

struct Example {
  std::string_view line;
  std::string_view says;
};

/// One command of the program.
struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view usage;
  std::string_view argument = {}; ///< the argument's name in help, or empty
  std::string_view argument_help = {};
  bool makes_run = false;                         ///< the command reads a schedule file named in its inputs
  bool spans_grid = false;                        ///< --vary lists values and may be repeated: Inputs::grid
  bool takes_several = false;                     ///< more files after its argument: Inputs::files
  std::string_view argument_choices = {};         ///< its possible words, each followed by a space; for completion
  std::span<const Section> sections = {};         ///< accepted options, by section
  std::span<const std::string_view> extra;        ///< more accepted options, by name
  std::span<const std::string_view> except = {};  ///< options of the sections that it does not accept, by name
  std::span<const std::string_view> chooses = {}; ///< options that it chooses itself by default, by name
  std::span<const Example> examples;
  ExitCode (*run)(const Inputs&) = nullptr;
  [[nodiscard]] bool takes(const Option& option) const;
};

#define PPSIM_COMMAND(name)                                                                                            \
  namespace name##_command {                                                                                           \
    extern const Command definition;                                                                                   \
  }
#include "commands/commands.def"
#undef PPSIM_COMMAND

[[nodiscard]] std::span<const Command* const> commands();
/// Throws Error for an unknown name, with the nearest name as hint.
[[nodiscard]] const Command& find_command(std::string_view name);

/// Parses the arguments after the command's name, and the scenario file they name. Throws Error with all problems.
[[nodiscard]] Inputs parse_arguments(const Command& command, const std::vector<std::string>& arguments);

/// The same without a command line: `flags` set options that the command accepts, each once unless it is repeatable;
/// `files` are its arguments.
[[nodiscard]] Inputs take_assignments(const Command& command, std::vector<Assignment> flags,
                                      const std::vector<std::string>& files);
/// Whether the command accepts that option several times.
[[nodiscard]] bool is_repeatable(const Command& command, const Option& option);

/// Parses `simulate` arguments from a table of runs: model and device files are relative to `folder`, and options that
/// read or write other files, or request output, are refused.
[[nodiscard]] Inputs parse_run_arguments(const std::vector<std::string>& arguments, const std::string& folder);

/// The same flags with the scenario file `path`.
[[nodiscard]] Inputs with_scenario(const Inputs& inputs, const std::string& path);

/// The inputs of one point of the grid that `base` spans: the same flags with a value for each axis. Throws Error.
[[nodiscard]] Inputs inputs_at(const Inputs& base, std::size_t point);

/// The help of an option for a command: without its default if the command chooses it.
[[nodiscard]] std::string help_for(const Command& command, const Option& option);
[[nodiscard]] std::string help_text(const Command& command);
/// Help on a command; on "all", everything that simulate accepts; on "", what fits on a screen. Throws Error.
[[nodiscard]] std::string help_on(std::string_view topic);
[[nodiscard]] std::string man_page();

} // namespace ppsim::cli
