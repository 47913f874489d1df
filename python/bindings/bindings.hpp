#pragma once
// Shared declarations of the module's files. Python values become the texts that the option table parses, errors become
// Python exceptions, and work runs without the interpreter's lock.

#include "ppsim/base/call.hpp"
#include "ppsim/base/error.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "files/memory_files.hpp"
#include "options/commands.hpp"
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace ppsim::python {

namespace py = pybind11;

/// "memory_limit" for "memory-limit", "for_" for "for", a Python keyword.
[[nodiscard]] std::string python_name(std::string_view option);
/// A message with fields and flags as in Python: "give mb=16".
[[nodiscard]] std::string in_python(std::string_view text);

/// Text as a Python string: invalid UTF-8 becomes a replacement character.
[[nodiscard]] py::str decoded(std::string_view text);

/// The assignments from keywords, in order. A schedule given as lists becomes a file in memory. Remove the command's
/// own names that are not options from `keywords` before.
[[nodiscard]] std::vector<cli::Assignment> assignments(const cli::Command& command, const py::dict& keywords,
                                                       cli::MemoryFiles& files);
/// A path, or lists as a file in memory with that name: the argument of a command.
[[nodiscard]] std::string argument(const py::handle& value, std::string_view name, cli::MemoryFiles& files);
/// A command's options: a list of tuples of their Python names, and whether they are flags.
[[nodiscard]] py::list options_of(const cli::Command& command);
/// The help of a command's options: by section, "stages : P" and the description.
[[nodiscard]] std::string options_help(const cli::Command& command);

/// Raises ppsim.Error with all problems.
[[noreturn]] void raise(const Error& error);
/// Raises ppsim.InternalError, for bugs.
[[noreturn]] void raise_internal(const std::exception& error);

/// Calls `work` without the interpreter's lock, as part of `call`. `quick`: it takes a few milliseconds at most and
/// runs directly. Otherwise it runs on another thread while this one polls signals. If a handler raises
/// (KeyboardInterrupt), the call is stopped and the exception is thrown after it has ended.
void work_without_lock(Call& call, bool quick, const std::function<void()>& work);
/// The same for a search, which first gets some time to end with its best result so far.
void search_without_lock(cli::MemoryFiles& files, const std::function<void()>& work);

void define_run(py::module_& module);

} // namespace ppsim::python
