// ppsim help, man and completion: three forms of the option tables.

#include <fmt/format.h>

#include "files/files.hpp"
#include "options/commands.hpp"
#include "options/completion.hpp"

namespace ppsim::cli {
namespace {

ExitCode run_help(const Inputs& inputs) {
  write_file("-", help_on(inputs.file.value_or("")), "help");
  return ExitCode::done;
}

ExitCode run_man(const Inputs& /*inputs*/) {
  write_file("-", man_page(), "man");
  return ExitCode::done;
}

ExitCode run_completion(const Inputs& inputs) {
  const std::string script = completion(inputs.file.value_or(""));
  if (script.empty())
    throw Error{ExitCode::bad_input,
                Problem{"completion",
                        inputs.file ? fmt::format("unknown shell {}", in_quotes(*inputs.file)) : "no shell given",
                        fmt::format("one of {}", completed_shells.substr(0, completed_shells.size() - 1))}};
  write_file("-", script, "completion");
  return ExitCode::done;
}

} // namespace

const Command help_command::definition{.name = "help",
                                       .summary = "help on a command",
                                       .usage = "ppsim help [COMMAND | all]",
                                       .argument = "COMMAND",
                                       .argument_help =
                                           "a command; all: every option of simulate; default: an overview",
                                       .sections = {},
                                       .extra = {},
                                       .examples = {},
                                       .run = run_help};
const Command man_command::definition{.name = "man",
                                      .summary = "print the manual page, as roff",
                                      .usage = "ppsim man",
                                      .argument = "",
                                      .argument_help = "",
                                      .sections = {},
                                      .extra = {},
                                      .examples = {},
                                      .run = run_man};
const Command completion_command::definition{.name = "completion",
                                             .summary = "print a completion script for a shell",
                                             .usage = "ppsim completion bash|zsh|fish",
                                             .argument = "SHELL",
                                             .argument_help = "bash, zsh or fish",
                                             .argument_choices = completed_shells,
                                             .sections = {},
                                             .extra = {},
                                             .examples = {},
                                             .run = run_completion};

} // namespace ppsim::cli
