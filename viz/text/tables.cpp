#include "tables.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim::viz {

namespace {

/// Length of the colour code (in_colour()) that `text` begins with; 0 where it begins with none.
std::size_t colour_code_length(std::string_view text) {
  return text.starts_with("\033[") ? std::min(text.find('m'), text.size() - 1) + 1 : 0;
}

/// Characters that `text` takes on a terminal: bytes that begin one, and are no part of a colour code.
std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t code = colour_code_length(text);
    if (code == 0 && (static_cast<unsigned char>(text.front()) & 0xC0U) != 0x80U) ++columns;
    text.remove_prefix(std::max<std::size_t>(code, 1));
  }
  return columns;
}

std::size_t width_of(const TableColumn& column) {
  std::size_t width = columns_of(column.header);
  for (const std::string& cell : column.cells) width = std::max(width, columns_of(cell));
  return width;
}

std::string padded(std::string_view text, std::size_t width, bool left) {
  const std::string space(width - std::min(width, columns_of(text)), ' ');
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

std::string wrapped_lines(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!first && column + 1 + columns_of(word) > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns_of(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + '\n';
}

std::string in_colour(std::string_view text, std::string_view code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string{text};
}

} // namespace ppsim::viz
