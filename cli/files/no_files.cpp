// Replaces files in a web page: reads and writes only memory (MemoryFiles).

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <utility>

#include "files.hpp"
#include "memory_files.hpp"
#include "run_files.hpp"

namespace ppsim::cli {

std::string read_file(const std::string& path, std::string_view where) {
  const MemoryFiles* const files = MemoryFiles::current();
  if (const std::string* const given = files != nullptr ? files->find(path) : nullptr) return *given;
  throw Error{ExitCode::bad_input,
              Problem{std::string{where}, fmt::format("cannot read {}: a web page has no files", in_quotes(path, 200)),
                      "name what ppsim knows by itself, or run the program"}};
}

std::string display_name(const std::string& path) {
  return path == "-" ? "stdin" : path;
}

MeasuredRun read_run_file(const std::string& path, std::string_view where) {
  static_cast<void>(read_file(path, where));
  throw Error{ExitCode::bad_input, Problem{display_name(path), "a web page reads no run files", "run the program"}};
}

} // namespace ppsim::cli
