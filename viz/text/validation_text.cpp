// A validation as text. How it reads (tests/golden/validation-4x4.txt, shortened):
//
//   valid: the step time is predicted 0.93 % too short (22 ms; the run took 22.21 ms), within 5 %
//   1f1b: 4 stages, 4 microbatches
//   measured: threads; mlp: 256 tokens, width 512, 1 layer per chunk; buffers are handed over; a
//             processor with 8 cores
//
//     steps       1
//     bubble      45.5 % predicted, 44.6 % measured
//     starts      95 % of the tasks began within 0.95 % of the step of their prediction
//     results     gradients bit-equal with a run that does one task at a time; loss 2.5 in the first
//                 step, 1.5 in the last of 2
//     memory      as predicted on every stage, at most 2.25 GiB (stage 0)
//     cores       in tasks, every stage had at least 99 % of a core
//
//     stage   busy       was    error      end       was    error      peak    was
//         0  12 ms  12.09 ms  -0.75 %    22 ms  22.21 ms  -0.93 %  2.25 GiB  equal
//   ...
//     was: measured; error: (predicted - measured) / measured
//
//     pass  tasks  median       was  longer by  95 % within
//     F        16    1 ms  1.014 ms    +1.40 %       80.0 %
//   ...
//
//   largest deviations
//     1F2 on stage 1  took 800 us longer than the 1 ms predicted
//     0B2 on stage 0  waited 93 us longer for 1B2 on stage 1, as many small delays added up (at most 28
//                     us: 1B2 on stage 1 took longer)
//   ...

#include "ppsim/base/words.hpp"
#include "ppsim/viz/validation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tables.hpp"
#include "words/comparison_words.hpp"
#include "words/measured_words.hpp"
#include "words/validation_words.hpp"

namespace ppsim::viz {
namespace {

class ValidationText {
public:
  ValidationText(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation,
                 const TextOptions& options)
      : graph_{graph}, run_{run}, validation_{validation}, colour_{options.colour},
        width_{std::max(options.width, least_text_width)} {}

  std::string render() {
    head();
    steps();
    say("bubble", fmt::format("{} predicted, {} measured", percent(validation_.bubble_predicted),
                              percent(validation_.bubble_measured)));
    say("starts", fmt::format("95 % of the tasks began within {} of the step of their prediction",
                              percent(validation_.start_error_p95)));
    out_ += unpredicted_line(validation_, width_);
    out_ += trust_lines(run_, validation_, width_) + '\n';
    table(stage_columns());
    put("  ", "was: measured; error: (predicted - measured) / measured");
    out_ += '\n';
    table(pass_columns());
    deviations();
    otherwise();
    return out_;
  }

private:
  /// `begin`, then `text`, whose further lines stand below its first.
  void put(const std::string& begin, std::string_view text) {
    out_ += wrapped_lines(begin + std::string{text}, width_, begin.size());
  }

  /// One line of the answer.
  void say(std::string_view what, std::string_view text) { out_ += answer_lines(what, text, width_); }

  void head() {
    const std::string_view colour = validation_.holds ? "\033[1;32m" : "\033[1;31m";
    const std::string first = wrapped_lines(verdict(run_, validation_), width_, 2);
    out_ += colour_ ? fmt::format("{}{}\033[0m\n", colour, first.substr(0, first.size() - 1)) : first;
    const Shape& shape = graph_.schedule().shape();
    const std::size_t held = HeldChunks{graph_.schedule()}.most();
    out_ += fmt::format("{}: {}, {}{}\n", graph_.headline(), counted(shape.stages, "stage"),
                        counted(shape.microbatches, "microbatch", "es"),
                        held > 1 ? fmt::format(", {} chunks per stage", held) : "");
    out_ += wrapped_lines("measured: " + describe(run_), width_, 10);
    if (const std::string& source = graph_.scenario().source; !source.empty())
      out_ += wrapped_lines("costs: " + source, width_, 7);
    if (validation_.own_costs)
      out_ += wrapped_lines("its costs are the means of this very run: this says how well the model of the pipeline "
                            "fits, and nothing about other runs",
                            width_, 0);
    if (run_.facts.timed)
      out_ += wrapped_lines("tasks were given their durations: this says nothing about real compute", width_, 0);
    out_ += '\n';
  }

  void steps() {
    const auto [least, most] = std::ranges::minmax(validation_.steps);
    if (validation_.steps.size() == 1) return say("steps", "1");
    say("steps", fmt::format("{}, of {} to {}; the median, step {}, is compared", validation_.steps.size(),
                             format_duration(least), format_duration(most), validation_.step_used));
  }

  void table(const std::vector<TableColumn>& columns) {
    for (const std::string& line : table_lines(columns, column_gap)) out_ += "  " + line + "\n";
  }

  [[nodiscard]] bool fits(const std::vector<TableColumn>& columns) const {
    return columns_that_fit(columns, width_ - 2, column_gap).size() == columns.size();
  }

