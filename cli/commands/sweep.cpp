// ppsim sweep: a run at every point of a grid, and a table of what they give.

#include "ppsim/study/sweep.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "files/sweep_table.hpp"
#include "options/commands.hpp"
#include "terminal/console.hpp"
#include "terminal/interruption.hpp"
#include "terminal/progress.hpp"

namespace ppsim::cli::sweep_command {
namespace {

/// Where rows go.
TableForm check_table(const Inputs& inputs) {
  const std::string path = inputs.table.value_or("-");
  const auto form = table_form(path);
  if (!form)
    throw Error{ExitCode::bad_input,
                Problem{"--table", fmt::format("{} is neither CSV nor JSON lines", in_quotes(path)),
                        "give it a name that ends in .csv or .jsonl"}};
  if (inputs.resume && path == "-")
    throw Error{ExitCode::bad_input,
                Problem{"--resume", "there is no table to go on with", "name it: --table FILE.csv, or FILE.jsonl"}};
  std::vector<Destination> written{{"table", inputs.table}};
  if (path != "-") written.push_back({"table", sweep_text_path(path)});
  (void)uses_stdout(written, sources(inputs));
  return *form;
}

/// What is told of the rows that this call made.
struct Tally {
  std::size_t rows = 0;
  std::size_t refused = 0;
  std::string first_reason;

  void add(const SweepRow& row) {
    ++rows;
    if (row.figures) return;
    if (refused++ == 0) first_reason = row.error;
  }
};

ExitCode run(const Inputs& inputs) {
  const SweepLines lines{inputs.grid, check_table(inputs)};
  const std::size_t points = inputs.grid.points();
  const bool to_file = inputs.table && *inputs.table != "-";
  std::optional<SweepTable> file;
  if (to_file) file.emplace(inputs, lines);
  const auto append = [&](std::string_view text) { file ? file->append(text) : write_file("-", text, "--table"); };
  if (!file) append(lines.head());
  const std::size_t first = file ? file->rows() : 0;
  const Interruption interruption;
  Tally tally;
  {
    CountShown shown{"points"};
    sweep(
        first, points, inputs.threads.value_or(machine_threads()),
        [&](std::size_t point) { return inputs_at(inputs, point); },
        [&](std::size_t from, std::span<const SweepRow> rows) {
          std::string text;
          for (std::size_t i = 0; i < rows.size(); ++i) {
            text += lines.row(from + i, rows[i]);
            tally.add(rows[i]);
          }
          append(text);
          shown.show(tally.rows, points - first);
          return !Interruption::has_come();
        });
  }
  const std::size_t there = first + tally.rows;
  if (tally.rows > 0 && tally.refused == tally.rows)
    note("no row has figures; the first of them: {}", tally.first_reason);
  if (there == points) return ExitCode::done;
  note("interrupted: {} of {} are written{}", there, counted(points, "row"), file ? "; --resume goes on" : "");
  return ExitCode::interrupted;
}

constexpr std::array sections{Section::pipeline,      Section::model,  Section::costs,
                              Section::communication, Section::memory, Section::scenario};
constexpr std::array<std::string_view, 4> extra{"vary", "table", "resume", "threads"};
constexpr std::array examples{
    Example{"ppsim sweep --stages 8 --vary mb=8..256:x2 --vary schedule=all --table sweep.csv",
            "every schedule with 8, 16, ... 256 microbatches, a row each"},
    Example{"ppsim sweep --model llama-3-8b --device h100 --stages 4 --mb 32 --vary tensor-parallel=1,2,4,8 "
            "--vary recompute=none,selective,full --table sweep.jsonl --resume",
            "what fits, and what it costs; goes on where it was ended"},
};

} // namespace

const Command definition{
    .name = "sweep",
    .summary = "a row of figures for every combination of the values of several options, as a table for other programs",
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
