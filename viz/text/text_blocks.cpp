#include "text_blocks.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim::viz {
namespace {

constexpr std::size_t column_gap = 2;
constexpr std::size_t most_rows = 16;

std::size_t width_of(const TableColumn& column) {
  std::size_t width = terminal_columns(column.header);
  for (const std::string& cell : column.cells) width = std::max(width, terminal_columns(cell));
  return width;
}

std::string padded(std::string_view text, std::size_t width, bool left) {
  const std::string space(width - std::min(width, terminal_columns(text)), ' ');
  return left ? std::string{text} + space : space + std::string{text};
}

} // namespace

std::string in_colour(std::string_view text, std::string_view code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string{text};
}

std::string headline_lines(std::string_view text, std::size_t width, std::string_view code, bool colour) {
  std::string lines = wrapped_lines(text, width, 2);
  lines.pop_back();
  return in_colour(lines, code, colour) + '\n';
}

std::string answer_lines(std::string_view what, std::string_view text, std::size_t width) {
  const std::string begin = fmt::format("  {:<12}", what);
  return wrapped_lines(begin + std::string{text}, width, begin.size());
}

std::string list_lines(const std::vector<std::string>& items, std::size_t width) {
  std::string out;
  for (const std::string& item : items) out += "  " + wrapped_lines(item, width - 2, 4);
  return out;
}

std::vector<std::optional<std::size_t>> shown_rows(std::size_t count) {
  std::vector<std::optional<std::size_t>> rows;
  for (std::size_t row = 0; row < count; ++row) {
    if (count > most_rows && row == most_rows / 2) {
      rows.emplace_back();
      row = count - most_rows / 2;
    }
    rows.emplace_back(row);
  }
  return rows;
}

std::vector<TableColumn> columns_that_fit(const std::vector<TableColumn>& columns, std::size_t width) {
  std::vector<TableColumn> shown = columns;
  const auto needed = [&shown] {
    std::size_t sum = 0;
    for (const TableColumn& column : shown) sum += width_of(column) + column_gap;
    return sum - std::min(sum, column_gap);
  };
  while (needed() > width) {
    const auto least = std::ranges::max_element(shown, {}, &TableColumn::rank);
    if (least == shown.end() || least->rank == 0) break;
    shown.erase(least);
  }
  return shown;
}

std::string left_out(const std::vector<TableColumn>& all, const std::vector<TableColumn>& shown) {
  std::vector<std::string> headers;
  for (const TableColumn& column : all)
    if (std::ranges::find(shown, column.header, &TableColumn::header) == shown.end()) headers.push_back(column.header);
  return headers.empty() ? "" : "also in a wider terminal, in --markdown and in --json: " + joined(headers, ", ");
}

std::vector<std::string> table_lines(const std::vector<TableColumn>& columns) {
  const std::size_t rows = columns.empty() ? 0 : columns.front().cells.size();
  std::vector<std::string> lines(rows + 1);
  for (const TableColumn& column : columns) {
    const std::size_t width = width_of(column);
    for (std::size_t line = 0; line <= rows; ++line) {
      if (&column != &columns.front()) lines[line] += std::string(column_gap, ' ');
      lines[line] += padded(line == 0 ? column.header : column.cells[line - 1], width, column.left);
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

std::string indented_table(const std::vector<TableColumn>& columns, bool bold_head) {
  std::string out;
  for (const std::string& line : table_lines(columns))
    out += "  " + in_colour(line, "1", bold_head && out.empty()) + '\n';
  return out;
}

std::string markdown_text(std::string_view text) {
  constexpr std::string_view meaningful = R"(\`*_[]<>|#~$)";
  std::string result;
  for (const char letter : text) {
    if (letter == '\n' || letter == '\r') {
      result += ' ';
      continue;
    }
    if (letter == '&') {
      result += "&amp;";
      continue;
    }
    if (meaningful.find(letter) != std::string_view::npos) result += '\\';
    result += letter;
  }
  return result;
}

std::string markdown_list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += "- " + markdown_text(item) + '\n';
  return out;
}

std::string markdown_table(const std::vector<TableColumn>& columns) {
  std::string out = "|";
  for (const TableColumn& column : columns) out += fmt::format(" {} |", markdown_text(column.header));
  out += "\n|";
  for (const TableColumn& column : columns) out += column.left ? " --- |" : " ---: |";
  out += '\n';
  const std::size_t rows = columns.empty() ? 0 : columns.front().cells.size();
  for (std::size_t row = 0; row < rows; ++row) {
    out += '|';
    for (const TableColumn& column : columns) out += fmt::format(" {} |", markdown_text(column.cells[row]));
    out += '\n';
  }
  return out;
}

} // namespace ppsim::viz
