#include "ppsim/base/words.hpp"
#include "ppsim/viz/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text_blocks.hpp"
#include "variable_work_text.hpp"
#include "words/explanation_words.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

/// "12.3 %", "0.45 %", "-1.23 %"
std::string share_words(double share) {
  return fmt::format("{}{}", share < 0 ? "-" : "", percent(std::abs(share)));
}

/// Smaller shares are not shown.
constexpr double least_shown = 0.0005;

std::string cell_words(double share) {
  return share < least_shown ? "-" : percent(share);
}

class ExplanationText {
public:
  ExplanationText(std::span<const MeasuredRun> replicas, const Explanation& explanation, const TextOptions& options)
      : replicas_{replicas}, explanation_{explanation}, colour_{options.colour},
        width_{std::max(options.width, least_text_width)} {}

  std::string render() {
    head();
    steps();
    say("bubble", bubble_words());
    if (explanation_.schedule_bubble > 0)
      say("order", fmt::format("leaves {} idle by itself, with equal stages and free transfers",
                               percent(explanation_.schedule_bubble)));
    trust();
    held_out();
    findings();
    parts();
    if (explanation_.variable) out_ += '\n' + variable_work_block(*explanation_.variable, replicas_.size(), width_);
    stages();
    replicas();
    return out_;
  }

private:
  void say(std::string_view what, std::string_view text) { out_ += answer_lines(what, text, width_); }

  void table(const std::vector<TableColumn>& columns) {
    out_ += '\n' + indented_table(columns_that_fit(columns, width_ - 2));
  }

  void head() {
    out_ += headline_lines(answer(), width_, "1", colour_);
    const Shape& shape = explanation_.shape;
    const std::string chunks = shape.vpp > 1 ? fmt::format(", {} chunks per stage", shape.vpp) : "";
    const std::string copies = replicas_.size() > 1 ? fmt::format(", {} replicas", replicas_.size()) : "";
    out_ += fmt::format("{}: {}, {}{}{}\n", replicas_.front().schedule.name(), counted(shape.stages, "stage"),
                        counted(shape.microbatches, "microbatch", "es"), chunks, copies);
    out_ += wrapped_lines("measured: " + describe(replicas_.front()), width_, 10) + "\n";
  }

  /// What takes most of a step beyond its work. All of the mean step, as the parts are, which add up to it.
  [[nodiscard]] std::string answer() const {
    std::string text =
        fmt::format("a step takes {}{}; {} of the devices' time is bubble", format_duration(explanation_.step.mean),
                    explanation_.steps > 1 ? " on average" : "", percent(explanation_.bubble));
    const StepPart* most = nullptr;
    for (const StepPart& part : explanation_.parts)
      if (part.reason != Reason::work && (most == nullptr || part.time > most->time)) most = &part;
    if (most != nullptr && most->time > Duration{0})
      text += fmt::format("; the largest part: {}, {} of a step", part_name(most->reason), format_duration(most->time));
    return text;
  }

  void steps() {
    const StepTimes& step = explanation_.step;
    if (explanation_.steps == 1) return say("steps", "1");
    std::string text = fmt::format("{}: median {}, mean {}, 5 % within {}, 95 % within {}", explanation_.steps,
                                   format_duration(step.median), format_duration(step.mean), format_duration(step.p5),
                                   format_duration(step.p95));
    if (explanation_.steps >= 4)
      text += fmt::format("; the last quarter is {} {} than the first", percent(std::abs(step.drift())),
                          step.drift() < 0 ? "shorter" : "longer");
    say("steps", text);
  }

  /// Of all devices' time, by cause, the largest first.
  [[nodiscard]] std::string bubble_words() const {
    const Duration all =
        static_cast<std::int64_t>(explanation_.replicas.size() * explanation_.shape.stages) * explanation_.step.mean;
    std::vector<std::pair<Duration, std::string>> causes{{explanation_.waits_for_replicas, "replicas"}};
    for (std::size_t label = first_idle_label; label < label_count; ++label)
      causes.emplace_back(explanation_.time[label], to_string(label_at(label)));
    std::ranges::stable_sort(causes, std::ranges::greater{}, &std::pair<Duration, std::string>::first);
    std::vector<std::string> words;
    for (const auto& [time, name] : causes)
      if (fraction(time, all) >= least_shown) words.push_back(fmt::format("{} {}", name, percent(fraction(time, all))));
    return percent(explanation_.bubble) + (words.empty() ? "" : ": " + joined(words, ", "));
  }

