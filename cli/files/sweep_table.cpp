#include "sweep_table.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "files.hpp"
#include "options/options.hpp"
#include "options/setters.hpp"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ppsim::cli {
namespace {

constexpr std::array<std::string_view, 5> figure_columns{"step_time_ns", "bubble_ratio", "peak_bytes", "fits", "error"};

/// One cell; a missing value is empty in CSV and null in JSON.
struct Cell {
  std::string text;
  bool is_text = false; ///< neither a number nor true or false
};

std::string on_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::string json_cell(const Cell& cell) {
  if (cell.text.empty()) return "null";
  if (!cell.is_text) return cell.text;
  return nlohmann::json(cell.text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<Cell> cells_of(const SweepRow& row, bool with_schedule) {
  std::vector<Cell> cells(figure_columns.size() + (with_schedule ? 1 : 0));
  auto cell = cells.begin();
  if (with_schedule) {
    if (row.figures) *cell = {on_one_line(row.figures->schedule), true};
    ++cell;
  }
  if (row.figures) {
    const SweepRow::Figures& figures = *row.figures;
    *cell++ = {fmt::format("{}", figures.step_time.count())};
    *cell++ = {fmt::format("{}", figures.bubble_ratio)};
    *cell++ = {figures.peak ? fmt::format("{}", figures.peak->count()) : ""};
    *cell++ = {figures.fits ? fmt::format("{}", *figures.fits) : ""};
  }
  if (!row.error.empty()) cells.back() = {on_one_line(in_flags(row.error)), true};
  return cells;
}

[[noreturn]] void can_not_write_table(const std::string& path, int error) {
  throw Error{ExitCode::failed,
              Problem{"--table", fmt::format("cannot write {}: {}", in_quotes(path, 200), std::strerror(error)),
                      error == ENOSPC ? "is the disk full? free some space, then continue with --resume"
                                      : "check the folder and its permissions"}};
}

/// FNV-1a: detects accidental changes of files, not deliberate ones.
std::uint64_t digest_of(std::string_view bytes) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const char byte : bytes) digest = (digest ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return digest;
}

/// The files named in options, by path.
std::set<std::string> files_named(const Inputs& inputs) {
  std::set<std::string> files;
  const auto add = [&files](std::string_view text) {
    const std::string path{text};
    std::error_code ignored;
    if (path == "-" || std::filesystem::is_regular_file(path, ignored)) files.insert(path);
  };
  for (const Assignment& flag : inputs.flags)
    if (flag.option->name != "table")
      for (const std::string_view item : split_list(flag.value)) add(item);
  for (const SweepAxis& axis : inputs.grid.axes)
    for (const SweepValue& value : axis.values)
      if (!value.is_number) add(value.said);
  return files;
}

/// The first line of `text` that is not in `other`; empty if there is none.
std::string_view line_of_its_own(std::string_view text, std::string_view other) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) + 1 - begin);
    begin += line.size();
    const std::size_t found = other.find(line);
    const bool is_line = found != std::string_view::npos && (found == 0 || other[found - 1] == '\n');
    if (!is_line) return line.substr(0, line.size() - 1);
  }
  return {};
}

/// The difference between a table's sweep and the requested one, from one line of each.
std::string difference(std::string_view was, std::string_view is) {
  const auto said = [](std::string_view line, std::string_view where) {
    return line.empty() ? std::string{} : fmt::format("{} has {}", where, in_quotes(line));
  };
  const std::string there = said(line_of_its_own(was, is), "the table");
  const std::string here = said(line_of_its_own(is, was), "this sweep");
  if (there.empty() && here.empty()) return "the same in another order";
  return fmt::format("{}{}{}", there, there.empty() || here.empty() ? "" : ", but ", here);
}

} // namespace

std::optional<TableForm> table_form(std::string_view path) {
  if (path == "-" || path.ends_with(".csv")) return TableForm::csv;
  if (path.ends_with(".jsonl")) return TableForm::json_lines;
  return std::nullopt;
}

std::string sweep_text_path(const std::string& path) {
  return path + ".sweep";
}

bool SweepLines::varies_schedule() const {
  return std::ranges::find(grid_.axes, "schedule", &SweepAxis::option) != grid_.axes.end();
}

std::vector<std::string> SweepLines::columns() const {
  std::vector<std::string> names;
  names.reserve(grid_.axes.size() + 1 + figure_columns.size());
  for (const SweepAxis& axis : grid_.axes) names.push_back(axis.option);
  if (!varies_schedule()) names.emplace_back("schedule");
  names.insert(names.end(), figure_columns.begin(), figure_columns.end());
  return names;
}

std::string SweepLines::head() const {
  return form_ == TableForm::csv ? joined(columns(), ",") + "\n" : "";
}

std::string SweepLines::row_start(std::size_t point) const {
  std::string start = form_ == TableForm::csv ? "" : "{";
  const std::vector<const SweepValue*> values = grid_.at(point);
  for (std::size_t axis = 0; axis < values.size(); ++axis)
    if (form_ == TableForm::csv)
      start += csv_cell(values[axis]->shown) + ",";
    else
      start += fmt::format(R"("{}": {}, )", grid_.axes[axis].option,
                           json_cell({values[axis]->shown, !values[axis]->is_number}));
  return start;
}