  /// Adds three columns: predicted, measured, and how far apart.
  template <class Figure>
  void add_compared(std::vector<TableColumn>& columns, std::string_view name, Figure figure) const {
    TableColumn predicted{std::string{name}, {}, 1};
    TableColumn measured{"was", {}, 1};
    TableColumn error{"error", {}, 1};
    for_each_row(
        [&](std::size_t stage) {
          const ComparedTime& compared = figure(validation_.stages[stage]);
          predicted.cells.push_back(format_duration(compared.predicted));
          measured.cells.push_back(format_duration(compared.measured));
          error.cells.push_back(signed_percent(compared.error()));
        },
        [&] {
          for (TableColumn* column : {&predicted, &measured, &error}) column->cells.emplace_back();
        });
    for (TableColumn* column : {&predicted, &measured, &error}) columns.push_back(std::move(*column));
  }

  /// All stages, or of many the first and the last, with a gap between.
  template <class Row, class Gap>
  void for_each_row(Row row, Gap gap_row) const {
    const std::size_t stages = validation_.stages.size();
    for (std::size_t stage = 0; stage < stages; ++stage) {
      if (stages > most_rows && stage == most_rows / 2) {
        gap_row();
        stage = stages - most_rows / 2;
      }
      row(stage);
    }
  }

  /// All figures of the stages, or of a narrow terminal the most important of them.
  [[nodiscard]] std::vector<TableColumn> stage_columns() const {
    std::vector<TableColumn> columns = stage_columns(true, validation_.knows_memory);
    if (!fits(columns)) columns = stage_columns(false, validation_.knows_memory);
    if (!fits(columns)) columns = stage_columns(false, false);
    return columns;
  }

  [[nodiscard]] std::vector<TableColumn> stage_columns(bool with_idle, bool with_memory) const {
    std::vector<TableColumn> columns{{"stage", {}}};
    for_each_row([&](std::size_t stage) { columns[0].cells.push_back(fmt::format("{}", stage)); },
                 [&] { columns[0].cells.emplace_back("..."); });
    add_compared(columns, "busy", [](const StageError& stage) { return stage.busy; });
    if (with_idle) add_compared(columns, "idle", [](const StageError& stage) { return stage.idle; });
    add_compared(columns, "end", [](const StageError& stage) { return stage.end; });
    if (with_memory) add_memory(columns);
    return columns;
  }

  void add_memory(std::vector<TableColumn>& columns) const {
    TableColumn predicted{"peak", {}, 1};
    TableColumn measured{"was", {}, 1};
    for_each_row(
        [&](std::size_t stage) {
          const StageError& error = validation_.stages[stage];
          predicted.cells.push_back(error.same_peak() ? format_bytes(error.predicted_peak)
                                                      : format_closely(error.predicted_peak));
          measured.cells.push_back(error.same_peak() ? "equal" : format_closely(error.measured_peak));
        },
        [&] {
          predicted.cells.emplace_back();
          measured.cells.emplace_back();
        });
    columns.push_back(std::move(predicted));
    columns.push_back(std::move(measured));
  }

  [[nodiscard]] std::vector<TableColumn> pass_columns() const {
    std::vector<TableColumn> columns{{"pass", {}, 0, true}, {"tasks", {}},     {"median", {}},
                                     {"was", {}},           {"longer by", {}}, {"95 % within", {}}};
    for (const PassError& error : validation_.passes) {
      columns[0].cells.emplace_back(1, letter(error.pass));
      columns[1].cells.push_back(fmt::format("{}", error.tasks));
      columns[2].cells.push_back(format_duration(error.median.predicted));
      columns[3].cells.push_back(format_duration(error.median.measured));
      columns[4].cells.push_back(error.median_error ? signed_percent(*error.median_error) : "-");
      columns[5].cells.push_back(error.p95_error ? percent(*error.p95_error) : "-");
    }
    return columns;
  }

  void deviations() {
    if (validation_.deviations.empty()) return;
    out_ += "\nlargest deviations\n";
    std::size_t width = 0;
    for (const Deviation& deviation : validation_.deviations)
      width = std::max(width, task_and_stage(graph_, deviation.task).size());
    for (const Deviation& deviation : validation_.deviations)
      put(fmt::format("  {:<{}}", task_and_stage(graph_, deviation.task), width + column_gap),
          deviation_words(graph_, deviation));
  }

  /// What other costs would have given.
  void otherwise() {
    if (!validation_.alone && !validation_.own_times) return;
    out_ += '\n';
    const auto say_with = [this](std::string_view times, const ComparedTime& step, std::string_view so) {
      put("  ", fmt::format("With {}, the step is predicted to take {} ({}){}.", times, format_duration(step.predicted),
                            signed_percent(step.error()), so));
    };
    if (validation_.own_times)
      say_with("what each task took in this step", *validation_.own_times,
               ": that much of the error is not in how long tasks took");
    if (validation_.alone) say_with("times measured one stage at a time", *validation_.alone, "");
  }

  static constexpr std::size_t most_rows = 16;

  const TaskGraph& graph_;
  const MeasuredRun& run_;
  const Validation& validation_;
  bool colour_;
  std::size_t width_;
  std::string out_;
};

} // namespace

std::string validation_text(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation,
                            const TextOptions& options) {
  return ValidationText{graph, run, validation, options}.render();
}

} // namespace ppsim::viz