  /// Means over replicas, which all have as many steps.
  void held_out() {
    const std::vector<HeldOut>& all = explanation_.held_out;
    if (all.empty()) return;
    const auto mean = [&](double HeldOut::*member) {
      double sum = 0;
      for (const HeldOut& one : all) sum += one.*member;
      return percent(sum / static_cast<double>(all.size()));
    };
    const bool one_model =
        std::ranges::all_of(all, [&](const HeldOut& one) { return one.transfer == all[0].transfer; });
    say("predicted", fmt::format("from the means of the first {} of {} steps, the other steps are {} off (mean of "
                                 "absolute errors; transfers: {})",
                                 all[0].calibrated, explanation_.steps, mean(&HeldOut::mean_error),
                                 one_model ? to_string(all[0].transfer) : "as each replica sends"));
    say("", fmt::format(
                "with the means of each step itself {} (without drift between steps), with every task's own time {}",
                mean(&HeldOut::step_mean_error), mean(&HeldOut::own_error)));
  }

  void trust() {
    say("simulated",
        fmt::format("with every task's own time {} of the measured steps, with means per stage and pass {}",
                    signed_percent(explanation_.own_error), signed_percent(explanation_.model_error)));
    if (explanation_.clock_error)
      say("clocks",
          fmt::format(
              "aligned within {}{}", format_duration(*explanation_.clock_error),
              explanation_.unaligned
                  ? "; but a transfer ended before it started: NOT aligned, and waits may belong to other causes"
                  : ""));
    else if (explanation_.unaligned)
      say("clocks", "NOT aligned: a transfer ended before it started, or the difference of clocks has no bound; waits "
                    "may belong to other causes");
    if (explanation_.contended)
      say("cores", "CONTENDED: stages shared their cores with others, and the times are unreliable");
  }

  void findings() {
    out_ += '\n';
    if (explanation_.findings.empty()) {
      out_ +=
          wrapped_lines(fmt::format("nothing but the order, reductions and the optimizer costs more than {} of a step",
                                    percent(least_share)),
                        width_, 0);
      return;
    }
    const auto is_drift = [](const Finding& one) { return one.reason == Reason::drift; };
    const auto drift = std::ranges::find_if(explanation_.findings, is_drift);
    const bool has_drift = drift != explanation_.findings.end();
    if (explanation_.findings.size() > (has_drift ? 1U : 0U))
      out_ += wrapped_lines("what makes steps longer (each without the causes above it in the next table)", width_, 2);
    std::size_t number = 0;
    for (const Finding& one : explanation_.findings)
      if (!is_drift(one)) finding(fmt::format("  {}. {:>6}  ", ++number, percent(one.share)), one);
    if (!has_drift) return;
    if (number > 0) out_ += '\n';
    out_ +=
        wrapped_lines("what made them longer during the run (spread over several rows of the next table)", width_, 2);
    finding(fmt::format("     {:>6}  ", percent(drift->share)), *drift);
  }

  void finding(const std::string& begin, const Finding& one) {
    out_ += wrapped_lines(begin + finding_words(explanation_, one), width_, begin.size());
    const std::string indent(begin.size(), ' ');
    for (const std::string& line : evidence_words(explanation_, one))
      out_ += wrapped_lines(indent + line, width_, begin.size() + 2);
  }

  void parts() {
    std::vector<TableColumn> columns{{"of a step", {}, 0, true}, {"time", {}}, {"share", {}}};
    const auto row = [&](std::string_view name, Duration time) {
      columns[0].cells.emplace_back(name);
      columns[1].cells.push_back(
          fmt::format("{}{}", time < Duration{0} ? "-" : "", format_duration(std::chrono::abs(time))));
      columns[2].cells.push_back(share_words(fraction(time, explanation_.step.mean)));
    };
    for (const StepPart& part : explanation_.parts)
      if (part.reason == Reason::work || part.reason == Reason::schedule ||
          std::abs(fraction(part.time, explanation_.step.mean)) >= least_shown)
        row(part_name(part.reason), part.time);
    row("a step, mean", explanation_.step.mean);
    table(columns);
    if (std::ranges::any_of(columns[1].cells, [](std::string_view time) { return time.starts_with('-'); }))
      out_ += wrapped_lines("  below zero: makes steps shorter", width_, 2);
  }

