// The module ppsim._core: simulate() and a function for every other command.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bindings.hpp"
#include "files/files.hpp"
#include "files/outputs.hpp"
#include "run.hpp"

namespace ppsim::python {
namespace {

/// Refuses outputs to stdout, which is not Python's.
void refuse_stdout(const std::vector<cli::Assignment>& flags) {
  Problems problems;
  for (const cli::Assignment& flag : flags)
    if (flag.option->section == cli::Section::output && flag.value == "-")
      problems.add(flag.where, "no file given", "give a path; the result holds what would be written");
  problems.throw_if_any();
}

/// Whether the options are read quickly: no file, which may be a pipe, and no model, whose costs are computed.
bool is_read_at_once(const std::vector<cli::Assignment>& flags) {
  constexpr std::array<std::string_view, 6> others{"scenario", "schedule-file", "jitter-from",
                                                   "model",    "device",        "measured-step"};
  return std::ranges::none_of(flags, [&](const cli::Assignment& flag) {
    return std::ranges::find(others, flag.option->name) != others.end() || flag.option->name.ends_with("link");
  });
}

bool writes_file(const cli::Inputs& inputs) {
  return inputs.json || inputs.svg || inputs.html || inputs.trace || inputs.csv || inputs.csv_comms || inputs.chakra ||
         inputs.goal;
}

std::shared_ptr<Run> simulate_by(const py::kwargs& keywords) {
  static const cli::Command& command = cli::find_command("simulate");
  auto files = std::make_shared<cli::MemoryFiles>();
  std::vector<cli::Assignment> flags = assignments(command, keywords, *files);
  refuse_stdout(flags);
  cli::Inputs inputs;
  work_without_lock(*files, is_read_at_once(flags),
                    [&] { inputs = cli::take_assignments(command, std::move(flags), {}); });
  if (writes_file(inputs)) work_without_lock(*files, false, [&] { static_cast<void>(command.run(inputs)); });
  return std::make_shared<Run>(std::move(inputs), std::move(files));
}

/// The result of a command.
struct Answer {
  ExitCode code = ExitCode::done;
  std::optional<Error> refusal; ///< thrown after the JSON was written: the answer is no, with the reason
};

Answer answer_of(const cli::Command& command, std::vector<cli::Assignment> flags,
                 const std::vector<std::string>& paths) {
  try {
    return {command.run(cli::take_assignments(command, std::move(flags), paths)), std::nullopt};
  } catch (const Error& error) {
    return {error.code(), error};
  }
}

/// An output in memory, with the file that it belongs to.
struct Kept {
  std::string name;
  std::optional<std::string> path;
  [[nodiscard]] std::string place() const { return fmt::format("{}{}", cli::MemoryFiles::kept, name); }
};

/// Sends an output to memory.
Kept keep(std::vector<cli::Assignment>& flags, const cli::Command& command, std::string name) {
  const cli::Option* const option = cli::find_option(name);
  PPSIM_ASSERT(option != nullptr && command.takes(*option));
  Kept kept{std::move(name), std::nullopt};
  for (const cli::Assignment& flag : flags)
    if (flag.option == option) kept.path = flag.value;
  std::erase_if(flags, [&](const cli::Assignment& flag) { return flag.option == option; });
  flags.push_back({option, kept.place(), fmt::format("`{}`", kept.name)});
  return kept;
}

/// The outputs' texts by name; writes those with a file.
py::dict texts_of(const std::vector<Kept>& outputs, cli::MemoryFiles& files) {
  py::dict texts;
  for (const Kept& output : outputs) {
    const std::optional<std::string> text = files.take(output.place());
    if (!text) continue;
    if (output.path) cli::write_file(*output.path, *text, fmt::format("`{}`", output.name));
    texts[py::str(output.name)] = decoded(*text);
  }
  return texts;
}

py::list problems_of(const std::optional<Error>& error) {
  py::list problems;
  if (!error) return problems;
  for (const Problem& problem : error->problems())
    problems.append(py::make_tuple(decoded(in_python(problem.where)), decoded(in_python(problem.what)),
                                   decoded(in_python(problem.hint))));
  return problems;
}

/// The exit status, a dict of the outputs' texts (stdout as "-"), notes and problems. Throws Error if there is nothing
/// but a refusal.
py::tuple as_tuple(const Answer& answer, const std::vector<Kept>& kept, cli::MemoryFiles& files) {
  const py::dict texts = texts_of(kept, files);
  if (answer.refusal && (texts.empty() || answer.code != ExitCode::no)) raise(*answer.refusal);
  texts["-"] = decoded(files.take("-").value_or(""));
  py::list notes;
  for (const std::string& note : files.notes()) notes.append(decoded(in_python(note)));
  return py::make_tuple(static_cast<int>(answer.code), texts, notes, problems_of(answer.refusal));
}

/// Attaches the result of an interrupted search to the exception, for Python to convert.
void attach(const py::error_already_set& raised, const py::tuple& found) {
  if (PyObject_SetAttrString(raised.value().ptr(), "_ppsim_answer", found.ptr()) != 0) PyErr_Clear();
}

/// Runs any command; keeps `outputs`.
py::tuple run_command(const std::string& name, const py::list& arguments, const py::list& outputs,
                      const py::dict& keywords) {
  const cli::Command& command = cli::find_command(name);
  cli::MemoryFiles files;
  std::vector<std::string> paths;
  for (const py::handle value : arguments) paths.push_back(argument(value, "schedule", files));
  std::vector<cli::Assignment> flags = assignments(command, keywords, files);
  refuse_stdout(flags);
  std::vector<Kept> kept;
  for (const py::handle output : outputs) kept.push_back(keep(flags, command, py::cast<std::string>(output)));
  std::optional<Answer> answer;
  try {
    const auto work = [&] { answer = answer_of(command, std::move(flags), paths); };
    if (command.name == "synthesize")
      search_without_lock(files, work);
    else
      work_without_lock(files, false, work);
  } catch (const py::error_already_set& raised) {
    if (answer && !answer->refusal) attach(raised, as_tuple(*answer, kept, files));
    throw;
  }
  return as_tuple(*answer, kept, files);
}

void translate(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(error);
  } catch (const py::builtin_exception&) {
    throw;
  } catch (const py::error_already_set&) {
    throw;
  } catch (const std::logic_error& error) {
    raise_internal(error);
  } catch (const Stopped&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

/// A translator may only throw exceptions that other translators handle.
void translate_safely(std::exception_ptr thrown) { // NOLINT(performance-unnecessary-value-param): as pybind11 has it
  try {
    translate(thrown);
  } catch (py::error_already_set& raised) {
    raised.restore();
  }
}

} // namespace
} // namespace ppsim::python

PYBIND11_MODULE(_core, module) {
  namespace py = pybind11;
  using namespace ppsim::python;
  module.attr("__version__") = PPSIM_VERSION;
  py::register_exception_translator(&translate_safely);
  define_run(module);
  module.def("simulate", &simulate_by);
  module.def("run_command", &run_command);
  module.def("options", [](const std::string& command) { return options_of(ppsim::cli::find_command(command)); });
  module.def("in_python", [](const std::string& text) { return in_python(text); });
  module.def("options_help",
             [](const std::string& command) { return options_help(ppsim::cli::find_command(command)); });
}
