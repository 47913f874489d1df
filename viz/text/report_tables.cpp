// Tables of the report of one run; text.cpp shows their form.

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "report_parts.hpp"
#include "text_blocks.hpp"

namespace ppsim::viz {
namespace {

/// Widths of the columns; the causes get the remaining width.
struct StageColumns {
  std::size_t bar;
  std::size_t causes;
  bool bytes;
};

/// Parts that are not broken, in lines: a first one of `width`, which may be empty, then others of `further_width`. A
/// part that is longer has its own line.
std::vector<std::string> filled_lines(const std::vector<std::string>& parts, std::size_t width,
                                      std::size_t further_width) {
  std::vector<std::string> lines{""};
  for (const std::string& part : parts)
    if (std::string& line = lines.back(); line.empty())
      line = part;
    else if (line.size() + 1 + part.size() <= (lines.size() == 1 ? width : further_width))
      line += " " + part;
    else
      lines.push_back(part);
  return lines;
}

/// The causes of a stage's idle time, largest first.
std::vector<std::string> idle_causes(const StageReport& stage) {
  std::vector<std::size_t> labels;
  for (std::size_t label = first_idle_label; label < label_count; ++label)
    if (stage.time[label] > Duration{0}) labels.push_back(label);
  std::ranges::stable_sort(labels, std::ranges::greater{}, [&](std::size_t label) { return stage.time[label]; });
  std::vector<std::string> causes;
  causes.reserve(labels.size());
  for (const std::size_t label : labels)
    causes.push_back(fmt::format("{} {}{}", to_string(label_at(label)), format_duration(stage.time[label]),
                                 label == labels.back() ? "" : ","));
  return causes;
}

std::string stage_row(const RunReport& report, std::size_t number, const StageColumns& columns, std::size_t width) {
  const StageReport& stage = report.stages[number];
  const double busy = fraction(stage.busy, report.makespan);
  const auto filled = static_cast<std::size_t>(std::lround(busy * static_cast<double>(columns.bar)));
  std::string bar;
  for (std::size_t i = 0; i < columns.bar; ++i) bar += i < filled ? "█" : "░";
  const std::size_t indent = columns.bar + 18; // further causes are below the columns after them
  const std::vector<std::string> causes = filled_lines(idle_causes(stage), columns.causes, width - indent);
  std::string out = fmt::format("  {:>5}  {} {:>6}  {:<{}} {:>5}  ", number, bar, fmt::format("{:.1f}%", 100 * busy),
                                causes.front(), columns.causes, stage.peak_live_activations);
  if (columns.bytes) out += fmt::format("{:<11}", format_bytes(stage.peak_bytes()));
  out += fmt::format("{}+{}+{}\n", stage.warmup_forwards, stage.steady_pairs, stage.cooldown_backwards);
  for (const std::string& line : causes | std::views::drop(1)) out += fmt::format("{:{}}{}\n", "", indent, line);
  return out;
}

/// The sum of the accounts: every label, the sum, and the expected value.
std::string total(const RunReport& report, std::size_t width) {
  const auto time = report.time_by_label();
  std::vector<std::string> parts;
  Duration sum{0};
  for (std::size_t label = 0; label < label_count; ++label) {
    sum += time[label];
    if (time[label] > Duration{0})
      parts.push_back(
          fmt::format("{}{} {}", parts.empty() ? "" : "+ ", to_string(label_at(label)), format_duration(time[label])));
  }
  parts.push_back(
      fmt::format("= {} = {} x {}", format_duration(sum), report.stages.size(), format_duration(report.makespan)));
  const std::size_t room = width - 9;
  return fmt::format("  {:>5}  {}\n", "total", joined(filled_lines(parts, room, room), "\n         "));
}

std::string changed_words(const SensitivityFigure& figure) {
  switch (figure.change) {
  case Change::stage:
    return fmt::format("stage {} 1 % faster", index(figure.stage));
  case Change::link:
    return fmt::format("link {}-{} twice as fast", index(figure.stage), index(figure.other));
  case Change::microbatches:
  case Change::chunks:
    break;
  }
  return as_flags(figure.fields);
}

/// "1.25 %", with a sign for losses, and never "-0.00 %".
std::string gain_words(double gain) {
  return fmt::format("{:.2f} %", std::round(1e4 * gain) / 100 + 0.0);
}

/// Stages whose jitter matters most, the largest gains first.
std::string still_table(const std::vector<StillStage>& stages, const StepSpread& spread) {
  constexpr std::size_t shown = 4;
  std::string out = fmt::format("\n  {:<38}{:>11}   {}\n", "sensitivity of p95", "p95", "saved");
  const std::size_t rows = stages.size() <= shown + 1 ? stages.size() : shown; // one more takes no more room
  for (std::size_t i = 0; i < rows; ++i)
    out += fmt::format("    {:<36}{:>11}   {}\n", fmt::format("stage {} without jitter", index(stages[i].stage)),
                       format_duration(stages[i].p95), gain_words(stages[i].gain));
  if (rows < stages.size())
    out += fmt::format("    {:<36}{:>11}   {} to {}\n", fmt::format("{} more stages", stages.size() - rows), "",
                       gain_words(stages.back().gain), gain_words(stages[rows].gain));
  return out + fmt::format("    {:<36}{:>11}   {}\n", "by chance, up to about", "",
                           gain_words(fraction(p95_error(spread), spread.p95)));
}

} // namespace

std::string stage_table(const RunReport& report, std::size_t width) {
  const bool bytes =
      std::ranges::any_of(report.stages, [](const StageReport& stage) { return stage.peak_bytes() > Bytes{}; });
  const std::size_t bar = width >= 100 ? 16 : 5;
  const std::size_t others = 40 + bar + (bytes ? 11 : 0); // stage, share, live, phases and the gaps
  const StageColumns columns{bar, std::min<std::size_t>(62, std::max(width, others + 24) - others), bytes};
  std::string out = fmt::format("  {:>5}  {:<{}}  {:<{}} {:>5}  {}{}\n", "stage", "busy", bar + 7, "idle by cause",
                                columns.causes, "live", bytes ? fmt::format("{:<11}", "memory") : "", "phases");
  const std::vector<std::optional<std::size_t>> rows = shown_rows(report.stages.size());
  for (const std::optional<std::size_t> stage : rows)
    out += stage ? stage_row(report, *stage, columns, width)
                 : fmt::format("  {:>5}  ({} stages between; --json lists all)\n", "...",
                               report.stages.size() - (rows.size() - 1));
  out += wrapped_lines("         phases: warm-up forwards + forward-backward pairs + cool-down backwards", width, 11);
  return out + total(report, width);
}

std::string sensitivity_table(const RunReport& report, std::size_t width) {
  const Sensitivity& sensitivity = *report.sensitivity;
  constexpr std::size_t shown = 6;
  std::string out = fmt::format("\n  {:<38}{:>11}   {}\n", "what would help", "step time", "time saved per microbatch");
  const auto add_row = [&](std::string_view change, std::string_view time, std::string_view gain) {
    out += fmt::format("    {:<36}{:>11}   {}\n", change, time, gain);
  };
  const auto add_figure = [&](const SensitivityFigure& figure) {
    add_row(changed_words(figure), format_duration(figure.step_time), gain_words(figure.gain));
  };
  std::vector<const SensitivityFigure*> others;
  std::size_t rows = 0;
  for (const SensitivityFigure& figure : sensitivity.figures) {
    const bool one_of_many = figure.change == Change::stage || figure.change == Change::link;
    if (rows++ < shown || !one_of_many)
      add_figure(figure);
    else
      others.push_back(&figure);
  }
  if (others.size() == 1) add_figure(*others.front());
  if (others.size() > 1) {
    const std::string most = gain_words(others.front()->gain);
    const std::string least = gain_words(others.back()->gain);
    add_row(fmt::format("{} more stages and links", others.size()), "",
            most == least ? most : fmt::format("{} to {}", least, most));
  }
  for (const RefusedChange& refused : sensitivity.refused) {
    const std::string_view what = refused.change == Change::chunks ? "more chunks per stage" : "more microbatches";
    out += wrapped_lines(fmt::format("    {}: {}", what, as_flags(refused.reason)), width, 6);
  }
  if (!sensitivity.still.empty()) out += still_table(sensitivity.still, *report.spread);
  return out;
}

} // namespace ppsim::viz
