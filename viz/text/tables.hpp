#pragma once
// Tables for terminals and for Markdown, made from the same columns; and colour.

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::viz {

inline constexpr std::size_t column_gap = 2;
inline constexpr std::size_t least_text_width = 40; ///< a narrower terminal breaks the lines itself

/// One column of a table.
struct TableColumn {
  std::string header;
  std::vector<std::string> cells; ///< one per row
  int rank = 0;                   ///< where width is short, columns of the highest rank go first; those of 0 stay
  bool left = false;              ///< aligned to the left, else to the right
};

/// The columns that fit in `width` characters, `gap` apart, without those that go first.
[[nodiscard]] std::vector<TableColumn> columns_that_fit(const std::vector<TableColumn>& columns, std::size_t width,
                                                        std::size_t gap);
/// The head of the table, then its rows, each a line without newline and without spaces at its end.
[[nodiscard]] std::vector<std::string> table_lines(const std::vector<TableColumn>& columns, std::size_t gap);
/// A GitHub table.
[[nodiscard]] std::string markdown_table(const std::vector<TableColumn>& columns);
/// `text` with what means something in Markdown escaped, in one line.
[[nodiscard]] std::string markdown_text(std::string_view text);

/// `text` in what a terminal shows for `code` ("1" bold, "31" red: ECMA-48, SGR); as it is without `colour`.
[[nodiscard]] std::string in_colour(std::string_view text, std::string_view code, bool colour);

} // namespace ppsim::viz
