// ppsim: pipeline-parallel training schedules, simulated and explained.

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/runtime/launch.hpp"

#include <fmt/format.h>

#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "files/files.hpp"
#include "options/commands.hpp"
#include "options/options.hpp"
#include "terminal/console.hpp"

namespace {

#include "built_from.hpp"

using ppsim::ExitCode;

ExitCode run(const std::vector<std::string>& arguments) {
  using namespace ppsim::cli;
  const bool names_command = !arguments.empty() && !arguments.front().starts_with('-');
  if (!names_command && !arguments.empty() && arguments.front() == "--version") {
    write_file("-", fmt::format("ppsim {}\nbuilt from {} with {}\n", PPSIM_VERSION, built_from, built_with),
               "--version");
    return ExitCode::done;
  }
  const Command& command = find_command(names_command       ? std::string_view{arguments.front()}
                                        : arguments.empty() ? "help"
                                                            : "simulate");
  const std::vector<std::string> rest{arguments.begin() + (names_command ? 1 : 0), arguments.end()};
  for (std::size_t i = 0; i < rest.size(); ++i)
    if (rest[i] == "--help" || rest[i] == "-h") {
      const std::string topic = i + 1 < rest.size() && !rest[i + 1].starts_with('-') ? rest[i + 1] : "";
      write_file("-", names_command ? help_text(command) : help_on(topic), "--help");
      return ExitCode::done;
    }
  return command.run(parse_arguments(command, rest));
}

void print(const ppsim::Error& error) {
  using namespace ppsim::cli;
  for (const ppsim::Problem& problem : error.problems()) {
    say(ppsim::cli::in_flags(fmt::format("ppsim: error: {}: {}\n", problem.where, problem.what)));
    if (!problem.hint.empty()) say(ppsim::cli::in_flags(fmt::format("ppsim: hint: {}\n", problem.hint)));
  }
}

/// The cause of missing memory: the request, or the input files.
ppsim::Problem out_of_memory(bool imports) {
  if (imports)
    return {"memory", "not enough for these files",
            "uncompressed files need less memory than pipes and gzip; or give fewer steps"};
  return {"memory", "not enough for a run of this size", "use fewer microbatches or stages"};
}

/// Prints the error and ends the other processes that mpirun started with this one.
int fail(const ppsim::Error& error) {
  ppsim::runtime::defer_error_to_first(error.code());
  print(error);
  ppsim::runtime::abort_processes(error.code());
  return static_cast<int>(error.code());
}

} // namespace

int main(int argc, char** argv) {
  ppsim::cli::prepare_console();
  try {
    const ExitCode code = run({argv + (argc > 0 ? 1 : 0), argv + argc});
    ppsim::runtime::finish_processes(code);
    return static_cast<int>(code);
  } catch (const ppsim::Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail({ExitCode::failed, out_of_memory(argc > 1 && std::string_view{argv[1]} == "import")});
  } catch (const std::exception& error) {
    return fail({ExitCode::internal, ppsim::Problem{"internal error", error.what(),
                                                    "this is a bug in ppsim; please report it with the command line"}});
  }
}
