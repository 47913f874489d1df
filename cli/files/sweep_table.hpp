#pragma once
// The table of a sweep: its lines, and the file that grows and can be continued.

#include "ppsim/study/sweep.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runs/inputs.hpp"

namespace ppsim::cli {

enum class TableForm : std::uint8_t { csv, json_lines };

/// By the extension of the path; none if it is neither.
[[nodiscard]] std::optional<TableForm> table_form(std::string_view path);

/// The format of a table's lines.
class SweepLines {
public:
  SweepLines(const SweepGrid& grid, TableForm form) : grid_{grid}, form_{form} {}
  /// The line with the column names; empty if each row contains them.
  [[nodiscard]] std::string head() const;
  /// The start of a row: the values of a point.
  [[nodiscard]] std::string row_start(std::size_t point) const;
  [[nodiscard]] std::string row(std::size_t point, const SweepRow& row) const;

private:
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] bool varies_schedule() const;

  const SweepGrid& grid_;
  TableForm form_;
};

/// The part of a file that is the beginning of a table.
struct KeptRows {
  std::size_t rows = 0;
  std::size_t bytes = 0; ///< of the rows and the header
};
/// The complete lines of `content`; an incomplete last line was interrupted. Throws Error naming `file` if a line
/// differs from the table's.
[[nodiscard]] KeptRows find_kept(std::string_view content, const SweepLines& lines, std::size_t points,
                                 const std::string& file);

/// Text that identifies a sweep: equal texts have equal tables. Reads the named files.
[[nodiscard]] std::string sweep_text(const Inputs& inputs);

/// A table in a file, with FILE.sweep, which identifies its sweep.
class SweepTable {
public:
  /// Throws Error if the file cannot be written, or if `inputs` resume another sweep.
  explicit SweepTable(const Inputs& inputs, const SweepLines& lines);
  SweepTable(const SweepTable&) = delete;
  SweepTable& operator=(const SweepTable&) = delete;
  ~SweepTable();

  /// Rows already in the table.
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Throws Error (failed) if it could not be written completely.
  void append(std::string_view text);

private:
  void open();
  void begin(const SweepLines& lines, const std::string& text);
  void go_on(const Inputs& inputs, const SweepLines& lines, const std::string& text);

  std::string path_;
  int file_ = -1;
  std::size_t rows_ = 0;
};

/// The path of the file that identifies the sweep of the table in `path`.
[[nodiscard]] std::string sweep_text_path(const std::string& path);

} // namespace ppsim::cli
