// The legend of the elements drawn.

#include "svg_draw.hpp"
#include "svg_text.hpp"

namespace ppsim::viz {

namespace {

constexpr Px line_height = px(22);
constexpr Px swatch_width = px(22);
constexpr Px swatch_height = px(14);
constexpr Px text_gap = px(6);
constexpr Px entry_gap = px(20);

bool drew(const LegendItems& drawn, Label label) {
  return drawn.labels.test(static_cast<std::size_t>(label));
}

/// Places entries from left to right; starts a new line if one does not fit.
class LegendFlow {
public:
  LegendFlow(Px left, Px right, Px top) : left_{left}, right_{right}, x_{left}, y_{top} {}
  /// The swatch of an entry; the text is written beside it.
  [[nodiscard]] Box entry(std::string_view text, Px width = swatch_width) {
    const Px room = right_ - left_ - width - text_gap;
    const std::string shown = fit_text(text, label_size, room);
    const Px needed = width + (width > Px{} ? text_gap : Px{}) + text_width(shown, label_size);
    if (x_ > left_ && x_ + needed > right_) new_line();
    const Box swatch{x_, y_, width, swatch_height};
    texts_ += draw_text({x_ + needed - text_width(shown, label_size), base_line(swatch.middle_y(), label_size)}, shown);
    x_ += needed + entry_gap;
    return swatch;
  }
  void text_only(std::string_view text) { static_cast<void>(entry(text, Px{})); }
  void new_line() {
    if (x_ == left_) return;
    x_ = left_;
    y_ += line_height;
  }
  [[nodiscard]] Px bottom() const { return x_ == left_ ? y_ : y_ + line_height; }
  [[nodiscard]] const std::string& texts() const { return texts_; }

private:
  Px left_, right_, x_, y_;
  std::string texts_;
};

/// A swatch that looks like a cell of the chart.
void add_cell(std::string& out, const Chart& chart, const Box& box, Pass pass, Colour fill) {
  out += draw_rect(box, fmt::format("fill=\"{}\"", to_string(fill)));
  if (chart.detail == Detail::shares || (pass != Pass::input_grad && pass != Pass::weight_grad)) return;
  out += draw_rect(split_mark(pass, box), R"(fill="#1a1a1a")");
}

/// One swatch per shade, with the chunks' local indices if each has its own shade.
void add_shades(std::string& out, const Chart& chart, Pass pass, Box box, bool palettes_differ) {
  const std::size_t shades = chart.palette.shades();
  box.width = box.width / static_cast<std::int64_t>(shades);
  for (std::size_t shade = 0; shade < shades; ++shade, box.x += box.width) {
    const Colour fill = chart.palette.fill(pass, shade);
    add_cell(out, chart, box, pass, fill);
    if (shades == 1 || palettes_differ || chart.palette.local_chunks() > shades) continue;
    out += draw_text({box.middle_x(), base_line(box.middle_y(), px(9))}, std::to_string(shade),
                     fmt::format(R"(font-size="{}" text-anchor="middle" fill="{}")", px(9),
                                 wants_white_text(fill) ? "#ffffff" : "#1a1a1a"));
  }
}

void add_hatch(std::string& out, const Box& box, Label label) {
  out += draw_rect(box, fmt::format(R"(fill="{}" stroke="#b3b3b3" stroke-width="0.5")", hatch_fill(label)));
}

void add_passes(std::string& out, LegendFlow& flow, const Chart& chart, const LegendItems& drawn) {
  const auto shades = static_cast<std::int64_t>(chart.palette.shades());
  const Px width = shades == 1 ? swatch_width : px(15) * shades;
  for (const Pass pass : {Pass::forward, Pass::backward, Pass::input_grad, Pass::weight_grad})
    if (drawn.labels.test(static_cast<std::size_t>(pass)))
      add_shades(out, chart, pass, flow.entry(fmt::format("{}: {}", letter(pass), pass_name(pass)), width),
                 drawn.palettes_differ);
  if (drew(drawn, Label::overlap)) {
    const Box box = flow.entry("overlapped pair: F above, its partner below");
    const Px half = box.height / 2;
    const Pass partner = drew(drawn, Label::backward) ? Pass::backward : Pass::input_grad;
    add_cell(out, chart, {box.x, box.y, box.width, half}, Pass::forward, chart.palette.fill(Pass::forward, 0));
    add_cell(out, chart, {box.x, box.y + half, box.width, half}, partner, chart.palette.fill(partner, 0));
  }
  if (drew(drawn, Label::recompute)) add_hatch(out, flow.entry("recomputation of an activation"), Label::recompute);
  if (drew(drawn, Label::optimizer)) add_cell(out, chart, flow.entry("optimizer step"), Pass::forward, optimizer_fill);
  if (drawn.reductions) {
    const Box box = flow.entry("gradient reduction, beside the tasks");
    add_cell(out, chart, {box.x, box.middle_y() - px(1), box.width, px(3)}, Pass::forward, reduction_fill);
  }
  const std::size_t chunks = chart.palette.local_chunks();
  if (drawn.palettes_differ)
    flow.text_only("shade: chunk on its stage, from dark, the first, to light, the last");
  else if (chunks > most_shades)
    flow.text_only(fmt::format("shade: chunk on its stage, from dark 0 to light {}", chunks - 1));
  else if (chunks > 1)
    flow.text_only("number and shade in a swatch: chunk on its stage");
  if (drawn.numbers) flow.text_only("number in a cell: microbatch");
  if (chart.detail == Detail::shares) {
    flow.text_only("each column shows from top to bottom how its time is shared");
    if (chart.stages_per_row > 1)
      flow.text_only(fmt::format("each row is the mean of {} stages", chart.stages_per_row));
  }
  flow.new_line();
}

void add_idle(std::string& out, LegendFlow& flow, const LegendItems& drawn) {
  bool first = true;
  for (std::size_t label = first_idle_label; label < label_count; ++label) {
    if (!drawn.labels.test(label)) continue;
    if (first) flow.text_only("idle");
    first = false;
    const std::string words = fmt::format("{}: {}", to_string(label_at(label)), meaning_of(label_at(label)));
    add_hatch(out, flow.entry(words), label_at(label));
  }
  flow.new_line();
}

void add_lines(std::string& out, LegendFlow& flow, const Chart& chart, const LegendItems& drawn) {
  if (drawn.critical_path) {
    const Box box =
        flow.entry(chart.timeline.optimizer.empty()
                       ? "critical path: the chain of tasks and transfers that sets the makespan"
                       : "critical path: the chain of tasks, transfers and reductions that sets the makespan");
    if (chart.path == PathStyle::outline)
      out += draw_rect({box.x + px(1), box.y + px(1), box.width - px(2), box.height - px(2)},
                       R"(fill="none" stroke="#000000" stroke-width="1.8")");
    else
      out += draw_path(R"(stroke="#000000" stroke-width="1.2")",
                       fmt::format("M{} {}H{}", box.x, box.middle_y(), box.right()));
  }
  if (drawn.two_rows) {
    flow.text_only("of each stage, above: predicted, below: measured");
    const auto add_end = [&](EndLine kind, std::string_view words) {
      const Box box = flow.entry(words, px(8));
      out += end_line(kind, box.middle_x(), box.y - px(1), box.bottom() + px(1));
    };
    add_end(EndLine::predicted, "predicted end");
    add_end(EndLine::measured, "measured end");
  }
  if (drawn.slow_tasks) out += deviation_mark(Lateness::slow, flow.entry("took longer or shorter than predicted"));
  if (drawn.late_tasks) out += deviation_mark(Lateness::waited, flow.entry("waited longer than predicted"));
  if (drawn.transfers) {
    const Box box = flow.entry("transfer between stages");
    const Px end = box.right() - px(4);
    out += draw_path(R"(fill="none" stroke="#6b6b6b" stroke-width="0.7")",
                     fmt::format("M{} {}L{} {}", box.x + px(4), box.y, end, box.bottom()));
    out += draw_path(R"(fill="#6b6b6b")", fmt::format("M{} {}l-1.80 -4.00h3.60z", end, box.bottom()));
  }
}

void add_memory(std::string& out, LegendFlow& flow, const MemoryLegendItems& memory) {
  if (!memory.is_drawn) return;
  const auto add_fill = [&](std::string_view words, std::string_view fill) {
    out += draw_rect(flow.entry(words),
                     fmt::format(R"(fill="{}" stroke="{}" stroke-width="0.8")", fill, to_string(memory_stroke)));
  };
  if (memory.has_static) add_fill("always there: parameters, gradients, optimizer state", to_string(static_fill));
  add_fill(memory.counts ? "live activations" : "activations", to_string(activations_fill));
  if (memory.has_overflow) add_fill("exceeds the limit", fmt::format("url(#{})", over_limit_hatch));
  if (memory.has_limit) {
    const Box box = flow.entry("memory limit");
    out += draw_path(limit_look, fmt::format("M{} {}H{}", box.x, box.middle_y(), box.right()));
  }
  const Box box = flow.entry("peak, where it is reached first", px(8));
  add(out, "<circle cx=\"{}\" cy=\"{}\" r=\"2.8\" fill=\"#1a1a1a\"/>\n", box.middle_x(), box.middle_y());
  flow.new_line();
}

} // namespace

std::string_view meaning_of(Label label) {
  constexpr std::array<std::string_view, label_count - first_idle_label> meanings{
      "before the first task",
      "a forward waits for the chunk before",
      "a backward waits for the chunk after",
      "its input queues for a link",
      "its send or receive stood behind another one, or was posted late",
      "its input is under way",
      "after the last task",
      "waits for reductions or optimizer steps",
      "could run, and has not begun"};
  return meanings[static_cast<std::size_t>(label) - first_idle_label];
}

Part draw_legend(const Chart& chart, const LegendItems& drawn, Px top) {
  LegendFlow flow{chart.plot.x, chart.width - margin, top};
  std::string swatches;
  add_passes(swatches, flow, chart, drawn);
  add_idle(swatches, flow, drawn);
  add_lines(swatches, flow, chart, drawn);
  flow.new_line();
  add_memory(swatches, flow, drawn.memory);
  return {
      draw_group(fmt::format(R"(class="legend" font-size="{}" fill="#1a1a1a")", label_size), swatches + flow.texts()),
      flow.bottom()};
}

} // namespace ppsim::viz
