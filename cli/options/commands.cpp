#include "commands.hpp"

#include <algorithm>
#include <array>

namespace ppsim::cli {

namespace {
constexpr std::array all_commands{
#define PPSIM_COMMAND(name) &name##_command::definition,
#include "commands/commands.def"
#undef PPSIM_COMMAND
};
} // namespace

bool Command::takes(const Option& option) const {
  const auto named_in = [&](std::span<const std::string_view> names) {
    return std::ranges::find(names, option.name) != names.end();
  };
  const bool in_section = std::ranges::find(sections, option.section) != sections.end();
  return (in_section && !named_in(except)) || named_in(extra);
}

std::span<const Command* const> commands() {
  return all_commands;
}

const Command& find_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command* command : all_commands) {
    if (command->name == name) return *command;
    names.push_back(command->name);
  }
  if (name.find('.') != std::string_view::npos)
    throw Error{ExitCode::bad_input,
                Problem{in_quotes(name), "unknown command",
                        "for a file: ppsim check FILE, ppsim --schedule-file FILE, ppsim --scenario FILE"}};
  throw Error{ExitCode::bad_input, Problem{in_quotes(name), "unknown command",
                                           did_you_mean(name, names, "'ppsim --help' lists the commands")}};
}

} // namespace ppsim::cli
