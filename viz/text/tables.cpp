#include "tables.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim::viz {
namespace {

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

std::vector<TableColumn> columns_that_fit(const std::vector<TableColumn>& columns, std::size_t width, std::size_t gap) {
  std::vector<TableColumn> shown = columns;
  const auto needed = [&shown, gap] {
    std::size_t sum = 0;
    for (const TableColumn& column : shown) sum += width_of(column) + gap;
    return sum - std::min(sum, gap);
  };
  while (needed() > width) {
    const auto least = std::max_element(shown.begin(), shown.end(),
                                        [](const TableColumn& a, const TableColumn& b) { return a.rank < b.rank; });
    if (least == shown.end() || least->rank == 0) break;
    shown.erase(least);
  }
  return shown;
}

std::vector<std::string> table_lines(const std::vector<TableColumn>& columns, std::size_t gap) {
  const std::size_t rows = columns.empty() ? 0 : columns.front().cells.size();
  std::vector<std::string> lines(rows + 1);
  for (const TableColumn& column : columns) {
    const std::size_t width = width_of(column);
    for (std::size_t line = 0; line <= rows; ++line) {
      if (&column != &columns.front()) lines[line] += std::string(gap, ' ');
      lines[line] += padded(line == 0 ? column.header : column.cells[line - 1], width, column.left);
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
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

std::string in_colour(std::string_view text, std::string_view code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string{text};
}

} // namespace ppsim::viz
