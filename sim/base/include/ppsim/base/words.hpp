#pragma once
// Words for people, and text in files for them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace ppsim {

/// "4 stages", "1 stage"; with "es" as the ending of several, "2 microbatches".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun, std::string_view plural_ending = "s");

/// Words or numbers one after another, with `separator` between them. (fmt::join() compiles fmt's formatters again in
/// each file that uses it.)
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

/// Messages name what was asked for in backticks, by its name in scenario files and flags: "give `vpp`". Who shows
/// them says what their readers call it; here, the result of `name_of`.
[[nodiscard]] std::string name_fields(std::string_view text, std::string (*name_of)(std::string_view field));
/// The same for those who read of the command line: "give --vpp". Whatever stands in backticks counts as a field.
[[nodiscard]] std::string as_flags(std::string_view text);
/// The field that `text` is, if it is nothing else: "vpp" of "`vpp`".
[[nodiscard]] std::optional<std::string_view> as_field(std::string_view text);

/// `text` as a string of TOML, in quotes and on one line: controls are escaped, and what is no UTF-8, which TOML has to
/// be, becomes a question mark.
[[nodiscard]] std::string toml_string(std::string_view text);

/// The decimal number that `text` is as a whole, as std::from_chars() reads it; nothing where it is none, or out of
/// range.
[[nodiscard]] std::optional<double> decimal_of(std::string_view text);

/// A cell of a CSV file: in quotes where it needs them. Text of one line.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// Characters that `text` takes on a terminal: bytes that begin one, and are no part of a colour code.
[[nodiscard]] std::size_t terminal_columns(std::string_view text);

/// `text`, which begins at `column`, broken at spaces into lines of at most `width` characters, further lines indented
/// by `indent`; each ends with a newline. A word that is longer than a line stands in a line of its own.
[[nodiscard]] std::string wrapped_lines(std::string_view text, std::size_t width, std::size_t indent,
                                        std::size_t column = 0);

} // namespace ppsim
