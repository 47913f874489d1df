#pragma once
// An untrusted SQLite database in memory, read only.

#include "ppsim/base/error.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace ppsim::traces {

/// The current row of a table. Columns that the table does not have are null.
class SqliteRow {
public:
  SqliteRow(sqlite3_stmt* statement, const std::vector<int>& columns) : statement_{statement}, columns_{&columns} {}
  /// An integer; none if it is null or something else.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t column) const;
  /// The same, but none beyond +-2^59: a few of them can be added and subtracted safely.
  [[nodiscard]] std::optional<std::int64_t> time(std::size_t column) const;
  /// Text; empty if it is null or something else. Valid until the next row.
  [[nodiscard]] std::string_view text(std::size_t column) const;

private:
  sqlite3_stmt* statement_;
  const std::vector<int>* columns_; ///< by requested column: the statement's column, or -1
};

/// Reads whole tables; views, virtual tables, triggers and functions of the file have no effect.
class SqliteReader {
public:
  /// `bytes` must outlive the reader. Throws Error (bad_input, `name`) if it is not a database; later calls throw it
  /// for corrupt content, or if reading takes far longer than the file's size justifies.
  SqliteReader(std::string_view bytes, std::string_view name);

  /// Columns of a table; empty if there is no such table.
  [[nodiscard]] std::vector<std::string> columns(std::string_view table);
  /// Calls take(SqliteRow) for every row of a table, if it exists, with these columns, some of which may be missing.
  template <class Take>
  void each(std::string_view table, const std::vector<std::string_view>& wanted, const Take& take) {
    Scan scan = begin(table, wanted);
    while (next(scan)) take(SqliteRow{scan.statement.get(), scan.columns});
  }

private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;
  struct Scan {
    Statement statement; ///< null: nothing to read
    std::vector<int> columns;
  };

  void harden();
  [[nodiscard]] bool has_table(std::string_view table);
  [[nodiscard]] Statement prepare(const std::string& sql);
  [[nodiscard]] Scan begin(std::string_view table, const std::vector<std::string_view>& wanted);
  [[nodiscard]] bool next(Scan& scan);
  [[noreturn]] void refuse(int status) const;

  std::string name_;
  std::unique_ptr<std::int64_t> patience_; ///< remaining calls of the progress handler; at a stable address
  std::unique_ptr<sqlite3, Close> database_;
};

} // namespace ppsim::traces
