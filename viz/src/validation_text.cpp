// A validation as text. How it reads:
//
//   valid: the step time is predicted 1.2 % too short (33 ms; the run took 33.4 ms), within 5 %
//   1f1b: 4 stages, 8 microbatches
//   measured: threads; mlp: 256 tokens, width 512, 1 layer per chunk; buffers are handed over; ...
//
//     steps       5, of 33.2 to 34.1 ms; the median is compared
//     bubble      27.3 % predicted, 28.1 % measured
//     starts      95 % of the tasks began within 0.8 % of the step of their prediction
//     results     equal bit by bit to those of one task at a time
//     memory      as predicted on every stage, at most 12 MiB
//
//     stage   busy      was    error  idle      was  ...
//         0  24 ms  24.3 ms  -1.23 %  9 ms  9.1 ms
//   ...
//   largest deviations
//     1F3 on stage 1  took 1.2 ms longer than the 3 ms predicted

#include "ppsim/viz/validation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comparison_words.hpp"
#include "tables.hpp"
#include "validation_words.hpp"

namespace ppsim::viz {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t answer_indent = 12;
constexpr std::size_t least_width = 40;

class ValidationText {
public:
  ValidationText(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation,
                 const TextOptions& options)
      : graph_{graph}, run_{run}, validation_{validation}, colour_{options.colour},
        width_{std::max(options.width, least_width)} {}

  std::string render() {
    head();
    steps();
    say("bubble", fmt::format("{} predicted, {} measured", percent(validation_.bubble_predicted),
                              percent(validation_.bubble_measured)));
    say("starts", fmt::format("95 % of the tasks began within {} of the step of their prediction",
                              percent(validation_.start_error_p95)));
    results();
    memory();
    trust();
    table(stage_columns());
    put("  ", "was: measured; error: (predicted - measured) / measured");
    out_ += '\n';
    table(pass_columns());
    deviations();
    alone();
    return out_;
  }

private:
  /// `begin`, then `text`, whose further lines stand below its first.
  void put(const std::string& begin, std::string_view text) {
    out_ += begin;
    for (std::string_view rest = text_lines(text, begin.size()); !rest.empty();) {
      const std::size_t end = rest.find('\n') + 1;
      if (rest.size() != text_lines_.size()) out_ += std::string(begin.size(), ' ');
      out_ += rest.substr(0, end);
      rest.remove_prefix(end);
    }
  }
  std::string_view text_lines(std::string_view text, std::size_t indent) {
    return text_lines_ = wrapped_lines(text, width_ - std::min(indent, width_ - 1), 0);
  }

  /// One line of the answer.
  void say(std::string_view what, std::string_view text) { put(fmt::format("  {:<{}}", what, answer_indent), text); }

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
      out_ += wrapped_lines("predicted: costs from " + source, width_, 10);
    if (run_.facts.timed)
      out_ += wrapped_lines("tasks were made to last as predicted: this says nothing about real compute", width_, 0);
    out_ += '\n';
  }

  void steps() {
    const auto [least, most] = std::ranges::minmax(validation_.steps);
    if (validation_.steps.size() == 1) return say("steps", "1");
    say("steps", fmt::format("{}, of {} to {}; the median, step {}, is compared", validation_.steps.size(),
                             format_duration(least), format_duration(most), validation_.step_used));
  }

  void results() {
    if (!run_.proof) return say("results", "not compared with those of one task at a time");
    const Proof& proof = *run_.proof;
    std::string text;
    if (proof.bit_equal)
      text = "equal bit by bit to those of one task at a time";
    else
      text = fmt::format("{}: gradients differ by {:.2g}, losses by {:.2g} from those of one task at a time, {}",
                         proof.holds() ? "right" : "wrong", proof.gradient_error, proof.loss_error,
                         proof.same_order ? "and have to be equal"
                                          : fmt::format("and {:.2g} is tolerated", proof.tolerance));
    if (proof.losses.size() > 1)
      text += fmt::format("; loss {:.4g} to {:.4g} over {} steps", proof.losses.front(), proof.losses.back(),
                          proof.losses.size());
    say("results", text);
  }

  void memory() {
    if (!validation_.knows_memory) return say("memory", "not compared: sizes were not predicted, or not measured");
    Bytes most;
    for (const StageError& stage : validation_.stages) most = std::max(most, stage.measured_peak);
    if (validation_.same_peaks()) return say("memory", "as predicted on every stage, at most " + format_bytes(most));
    say("memory", "not as predicted, see below");
  }

  void trust() {
    if (const auto share = core_share(run_); share && !run_.facts.timed) // timed tasks sleep
      say("cores",
          fmt::format("while computing, every stage had at least {:.0f} % of one{}", 100 * std::min(*share, 1.0),
                      validation_.contended ? fmt::format(": too little, {:.0f} % is needed", 100 * least_core_share)
                                            : ""));
    if (run_.clock_error)
      say("clocks", fmt::format("agree within {}{}", format_duration(*run_.clock_error),
                                validation_.unaligned ? ", but transfers end before they begin" : ""));
    out_ += '\n';
  }

  void table(const std::vector<TableColumn>& columns) {
    for (const std::string& line : table_lines(columns, gap)) out_ += "  " + line + "\n";
  }

  [[nodiscard]] bool fits(const std::vector<TableColumn>& columns) const {
    return columns_that_fit(columns, width_ - 2, gap).size() == columns.size();
  }

  /// Adds three columns: predicted, measured, and how far apart.
  template <class Figure>
  void add_compared(std::vector<TableColumn>& columns, std::string_view name, Figure figure) const {
    TableColumn predicted{std::string{name}, {}, 1};
    TableColumn measured{"was", {}, 1};
    TableColumn error{"error", {}, 1};
    for_each_row(
        [&](std::size_t stage) {
          const Compared& compared = figure(validation_.stages[stage]);
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
      put(fmt::format("  {:<{}}", task_and_stage(graph_, deviation.task), width + gap),
          deviation_words(graph_, deviation));
  }

  void alone() {
    if (!validation_.alone) return;
    out_ += '\n';
    put("  ", fmt::format("With times measured one stage at a time, the step is predicted to take {} ({}).",
                          format_duration(validation_.alone->predicted), signed_percent(validation_.alone->error())));
  }

  static constexpr std::size_t most_rows = 16;

  const TaskGraph& graph_;
  const MeasuredRun& run_;
  const Validation& validation_;
  bool colour_;
  std::size_t width_;
  std::string text_lines_; ///< those that put() is at
  std::string out_;
};

} // namespace

std::string validation_text(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation,
                            const TextOptions& options) {
  return ValidationText{graph, run, validation, options}.render();
}

} // namespace ppsim::viz
