#include "commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ppsim::cli {

extern const Command simulate_command;
extern const Command place_command;
extern const Command import_command;
extern const Command explain_command;
extern const Command compare_command;
extern const Command calibrate_command;
extern const Command scale_command;
extern const Command replay_command;
extern const Command validate_command;
extern const Command selftest_command;
extern const Command check_command;
extern const Command costs_command;
extern const Command list_command;
extern const Command man_command;
extern const Command completion_command;
extern const Command help_command;

namespace {
constexpr std::array table{&simulate_command, &compare_command,   &check_command,      &place_command,
                           &costs_command,    &calibrate_command, &scale_command,      &import_command,
                           &explain_command,  &replay_command,    &validate_command,   &selftest_command,
                           &list_command,     &man_command,       &completion_command, &help_command};
} // namespace

bool Command::takes(const Option& option) const {
  const auto named_in = [&](std::span<const std::string_view> names) {
    return std::ranges::find(names, option.name) != names.end();
  };
  const bool in_section = std::ranges::find(sections, option.section) != sections.end();
  return (in_section && !named_in(except)) || named_in(extra);
}

std::span<const Command* const> commands() {
  return table;
}

const Command& find_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command* command : table) {
    if (command->name == name) return *command;
    names.push_back(command->name);
  }
  if (name.find('.') != std::string_view::npos)
    throw Error{ExitCode::bad_input,
                Problem{in_quotes(name), "unknown command",
                        "for a file: ppsim check FILE, ppsim --schedule-file FILE, ppsim --scenario FILE"}};
  throw Error{ExitCode::bad_input, Problem{in_quotes(name), "unknown command",
                                           did_you_mean(name, names, "'ppsim --help' shows the commands")}};
}

} // namespace ppsim::cli
