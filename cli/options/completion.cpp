// Completion scripts for shells, from the tables of options and commands.

#include "completion.hpp"

#include "ppsim/base/words.hpp"
#include "ppsim/schedule/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "commands.hpp"

namespace ppsim::cli {
namespace {

std::string flags_of(const Command& command) {
  std::string flags;
  for (const Option& option : options())
    if (command.takes(option)) flags += fmt::format("--{} ", option.name);
  return flags;
}

/// The topics of help, each followed by a space.
std::string help_topics() {
  std::string words = "all ";
  for (const Command* command : commands()) words += fmt::format("{} ", command->name);
  return words;
}

/// The possible words of a command's argument, each followed by a space.
std::string argument_words(const Command& command) {
  return command.name == "help" ? help_topics() : std::string{command.argument_choices};
}

/// The possible words of an option's value, separated by spaces.
std::string choices_of(const Option& option) {
  if (option.set.words != nullptr) return joined(option.set.words(), " ");
  if (option.name != "schedule" && option.name != "schedules") return {};
  std::vector<std::string> names;
  for (const Generator* generator : generators()) names.emplace_back(generator->name);
  return joined(names, " ");
}

/// The line for the word after an option.
std::string bash_value(const Option& option) {
  if (option.argument != Argument::required) return {};
  const std::string choices = choices_of(option);
  if (!choices.empty())
    return fmt::format("    --{}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", option.name, choices);
  if (option.placeholder == "FILE")
    return fmt::format("    --{}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", option.name);
  return fmt::format("    --{}) return ;;\n", option.name);
}

std::string bash() {
  std::string out = "# bash completion for ppsim\n_ppsim() {\n  local cur=${COMP_WORDS[COMP_CWORD]} "
                    "prev=${COMP_WORDS[COMP_CWORD-1]}\n  case $prev in\n";
  for (const Option& option : options()) out += bash_value(option);
  out += fmt::format("    --help) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", help_topics());
  out += "  esac\n  case ${COMP_WORDS[1]} in\n";
  std::string words;
  for (const Command* command : commands()) {
    words += fmt::format("{} ", command->name);
    if (command->name != "simulate")
      out += fmt::format("    {}) COMPREPLY=($(compgen -W '{}{}--help' -- \"$cur\"){}) ;;\n", command->name,
                         argument_words(*command), flags_of(*command),
                         command->argument == "FILE" ? " $(compgen -f -- \"$cur\")" : "");
  }
  out += fmt::format("    *) COMPREPLY=($(compgen -W '{}{}--help --version' -- \"$cur\")) ;;\n", words,
                     flags_of(find_command("simulate")));
  out += "  esac\n}\ncomplete -o filenames -F _ppsim ppsim\n";
  return out;
}

/// In single quotes, and with a backslash before each of `special`.
std::string quoted(std::string_view text, std::string_view special) {
  std::string out = "'";
  for (const char character : text) {
    if (special.find(character) != std::string_view::npos) out += '\\';
    out += character;
  }
  return out + '\'';
}

/// zsh accepts a quote inside quotes only as '\''.
std::string zsh_words(std::string_view text) {
  std::string out;
  for (const char character : text) {
    if (character == '\'')
      out += "'\\''";
    else if (std::string_view{"[]:\\"}.find(character) != std::string_view::npos)
      out += std::string{'\\'} + character;
    else
      out += character;
  }
  return out;
}

/// An option in the syntax of _arguments: '--stages=[devices in the pipeline]:N:'.
std::string zsh_option(const Option& option) {
  const std::string help = zsh_words(option.help);
  if (option.argument == Argument::none) return fmt::format("'--{}[{}]'", option.name, help);
  const std::string choices = choices_of(option);
  const std::string values = !choices.empty()               ? fmt::format("({})", zsh_words(choices))
                             : option.placeholder == "FILE" ? "_files"
                                                            : "";
  const std::string_view follows = option.argument == Argument::optional ? "=-" : "=";
  const std::string_view colons = option.argument == Argument::optional ? "::" : ":";
  return fmt::format("'--{}{}[{}]{}{}:{}'", option.name, follows, help, colons, zsh_words(option.placeholder), values);
}

std::string zsh() {
  std::string out = "#compdef ppsim\n_ppsim() {\n  local -A option\n  local -a commands taken\n  option=(\n";
  for (const Option& option : options()) out += fmt::format("    {} {}\n", option.name, zsh_option(option));
  out += "  )\n  commands=(\n";
  for (const Command* command : commands())
    out += fmt::format("    '{}:{}'\n", command->name, zsh_words(command->summary));
  out += "  )\n  local command=simulate\n  if (( ${commands[(I)$words[2]:*]} )); then\n    command=$words[2]\n"
         "    shift words; (( CURRENT-- ))\n  elif (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then\n"
         "    _describe command commands\n    return\n  fi\n  case $command in\n";
  for (const Command* command : commands()) {
    std::string names;
    for (const Option& option : options())
      if (command->takes(option)) names += fmt::format(" {}", option.name);
    const std::string words = argument_words(*command);
    const std::string argument = !words.empty()                ? fmt::format(" '1:{}:({})'", command->argument, words)
                                 : command->argument == "FILE" ? " '*:file:_files'"
                                                               : "";
    out +=
        fmt::format("    {}) taken=({}); set --{} ;;\n", command->name, names.empty() ? "" : names.substr(1), argument);
  }
  out += "  esac\n  local name; local -a specs\n  for name in $taken; do specs+=($option[$name]); done\n  _arguments "
         "-s '--help[show the options]::COMMAND:(" +
         help_topics() + ")' $specs \"$@\"\n}\n_ppsim \"$@\"\n";
  return out;
}

constexpr std::string_view fish_special = "'\\";

std::string fish_option(const Option& option) {
  std::string takers;
  for (const Command* command : commands())
    if (command->takes(option)) takers += fmt::format(" {}", command->name);
  if (takers.empty()) return {};
  const std::string choices = choices_of(option);
  const std::string value = option.argument != Argument::required ? ""
                            : !choices.empty()                    ? fmt::format(" -x -a '{}'", choices)
                            : option.placeholder == "FILE"        ? " -r -F"
                                                                  : " -x";
  return fmt::format("complete -c ppsim -n '__ppsim_command{}' -l {}{} -d {}\n", takers, option.name, value,
                     quoted(option.help, fish_special));
}

std::string fish() {
  std::string names;
  for (const Command* command : commands()) names += fmt::format(" {}", command->name);
  std::string out = fmt::format("# fish completion for ppsim\nfunction __ppsim_command\n"
                                "  set -l words (commandline -opc)\n  set -l command simulate\n"
                                "  contains -- \"$words[2]\"{0}; and set command $words[2]\n"
                                "  contains -- $command $argv\nend\nfunction __ppsim_has_none\n"
                                "  test (count (commandline -opc)) -eq 1\nend\ncomplete -c ppsim -f\n",
                                names);
  for (const Command* command : commands()) {
    out += fmt::format("complete -c ppsim -n __ppsim_has_none -a {} -d {}\n", command->name,
                       quoted(command->summary, fish_special));
    if (const std::string words = argument_words(*command); !words.empty())
      out += fmt::format("complete -c ppsim -n '__ppsim_command {}' -a '{}'\n", command->name, words);
    else if (command->argument == "FILE")
      out += fmt::format("complete -c ppsim -n '__ppsim_command {}' -F\n", command->name);
  }
  out += fmt::format("complete -c ppsim -l help -d 'show the options'\n"
                     "complete -c ppsim -n '__fish_contains_opt help' -a '{}'\n",
                     help_topics());
  for (const Option& option : options()) out += fish_option(option);
  return out;
}

struct Shell {
  std::string_view name;
  std::string (*script)();
};
constexpr std::array shells{Shell{"bash", bash}, Shell{"zsh", zsh}, Shell{"fish", fish}};

} // namespace

std::string completion(std::string_view shell) {
  const auto* const found = std::ranges::find(shells, shell, &Shell::name);
  return found == shells.end() ? std::string{} : found->script();
}

} // namespace ppsim::cli
