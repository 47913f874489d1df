// Two timelines of one order on one time axis: of each stage the predicted row, and right below it the measured one.
//
//   1f1b: predicted and measured                           (title, then the verdict)
//   0 predicted [0][1][2][3]////////[ 0 ][4][ 1 ][5]...     :
//     measured  [0][1][2 ][3]////////[ 0 ][4][ 1 ][5]...    :|
//   1 predicted ///[0][1][2]=====[ 0 ][3][ 1 ][4]...        :|  (lines where each of them ends)
//     measured  ////[0][1][2]=====[ 0 ][3][ 1 ][4]...       :|
//     |        |        |        |                          (round ticks)
//     1 0F2 on stage 0 took 0.2 ms longer than the 1 ms predicted   (marked by its number)
//
// Both rows are drawn by the same code as a chart of their own; where they stand is decided here.

#include "ppsim/base/words.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/viz/validation.hpp"

#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "words/validation_words.hpp"

namespace ppsim::viz {
namespace {

// Bounds that keep the document below 3 MB and no longer than can be looked at.
constexpr std::size_t most_cells_of_both = 16'384;
constexpr std::size_t most_tooltips_of_both = 4'096;
constexpr std::size_t most_columns_of_a_chart = 16'000;
constexpr std::int64_t height_of_all_stages = 960; // pixels
constexpr std::int64_t least_row_pitch = 14;
constexpr std::int64_t most_row_pitch = 60;
constexpr std::int64_t most_rows_as_cells = 128;
constexpr std::size_t most_rows_as_shares = 64;

constexpr Px row_word_size = px(9);
constexpr Px room_for_row_words = px(54);
constexpr Px between_rows = px(1);
constexpr std::size_t most_notes = 5;

/// Both timelines, what stands in a row of each, and where.
class ValidationChart {
public:
  ValidationChart(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run,
                  const Validation& validation)
      : graph_{graph}, prediction_{prediction}, run_{run}, validation_{validation},
        measured_{attributed(graph, run.steps[validation.step_used])}, predicted_report_{run_report(graph, prediction)},
        measured_report_{run_report(graph, measured_)}, frame_{frame()},
        upper_{graph, prediction_, predicted_report_, frame_}, lower_{graph, measured_, measured_report_, frame_} {}

  std::string render() {
    place_rows();
    const Part head = draw_head(headline(), lower_.width);
    upper_.plot.y = head.bottom + px(6);
    lower_.plot.y = upper_.plot.y + upper_.bar + between_rows;
    LegendItems drawn;
    drawn.two_rows = true;
    const std::string body = draw_body(drawn);
    const Part notes = draw_deviation_notes(upper_.plot.bottom() + axis_height);
    const Part legend = draw_legend(lower_, drawn, notes.bottom);
    return document(graph_.headline() + ", predicted and measured", lower_.width, legend.bottom,
                    hatch_definitions(drawn.labels) + head.elements + body + notes.elements + legend.elements);
  }

private:
  static Timeline attributed(const TaskGraph& graph, Timeline timeline) {
    attribute(graph, timeline);
    return timeline;
  }

  [[nodiscard]] ChartFrame frame() const {
    ChartFrame frame;
    const std::size_t tasks = graph_.size();
    const std::size_t stages = graph_.schedule().shape().stages;
    frame.axis = std::max(predicted_report_.makespan, measured_report_.makespan);
    for (const RunReport* report : {&predicted_report_, &measured_report_})
      frame.plot_width = std::max(frame.plot_width, wanted_plot_width(*report, tasks, frame.axis));
    const bool wide = mean_cell_width(measured_report_, tasks, frame.axis, frame.plot_width) >= least_mean_cell;
    if (!wide || 2 * tasks > most_cells_of_both || static_cast<std::int64_t>(stages) > most_rows_as_cells) {
      frame.detail = Detail::shares;
      frame.share_rows(stages, most_rows_as_shares);
    }
    const auto rows = static_cast<std::int64_t>(frame.rows_of(stages));
    frame.pitch = px(std::clamp(height_of_all_stages / rows, least_row_pitch, most_row_pitch));
    frame.most_columns = most_columns_of_a_chart;
    frame.numbers = frame.detail == Detail::cells;
    frame.tooltips = frame.detail == Detail::cells && 2 * tasks <= most_tooltips_of_both;
    frame.compact = !frame.tooltips;
    return frame;
  }

