// Contents of the stage rows, back to front: idle time, one cell per task, and the numbers in the cells.

#include <numeric>

#include "svg_draw.hpp"
#include "svg_text.hpp"

namespace ppsim::viz {

namespace {

constexpr Px least_separated_cell = px(4); // narrower cells would disappear among the white lines between them
constexpr Px least_cell_width{60};         // a task without length still shows

/// Words before and after the name of the task that released another task.
struct ReleaseWords {
  std::string_view before, behind;
};

ReleaseWords release_words(Cause cause) {
  switch (cause) {
  case Cause::none:
    break;
  case Cause::order:
    return {"by ", ", the task before it on its stage"};
  case Cause::pair:
    return {"by ", ", the other half of its pair"};
  case Cause::activation:
    return {"by the activation from ", ""};
  case Cause::gradient:
    return {"by the gradient from ", ""};
  case Cause::own_forward:
    return {"by ", ", its forward"};
  case Cause::own_input_grad:
    return {"by ", ", its input gradient"};
  case Cause::send_activation:
    return {"when its stage had sent the activation of ", ""};
  case Cause::send_gradient:
    return {"when its stage had sent the gradient of ", ""};
  }
  return {"by ", ""};
}

/// The last sentence of a tooltip: why the task did not start earlier.
std::string release_sentence(const Chart& chart, TaskId id) {
  const TaskId releaser = chart.timeline.released_by[index(id)];
  if (releaser == no_task) return "could start at time zero";
  const auto& [before, behind] = release_words(chart.timeline.cause[index(id)]);
  return fmt::format("released {}{}{}", before, ppsim::to_string(chart.graph.schedule().task(releaser)), behind);
}

std::string span_words(const Span& span, std::string_view remark = {}) {
  return fmt::format("{} to {} ({}{})", format_duration(span.start.time_since_epoch()),
                     format_duration(span.end.time_since_epoch()), format_duration(span.length()), remark);
}

std::string task_tooltip(const Chart& chart, TaskId id, StageId stage) {
  const Task& task = chart.graph.schedule().task(id);
  const Duration again = recompute_span(chart.graph, chart.timeline, id).length();
  const std::string recomputes =
      again > Duration{0} ? fmt::format(", of which {} recompute its activation", format_duration(again)) : "";
  return fmt::format("{} on stage {}: {} of microbatch {}, chunk {}\n{}\n{}", ppsim::to_string(task), index(stage),
                     pass_name(task.pass), index(task.microbatch), index(task.chunk()),
                     span_words(chart.timeline.tasks[index(id)], recomputes), release_sentence(chart, id));
}

/// SVG text per kind of cell, so common attributes are written once.
struct CellPieces {
  std::vector<std::string> wide;   ///< by pass, then shade
  std::vector<std::string> narrow; ///< the same for cells without room for white lines between them
  std::string marks;               ///< path data of the bars of I and W
  std::string recomputation;       ///< path data of the parts that recompute
};

Box visible(const Chart& chart, Box cell) {
  cell.width = std::max(cell.width, least_cell_width);
  cell.x = std::min(cell.x, std::max(chart.plot.x, chart.plot.right() - cell.width));
  return cell;
}

/// True if the span starts after the end of the axis.
bool is_cut_off(const Chart& chart, const Span& span) {
  return chart.report.makespan > chart.axis && span.start >= SimTime{chart.axis};
}

/// Whether the halves of a split backward carry their bar: low cells leave no room for it.
bool has_mark(const Chart& chart, Pass pass) {
  return (pass == Pass::input_grad || pass == Pass::weight_grad) && (!chart.compact || chart.bar >= px(8));
}

/// Calls visit(task, stage) stage by stage for all visible tasks.
template <class Visit>
void for_each_task(const Chart& chart, Visit visit) {
  const Schedule& schedule = chart.graph.schedule();
  for (const StageId stage : schedule.stage_ids())
    for (const TaskId id : schedule.task_ids(stage))
      if (!is_cut_off(chart, chart.timeline.tasks[index(id)])) visit(id, stage);
}

CellPieces cell_pieces(const Chart& chart, LegendItems& drawn) {
  CellPieces pieces;
  pieces.wide.resize(pass_count * chart.palette.shades());
  pieces.narrow.resize(pieces.wide.size());
  for_each_task(chart, [&](TaskId id, StageId stage) {
    const Task& task = chart.graph.schedule().task(id);
    const auto pass = static_cast<std::size_t>(task.pass);
    const Box cell = visible(chart, chart.cell_box(id, stage));
    std::vector<std::string>& kinds = cell.width >= least_separated_cell ? pieces.wide : pieces.narrow;
    std::string& piece = kinds[pass * chart.palette.shades() + chart.shade_of(task)];
    if (chart.compact)
      add_box_path(piece, cell);
    else
      add_box(piece, cell, chart.tooltips ? task_tooltip(chart, id, stage) : std::string{});
    if (has_mark(chart, task.pass)) add_box_path(pieces.marks, split_mark(task.pass, cell));
    if (const Box again = chart.recompute_box(id, stage); again.width > Px{}) {
      add_box_path(pieces.recomputation, again);
      drawn.labels.set(static_cast<std::size_t>(Label::recompute));
    }
    drawn.labels.set(pass);
    if (chart.shares_its_time(id)) drawn.labels.set(static_cast<std::size_t>(Label::overlap));
  });
  return pieces;
}

/// Cells with the same attributes: elements if each has a tooltip, else one path.
std::string draw_alike(std::string_view look, const std::string& cells, bool as_path) {
  return as_path ? draw_path(look, cells) : draw_group(look, cells);
}

std::string draw_kinds(const Chart& chart, const std::vector<std::string>& kinds, std::string_view attributes) {
  std::string out;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind].empty()) continue;
    const auto pass = static_cast<Pass>(kind / chart.palette.shades());
    const Colour fill = chart.palette.fill(pass, kind % chart.palette.shades());
    out += draw_alike(fmt::format(R"(class="cells" fill="{}"{})", to_string(fill), attributes), kinds[kind],
                      chart.compact);
  }
  return out;
}

