// The data of a page. README.md describes the format.

#include "ppsim/base/words.hpp"
#include "ppsim/viz/page.hpp"

#include <algorithm>

#include "json_text.hpp"
#include "page_columns.hpp"
#include "svg/svg_draw.hpp"

namespace ppsim::viz {

namespace {

constexpr int version = 1;
constexpr std::array all_passes{Pass::forward, Pass::backward, Pass::input_grad, Pass::weight_grad};

std::int64_t count_of(SimTime at) {
  return at.time_since_epoch().count();
}

JsonText task_json(TaskId id) {
  return id == no_task ? JsonText{nullptr} : JsonText{index(id)};
}

JsonText names_of_labels() {
  std::vector<std::string_view> names;
  for (std::size_t label = 0; label < label_count; ++label) names.push_back(to_string(label_at(label)));
  return json_list(names, std::identity{});
}

JsonText names_of_causes() {
  std::vector<std::string_view> names;
  for (std::size_t cause = 0; cause <= static_cast<std::size_t>(Cause::send_gradient); ++cause)
    names.push_back(to_string(static_cast<Cause>(cause)));
  return json_list(names, std::identity{});
}

JsonText meanings() {
  JsonObject words;
  for (std::size_t label = first_idle_label; label < label_count; ++label)
    words.add(to_string(label_at(label)), meaning_of(label_at(label)));
  return words.value();
}

JsonText palette_json(const Palette& palette) {
  JsonObject fills;
  JsonObject white;
  for (const Pass pass : all_passes) {
    std::vector<Colour> shades;
    for (std::size_t shade = 0; shade < palette.shades(); ++shade) shades.push_back(palette.fill(pass, shade));
    const std::string name{letter(pass)};
    fills.add(name, json_list(shades, [](Colour colour) { return to_string(colour); }));
    white.add(name, json_list(shades, wants_white_text));
  }
  JsonObject hatches;
  for (std::size_t label = 0; label < label_count; ++label)
    if (const std::string tile = hatch_tile(label_at(label)); !tile.empty())
      hatches.add(to_string(label_at(label)), tile);
  return JsonObject{}
      .add("passes", fills.value())
      .add("white_text", white.value())
      .add("hatches", hatches.value())
      .add("optimizer", to_string(optimizer_fill))
      .add("reduction", to_string(reduction_fill))
      .add("mark", to_string(mark_stroke))
      .value();
}

JsonText metrics_json(const RunReport& report) {
  std::vector<const Metric*> known;
  for (const Metric& metric : metrics())
    if (metric.value(report)) known.push_back(&metric);
  return json_list(known, [&report](const Metric* metric) {
    const JsonText value = metric->time != nullptr ? JsonText{metric->time(report).count()} : *metric->value(report);
    return JsonObject{}
        .add("tag", metric->tag)
        .add("name", metric->name)
        .add("unit", metric->unit())
        .add("formula", metric->formula)
        .add("description", metric->description)
        .add("value", value)
        .value();
  });
}

JsonText optional_ns(const std::optional<Duration>& time) {
  return time ? JsonText{time->count()} : JsonText{nullptr};
}

void add_other_runs(JsonObject& run, const RunReport& report) {
  run.add("alternatives", json_list(report.alternatives, [](const Alternative& alternative) {
            return JsonObject{}
                .add("change", as_flags(alternative.change))
                .add("step_time_ns", alternative.step_time.count())
                .add("bubble_ratio", alternative.bubble_ratio)
                .add("microbatches", alternative.microbatches)
                .add("fits", alternative.fits)
                .value();
          }));
  run.add("what_if", JsonObject{}
                         .add("no_communication_ns", optional_ns(report.what_if.no_communication))
                         .add("equal_stages_ns", optional_ns(report.what_if.equal_stages))
                         .add("no_recompute_ns", optional_ns(report.what_if.no_recompute))
                         .value());
}

JsonText overflow_json(const std::optional<Overflow>& overflow) {
  if (!overflow) return nullptr;
  return JsonObject{}
      .add("stage", index(overflow->stage))
      .add("task", task_json(overflow->task))
      .add("at_ns", count_of(overflow->at))
      .add("needed", overflow->needed.count())
      .value();
}

/// Shade of each chunk of a stage. Runs with fewer chunks than others use shades as far apart as possible.
JsonText shades_of(const HeldChunks& held, StageId stage, const Palette& palette) {
  const Palette own{held.most()};
  JsonObject shades;
  const std::span<const std::uint16_t> chunks = held.of(stage);
  for (std::size_t local = 0; local < chunks.size(); ++local)
    shades.add(std::to_string(chunks[local]), own.shade_of(local) * palette.shades() / own.shades());
  return shades.value();
}

JsonText per_stage(const Panel& panel, const Palette& palette) {
  const HeldChunks held{panel.graph.schedule()};
  std::size_t next = 0;
  return json_list(panel.report.stages, [&](const StageReport& stage) {
    return JsonObject{}
        .add("busy_ns", stage.busy.count())
        .add("idle_ns", stage.idle.count())
        .add("peak_live_activations", stage.peak_live_activations)
        .add("peak_bytes", stage.peak_bytes().count())
        .add("static_bytes", stage.static_bytes.count())
        .add("peak_at_ns", count_of(stage.peak_at))
        .add("peak_task", task_json(stage.peak_task))
        .add("local", shades_of(held, make_id<StageId>(next++), palette))
        .value();
  });
}

void add_path(JsonObject& run, const Panel& panel) {
  run.add("path", json_list(panel.report.critical_path, [](const PathStep& step) {
            return json_tuple(task_json(step.task), static_cast<int>(step.kind), static_cast<int>(step.cause),
                              step.number);
          }));
  run.add("reductions", json_list(panel.timeline.reductions, [](const Reduction& reduction) {
            return json_tuple(index(reduction.stage), index(reduction.chunk), reduction.tied ? 1 : 0,
                              count_of(reduction.span.start), reduction.span.length().count());
          }));
  run.add("optimizer", json_list(panel.timeline.optimizer, [](const OptimizerRun& step) {
            return json_tuple(count_of(step.span.start), step.span.length().count());
          }));
}

JsonText run_json(const Panel& panel, const Palette& palette) {
  const Schedule& schedule = panel.graph.schedule();
  const Shape& shape = schedule.shape();
  const RunReport& report = panel.report;
  const std::optional<Bytes>& limit = panel.graph.scenario().memory.limit;
  JsonObject run;
  run.add("name", panel.name)
      .add("recommended", panel.recommended)
      .add("headline", json_list(run_essentials(panel.graph, report), std::identity{}))
      .add("measured", report.measured)
      .add("asynchronous", schedule.asynchronous())
      .add("stages", shape.stages)
      .add("microbatches", shape.microbatches)
      .add("chunks", shape.chunks())
      .add("makespan_ns", report.makespan.count())
      .add("step_time_ns", report.step_time.count())
      .add("memory_limit", limit ? JsonText{limit->count()} : JsonText{nullptr})
      .add("metrics", metrics_json(report));
  add_other_runs(run, report);
  run.add("overflow", overflow_json(report.overflow))
      .add("per_stage", per_stage(panel, palette))
      .add("offsets", json_list(schedule.offsets(), std::identity{}));
  add_path(run, panel);
  add_columns(run, panel);
  return run.value();
}

} // namespace

std::string page_data(const Page& page, std::span<const Panel> runs) {
  std::size_t most_chunks = 1;
  for (const Panel& panel : runs) most_chunks = std::max(most_chunks, HeldChunks{panel.graph.schedule()}.most());
  const Palette palette{most_chunks};
  JsonObject data;
  data.add("version", version)
      .add("command", page.command)
      .add("title", page.title)
      .add("source", page.source)
      .add("text", page.text)
      .add("answer", page.json.empty() ? JsonText{nullptr} : JsonText::as_is(compact(page.json)))
      .add("labels", names_of_labels())
      .add("causes", names_of_causes())
      .add("label_words", meanings())
      .add("palette", palette_json(palette))
      .add("runs", json_list(runs, [&palette](const Panel& panel) { return run_json(panel, palette); }));
  return in_html(std::move(data.value()).text());
}

} // namespace ppsim::viz
