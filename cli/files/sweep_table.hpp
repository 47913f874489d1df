#pragma once
// The table of a sweep: its lines, and the file that grows by them and can be gone on with.

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

/// That of a file of this name; nothing where it is neither.
[[nodiscard]] std::optional<TableForm> table_form(std::string_view path);

/// What the lines of a table look like.
class SweepLines {
public:
  SweepLines(const SweepGrid& grid, TableForm form) : grid_{grid}, form_{form} {}
  /// The line with the names of the columns; empty where each row has them.
  [[nodiscard]] std::string head() const;
  /// The values of a point, with which its row begins.
  [[nodiscard]] std::string row_start(std::size_t point) const;
  [[nodiscard]] std::string row(std::size_t point, const SweepRow& row) const;

private:
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] bool varies_schedule() const;

  const SweepGrid& grid_;
  TableForm form_;
};

/// How much of a file is the beginning of a table.
struct KeptRows {
  std::size_t rows = 0;
  std::size_t bytes = 0; ///< of them, and of the head
};
/// All lines of `content` that are complete: a last one without its end was being written when the sweep was ended.
/// Throws Error naming `file` where one of them is not the line that is there in the table.
[[nodiscard]] KeptRows find_kept(std::string_view content, const SweepLines& lines, std::size_t points,
                                 const std::string& file);

/// Says which sweep that is: two with the same text have the same table. Files that are named are read.
[[nodiscard]] std::string sweep_text(const Inputs& inputs);

/// A table in a file, and beside it FILE.sweep, which says of which sweep it is.
class SweepTable {
public:
  /// Throws Error where the file cannot be written, or where `inputs` resume another sweep than its own.
  explicit SweepTable(const Inputs& inputs, const SweepLines& lines);
  SweepTable(const SweepTable&) = delete;
  SweepTable& operator=(const SweepTable&) = delete;
  ~SweepTable();

  /// Rows that are there already.
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Throws Error (failed) where not all of it could be written.
  void append(std::string_view text);

private:
  void open();
  void begin(const SweepLines& lines, const std::string& text);
  void go_on(const Inputs& inputs, const SweepLines& lines, const std::string& text);

  std::string path_;
  int file_ = -1;
  std::size_t rows_ = 0;
};

/// Where it is said which sweep the table in `path` is of.
[[nodiscard]] std::string sweep_text_path(const std::string& path);

} // namespace ppsim::cli
