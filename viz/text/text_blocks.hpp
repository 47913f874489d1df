#pragma once
// The blocks that texts are made of, for terminals and for Markdown: a headline, answers, lists, tables; and colour.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::viz {

inline constexpr std::size_t least_text_width = 40; ///< a narrower terminal breaks the lines itself

/// `text` in what a terminal shows for `code` ("1" bold, "31" red: ECMA-48, SGR); as it is without `colour`.
[[nodiscard]] std::string in_colour(std::string_view text, std::string_view code, bool colour);
/// The first sentence of a text, broken into lines of at most `width`, in that colour.
[[nodiscard]] std::string headline_lines(std::string_view text, std::size_t width, std::string_view code, bool colour);
/// "  steps       5, of ...": one line of an answer, what it is about before it; broken at spaces into lines of at most
/// `width` characters.
[[nodiscard]] std::string answer_lines(std::string_view what, std::string_view text, std::size_t width);
/// The items of a list below each other, indented.
[[nodiscard]] std::string list_lines(const std::vector<std::string>& items, std::size_t width);

/// One column of a table.
struct TableColumn {
  std::string header;
  std::vector<std::string> cells; ///< one per row
  int rank = 0;                   ///< where width is short, columns of the highest rank go first; those of 0 stay
  bool left = false;              ///< aligned to the left, else to the right
  std::string meaning = {};       ///< what is said of it below the table; empty: nothing
};

/// A column with what `cell` makes of each row.
template <class Rows, class Cell>
[[nodiscard]] TableColumn column_of(std::string_view header, int rank, const Rows& rows, Cell cell) {
  TableColumn column{std::string{header}, {}, rank};
  for (const auto& row : rows) column.cells.emplace_back(std::invoke(cell, row));
  return column;
}
/// The same column, aligned to the left.
[[nodiscard]] inline TableColumn left(TableColumn column) {
  column.left = true;
  return column;
}

/// Positions of the rows of a long table: all, or of many the first and the last, with nothing where those between are.
[[nodiscard]] std::vector<std::optional<std::size_t>> shown_rows(std::size_t count);
/// A column of these, with `gap` where rows are left out.
template <class Cell>
[[nodiscard]] TableColumn long_column(std::string_view header, int rank, std::size_t count, std::string_view gap,
                                      Cell cell) {
  return column_of(header, rank, shown_rows(count),
                   [&](std::optional<std::size_t> row) { return row ? cell(*row) : std::string{gap}; });
}

/// The columns that fit in `width` characters, without those that go first.
[[nodiscard]] std::vector<TableColumn> columns_that_fit(const std::vector<TableColumn>& columns, std::size_t width);
/// "in a wider terminal, --markdown and --json also: MFU, tokens/s": of columns that there was no room for; empty:
/// none.
[[nodiscard]] std::string left_out(const std::vector<TableColumn>& all, const std::vector<TableColumn>& shown);
/// The head of the table, then its rows, each a line without newline and without spaces at its end.
[[nodiscard]] std::vector<std::string> table_lines(const std::vector<TableColumn>& columns);
/// These lines as text, indented; the head in bold if so asked.
[[nodiscard]] std::string indented_table(const std::vector<TableColumn>& columns, bool bold_head = false);

/// `text` with what means something in Markdown escaped, in one line.
[[nodiscard]] std::string markdown_text(std::string_view text);
[[nodiscard]] std::string markdown_list(const std::vector<std::string>& items);
/// A GitHub table.
[[nodiscard]] std::string markdown_table(const std::vector<TableColumn>& columns);

} // namespace ppsim::viz