constexpr std::array<Px, 5> number_sizes{px(7), px(8), px(9), px(10), px(11)};

/// Box for the number of a task: its cell without the recomputed part.
Box number_box(const Chart& chart, TaskId id, StageId stage) {
  const Box box = chart.cell_box(id, stage);
  const Px again = chart.recompute_box(id, stage).width;
  return {box.x + again, box.y, box.width - again, box.height};
}

/// Number of sizes, from the smallest, that fit in `cell` for the widest number. All cells use the widest number, so
/// cells of equal size look equal.
std::size_t sizes_that_fit(std::string_view widest, const Box& cell) {
  std::size_t fitting = 0;
  while (fitting < number_sizes.size() && text_width(widest, number_sizes[fitting]) + px(1) <= cell.width &&
         number_sizes[fitting] + px(1) <= cell.height)
    ++fitting;
  return fitting;
}

/// Number of cells of one pass, by the number of sizes that fit.
using SizeCount = std::array<std::size_t, number_sizes.size() + 1>;

/// Largest size that fits nine tenths of the cells with space for a number; zero if no cell has any.
std::size_t choose_size(const SizeCount& count) {
  const std::size_t all = std::accumulate(count.begin() + 1, count.end(), std::size_t{0});
  std::size_t fits = 0;
  for (std::size_t sizes = number_sizes.size(); sizes > 0; --sizes) {
    fits += count[sizes];
    if (fits > 0 && fits * 10 >= all * 9) return sizes;
  }
  return 0;
}

/// One size for each pass, at most two apart, for a calm look.
std::array<std::size_t, pass_count> choose_sizes(const std::array<SizeCount, pass_count>& counts) {
  std::array<std::size_t, pass_count> sizes{};
  std::size_t smallest = number_sizes.size();
  for (std::size_t pass = 0; pass < pass_count; ++pass) {
    sizes[pass] = choose_size(counts[pass]);
    if (sizes[pass] > 0) smallest = std::min(smallest, sizes[pass]);
  }
  for (std::size_t& size : sizes) size = std::min(size, smallest + 2);
  return sizes;
}

/// Idle spans, hatched by cause.
std::string draw_idle(const Chart& chart, LegendItems& drawn) {
  std::array<std::string, label_count> pieces;
  for (const StageId stage : chart.graph.schedule().stage_ids()) {
    for (const LabelledSpan& span : account(chart.graph, chart.timeline, stage, chart.end())) {
      const Box box = chart.bar_box(index(stage), span.span);
      if (!is_idle(span.label) || box.width == Px{}) continue;
      std::string& piece = pieces[static_cast<std::size_t>(span.label)];
      if (chart.tooltips)
        add_box(
            piece, box,
            fmt::format("stage {} idle: {}\n{}", index(stage), ppsim::to_string(span.label), span_words(span.span)));
      else
        add_box_path(piece, box);
      drawn.labels.set(static_cast<std::size_t>(span.label));
    }
  }
  std::string out;
  for (std::size_t label = first_idle_label; label < label_count; ++label) {
    if (pieces[label].empty()) continue;
    const std::string look = fmt::format(R"(class="idle" fill="{}")", hatch_fill(label_at(label)));
    out += draw_alike(look, pieces[label], !chart.tooltips);
  }
  return out;
}

/// A cell per optimizer step.
std::string draw_optimizer(const Chart& chart, LegendItems& drawn) {
  std::string cells;
  for (std::size_t stage = 0; stage < chart.timeline.optimizer.size(); ++stage) {
    const Span& span = chart.timeline.optimizer[stage].span;
    if (span.length() == Duration{0} || is_cut_off(chart, span)) continue;
    add_box(cells, visible(chart, chart.bar_box(stage, span)),
            chart.tooltips ? fmt::format("optimizer step of stage {}\n{}", stage, span_words(span)) : std::string{});
  }
  if (cells.empty()) return {};
  drawn.labels.set(static_cast<std::size_t>(Label::optimizer));
  return draw_group(fmt::format(R"(class="optimizer" fill="{}")", to_string(optimizer_fill)), cells);
}

