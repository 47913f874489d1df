// Help and man page, generated from the tables of options and commands.

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "commands.hpp"

namespace ppsim::cli {
namespace {

constexpr std::size_t help_width = 100;
constexpr std::size_t help_column = 30;

constexpr std::string_view units_help =
    "  TIME  a number and ns, us, ms or s, without a space: 1.5ms\n"
    "  SIZE  a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB: 16MiB\n"
    "  RATE  a size per second, or kbit/s, Mbit/s, Gbit/s, Tbit/s: 50GB/s, 400Gbit/s\n";

std::string flag_of(const Option& option) {
  switch (option.argument) {
  case Argument::none:
    return fmt::format("--{}", option.name);
  case Argument::required:
    return fmt::format("--{} {}", option.name, option.placeholder);
  case Argument::optional:
    return fmt::format("--{}[={}]", option.name, option.placeholder);
  }
  return {};
}

std::string help_of(const Option& option, std::string text) {
  if (option.set.most > 0) text += fmt::format("; up to {}", option.set.most);
  if (!option.alias.empty()) text += fmt::format(" (also --{})", joined(option.aliases(), ", --"));
  return text;
}

void append_entry(std::string& out, const std::string& head, std::string_view text) {
  out += fmt::format("  {}", head);
  if (head.size() + 4 > help_column)
    out += '\n' + std::string(help_column, ' ');
  else
    out.append(help_column - head.size() - 2, ' ');
  out += wrapped_lines(text, help_width, help_column, help_column);
}

/// Escapes leading dashes and dots, and backslashes.
std::string roff(std::string_view text) {
  std::string out;
  for (const char character : text) {
    if (character == '-')
      out += "\\-";
    else if (character == '\\')
      out += "\\e";
    else if (character == '\'')
      out += "\\(aq";
    else
      out += character;
  }
  return out;
}

/// An option in the short help: it has one line.
struct EssentialOption {
  std::string_view option;
  std::string_view says;
};
constexpr std::array essentials{
    EssentialOption{"stages", "pipeline stages (devices)"},
    EssentialOption{"mb", "microbatches per step"},
    EssentialOption{"schedule", "1f1b (default), interleaved, zb-v, ...: 'ppsim list schedules'"},
    EssentialOption{"vpp", "chunks per stage (virtual stages); default 1"},
    EssentialOption{"forward", "forward time of a stage for one microbatch; default 1ms"},
    EssentialOption{"backward", "backward time; default 2ms"},
    EssentialOption{"model", "compute costs from this model's shape: 'ppsim list models'"},
    EssentialOption{"device", "its device: 'ppsim list devices'; also sets the memory limit"},
    EssentialOption{"scenario", "read options from a TOML file"},
    EssentialOption{"svg", "write a Gantt chart"}};

/// The summary up to its parentheses.
std::string_view in_short(std::string_view summary) {
  return summary.substr(0, summary.find(" ("));
}

std::string overview() {
  std::string out = "ppsim simulates pipeline-parallel training schedules: step time, bubble and memory, and why.\n\n"
                    "Usage: ppsim [COMMAND] [options]    (without COMMAND: simulate)\n"
                    "Example: ppsim --stages 4 --mb 8 --schedule zb-h1 --svg run.svg\n\nCommands:\n";
  for (const Command* command : commands())
    if (!command->sections.empty() || !command->extra.empty()) // otherwise it prints a document: see "More"
      out += fmt::format("  {:<11} {}\n", command->name, in_short(command->summary));
  out += "\nOptions that most runs need:\n";
  for (const EssentialOption& essential : essentials)
    out += fmt::format("  {:<22} {}\n", flag_of(*find_option(essential.option)), essential.says);
  return out + "\nMore:\n"
               "  ppsim COMMAND --help   all options of a command, and examples\n"
               "  ppsim --help all       all options of simulate, units and exit statuses\n"
               "  ppsim man, ppsim completion SHELL   the manual page, a completion script\n";
}

} // namespace

std::string help_for(const Command& command, const Option& option) {
  std::string text{option.help};
  if (std::ranges::find(command.chooses, option.name) == command.chooses.end()) return text;
  constexpr std::string_view mark = " (default)";
  if (const std::size_t at = text.find(mark); at != std::string::npos) text.erase(at, mark.size());
  text.erase(std::min(text.find("; default"), text.size()));
  return text + "; chosen where it is not given";
}

std::string help_on(std::string_view topic) {
  if (topic.empty()) return overview();
  return help_text(find_command(topic == "all" ? "simulate" : topic));
}

std::string help_text(const Command& command) {
  std::string out;
  out += wrapped_lines(fmt::format("ppsim {}: {}", command.name, command.summary), help_width, 0);
  out += fmt::format("\nUsage: {}\n", command.usage);
  if (!command.argument.empty()) append_entry(out, std::string{command.argument}, command.argument_help);
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const Example& example : command.examples)
    out += fmt::format("  {}\n      {}", example.line, wrapped_lines(example.says, help_width, 6, 6));
  for (std::size_t section = 0; section < section_count; ++section) {
    bool any = false;
    for (const Option& option : options()) {
      if (static_cast<std::size_t>(option.section) != section || !command.takes(option)) continue;
      if (!any) out += fmt::format("\n{}:\n", to_string(option.section));
      any = true;
      append_entry(out, flag_of(option), help_of(option, help_for(command, option)));
    }
  }
  if (command.name != "simulate" && command.name != "help") return out;
  out += fmt::format("\nUnits:\n{}", units_help);
  out += "\nCommands (ppsim COMMAND --help says more):\n";
  for (const Command* other : commands()) append_entry(out, std::string{other->name}, other->summary);
  out += '\n' +
         wrapped_lines("Exit status: 0 done, 1 failed, 2 wrong usage or input, 3 the answer is no (deadlock, does not "
                       "fit, --fail-if), 70 a bug in ppsim.",
                       help_width, 0);
  return out;
}

