#pragma once
// Building blocks of texts, for terminals and Markdown: headline, answers, lists, tables, colour.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::viz {

inline constexpr std::size_t least_text_width = 40; ///< a narrower terminal breaks the lines itself

/// `text` with the terminal style `code` ("1" bold, "31" red: ECMA-48, SGR); unchanged without `colour`.
[[nodiscard]] std::string in_colour(std::string_view text, std::string_view code, bool colour);
/// The first sentence of a text, broken into lines of at most `width`, in that colour.
[[nodiscard]] std::string headline_lines(std::string_view text, std::size_t width, std::string_view code, bool colour);
/// "  steps       5, of ...": one labelled line of an answer, broken at spaces into lines of at most `width`
/// characters.
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

/// A column with the results of `cell` for each row.
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

/// Positions of the rows of a long table: all, or the first and last with an empty entry for the omitted ones.
[[nodiscard]] std::vector<std::optional<std::size_t>> shown_rows(std::size_t count);
/// A column of these rows, with `gap` for omitted rows.
template <class Cell>
[[nodiscard]] TableColumn long_column(std::string_view header, int rank, std::size_t count, std::string_view gap,
                                      Cell cell) {
  return column_of(header, rank, shown_rows(count),
                   [&](std::optional<std::size_t> row) { return row ? cell(*row) : std::string{gap}; });
}

/// The columns that fit in `width` characters; columns of higher rank are dropped first.
[[nodiscard]] std::vector<TableColumn> columns_that_fit(const std::vector<TableColumn>& columns, std::size_t width);
/// "in a wider terminal, --markdown and --json also: MFU, tokens/s": names of dropped columns; empty if there are none.
[[nodiscard]] std::string left_out(const std::vector<TableColumn>& all, const std::vector<TableColumn>& shown);
/// The head of the table, then its rows, each without newline and trailing spaces.
[[nodiscard]] std::vector<std::string> table_lines(const std::vector<TableColumn>& columns);
/// These lines as indented text; the head optionally in bold.
[[nodiscard]] std::string indented_table(const std::vector<TableColumn>& columns, bool bold_head = false);

/// `text` in one line, with Markdown characters escaped.
[[nodiscard]] std::string markdown_text(std::string_view text);
[[nodiscard]] std::string markdown_list(const std::vector<std::string>& items);
/// A GitHub table.
[[nodiscard]] std::string markdown_table(const std::vector<TableColumn>& columns);

} // namespace ppsim::viz
