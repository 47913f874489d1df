// ppsim sweep: a run at every point of a grid, and a table of the results.

#include "ppsim/study/sweep.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/runtime/shared_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "files/files.hpp"
#include "files/memory_files.hpp"
#include "files/outputs.hpp"
#include "files/sweep_table.hpp"
#include "options/commands.hpp"
#include "terminal/console.hpp"
#include "terminal/interruption.hpp"
#include "terminal/progress.hpp"

namespace ppsim::cli::sweep_command {
namespace {

/// Whether the lines stay in memory for a library caller.
bool is_kept(const std::string& path) {
  return MemoryFiles::current() != nullptr && MemoryFiles::keeps(path);
}

/// The form of the output table.
TableForm check_table(const Inputs& inputs) {
  const std::string path = inputs.table.value_or("-");
  if (is_kept(path)) return TableForm::json_lines;
  const auto form = table_form(path);
  if (!form)
    throw Error{ExitCode::bad_input,
                Problem{"--table", fmt::format("{} is neither CSV nor JSON lines", in_quotes(path)),
                        "give it a name that ends in .csv or .jsonl"}};
  if (inputs.resume && path == "-")
    throw Error{ExitCode::bad_input,
                Problem{"--resume", "there is no table to continue", "name it: --table FILE.csv, or FILE.jsonl"}};
  std::vector<Destination> written{{"table", inputs.table}};
  if (path != "-") written.push_back({"table", sweep_text_path(path)});
  (void)uses_stdout(written, sources(inputs));
  return *form;
}

/// Lines of a table, with counts for the summary.
struct TableLines {
  std::size_t rows = 0;
  std::size_t refused = 0;
  std::string first_reason; ///< of the refused ones, on one line
  std::string lines;

  void add(const SweepRow& row, const std::string& line) {
    ++rows;
    lines += line;
    if (row.figures || refused++ > 0) return;
    first_reason = row.error;
    std::ranges::replace(first_reason, '\n', ' ');
  }
};

/// The rows of a range of the grid. `taken`, if not null, receives them as they finish and may stop the range with
/// false.
TableLines make_rows(const Inputs& inputs, const SweepLines& lines, std::size_t first, std::size_t end,
                     std::size_t threads, const std::function<bool(TableLines&&)>& taken = {}) {
  TableLines all;
  sweep(
      first, end, threads, [&](std::size_t point) { return inputs_at(inputs, point); },
      [&](std::size_t from, std::span<const SweepRow> rows) {
        TableLines made;
        TableLines& place = taken ? made : all;
        for (std::size_t i = 0; i < rows.size(); ++i) place.add(rows[i], lines.row(from + i, rows[i]));
        return !taken || taken(std::move(made));
      });
  return all;
}

/// Serialises lines for transfer between processes.
std::string to_text(const TableLines& made) {
  return fmt::format("{} {}\n{}\n{}", made.rows, made.refused, made.first_reason, made.lines);
}
TableLines from_text(std::string_view text) {
  const auto next = [&text](char end) {
    const std::string_view word = text.substr(0, text.find(end));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
  };
  TableLines made;
  for (const auto& [place, end] : {std::pair{&made.rows, ' '}, std::pair{&made.refused, '\n'}}) {
    const std::string_view number = next(end);
    std::from_chars(number.data(), number.data() + number.size(), *place);
  }
  made.first_reason = next('\n');
  made.lines = text;
  return made;
}

/// The output of rows in this call, with the counts of all.
class Sink {
public:
  Sink(const Inputs& inputs, const SweepLines& lines) : to_{inputs.table.value_or("-")}, points_{inputs.grid.points()} {
    if (to_ != "-" && !is_kept(to_)) file_.emplace(inputs, lines);
    if (!file_) write_file(to_, lines.head(), "--table");
    first_ = file_ ? file_->rows() : 0;
  }

  [[nodiscard]] std::size_t first() const { return first_; }
  /// False to end the sweep.
  bool take(const TableLines& made) {
    if (file_)
      file_->append(made.lines);
    else
      write_file(to_, made.lines, "--table");
    rows_ += made.rows;
    if (refused_ == 0) first_reason_ = made.first_reason;
    refused_ += made.refused;
    shown_->show(rows_, points_ - first_);
    return !Interruption::has_come();
  }
  [[nodiscard]] ExitCode end() {
    shown_.reset(); // notes replace the progress line
    const bool none = rows_ > 0 && refused_ == rows_;
    if (none) note("no row has figures; the first of them: {}", first_reason_);
    if (first_ + rows_ == points_) return none && first_ == 0 ? ExitCode::no : ExitCode::done;
    note("interrupted: {} of {} are written{}", first_ + rows_, counted(points_, "row"),
         file_ ? "; --resume continues" : "");
    return ExitCode::interrupted;
  }

private:
  const Interruption interruption_;
  std::optional<ProgressCount> shown_{"points"};
  std::string to_;
  std::size_t points_;
  std::optional<SweepTable> file_;
  std::size_t first_ = 0, rows_ = 0, refused_ = 0;
  std::string first_reason_;
};

/// For several processes: the first writes, all compute rows.
ExitCode run_together(const Inputs& inputs, const SweepLines& lines) {
  std::optional<Sink> sink;
  if (runtime::prints_for_all()) sink.emplace(inputs, lines);
  const std::size_t threads = inputs.threads.value_or(1);
  runtime::share_work(
      {sink ? sink->first() : 0, inputs.grid.points()},
      [&](runtime::WorkRange range) { return to_text(make_rows(inputs, lines, range.begin, range.end, threads)); },
      [&](runtime::WorkRange, const std::string& made) { return sink->take(from_text(made)); });
  return sink ? sink->end() : ExitCode::done;
}

ExitCode run(const Inputs& inputs) {
  const SweepLines lines{inputs.grid, check_table(inputs)};
  if (runtime::has_other_processes()) return run_together(inputs, lines);
  Sink sink{inputs, lines};
  (void)make_rows(inputs, lines, sink.first(), inputs.grid.points(), inputs.threads.value_or(machine_threads()),
                  [&](TableLines&& made) { return sink.take(made); });
  return sink.end();
}

constexpr std::array sections{Section::pipeline,      Section::model,  Section::costs,
                              Section::communication, Section::memory, Section::scenario};
constexpr std::array<std::string_view, 4> extra{"vary", "table", "resume", "threads"};
constexpr std::array examples{
    Example{"ppsim sweep --stages 8 --vary mb=8..256:x2 --vary schedule=all --table sweep.csv",
            "every schedule with 8, 16, ... 256 microbatches, one row each"},
    Example{"ppsim sweep --model llama-3-8b --device h100 --stages 4 --mb 32 --vary tensor-parallel=1,2,4,8 "
            "--vary recompute=none,selective,full --table sweep.jsonl --resume",
            "what fits and what it costs; continues where an earlier call stopped"},
};

} // namespace

const Command definition{
    .name = "sweep",
    .summary = "write a table with a row of figures for every combination of several options' values (exit status 3 "
               "when none can run)",
    .usage = "ppsim sweep --vary NAME=VALUES [--vary ...] [--table FILE.csv|FILE.jsonl [--resume]] [options]",
    .argument = "",
    .argument_help = "",
    .makes_run = true,
    .spans_grid = true,
    .sections = sections,
    .extra = extra,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli::sweep_command