std::string SweepLines::row(std::size_t point, const SweepRow& row) const {
  std::string line = row_start(point);
  const std::vector<Cell> cells = cells_of(row, !varies_schedule());
  const std::vector<std::string> names = columns();
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (cell > 0) line += form_ == TableForm::csv ? "," : ", ";
    if (form_ == TableForm::csv)
      line += csv_cell(cells[cell].text);
    else
      line += fmt::format(R"("{}": {})", names[grid_.axes.size() + cell], json_cell(cells[cell]));
  }
  return line + (form_ == TableForm::csv ? "\n" : "}\n");
}

KeptRows find_kept(std::string_view content, const SweepLines& lines, std::size_t points, const std::string& file) {
  const auto refuse = [&file](std::size_t line, std::string what) {
    throw Error{ExitCode::bad_input, Problem{fmt::format("{}:{}", file, line), std::move(what),
                                             "the file was changed or belongs to another sweep: name another --table, "
                                             "or leave --resume out to start again"}};
  };
  const std::string head = lines.head();
  KeptRows kept;
  std::size_t line = 0;
  for (std::size_t end = content.find('\n'); end != std::string_view::npos; end = content.find('\n', kept.bytes)) {
    const std::string_view text = content.substr(kept.bytes, end + 1 - kept.bytes);
    ++line;
    if (line == 1 && !head.empty()) {
      if (text != head) refuse(line, "these are not the columns of this sweep");
    } else {
      if (kept.rows == points) refuse(line, fmt::format("the table of this sweep has only {} rows", points));
      if (!text.starts_with(lines.row_start(kept.rows))) refuse(line, "this sweep has another row there");
      ++kept.rows;
    }
    kept.bytes = end + 1;
  }
  return kept;
}

std::string sweep_text(const Inputs& inputs) {
  std::vector<std::string> said;
  for (const Assignment& flag : inputs.flags)
    if (flag.option->name != "table" && flag.option->name != "resume" && flag.option->name != "threads")
      said.push_back(fmt::format("--{} {}\n", flag.option->name, flag.value));
  std::ranges::sort(said);
  std::string text = fmt::format("ppsim {} sweep\n", PPSIM_VERSION);
  for (const std::string& line : said) text += line;
  for (const SweepAxis& axis : inputs.grid.axes) {
    text += fmt::format("--vary {}=", axis.option);
    for (std::size_t value = 0; value < axis.values.size(); ++value)
      text += fmt::format("{}{}", value == 0 ? "" : ",", axis.values[value].said);
    text += '\n';
  }
  for (const std::string& file : files_named(inputs))
    text += fmt::format("{} has {:016x}\n", display_name(file), digest_of(read_file(file, "--table")));
  return text;
}

SweepTable::SweepTable(const Inputs& inputs, const SweepLines& lines) : path_{*inputs.table} {
  const std::string text = sweep_text(inputs);
  open();
  if (inputs.resume)
    go_on(inputs, lines, text);
  else
    begin(lines, text);
}

SweepTable::~SweepTable() {
  if (file_ >= 0) ::close(file_);
}

void SweepTable::open() {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode_t{0666}); // NOLINT(*-vararg)
  if (file_ < 0) can_not_write_table(path_, errno);
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error{ExitCode::failed,
                Problem{"--table", fmt::format("{} is being written by another process", in_quotes(path_, 200)),
                        "wait for it, or name another file"}};
}

/// In this order, so that rows of an older table never follow this one's name.
void SweepTable::begin(const SweepLines& lines, const std::string& text) {
  struct stat status {};
  const bool is_file = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (is_file && ::ftruncate(file_, 0) != 0) can_not_write_table(path_, errno);
  if (is_file) write_file(sweep_text_path(path_), text, "--table");
  append(lines.head());
}

void SweepTable::go_on(const Inputs& inputs, const SweepLines& lines, const std::string& text) {
  const FileBytes content{path_, "--table"};
  const std::string beside = sweep_text_path(path_);
  std::error_code ignored;
  if (content.bytes().empty()) return begin(lines, text);
  if (!std::filesystem::exists(beside, ignored))
    throw Error{ExitCode::bad_input, Problem{"--resume",
                                             fmt::format("cannot tell which sweep {} belongs to: {} does not exist",
                                                         in_quotes(path_, 200), in_quotes(beside, 200)),
                                             "leave --resume out to start again"}};
  const std::string was = read_file(beside, "--resume");
  if (was != text)
    throw Error{
        ExitCode::bad_input,
        Problem{"--resume",
                fmt::format("{} belongs to another sweep: {}", in_quotes(path_, 200), difference(was, text)),
                "give the options that it started with, or name another --table; without --resume it starts again"}};
  const KeptRows kept = find_kept(content.bytes(), lines, inputs.grid.points(), path_);
  if (::ftruncate(file_, static_cast<off_t>(kept.bytes)) != 0 || ::lseek(file_, 0, SEEK_END) < 0)
    can_not_write_table(path_, errno);
  if (kept.bytes == 0) append(lines.head());
  rows_ = kept.rows;
}

void SweepTable::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file_, text.data(), text.size());
    if (count < 0 && errno != EINTR) can_not_write_table(path_, errno);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

} // namespace ppsim::cli
