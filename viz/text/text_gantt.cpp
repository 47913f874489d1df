#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "report_parts.hpp"

namespace ppsim::viz {
namespace {

constexpr std::size_t most_stages = 16;
constexpr std::size_t margin = 9; // "  " + stage number + " |"

/// Background colours that differ in lightness, not only in hue; by Pass.
constexpr std::array<std::string_view, 4> pass_colours{"\033[48;5;117m\033[30m", "\033[48;5;208m\033[30m",
                                                       "\033[48;5;222m\033[30m", "\033[48;5;65m\033[97m"};
constexpr std::string_view optimizer_colour = "\033[48;5;240m\033[97m";

/// Converts time to columns, and draws one stage's row.
class Row {
public:
  Row(SimTime end, std::size_t columns) : end_{end.time_since_epoch().count()}, text_(columns, '.'), owner_(columns) {}

  /// Part of a task's span with the mark `mark`.
  void add(const Task& task, char mark, const Span& span) {
    add(fmt::format("{}{}", mark, index(task.microbatch)), pass_colours[static_cast<std::size_t>(task.pass)], span);
  }
  void add(std::string cell, std::string_view colour, const Span& span) {
    const std::size_t begin = column(span.start);
    const std::size_t end = column(span.end);
    if (end == begin) return;
    cells_.push_back(colour);
    if (cell.size() > end - begin) cell.resize(1);
    cell.resize(end - begin, '-');
    text_.replace(begin, cell.size(), cell);
    std::fill(owner_.begin() + static_cast<std::ptrdiff_t>(begin), owner_.begin() + static_cast<std::ptrdiff_t>(end),
              cells_.size());
  }

  [[nodiscard]] std::string render(bool colour) const {
    if (!colour) return text_;
    std::string out;
    std::size_t current = 0;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (owner_[i] != current) {
        out += "\033[0m";
        if (owner_[i] != 0) out += cells_[owner_[i] - 1];
        current = owner_[i];
      }
      out += text_[i] == '-' ? ' ' : text_[i];
    }
    return out + "\033[0m";
  }

private:
  [[nodiscard]] std::size_t column(SimTime at) const {
    const auto columns = static_cast<std::int64_t>(text_.size());
    return static_cast<std::size_t>(std::min(columns, scale_rounded(at.time_since_epoch().count(), columns, end_)));
  }

  Duration::rep end_;
  std::string text_;
  std::vector<std::size_t> owner_;      // by column: number of its cell, from 1; 0: idle
  std::vector<std::string_view> cells_; // colour of each cell
};

/// Both halves of an overlapped pair have the same span; each occupies half of it.
Span visible_part(const Timeline& timeline, const Task& task, std::size_t id) {
  const Span span = timeline.tasks[id];
  const SimTime middle = span.start + span.length() / 2;
  if (task.pairing == Pairing::first && timeline.tasks[id + 1] == span) return {span.start, middle};
  if (task.pairing == Pairing::second && timeline.tasks[id - 1] == span) return {middle, span.end};
  return span;
}

/// Length of the shortest task (or half of a pair) with nonzero time.
Duration shortest_part(const TaskGraph& graph, const Timeline& timeline) {
  Duration shortest = Duration::max() / static_cast<Duration::rep>(1024);
  for (std::size_t id = 0; id < graph.size(); ++id) {
    const Duration length = visible_part(timeline, graph.schedule().tasks()[id], id).length();
    if (length > Duration{0}) shortest = std::min(shortest, length);
  }
  return shortest;
}

/// Column length that divides the greatest common divisor of all task lengths, if the width allows it; otherwise uses
/// the full width.
std::size_t column_count(const Timeline& timeline, SimTime end, std::size_t available) {
  Duration::rep unit = end.time_since_epoch().count();
  for (const Span& span : timeline.tasks) unit = std::gcd(unit, span.length().count());
  for (const OptimizerRun& step : timeline.optimizer)
    for (const SimTime at : {step.span.start, step.span.end}) unit = std::gcd(unit, at.time_since_epoch().count());
  const Duration::rep units = end.time_since_epoch().count() / unit;
  if (units > static_cast<Duration::rep>(available)) return available;
  return static_cast<std::size_t>(units) * std::min<std::size_t>(available / static_cast<std::size_t>(units), 4);
}

} // namespace

std::string text_gantt(const TaskGraph& graph, const Timeline& timeline, SimTime end, const TextOptions& options) {
  const std::size_t stages = graph.scenario().shape.stages;
  if (end == SimTime{}) return {};
  const std::size_t columns = stages > most_stages ? 0 : column_count(timeline, end, options.width - margin);
  // Without its own column, a task would be missing.
  if (columns == 0 || shortest_part(graph, timeline) * static_cast<Duration::rep>(columns) < end.time_since_epoch())
    return fmt::format("  {:>5}  too much for a chart of {} columns: use --svg FILE\n", "", options.width);
  std::string out;
  bool recomputes = false;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    Row row{end, columns};
    const std::size_t first = index(graph.schedule().first_task(make_id<StageId>(stage)));
    const auto tasks = graph.schedule().stage(make_id<StageId>(stage));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const Span part = visible_part(timeline, tasks[i], first + i);
      const Span again = recompute_span(graph, timeline, make_id<TaskId>(first + i));
      recomputes = recomputes || again.length() > Duration{0};
      row.add(tasks[i], 'R', again);
      row.add(tasks[i], letter(tasks[i].pass), {std::max(part.start, again.end), part.end});
    }
    if (!timeline.optimizer.empty()) row.add("O", optimizer_colour, timeline.optimizer[stage].span);
    out += fmt::format("  {:>5} |{}\n", stage, row.render(options.colour));
  }
  const bool steps = std::ranges::any_of(timeline.optimizer,
                                         [](const OptimizerRun& step) { return step.span.length() > Duration{0}; });
  return out + fmt::format("  {:>5} |one column is {}; letter: pass{}, number: microbatch, {}dots: idle\n", "",
                           format_duration(end.time_since_epoch() / static_cast<Duration::rep>(columns)),
                           recomputes ? " (R: recomputation)" : "", steps ? "O: optimizer, " : "");
}

} // namespace ppsim::viz
