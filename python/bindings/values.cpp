// Converts Python values to the texts that the option table parses.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "bindings.hpp"
#include "options/options.hpp"

namespace ppsim::python {
namespace {

/// Nested lists are read to this depth; a list that contains itself has infinite depth.
constexpr int deepest = 2;

/// Whether it has the attribute; false if its own code raises. (With Python 3.13 and later, py::hasattr() prints the
/// raised exception.)
bool has(const py::handle& value, const char* attribute) {
  return static_cast<bool>(py::getattr(value, attribute, py::handle{}));
}

[[noreturn]] void refuse_type(std::string_view name, const py::handle& value) {
  throw py::type_error(fmt::format("{}: takes text, a number, a time (timedelta) or a list of those, not {}", name,
                                   Py_TYPE(value.ptr())->tp_name));
}

/// The text of a str. Throws ValueError if it is not valid Unicode (half of a surrogate pair).
std::string utf8_of(std::string_view name, const py::handle& value) {
  py::ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (data != nullptr) return {data, static_cast<std::size_t>(size)};
  PyErr_Clear();
  throw py::value_error(fmt::format("{}: holds half of a surrogate pair, which is not a character", name));
}

/// Writes integral floats as integers: counts from divisions and tables are floats. Values beyond a float's precision
/// stay floats.
std::optional<std::string> whole_text(const py::handle& value) {
  constexpr double most = 1e15;
  if (!PyFloat_Check(value.ptr())) return std::nullopt;
  const double number = PyFloat_AS_DOUBLE(value.ptr());
  if (std::abs(number) > most || number != std::trunc(number)) return std::nullopt;
  return std::to_string(static_cast<std::int64_t>(number));
}

std::string number_text(std::string_view name, const py::handle& value) {
  if (std::optional<std::string> whole = whole_text(value)) return *std::move(whole);
  const auto text = py::reinterpret_steal<py::object>(PyObject_Repr(value.ptr()));
  if (text) return utf8_of(name, text);
  PyErr_Clear(); // Python does not print integers of more than 4300 digits
  throw py::value_error(fmt::format("{}: the number is too large", name));
}

/// In whole nanoseconds.
std::string time_text(const py::handle& value) {
  const auto part = [&](const char* name) { return py::cast<std::int64_t>(value.attr(name)); };
  constexpr std::int64_t seconds_of_day = 86'400;
  constexpr std::int64_t most_seconds = 9'000'000'000; // fit as nanoseconds
  const std::int64_t seconds = part("days") * seconds_of_day + part("seconds");
  if (seconds > most_seconds || seconds < -most_seconds) return fmt::format("{}s", seconds); // out of range anyway
  return fmt::format("{}ns", seconds * 1'000'000'000 + part("microseconds") * 1000);
}

/// Imports are not in a static's initialiser: they may pass the interpreter's lock to a thread that waits for the
/// static.
bool is_timedelta(const py::handle& value) {
  return py::isinstance(value, py::module_::import("datetime").attr("timedelta"));
}

std::string text_of(std::string_view name, const py::handle& value, int depth);

std::string list_text(std::string_view name, const py::handle& list, int depth) {
  std::string text;
  bool first = true;
  for (const py::handle item : list) {
    if (!std::exchange(first, false)) text += ',';
    text += text_of(name, item, depth + 1);
  }
  if (first) throw py::value_error(fmt::format("{}: the list is empty", name));
  return text;
}

/// "a=1,b=2".
std::string pairs_text(std::string_view name, const py::dict& pairs, int depth) {
  std::string text;
  const auto own = py::reinterpret_steal<py::dict>(PyDict_Copy(pairs.ptr())); // called code may change the original
  for (const auto& [key, value] : own) {
    if (!text.empty()) text += ',';
    std::string values = text_of(name, value, depth + 1);
    if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()))
      std::ranges::replace(values, ',', '/'); // separators in --fixed
    text += fmt::format("{}={}", text_of(name, key, depth + 1), values);
  }
  if (text.empty()) throw py::value_error(fmt::format("{}: the dict is empty", name));
  return text;
}

/// A NumPy value as a Python one; times in nanoseconds, because Python's are coarser.
py::object without_numpy(const py::handle& value) {
  if (py::cast<std::string>(value.attr("dtype").attr("kind")) != "m") return value.attr("tolist")();
  const py::object numbers = value.attr("astype")("timedelta64[ns]").attr("astype")("int64").attr("tolist")();
  if (!py::isinstance<py::list>(numbers)) return py::str(fmt::format("{}ns", py::cast<std::int64_t>(numbers)));
  py::list texts;
  for (const py::handle number : numbers) texts.append(py::str(fmt::format("{}ns", py::cast<std::int64_t>(number))));
  return texts;
}

std::string text_of(std::string_view name, const py::handle& value, int depth) {
  if (depth > deepest) throw py::value_error(fmt::format("{}: lists in lists in lists", name));
  PyObject* const object = value.ptr();
  if (PyUnicode_Check(object)) return utf8_of(name, value);
  if (PyBool_Check(object)) return object == Py_True ? "true" : "false";
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object)) return number_text(name, value);
  if (PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object)) return list_text(name, value, depth);
  if (PyDict_Check(object)) return pairs_text(name, py::reinterpret_borrow<py::dict>(value), depth);
  if (has(value, "dtype") && has(value, "tolist")) return text_of(name, without_numpy(value), depth + 1);
  if (is_timedelta(value)) return time_text(value);
  if (has(value, "__fspath__")) return text_of(name, value.attr("__fspath__")(), deepest);
  if (PyLong_Check(object) || PyFloat_Check(object)) // includes IntEnum and other subclasses
    return number_text(name, PyLong_Check(object) ? py::object{py::int_(py::reinterpret_borrow<py::object>(value))}
                                                  : py::object{py::float_(py::reinterpret_borrow<py::object>(value))});
  refuse_type(name, value);
}

