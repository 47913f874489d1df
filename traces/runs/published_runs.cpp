// Tables of published runs, as CSV with a header:
//   set,half,run,source,step_s,peak_gb,arguments
//   A,fit,1.5B p8 m24,2401.10241 Table 4,1.52542,30,--stages 8 --mb 24 --layout 'Et|t|tL'
// The names in the header identify the columns. A value with a comma is in double quotes, and ends on its line. Places
// in errors are name:line:column, counted from 1; the column is the byte at which the value begins.

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/traces/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "schedules/formats.hpp"

namespace ppsim::traces {
namespace {

enum class Given : std::uint8_t { set, half, run, source, step_s, peak_gb, arguments };
constexpr std::array<std::string_view, 7> given_names{"set", "half", "run", "source", "step_s", "peak_gb", "arguments"};
constexpr std::string_view given_hint =
    "it needs set, run, source, step_s and arguments, and may have half and peak_gb";
constexpr bool can_be_left_out(Given column) {
  return column == Given::half || column == Given::peak_gb;
}

/// The longest time (parse_duration), and more memory than any device has.
constexpr double longest_step_s = 86'400, largest_peak_gb = 1e6;
constexpr double nano = 1e9;
constexpr std::size_t most_given_columns = 64;

/// A value, without its quotes.
struct Value {
  std::string text;
  std::size_t column = 0; ///< its first byte, from 1
};

/// Words as a shell splits them without expansion: quotes group characters, and a backslash escapes one. None if a
/// quote is not closed.
std::optional<std::vector<std::string>> shell_words(std::string_view text) {
  std::vector<std::string> found;
  bool inside = false;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == 0 && is_space(c)) {
      inside = false;
      continue;
    }
    if (!inside) found.emplace_back();
    inside = true;
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    else if (c == '\\' && quote != '\'' && at + 1 < text.size())
      found.back() += text[++at];
    else
      found.back() += c;
  }
  if (quote != 0) return std::nullopt;
  return found;
}

class PublishedReader {
public:
  PublishedReader(std::string_view text, std::string_view name)
      : rest_{without_blank_end(without_byte_order_mark(text))}, name_{name} {}

  std::vector<PublishedRun> read() {
    if (rest_.empty())
      throw Error{ExitCode::bad_input,
                  Problem{std::string{name_}, "the file is empty", "write a header and a row for each run"}};
    read_head();
    while (!rest_.empty()) {
      const std::string_view line = take_line(rest_);
      ++line_;
      if (!trimmed(line).empty()) read_row(line);
    }
    if (runs_.empty() && problems_.empty()) fault(1, "there are no runs below the header", "write a row for each run");
    problems_.throw_if_any();
    return std::move(runs_);
  }

private:
  void fault(std::size_t column, std::string_view what, std::string_view hint) {
    add_within_limit(problems_, [&] {
      return Problem{fmt::format("{}:{}:{}", name_, line_, column), std::string{what}, std::string{hint}};
    });
  }

  /// Splits a line into values_; false if it is invalid.
  bool split(std::string_view line) {
    values_.clear();
    for (std::size_t at = 0;; ++at) {
      Value value{{}, at + 1};
      if (at < line.size() && line[at] == '"') {
        if (!take_quoted(line, at, value)) return false;
      } else {
        const std::size_t end = std::min(line.find(',', at), line.size());
        value.text = trimmed(line.substr(at, end - at));
        at = end;
      }
      values_.push_back(std::move(value));
      if (at == line.size()) return true;
    }
  }

  /// Reads a quoted value; `at` is then after its closing quote.
  bool take_quoted(std::string_view line, std::size_t& at, Value& value) {
    for (++at;; ++at) {
      if (at == line.size()) {
        fault(value.column,
              fmt::format("the double quote of {} is not closed", in_quotes(line.substr(value.column - 1))),
              "close it on the same line; a double quote inside is written twice");
        return false;
      }
      const bool is_twice = line.substr(at).starts_with("\"\"");
      if (line[at] == '"' && !is_twice) break;
      at += is_twice ? 1 : 0;
      value.text += line[at];
    }
    ++at;
    if (at == line.size() || line[at] == ',') return true;
    fault(at + 1, fmt::format("{} follows a closing double quote", in_quotes(line.substr(at))),
          "put a comma there; a double quote inside is written twice");
    return false;
  }