std::string man_page() {
  std::string out = fmt::format(".TH PPSIM 1 \"\" \"ppsim {}\" \"User Commands\"\n.SH NAME\n"
                                "ppsim \\- simulate and explain pipeline\\-parallel training schedules\n.SH SYNOPSIS\n",
                                PPSIM_VERSION);
  for (const Command* command : commands()) out += fmt::format(".B {}\n.br\n", roff(command->usage));
  out += ".SH DESCRIPTION\nFor a pipeline of devices and a schedule, ppsim says how long a training step takes, where "
         "the bubble is and why, and whether the memory fits. \\fBppsim \\-\\-help\\fR shows the commands and the most "
         "used options, \\fBppsim COMMAND \\-\\-help\\fR all options of a command.\n.SH COMMANDS\n";
  for (const Command* command : commands())
    out += fmt::format(".TP\n.B {}\n{}\n", roff(command->name), roff(command->summary));
  out += ".SH OPTIONS\n";
  for (std::size_t section = 0; section < section_count; ++section) {
    out += fmt::format(".SS {} options\n", roff(to_string(static_cast<Section>(section))));
    for (const Option& option : options())
      if (static_cast<std::size_t>(option.section) == section)
        out += fmt::format(".TP\n.B {}\n{}\n", roff(flag_of(option)), roff(help_of(option, std::string{option.help})));
  }
  out += fmt::format(".SH UNITS\n.nf\n{}.fi\n", roff(units_help));
  out += ".SH EXAMPLES\n";
  for (const Command* command : commands())
    for (const Example& example : command->examples)
      out += fmt::format(".TP\n.B {}\n{}\n", roff(example.line), roff(example.says));
  out += ".SH EXIT STATUS\n0 done; 1 failed at run time; 2 wrong usage or bad input; 3 the answer is no (deadlock, "
         "does not fit, "
         "\\-\\-fail\\-if); 70 a bug in ppsim; 130 interrupted.\n";
  return out;
}

} // namespace ppsim::cli