/// True and False in the option's words.
std::string bool_text(const cli::Option& option, bool value) {
  if (option.argument == cli::Argument::optional && value) return "-";
  if (option.set.words != nullptr)
    if (const auto words = option.set.words(); std::ranges::find(words, "on") != words.end())
      return value ? "on" : "off";
  return value ? "true" : "false";
}

/// By Python names, including aliases.
const std::unordered_map<std::string, const cli::Option*>& options_by_name() {
  static const auto found = [] {
    std::unordered_map<std::string, const cli::Option*> options;
    for (const cli::Option& option : cli::options()) {
      options.emplace(python_name(option.name), &option);
      for (const std::string_view alias : option.aliases()) options.emplace(python_name(alias), &option);
    }
    return options;
  }();
  return found;
}

[[noreturn]] void refuse_keyword(const cli::Command& command, const std::string& name, bool exists) {
  std::vector<std::string> names;
  for (const auto& [known, option] : options_by_name())
    if (command.takes(*option)) names.push_back(known);
  std::ranges::sort(names);
  const std::vector<std::string_view> views{names.begin(), names.end()};
  const std::string what = exists ? "is an option of other functions" : "is not an option";
  const std::string_view near = nearest_word(name, views);
  throw py::type_error(fmt::format("{}(): {} {}{}", python_name(command.name), in_quotes(name), what,
                                   near.empty() ? std::string{"; the docstring lists the options"}
                                                : fmt::format("; did you mean {}?", near)));
}

const cli::Option& option_for(const cli::Command& command, const std::string& name) {
  const auto found = options_by_name().find(name);
  const bool exists = found != options_by_name().end();
  if (!exists || !command.takes(*found->second)) refuse_keyword(command, name, exists);
  return *found->second;
}

/// The lists of lists of cells, if `value` is one or has one (`rows`).
std::optional<py::object> rows_of(const py::handle& value) {
  if (PyUnicode_Check(value.ptr())) return std::nullopt;
  if (has(value, "rows")) return value.attr("rows");
  if ((!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) || py::len(value) == 0) return std::nullopt;
  const py::object first = value[py::int_(0)];
  if (!PyList_Check(first.ptr()) && !PyTuple_Check(first.ptr())) return std::nullopt;
  return py::reinterpret_borrow<py::object>(value);
}

/// A row of a schedule as a CSV line. A pass without a chunk belongs to the chunk with the row's number.
std::string line_of(const py::handle& row, std::size_t number) {
  if (!PyList_Check(row.ptr()) && !PyTuple_Check(row.ptr()))
    throw py::type_error(
        fmt::format("schedule: row {} is a {}, not a list of tasks", number, Py_TYPE(row.ptr())->tp_name));
  std::string line;
  bool first = true;
  for (const py::handle cell : row) {
    if (!PyUnicode_Check(cell.ptr()))
      throw py::type_error(
          fmt::format("schedule: row {} holds a {}; tasks are text: F0, 2B1", number, Py_TYPE(cell.ptr())->tp_name));
    const std::string text = utf8_of("schedule", cell);
    if (text.find_first_of(",\"\r\n") != std::string::npos || text.find('\0') != std::string::npos)
      throw py::value_error(fmt::format("schedule: row {}: {} is not a task", number, in_quotes(text)));
    if (!std::exchange(first, false)) line += ',';
    const bool has_chunk = text.empty() || text.front() < 'A' || text.front() > 'Z';
    line += has_chunk ? text : fmt::format("{}{}", number, text);
  }
  return line;
}

