// A variation as text. How it reads, for `ppsim compare --stages 4 --mb 8 --vary comm=0..1ms`:
//
//   4 schedules over --comm from 0 ns to 1 ms: 4 stages, 8 microbatches, 100 points, changes found to within 100 ns
//
//     --comm            best
//     up to 125.8 us    zb-v
//     from 125.9 us on  dualpipe
//
//     step time, at  0 ns  250 us  500 us ...
//     1f1b           33 ms   35 ms   37 ms
//
//   where two change places:
//     1f1b is no slower than gpipe up to 340 us, and slower from 341 us on

#include "ppsim/base/words.hpp"
#include "ppsim/viz/variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text_blocks.hpp"
#include "words/variation_words.hpp"

namespace ppsim::viz {

namespace {

constexpr std::size_t table_points = 5;
constexpr std::size_t most_crossings = 8;

std::string headline(const Variation& variation) {
  const Axis& axis = variation.axis;
  std::vector<std::string> parts = shape_words(variation);
  const bool by_ratio = axis.logarithmic() && axis.values.empty();
  parts.push_back(counted(variation.points.size(), "point") + (by_ratio ? " spaced by a ratio" : ""));
  parts.push_back(axis.values.empty() ? "changes found to within " + axis.format(variation.precision)
                                      : "nothing tried between them");
  return fmt::format("{} over --{} from {} to {}: {}", counted(variation.lines.size(), "schedule"), axis.option,
                     axis.format(axis.from), axis.format(axis.to), joined(parts, ", "));
}

/// "up to 340 us", "from 341 us to 1 ms", "from 1 ms on"; both ends if there is only one interval.
std::string extent_of(const Variation& variation, std::size_t position) {
  const BestStretch& stretch = variation.best[position];
  const std::string from = variation.axis.format(stretch.from);
  const std::string to = variation.axis.format(stretch.to);
  const bool first = position == 0;
  const bool last = position + 1 == variation.best.size();
  if (first && !last) return "up to " + to;
  if (last && !first) return "from " + from + " on";
  return stretch.from == stretch.to ? "at " + from : fmt::format("from {} to {}", from, to);
}

/// Intervals of the best schedules.
std::vector<TableColumn> best_columns(const Variation& variation) {
  TableColumn where{"--" + variation.axis.option, {}, 0, true};
  TableColumn who{"best", {}, 0, true};
  for (std::size_t i = 0; i < variation.best.size(); ++i) {
    where.cells.push_back(extent_of(variation, i));
    who.cells.push_back(best_name(variation, variation.best[i]));
  }
  return {where, who};
}

/// Some of the points, both ends included.
std::vector<std::size_t> points_of_table(const Variation& variation) {
  std::vector<std::size_t> chosen;
  const std::size_t last = variation.points.size() - 1;
  for (std::size_t i = 0; i < table_points; ++i) {
    const std::size_t point = last * i / (table_points - 1);
    if (chosen.empty() || point > chosen.back()) chosen.push_back(point);
  }
  return chosen;
}

std::string cell_of(const Variation& variation, const std::optional<Sample>& sample) {
  if (!sample) return "-";
  const Duration time{std::llround(variation.shown_time(*sample))};
  return format_duration(time) + (sample->fits ? "" : " !");
}

/// Step times at some of the points, a row per schedule.
std::vector<TableColumn> time_columns(const Variation& variation) {
  const bool says_which = variation.figure != StepFigure::step_time || !variation.per_microbatch;
  std::vector<TableColumn> columns{left(
      column_of((says_which ? compared_name(variation) : "per microbatch") + ", at", 0, variation.lines,
                [](const VariationLine& line) { return line.name + (line.asynchronous ? " (asynchronous)" : ""); }))};
  if (variation.points.empty()) return columns;
  for (const std::size_t point : points_of_table(variation)) {
    const bool at_end = point == 0 || point + 1 == variation.points.size();
    columns.push_back(column_of(variation.axis.format(variation.points[point]), at_end ? 0 : 1, variation.lines,
                                [&](const VariationLine& line) { return cell_of(variation, line.samples[point]); }));
  }
  return columns;
}

std::vector<std::string> notes_of(const Variation& variation) {
  bool gaps = false;
  bool unfit = false;
  for (const VariationLine& line : variation.lines)
    for (const auto& sample : line.samples) {
      gaps = gaps || !sample;
      unfit = unfit || (sample && !sample->fits);
    }
  std::vector<std::string> notes;
  if (gaps) notes.emplace_back("-: does not apply there");
  if (unfit) notes.emplace_back("!: does not fit the memory limit there");
  return notes;
}

/// Crossings described in words: lines that are best somewhere come first.
std::vector<Crossing> selected_crossings(const Variation& variation) {
  std::vector<Crossing> selected = variation.crossings;
  const auto is_best = [&variation](std::size_t line) {
    return std::ranges::any_of(variation.best, [line](const BestStretch& stretch) { return stretch.line == line; });
  };
  std::ranges::stable_partition(
      selected, [&](const Crossing& crossing) { return is_best(crossing.first) || is_best(crossing.second); });
  if (selected.size() > most_crossings) selected.erase(selected.begin() + most_crossings, selected.end());
  std::ranges::stable_sort(selected, {}, &Crossing::from);
  return selected;
}

std::string words_of(const Variation& variation, const Crossing& crossing) {
  return fmt::format("{} is no slower than {} up to {}, and slower from {} on", variation.lines[crossing.first].name,
                     variation.lines[crossing.second].name, variation.axis.format(crossing.until),
                     variation.axis.format(crossing.from));
}

std::vector<std::string> crossing_lines(const Variation& variation) {
  std::vector<std::string> lines;
  for (const Crossing& crossing : selected_crossings(variation)) lines.push_back(words_of(variation, crossing));
  if (const std::size_t others = variation.crossings.size() - lines.size(); others > 0)
    lines.push_back(fmt::format("and {} more; --json has them all", others));
  return lines;
}

} // namespace

std::string variation_text(const Variation& variation, const TextOptions& options) {
  const std::size_t width = std::max(options.width, least_text_width);
  std::string out = in_colour(wrapped_lines(headline(variation), width, 2), "1", options.colour);
  if (!variation.title.empty()) out += variation.title + '\n';
  if (!variation.source.empty()) out += "costs: " + variation.source + '\n';
  if (variation.lines.empty()) return out + "\nno schedule applies\n";

  out += '\n' + indented_table(columns_that_fit(best_columns(variation), width - 2), options.colour);
  if (const std::string unseen = unseen_words(variation); !unseen.empty()) out += list_lines({unseen}, width);
  out += '\n' + indented_table(columns_that_fit(time_columns(variation), width - 2), options.colour);
  for (const std::string& note : notes_of(variation)) out += "  " + note + '\n';
  if (variation.crossings.empty()) return out;
  return out + "\nwhere two change places:\n" + list_lines(crossing_lines(variation), width);
}

std::string variation_markdown(const Variation& variation) {
  std::string out = "### " + markdown_text(variation.title.empty() ? headline(variation) : variation.title) + "\n\n";
  if (!variation.title.empty()) out += markdown_text(headline(variation)) + "\n\n";
  if (!variation.source.empty()) out += "costs: " + markdown_text(variation.source) + "\n\n";
  if (variation.lines.empty()) return out + "no schedule applies\n";
  out += markdown_table(best_columns(variation)) + '\n';
  if (const std::string unseen = unseen_words(variation); !unseen.empty()) out += markdown_text(unseen) + "\n\n";
  out += markdown_table(time_columns(variation));
  if (const std::vector<std::string> notes = notes_of(variation); !notes.empty())
    out += '\n' + markdown_text(joined(notes, "; ")) + '\n';
  if (variation.crossings.empty()) return out;
  return out + "\nWhere two change places:\n\n" + markdown_list(crossing_lines(variation));
}

} // namespace ppsim::viz