/// A thin bar below its row for each reduction, if the rows have space.
std::string draw_reductions(const Chart& chart, LegendItems& drawn) {
  const Px gap = chart.pitch - chart.bar;
  if (chart.timeline.reductions.empty() || gap < px(6)) return {};
  std::string bars;
  for (const Reduction& reduction : chart.timeline.reductions) {
    if (is_cut_off(chart, reduction.span)) continue;
    Box box = visible(chart, chart.bar_box(index(reduction.stage), reduction.span));
    box = {box.x, box.bottom() + px(1), box.width, px(3)};
    add_box(bars, box,
            chart.tooltips ? fmt::format("{} of chunk {} on stage {}\n{}",
                                         reduction.tied ? "tied embedding's reduction" : "gradient reduction",
                                         index(reduction.chunk), index(reduction.stage), span_words(reduction.span))
                           : std::string{});
  }
  drawn.reductions = true;
  return draw_group(fmt::format(R"(class="reductions" fill="{}")", to_string(reduction_fill)), bars);
}

/// A cell per task.
std::string draw_cells(const Chart& chart, LegendItems& drawn) {
  std::string out;
  const CellPieces pieces = cell_pieces(chart, drawn);
  out += draw_kinds(chart, pieces.wide, R"( stroke="#ffffff" stroke-width="0.8")");
  out += draw_kinds(chart, pieces.narrow, ""); // above: a task without length is on the line between two others
  if (!pieces.recomputation.empty())
    out += draw_path(fmt::format(R"(class="recompute" fill="{}" pointer-events="none")", hatch_fill(Label::recompute)),
                     pieces.recomputation);
  if (!pieces.marks.empty()) out += draw_path(R"(class="marks" fill="#1a1a1a" pointer-events="none")", pieces.marks);
  out += draw_optimizer(chart, drawn);
  return out += draw_reductions(chart, drawn);
}

/// Microbatch numbers, above all other elements.
std::string draw_numbers(const Chart& chart, LegendItems& drawn) {
  if (!chart.numbers) return {};
  const Schedule& schedule = chart.graph.schedule();
  const std::string widest(fmt::formatted_size("{}", schedule.shape().microbatches - 1), '0');
  std::array<SizeCount, pass_count> counts{};
  for_each_task(chart, [&](TaskId id, StageId stage) {
    ++counts[static_cast<std::size_t>(schedule.task(id).pass)][sizes_that_fit(widest, number_box(chart, id, stage))];
  });
  const std::array<std::size_t, pass_count> sizes = choose_sizes(counts);

  std::array<std::array<std::string, 2>, pass_count> pieces; // dark and white
  for_each_task(chart, [&](TaskId id, StageId stage) {
    const Task& task = schedule.task(id);
    const auto pass = static_cast<std::size_t>(task.pass);
    const Box cell = number_box(chart, id, stage);
    if (sizes[pass] == 0 || sizes_that_fit(widest, cell) < sizes[pass]) return;
    const bool white = wants_white_text(chart.palette.fill(task.pass, chart.shade_of(task)));
    pieces[pass][white ? 1 : 0] +=
        draw_text({cell.middle_x(), base_line(cell.middle_y(), number_sizes[sizes[pass] - 1])},
                  std::to_string(index(task.microbatch)));
  });

  std::string out;
  for (std::size_t pass = 0; pass < pass_count; ++pass)
    for (std::size_t white = 0; white < 2; ++white) {
      if (pieces[pass][white].empty()) continue;
      drawn.numbers = true;
      out += draw_group(
          fmt::format(R"(class="numbers" font-size="{}" text-anchor="middle" fill="{}" pointer-events="none")",
                      number_sizes[sizes[pass] - 1], white == 1 ? "#ffffff" : "#1a1a1a"),
          pieces[pass][white]);
    }
  return out;
}

} // namespace

std::string_view pass_name(Pass pass) {
  constexpr std::array<std::string_view, pass_count> names{"forward", "backward", "input gradient", "weight gradient"};
  return names[static_cast<std::size_t>(pass)];
}

Box split_mark(Pass pass, const Box& cell) {
  const Px height = std::clamp(cell.height / 8, Px{80}, px(3));
  const Px inset = cell.width >= least_separated_cell ? px(1) : Px{};
  const Px y = pass == Pass::input_grad ? cell.y + inset : cell.bottom() - inset - height;
  return {cell.x + inset, y, cell.width - inset * 2, height};
}

std::string draw_rows(const Chart& chart, const std::string& behind, LegendItems& drawn) {
  if (chart.detail == Detail::shares) return behind + draw_shares(chart, drawn) + draw_critical_path(chart, drawn);
  std::string out = draw_idle(chart, drawn) + behind;
  if (chart.transfers) out += draw_transfers(chart, drawn);
  return out + draw_cells(chart, drawn) + draw_critical_path(chart, drawn) + draw_numbers(chart, drawn);
}

} // namespace ppsim::viz
