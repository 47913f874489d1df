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
  std::string_view argument = {}; ///< what help calls its argument, or empty
  std::string_view argument_help = {};
  bool makes_run = false;                        ///< of the inputs: a schedule file that they name is read
  bool spans_grid = false;                       ///< --vary names values, and may be given several times: Inputs::grid
  bool takes_several = false;                    ///< more files after its argument: Inputs::files
  std::string_view argument_choices = {};        ///< the words it can be, each followed by a space; for completion
  std::span<const Section> sections = {};        ///< the options it takes, by section
  std::span<const std::string_view> extra;       ///< and these besides, by name
  std::span<const std::string_view> except = {}; ///< those of the sections that it does not take, by name
  std::span<const std::string_view> chooses =
      {}; ///< options that it chooses by itself where they are not given, by name
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
/// Throws Error (unknown command, did you mean).
[[nodiscard]] const Command& find_command(std::string_view name);

/// Parses the arguments after the command's name, and the scenario file they name. Throws Error with everything wrong.
[[nodiscard]] Inputs parse_arguments(const Command& command, const std::vector<std::string>& arguments);

/// The same of what was said otherwise than by words of a command line: `flags` are of options that the command takes,
/// each but once unless it can be repeated; `files` are its arguments.
[[nodiscard]] Inputs take_assignments(const Command& command, std::vector<Assignment> flags,
                                      const std::vector<std::string>& files);
/// Whether the command takes that option several times.
[[nodiscard]] bool is_repeatable(const Command& command, const Option& option);

/// Arguments of `simulate` that a file holds, of a run that a table lists: models and devices in files are found from
/// `folder`, and what reads or writes other files, or asks for output, is refused.
[[nodiscard]] Inputs parse_run_arguments(const std::vector<std::string>& arguments, const std::string& folder);

/// The same flags with the scenario file `path` besides.
[[nodiscard]] Inputs with_scenario(const Inputs& inputs, const std::string& path);

/// Those of one point of the grid that `base` spans: the same flags with a value for each axis. Throws Error.
[[nodiscard]] Inputs inputs_at(const Inputs& base, std::size_t point);

/// What is said of an option there: without its default where the command chooses.
[[nodiscard]] std::string help_for(const Command& command, const Option& option);
[[nodiscard]] std::string help_text(const Command& command);
/// Of a command by name; of "all", what simulate takes; of nothing, what fits on a screen. Throws Error.
[[nodiscard]] std::string help_on(std::string_view topic);
[[nodiscard]] std::string man_page();

} // namespace ppsim::cli
