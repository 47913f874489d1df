#pragma once
// What the files of the module share. Python's values become the texts that the option table reads, errors become
// Python's exceptions, and work runs without the interpreter's lock.

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

/// "memory_limit" of "memory-limit", "for_" of "for", which is a word of Python's own.
[[nodiscard]] std::string python_name(std::string_view option);
/// A message with fields and flags as Python's readers know them: "give mb=16".
[[nodiscard]] std::string in_python(std::string_view text);

/// Text that Python can hold: what is no UTF-8 becomes a replacement character.
[[nodiscard]] py::str decoded(std::string_view text);

/// What was said by keywords: assignments in their order, with the schedule, where that is given by lists, as a file in
/// memory. Names of the command's own that are no options are taken out of `keywords` before.
[[nodiscard]] std::vector<cli::Assignment> assignments(const cli::Command& command, const py::dict& keywords,
                                                       cli::MemoryFiles& files);
/// A path, or lists as a file in memory of that name: what commands take as their argument.
[[nodiscard]] std::string argument(const py::handle& value, std::string_view name, cli::MemoryFiles& files);
/// A command's options: a list of tuples of their Python names, and whether they are flags.
[[nodiscard]] py::list options_of(const cli::Command& command);
/// What is said of a command's options: by section, "stages : P" and what it is.
[[nodiscard]] std::string options_help(const cli::Command& command);

/// As ppsim.Error, with all problems.
[[noreturn]] void raise(const Error& error);
/// The same (ppsim.InternalError), of what only we can fix.
[[noreturn]] void raise_internal(const std::exception& error);

/// Calls `work` without the interpreter's lock, as a part of `call`. `quick`: it takes a few milliseconds at most, and
/// is done at once; else a thread of its own does it, while this one looks for signals: where a handler raises
/// (KeyboardInterrupt), the call is stopped, and that is thrown when it has ended.
void work_without_lock(Call& call, bool quick, const std::function<void()>& work);
/// The same of a search, which first gets some time to end with the best so far.
void search_without_lock(cli::MemoryFiles& files, const std::function<void()>& work);

void define_run(py::module_& module);

} // namespace ppsim::python
