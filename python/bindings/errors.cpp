// Errors as Python exceptions.

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bindings.hpp"
#include "options/options.hpp"

namespace ppsim::python {
namespace {

constexpr std::string_view name_letters = "abcdefghijklmnopqrstuvwxyz0123456789-";

/// The option that a flag names, or null.
const cli::Option* option_of_flag(std::string_view word) {
  if (!word.starts_with("--")) return nullptr;
  return cli::find_option(word.substr(2));
}

/// "--memory-limit 40GiB" as "memory_limit=40GiB": flags in messages, with their value if it begins with a digit.
std::string without_dashes(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find("--");
    result += text.substr(0, begin);
    if (begin == std::string_view::npos) return result;
    const std::size_t end = std::min(text.find_first_not_of(name_letters, begin + 2), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const cli::Option* const option = option_of_flag(word);
    text.remove_prefix(end);
    result += option != nullptr ? python_name(option->name) : std::string{word};
    const bool has_value = text.size() > 1 && text[0] == ' ' && text[1] >= '0' && text[1] <= '9';
    if (option == nullptr || !has_value) continue;
    result += '=';
    text.remove_prefix(1);
  }
}

/// The Python name of the option that a problem is about; None if it is not an option.
py::object field_of(std::string_view where) {
  const auto field = as_field(where);
  const cli::Option* const option = field ? cli::find_option(*field) : option_of_flag(where);
  return option == nullptr ? py::object{py::none()} : py::object{py::str(python_name(option->name))};
}

} // namespace

py::str decoded(std::string_view text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace"));
}

std::string python_name(std::string_view option) {
  constexpr std::array<std::string_view, 8> keywords{"for", "from", "in", "is", "as", "if", "with", "global"};
  std::string name{option};
  std::ranges::replace(name, '-', '_');
  if (std::ranges::find(keywords, option) != keywords.end()) name += '_';
  return name;
}

std::string in_python(std::string_view text) {
  return without_dashes(cli::in_flags(text));
}

void raise(const Error& error) {
  py::list problems;
  for (const Problem& problem : error.problems())
    problems.append(py::make_tuple(decoded(in_python(problem.where)), decoded(in_python(problem.what)),
                                   decoded(in_python(problem.hint)), field_of(problem.where)));
  const py::object type = py::module_::import("ppsim._errors").attr("Error");
  PyErr_SetObject(type.ptr(), type(problems, static_cast<int>(error.code())).ptr());
  throw py::error_already_set{};
}

void raise_internal(const std::exception& error) {
  const py::object type = py::module_::import("ppsim._errors").attr("InternalError");
  const std::string what = fmt::format("{}: this is a bug in ppsim; please report it with the call", error.what());
  PyErr_SetObject(type.ptr(), type(decoded(what)).ptr());
  throw py::error_already_set{};
}

} // namespace ppsim::python
