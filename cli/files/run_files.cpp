#include "run_files.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/traces/import.hpp"
#include "ppsim/traces/run_file.hpp"

#include <fmt/format.h>

#include "files.hpp"

namespace ppsim::cli {

MeasuredRun read_run_file(const std::string& path, std::string_view where) {
  const std::string text = read_file(path, where);
  try {
    return traces::read_run(text, display_name(path));
  } catch (const Error&) {
    const traces::ImportFormat* const guess = traces::guess_import_format(text);
    if (guess == nullptr) throw;
    throw Error{
        ExitCode::bad_input,
        Problem{display_name(path), fmt::format("this is not a run file; it looks like {}", guess->name),
                guess->has_runs()
                    ? fmt::format("'ppsim import {} {} --timeline run.json' makes one from the files of all ranks",
                                  guess->name, path)
                    : fmt::format("no run can be made from it: it holds {}", guess->no_runs)}};
  }
}

} // namespace ppsim::cli
