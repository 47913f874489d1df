#pragma once
// Words for messages, and text in files.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace ppsim {

/// "4 stages", "1 stage"; with plural ending "es": "2 microbatches".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun, std::string_view plural_ending = "s");

/// Words or numbers with `separator` between them. (fmt::join() compiles fmt's formatters again in each file that uses
/// it.)
template <class Items>
[[nodiscard]] std::string joined(const Items& items, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += separator;
    first = false;
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(item)>>)
      text += std::to_string(item);
    else
      text += item;
  }
  return text;
}

/// Messages name fields in backticks, as in scenario files and flags: "give `vpp`". This replaces each by its reader's
/// name for it, the result of `name_of`.
[[nodiscard]] std::string name_fields(std::string_view text, std::string (*name_of)(std::string_view field));
/// The same for the command line: "give --vpp". Everything in backticks counts as a field.
[[nodiscard]] std::string as_flags(std::string_view text);
/// The field, if `text` is nothing else: "vpp" for "`vpp`".
[[nodiscard]] std::optional<std::string_view> as_field(std::string_view text);

/// `text` as a TOML string, quoted and on one line. Control characters are escaped; invalid UTF-8 becomes a question
/// mark.
[[nodiscard]] std::string toml_string(std::string_view text);

/// All of `text` as a decimal number, as std::from_chars() reads it; none if it is not a number or out of range.
[[nodiscard]] std::optional<double> decimal_of(std::string_view text);

/// A CSV cell, quoted if necessary. `text` has one line.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// Columns that `text` takes on a terminal: its UTF-8 characters, without colour codes.
[[nodiscard]] std::size_t terminal_columns(std::string_view text);

/// `text`, which begins at `column`, broken at spaces into lines of at most `width` characters. Further lines are
/// indented by `indent`; each ends with a newline. A longer word gets its own line.
[[nodiscard]] std::string wrapped_lines(std::string_view text, std::size_t width, std::size_t indent,
                                        std::size_t column = 0);

} // namespace ppsim
