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
//     pass  tasks  median       was  is off by  95 % within
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

#include "text_blocks.hpp"
#include "variable_work_text.hpp"
#include "words/figures.hpp"
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
    say("starts", fmt::format("95 % of the tasks started within {} of the step from their prediction",
                              percent(validation_.start_error_p95)));
    out_ += unpredicted_line(validation_, width_);
    out_ += trust_lines(run_, validation_, width_) + '\n' + indented_table(stage_columns());
    put("  ", "was: measured; error: (predicted - measured) / measured");
    out_ += '\n' + indented_table(pass_columns());
    if (validation_.variable) out_ += '\n' + variable_work_block(*validation_.variable, 1, width_);
    deviations();
    otherwise();
    return out_;
  }

private:
  /// `begin`, then `text` with further lines indented below its first.
  void put(const std::string& begin, std::string_view text) {
    out_ += wrapped_lines(begin + std::string{text}, width_, begin.size());
  }

  /// One line of the answer.
  void say(std::string_view what, std::string_view text) { out_ += answer_lines(what, text, width_); }

  void head() {
    out_ += headline_lines(verdict(run_, validation_), width_, validation_.holds ? "1;32" : "1;31", colour_);
    const Shape& shape = graph_.schedule().shape();
    const std::size_t held = HeldChunks{graph_.schedule()}.most();
    out_ += fmt::format("{}: {}, {}{}\n", graph_.headline(), counted(shape.stages, "stage"),
                        counted(shape.microbatches, "microbatch", "es"),
                        held > 1 ? fmt::format(", {} chunks per stage", held) : "");
    out_ += wrapped_lines("measured: " + describe(run_), width_, 10);
    if (const std::string& source = graph_.scenario().source; !source.empty())
      out_ += wrapped_lines("costs: " + source, width_, 7);
    if (validation_.own_costs)
      out_ += wrapped_lines("its costs are the means of this run: this shows how well the model of the pipeline fits, "
                            "but not how well other runs are predicted",
                            width_, 0);
    if (run_.facts.timed)
      out_ += wrapped_lines("tasks took given durations: this says nothing about real compute", width_, 0);
    out_ += '\n';
  }

  void steps() {
    const auto [least, most] = std::ranges::minmax(validation_.steps);
    if (validation_.steps.size() == 1) return say("steps", "1");
    say("steps", fmt::format("{}, of {} to {}; the median, step {}, is compared", validation_.steps.size(),
                             format_duration(least), format_duration(most), validation_.step_used));
  }

  [[nodiscard]] bool fits(const std::vector<TableColumn>& columns) const {
    return columns_that_fit(columns, width_ - 2).size() == columns.size();
  }

  /// Adds three columns: predicted, measured, and their difference.
  void add_compared(std::vector<TableColumn>& columns, std::string_view name, ComparedTime StageError::*figure) const {
    const auto add = [&](std::string_view header, std::string (*words)(const ComparedTime&)) {
      columns.push_back(stage_column(header, [&](const StageError& stage) { return words(stage.*figure); }));
    };
    add(name, [](const ComparedTime& time) { return format_duration(time.predicted); });
    add("was", [](const ComparedTime& time) { return format_duration(time.measured); });
    add("error", [](const ComparedTime& time) { return signed_percent(time.error()); });
  }

  template <class Cell>
  [[nodiscard]] TableColumn stage_column(std::string_view header, Cell cell) const {
    const std::vector<StageError>& stages = validation_.stages;
    return long_column(header, 1, stages.size(), "", [&](std::size_t stage) { return cell(stages[stage]); });
  }

  /// All figures of the stages, or the most important ones for a narrow terminal.
  [[nodiscard]] std::vector<TableColumn> stage_columns() const {
    std::vector<TableColumn> columns = stage_columns(true, validation_.knows_memory);
    if (!fits(columns)) columns = stage_columns(false, validation_.knows_memory);
    if (!fits(columns)) columns = stage_columns(false, false);
    return columns;
  }

  [[nodiscard]] std::vector<TableColumn> stage_columns(bool with_idle, bool with_memory) const {
    std::vector<TableColumn> columns{long_column("stage", 0, validation_.stages.size(), "...",
                                                 [](std::size_t stage) { return std::to_string(stage); })};
    add_compared(columns, "busy", &StageError::busy);
    if (with_idle) add_compared(columns, "idle", &StageError::idle);
    add_compared(columns, "end", &StageError::end);
    if (!with_memory) return columns;
    columns.push_back(stage_column("peak", [](const StageError& stage) {
      return stage.same_peak() ? format_bytes(stage.predicted_peak) : format_closely(stage.predicted_peak);
    }));
    columns.push_back(stage_column("was", [](const StageError& stage) {
      return stage.same_peak() ? "equal" : format_closely(stage.measured_peak);
    }));
    return columns;
  }

  [[nodiscard]] std::vector<TableColumn> pass_columns() const {
    std::vector<TableColumn> columns{{"pass", {}, 0, true}, {"tasks", {}},     {"median", {}},
                                     {"was", {}},           {"is off by", {}}, {"95 % within", {}}};
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
      put(fmt::format("  {:<{}}  ", task_and_stage(graph_, deviation.task), width), deviation_words(graph_, deviation));
  }

  /// Predictions for other costs.
  void otherwise() {
    if (!validation_.alone && !validation_.own_times) return;
    out_ += '\n';
    const auto say_with = [this](std::string_view times, const ComparedTime& step, std::string_view so) {
      put("  ", fmt::format("With {}, the step is predicted to take {} ({}){}.", times, format_duration(step.predicted),
                            signed_percent(step.error()), so));
    };
    if (validation_.own_times)
      say_with("the task times of this step", *validation_.own_times,
               ": this part of the error does not come from task times");
    if (validation_.alone) say_with("times measured one stage at a time", *validation_.alone, "");
  }

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