  /// Shares a stage's height among its two rows and the gap below them.
  void place_rows() {
    const Px gap = std::clamp(frame_.pitch / 5, px(3), px(10));
    const Px both = frame_.pitch - gap;
    upper_.bar = (both - between_rows) * 9 / 20;
    lower_.bar = both - between_rows - upper_.bar;
    for (Chart* chart : {&upper_, &lower_}) {
      chart->plot.height = frame_.pitch * static_cast<std::int64_t>(chart->rows) - gap;
      if (!has_row_words()) continue;
      chart->plot.x += room_for_row_words;
      chart->width += room_for_row_words;
    }
  }

  [[nodiscard]] bool has_row_words() const { return upper_.bar >= row_word_size + px(1); }

  [[nodiscard]] Headline headline() const {
    const Shape& shape = graph_.schedule().shape();
    const Scenario& scenario = graph_.scenario();
    Headline head;
    head.title = (scenario.title.empty() ? graph_.headline() : scenario.title) + ": predicted and measured";
    if (!scenario.title.empty()) head.essentials.push_back(clean_text(graph_.schedule().name()));
    head.essentials.push_back("p = " + counted(shape.stages, "stage"));
    head.essentials.push_back("m = " + counted(shape.microbatches, "microbatch", "es"));
    if (const std::size_t held = HeldChunks{graph_.schedule()}.most(); held > 1)
      head.essentials.push_back(counted(held, "chunk") + " per stage");
    head.essentials.push_back(fmt::format("bubble ratio: {:.4f} predicted, {:.4f} measured",
                                          validation_.bubble_predicted, validation_.bubble_measured));
    for (std::string& line :
         wrap_text(clean_text(verdict(run_, validation_)), essentials_size, lower_.width - margin * 2, 3))
      head.essentials.push_back(std::move(line));
    head.measured = describe(run_);
    return head;
  }

  [[nodiscard]] std::string draw_body(LegendItems& drawn) const {
    const Chart both = stage_chart();
    std::string out;
    out += draw_group(R"(class="predicted" opacity="0.6")", draw_rows(upper_, "", drawn));
    out += draw_group(R"(class="measured")", draw_rows(lower_, "", drawn));
    Chart labels = both;
    if (has_row_words()) {
      labels.plot.x = labels.plot.x - room_for_row_words;
      out += draw_row_words();
    }
    out += draw_stage_labels(labels);
    out += draw_time_axis(both);
    const Px top = both.plot.y - px(6);
    const Px bottom = both.plot.bottom() + px(4);
    out += end_line(EndLine::predicted, both.x_at(SimTime{predicted_report_.makespan}), top, bottom);
    out += end_line(EndLine::measured, both.x_at(SimTime{measured_report_.makespan}), top, bottom);
    return draw_grid(both) + out + draw_marks(drawn);
  }

  /// A chart whose rows are as high as both together, for what stands around them.
  [[nodiscard]] Chart stage_chart() const {
    Chart both = lower_;
    both.plot.y = upper_.plot.y;
    both.bar = upper_.bar + between_rows + lower_.bar;
    return both;
  }