std::string csv_of(const py::handle& rows) {
  std::string text;
  std::size_t number = 0;
  for (const py::handle row : rows) text += line_of(row, number++) + '\n';
  return text;
}

constexpr std::string_view schedule_name = "schedule";

/// Collects assignments from keywords.
class KeywordValues {
public:
  explicit KeywordValues(const cli::Command& command) : command_{command} {}

  void add(const cli::Option& option, std::string value) {
    if (option.name == "vary") // names an option, possibly by its Python name
      std::replace(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(std::min(value.find('='), value.size())),
                   '_', '-');
    list_.push_back({&option, std::move(value), fmt::format("`{}`", option.name)});
  }

  void add(const std::string& name, const py::handle& value) {
    const cli::Option& option = option_for(command_, name);
    if (value.is_none()) return; // the default
    if (std::ranges::find(list_, &option, &cli::Assignment::option) != list_.end())
      throw py::type_error(fmt::format("{}: given twice: {} is another name for it", python_name(option.name), name));
    if (PyBool_Check(value.ptr()))
      add(option, bool_text(option, value.ptr() == Py_True));
    else if (cli::is_repeatable(command_, option))
      add_each(option, name, value);
    else
      add(option, text_of(name, value, 0));
    if (!list_.empty() && list_.back().value.empty())
      throw py::value_error(fmt::format("{}: is empty; give {}", name, option.placeholder));
  }

  [[nodiscard]] std::vector<cli::Assignment> take() { return std::move(list_); }

private:
  /// For an option that may be repeated.
  void add_each(const cli::Option& option, const std::string& name, const py::handle& value) {
    if (PyDict_Check(value.ptr()))
      for (const py::handle pair : py::list(value.attr("items")()))
        add(option, fmt::format("{}={}", text_of(name, pair[py::int_(0)], 1), text_of(name, pair[py::int_(1)], 1)));
    else if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()))
      for (const py::handle item : value) add(option, text_of(name, item, 1));
    else
      add(option, text_of(name, value, 0));
  }

  const cli::Command& command_;
  std::vector<cli::Assignment> list_;
};

} // namespace

std::vector<cli::Assignment> assignments(const cli::Command& command, const py::dict& keywords,
                                         cli::MemoryFiles& files) {
  KeywordValues said{command};
  for (const auto& [key, value] : keywords) {
    const std::string name = utf8_of("a keyword", key);
    const std::optional<py::object> rows = name == schedule_name ? rows_of(value) : std::nullopt;
    if (rows) {
      files.put(std::string{schedule_name}, csv_of(*rows));
      said.add(option_for(command, "schedule_file"), std::string{schedule_name});
    } else {
      said.add(name, value);
    }
  }
  return said.take();
}

std::string argument(const py::handle& value, std::string_view name, cli::MemoryFiles& files) {
  if (const auto rows = rows_of(value)) {
    files.put(std::string{schedule_name}, csv_of(*rows));
    return std::string{schedule_name};
  }
  if (!PyUnicode_Check(value.ptr()) && !has(value, "__fspath__"))
    throw py::type_error(
        fmt::format("{}: takes a path or lists of tasks, not {}", name, Py_TYPE(value.ptr())->tp_name));
  std::string path = text_of(name, value, 0);
  if (path.empty() || path.find('\0') != std::string::npos)
    throw py::value_error(fmt::format("{}: {} is not a path", name, in_quotes(path)));
  return path;
}

py::list options_of(const cli::Command& command) {
  py::list list;
  for (const cli::Option& option : cli::options())
    if (command.takes(option))
      list.append(py::make_tuple(python_name(option.name), option.argument == cli::Argument::none));
  return list;
}

std::string options_help(const cli::Command& command) {
  std::string text;
  for (std::size_t section = 0; section < cli::section_count; ++section) {
    bool any = false;
    for (const cli::Option& option : cli::options()) {
      if (static_cast<std::size_t>(option.section) != section || !command.takes(option)) continue;
      if (!std::exchange(any, true)) text += fmt::format("{}:\n", cli::to_string(option.section));
      const std::string_view takes = option.argument == cli::Argument::none ? "bool" : option.placeholder;
      text += fmt::format("    {} : {}\n        {}\n", python_name(option.name), takes,
                          in_python(cli::help_for(command, option)));
    }
  }
  return text;
}

} // namespace ppsim::python