  void read_head() {
    line_ = 1;
    const std::string_view head = take_line(rest_);
    if (!split(head)) problems_.throw_if_any();
    columns_ = values_.size();
    if (columns_ > most_given_columns)
      fault(1, fmt::format("it has {} columns, but a table of runs has at most {}", columns_, most_given_columns),
            given_hint);
    for (std::size_t column = 0; column < columns_; ++column) name_column(column);
    std::vector<std::string_view> missing;
    for (std::size_t given = 0; given < given_names.size(); ++given)
      if (!at_[given] && !can_be_left_out(static_cast<Given>(given))) missing.push_back(given_names[given]);
    if (!missing.empty())
      fault(1,
            fmt::format("there {} {} in {}", missing.size() == 1 ? "is no column" : "are no columns",
                        joined(missing, ", "), in_quotes(head)),
            given_hint);
    problems_.throw_if_any();
  }

  void name_column(std::size_t column) {
    const Value& value = values_[column];
    const auto* const known = std::ranges::find(given_names, std::string_view{value.text});
    if (known == given_names.end()) {
      fault(value.column, fmt::format("unknown column {}", in_quotes(value.text)),
            did_you_mean(value.text, {given_names.begin(), given_names.end()}, given_hint));
      return;
    }
    std::optional<std::size_t>& at = at_[static_cast<std::size_t>(known - given_names.begin())];
    if (at) fault(value.column, fmt::format("the column {} appears twice", *known), "leave one of them out");
    at = column;
  }

  /// Null if the file has no such column.
  [[nodiscard]] const Value* value_in(Given given) const {
    const std::optional<std::size_t> at = at_[static_cast<std::size_t>(given)];
    return at ? &values_[*at] : nullptr;
  }

  /// A text that must not be empty if it is needed.
  std::string text(Given given, bool is_needed) {
    const Value& value = *value_in(given);
    const std::string_view name = given_names[static_cast<std::size_t>(given)];
    if (value.text.empty() && is_needed) fault(value.column, fmt::format("{} is empty", name), "give it a name");
    if (std::ranges::any_of(value.text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
      fault(value.column, fmt::format("{} {} has control characters", name, in_quotes(value.text)), "leave them out");
    return value.text;
  }

  /// In billionths: nanoseconds of seconds, bytes of gigabytes. None if it is not a number above 0.
  std::optional<std::int64_t> billionths(const Value& value, std::string_view name, double most,
                                         std::string_view hint) {
    const std::optional<double> number = decimal_of(value.text);
    const std::int64_t result = number && *number > 0 && *number <= most ? std::llround(*number * nano) : 0;
    if (result > 0) return result;
    fault(value.column, fmt::format("{} is {}", name, in_quotes(value.text)), hint);
    return std::nullopt;
  }

  Half half() {
    const Value* const value = value_in(Given::half);
    if (value == nullptr || value->text.empty()) return Half::none;
    for (const Half half : {Half::fit, Half::check})
      if (value->text == to_string(half)) return half;
    fault(value->column, fmt::format("half is {}", in_quotes(value->text)), "write fit or check, or leave it empty");
    return Half::none;
  }

  void read_row(std::string_view line) {
    if (!split(line)) return;
    if (values_.size() != columns_)
      return fault(1, fmt::format("{} values for {} columns in {}", values_.size(), columns_, in_quotes(line)),
                   "write one value for each; put a value that contains a comma into double quotes");
    PublishedRun run;
    run.set = text(Given::set, true);
    run.name = text(Given::run, true);
    run.source = text(Given::source, false);
    run.half = half();
    if (const auto step = billionths(*value_in(Given::step_s), "step_s", longest_step_s,
                                     "write seconds, above 0 and up to a day: 1.525"))
      run.step = Duration{*step};
    if (const Value* const peak = value_in(Given::peak_gb); peak != nullptr && !peak->text.empty())
      if (const auto bytes = billionths(*peak, "peak_gb", largest_peak_gb,
                                        "write billions of bytes, above 0: 30.5; or leave it empty"))
        run.peak = Bytes{*bytes};
    const Value& arguments = *value_in(Given::arguments);
    run.where = fmt::format("{}:{}:{}", name_, line_, arguments.column);
    if (auto split_words = shell_words(arguments.text))
      run.arguments = std::move(*split_words);
    else
      fault(arguments.column, fmt::format("a quote in {} is not closed", in_quotes(arguments.text)),
            "close it: --layout 'Et|t|tL'");
    runs_.push_back(std::move(run));
  }

  std::string_view rest_;
  std::string_view name_;
  std::size_t line_ = 0;
  std::size_t columns_ = 0;
  std::array<std::optional<std::size_t>, given_names.size()> at_; ///< by Given
  std::vector<Value> values_;                                     ///< of the current line
  std::vector<PublishedRun> runs_;
  Problems problems_;
};

} // namespace

std::vector<PublishedRun> read_published(std::string_view text, std::string_view name) {
  return PublishedReader{text, name}.read();
}

} // namespace ppsim::traces
