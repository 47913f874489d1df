#include "sqlite_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <sqlite3.h>

namespace ppsim::traces {
namespace {

constexpr int steps_between_looks = 10'000; ///< steps of SQLite's virtual machine
constexpr std::int64_t least_looks = 10'000;
constexpr std::int64_t bytes_per_look = 1000; ///< a row takes about 30 steps and more than 3 bytes

/// Allows only reading, and queries of a table's columns.
int authorize(void* /*unused*/, int action, const char* first, const char* /*second*/, const char* /*database*/,
              const char* /*trigger*/) {
  if (action == SQLITE_SELECT || action == SQLITE_READ) return SQLITE_OK;
  if (action == SQLITE_PRAGMA && first != nullptr && std::string_view{first} == "table_info") return SQLITE_OK;
  return SQLITE_DENY;
}

int lose_patience(void* patience) {
  return --*static_cast<std::int64_t*>(patience) < 0 ? 1 : 0;
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += c;
    text += c;
  }
  return text + '"';
}

} // namespace

std::optional<std::int64_t> SqliteRow::integer(std::size_t column) const {
  const int at = (*columns_)[column];
  if (at < 0 || sqlite3_column_type(statement_, at) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, at);
}

std::optional<std::int64_t> SqliteRow::time(std::size_t column) const {
  constexpr std::int64_t most = std::int64_t{1} << 59U;
  const std::optional<std::int64_t> value = integer(column);
  return value && *value >= -most && *value <= most ? value : std::nullopt;
}

std::string_view SqliteRow::text(std::size_t column) const {
  const int at = (*columns_)[column];
  if (at < 0 || sqlite3_column_type(statement_, at) != SQLITE_TEXT) return {};
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, at)); // NOLINT(*-reinterpret-cast)
  const int size = sqlite3_column_bytes(statement_, at);
  return text == nullptr ? std::string_view{} : std::string_view{text, static_cast<std::size_t>(size)};
}

void SqliteReader::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}
void SqliteReader::Close::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteReader::SqliteReader(std::string_view bytes, std::string_view name)
    : name_{name}, patience_{std::make_unique<std::int64_t>(least_looks +
                                                            static_cast<std::int64_t>(bytes.size()) / bytes_per_look)} {
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_PRIVATECACHE;
  const int status = sqlite3_open_v2(":memory:", &opened, flags, nullptr);
  database_.reset(opened);
  if (status != SQLITE_OK) refuse(status);
  harden();
  // SQLite's parameter is not const, but it does not write to read-only data.
  auto* data =
      reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data())); // NOLINT(*-reinterpret-cast,*-const-cast)
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (const int read = sqlite3_deserialize(opened, "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
      read != SQLITE_OK)
    refuse(read);
  sqlite3_set_authorizer(opened, authorize, nullptr); // not before, because deserialising attaches to SQLite
  (void)has_table("sqlite_master");                   // reads the schema: detects files that are not a database
}

void SqliteReader::harden() {
  sqlite3* const database = database_.get();
  constexpr std::array<std::pair<int, int>, 5> settings{{{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                                         {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                                         {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                                         {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                                         {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}}};
  for (const auto& [setting, value] : settings) sqlite3_db_config(database, setting, value, nullptr);
  constexpr std::array<std::pair<int, int>, 8> limits{{{SQLITE_LIMIT_LENGTH, 1 << 26},
                                                       {SQLITE_LIMIT_SQL_LENGTH, 1 << 17},
                                                       {SQLITE_LIMIT_COLUMN, 500},
                                                       {SQLITE_LIMIT_EXPR_DEPTH, 50},
                                                       {SQLITE_LIMIT_COMPOUND_SELECT, 2},
                                                       {SQLITE_LIMIT_VDBE_OP, 25'000},
                                                       {SQLITE_LIMIT_ATTACHED, 0},
                                                       {SQLITE_LIMIT_WORKER_THREADS, 0}}};
  for (const auto& [limit, value] : limits) sqlite3_limit(database, limit, value);
  sqlite3_exec(database, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
  sqlite3_progress_handler(database, steps_between_looks, lose_patience, patience_.get());
}

void SqliteReader::refuse(int status) const {
  const bool endless = status == SQLITE_INTERRUPT;
  const std::string why = database_ == nullptr ? sqlite3_errstr(status) : sqlite3_errmsg(database_.get());
  throw Error{ExitCode::bad_input,
              {name_,
               endless ? std::string{"takes far longer to read than a database of its size should"}
                       : fmt::format("cannot be read as an SQLite database: {}", in_quotes(why)),
               endless ? "it is damaged; export it again"
                       : "export it with 'nsys export --type sqlite FILE.nsys-rep', and give the whole file"}};
}

SqliteReader::Statement SqliteReader::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int status =
      sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  Statement prepared{statement};
  if (status != SQLITE_OK) refuse(status);
  return prepared;
}

bool SqliteReader::next(Scan& scan) {
  if (scan.statement == nullptr) return false;
  const int status = sqlite3_step(scan.statement.get());
  if (status == SQLITE_ROW) return true;
  if (status != SQLITE_DONE) refuse(status);
  return false;
}

/// Whether it is a real table: views and virtual tables have no pages.
bool SqliteReader::has_table(std::string_view table) {
  Scan scan{prepare("SELECT type, name, rootpage FROM sqlite_master"), {0, 1, 2}};
  bool found = false;
  while (next(scan)) {
    const SqliteRow row{scan.statement.get(), scan.columns};
    found = found || (row.text(0) == "table" && row.text(1) == table && row.integer(2).value_or(0) > 0);
  }
  return found;
}

std::vector<std::string> SqliteReader::columns(std::string_view table) {
  std::vector<std::string> found;
  if (!has_table(table)) return found;
  Scan scan{prepare(fmt::format("PRAGMA table_info({})", sql_name(table))), {1}};
  while (next(scan)) found.emplace_back(SqliteRow{scan.statement.get(), scan.columns}.text(0));
  return found;
}

SqliteReader::Scan SqliteReader::begin(std::string_view table, const std::vector<std::string_view>& wanted) {
  const std::vector<std::string> there = columns(table);
  Scan scan{nullptr, {}};
  std::string sql;
  int count = 0;
  for (const std::string_view column : wanted) {
    const bool has = std::ranges::find(there, column) != there.end();
    scan.columns.push_back(has ? count++ : -1);
    if (has) sql += (sql.empty() ? "" : ", ") + sql_name(column);
  }
  if (!sql.empty()) scan.statement = prepare(fmt::format("SELECT {} FROM {} NOT INDEXED", sql, sql_name(table)));
  return scan;
}

} // namespace ppsim::traces