  /// A column of one figure per stage or replica.
  template <class Row, class Cell>
  static TableColumn column(std::string_view header, int rank, const std::vector<Row>& rows, Cell cell) {
    return long_column(header, rank, rows.size(), "...", [&](std::size_t row) { return cell(rows[row]); });
  }
  /// The numbers of the stages or replicas.
  static TableColumn numbers(std::string_view header, std::size_t count) {
    return long_column(header, 0, count, "...", [](std::size_t row) { return std::to_string(row); });
  }

  [[nodiscard]] std::size_t slowest_replica() const {
    const auto slowest = std::ranges::max_element(explanation_.replicas, {}, &ReplicaExplanation::tasks);
    return static_cast<std::size_t>(slowest - explanation_.replicas.begin());
  }

  void stages() {
    const std::size_t replica = slowest_replica();
    const std::vector<StageExplanation>& rows = explanation_.replicas[replica].stages;
    std::vector<TableColumn> columns{numbers("stage", rows.size())};
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::input_grad, Pass::weight_grad})
      add_pass(columns, rows, pass);
    const auto add_share = [&](std::string_view name, int rank, auto time) {
      const auto share = [&](const StageExplanation& stage) { return fraction(time(stage), explanation_.step.mean); };
      if (std::ranges::any_of(
              rows, [&](double each) { return each >= least_shown; }, share))
        columns.push_back(
            column(name, rank, rows, [&](const StageExplanation& stage) { return cell_words(share(stage)); }));
    };
    add_share("busy", 0, [](const StageExplanation& stage) { return stage.busy; });
    for (std::size_t label = first_idle_label; label < label_count; ++label)
      add_share(to_string(label_at(label)), 2, [label](const StageExplanation& stage) { return stage.time[label]; });
    add_share("replicas", 1, [](const StageExplanation& stage) { return stage.waits_for_replicas; });
    table(columns);
    out_ += wrapped_lines(
        fmt::format("  {}: means over all steps, shares of a step",
                    replicas_.size() > 1 ? fmt::format("replica {}, the slowest", replica) : std::string{"all stages"}),
        width_, 2);
  }

  static void add_pass(std::vector<TableColumn>& columns, const std::vector<StageExplanation>& rows, Pass pass) {
    const auto times = [pass](const StageExplanation& stage) {
      const auto found = std::ranges::find(stage.passes, pass, &PassStatistics::pass);
      return found == stage.passes.end() ? std::nullopt : std::optional{*found};
    };
    if (std::ranges::none_of(
            rows, [](const auto& found) { return found.has_value(); }, times))
      return;
    columns.push_back(column(std::string(1, letter(pass)), 0, rows, [&](const StageExplanation& stage) {
      const auto found = times(stage);
      return found ? format_duration(found->mean) : "-";
    }));
    columns.push_back(column("+-", 3, rows, [&](const StageExplanation& stage) {
      const auto found = times(stage);
      return found && found->mean != Duration{0} ? percent(fraction(found->spread, found->mean)) : "-";
    }));
  }

  void replicas() {
    if (replicas_.size() == 1) return;
    const std::vector<ReplicaExplanation>& rows = explanation_.replicas;
    std::vector<TableColumn> columns{numbers("replica", rows.size())};
    const auto add = [&](std::string_view name, int rank, auto cell) {
      columns.push_back(column(name, rank, rows, cell));
    };
    add("tasks", 0, [](const ReplicaExplanation& each) { return format_duration(each.tasks); });
    add("simulated", 1, [](const ReplicaExplanation& each) { return format_duration(each.simulated); });
    add("step", 0, [](const ReplicaExplanation& each) { return format_duration(each.step.median); });
    add("bubble", 2, [](const ReplicaExplanation& each) { return percent(each.median_bubble); });
    add("waits", 0,
        [](const ReplicaExplanation& each) { return format_duration(each.stages.front().waits_for_replicas); });
    add("last in", 0, [](const ReplicaExplanation& each) { return counted(each.slowest_in, "step"); });
    table(columns);
    out_ += wrapped_lines(
        "  tasks: mean from first to last; step and bubble: of the median step; waits: for the tasks of other replicas",
        width_, 2);
  }

  std::span<const MeasuredRun> replicas_;
  const Explanation& explanation_;
  bool colour_;
  std::size_t width_;
  std::string out_;
};

} // namespace

std::string explanation_text(std::span<const MeasuredRun> replicas, const Explanation& explanation,
                             const TextOptions& options) {
  return ExplanationText{replicas, explanation, options}.render();
}

} // namespace ppsim::viz