  [[nodiscard]] std::string draw_row_words() const {
    std::string words;
    for (std::size_t row = 0; row < upper_.rows; ++row)
      for (const auto& [chart, word] : {std::pair{&upper_, "predicted"}, std::pair{&lower_, "measured"}})
        words += draw_text({chart->plot.x - px(6), base_line(chart->bar_box(row, {}).middle_y(), row_word_size)}, word);
    return draw_group(
        fmt::format(R"(class="row-words" font-size="{}" fill="#595959" text-anchor="end")", row_word_size), words);
  }

  /// The wait before a task on its stage.
  [[nodiscard]] Span wait_before(TaskId task) const {
    const std::size_t id = index(task);
    const bool is_first = id == index(graph_.schedule().first_task(graph_.schedule().stage_of(task)));
    return {is_first ? SimTime{} : measured_.tasks[id - 1].end, measured_.tasks[id].start};
  }

  [[nodiscard]] std::string tooltip(const Deviation& deviation) const {
    return task_and_stage(graph_, deviation.task) + " " + deviation_words(graph_, deviation);
  }

  [[nodiscard]] std::string draw_marks(LegendItems& drawn) const {
    if (lower_.detail == Detail::shares) return {};
    std::string marks;
    std::string numbers;
    for (std::size_t i = 0; i < validation_.deviations.size(); ++i) {
      const Deviation& deviation = validation_.deviations[i];
      const StageId stage = graph_.schedule().stage_of(deviation.task);
      const bool slow = deviation.because == Lateness::slow;
      (slow ? drawn.slow_tasks : drawn.late_tasks) = true;
      const Box box = slow ? lower_.cell_box(deviation.task, stage)
                           : lower_.bar_box(lower_.row_of(stage), wait_before(deviation.task));
      marks += deviation_mark(deviation.because, box, tooltip(deviation));
      if (i < most_notes && lower_.bar >= px(12)) add_number(numbers, i + 1, {box.middle_x(), box.bottom() + px(3)});
    }
    return draw_group(R"(class="deviations")", marks + numbers);
  }

  static void add_number(std::string& out, std::size_t number, Point at) {
    add(out, R"(<circle cx="{}" cy="{}" r="5.5" fill="{}" stroke="#ffffff" stroke-width="0.8" pointer-events="none"/>)",
        at.x, at.y, ppsim::viz::to_string(mark_stroke));
    out += draw_text({at.x, base_line(at.y, px(8))}, std::to_string(number),
                     R"(font-size="8" font-weight="bold" text-anchor="middle" fill="#ffffff" pointer-events="none")");
  }

  /// The largest deviations in words.
  [[nodiscard]] Part draw_deviation_notes(Px top) const {
    Part all{{}, top - px(8)};
    for (std::size_t i = 0; i < std::min(validation_.deviations.size(), most_notes); ++i) {
      const std::string note = fmt::format("{}: {}", i + 1, tooltip(validation_.deviations[i]));
      const Part one = draw_notes({note}, lower_.plot.x, lower_.width - margin, all.bottom);
      all = {all.elements + one.elements, one.bottom};
    }
    return {all.elements, all.bottom + px(14)};
  }

  const TaskGraph& graph_;
  const Timeline& prediction_;
  const MeasuredRun& run_;
  const Validation& validation_;
  Timeline measured_;
  RunReport predicted_report_;
  RunReport measured_report_;
  ChartFrame frame_;
  Chart upper_; ///< the prediction
  Chart lower_; ///< the run
};

} // namespace

std::string end_line(EndLine kind, Px x, Px top, Px bottom) {
  const bool predicted = kind == EndLine::predicted;
  const std::string look = fmt::format(
      R"(class="end" fill="none" stroke="{}" stroke-width="1.4"{} pointer-events="none")",
      predicted ? "#4d4d4d" : ppsim::viz::to_string(mark_stroke), predicted ? R"( stroke-dasharray="4 3")" : "");
  return draw_path(look, fmt::format("M{} {}V{}", x, top, bottom));
}

std::string deviation_mark(Lateness because, const Box& box, std::string_view tooltip) {
  const std::string title = tooltip.empty() ? "" : fmt::format("<title>{}</title>", escaped(tooltip));
  return fmt::format(
      "<rect class=\"deviation\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\" "
      "stroke-width=\"1.8\"{}>{}</rect>\n",
      box.x, box.y, box.width, box.height, ppsim::viz::to_string(mark_stroke),
      because == Lateness::waited ? " stroke-dasharray=\"3 2\"" : "", title);
}

std::string svg_validation(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run,
                           const Validation& validation) {
  return ValidationChart{graph, prediction, run, validation}.render();
}

} // namespace ppsim::viz
