// Writes run files. The times, possibly millions, have a row per stage; everything else is one document.

#include "ppsim/traces/run_file.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "json/json_parts.hpp"
#include "schedules/formats.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

/// A line of text.
std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// On one line, and cut if it is too long: neither a line break in the name of a processor nor a long command may make
/// an unreadable file.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }, ' ');
  if (text.size() <= longest_fact / 3) return text;     // an invalid byte becomes three bytes in the file
  text = Json::parse(compact(text)).get<std::string>(); // as it is in the file
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; };
  std::size_t end = std::min(text.size(), longest_fact);
  while (end < text.size() && continues(text[end])) --end; // not inside a character
  text.resize(end);
  return text;
}

Json facts_json(const RunFacts& facts) {
  Json json{{"backend", one_line(facts.backend)},     {"compute", one_line(facts.compute)},
            {"transport", one_line(facts.transport)}, {"machine", one_line(facts.machine)},
            {"command", one_line(facts.command)},     {"timed", facts.timed}};
  for (const auto& [setting, value] : facts.workload) json["workload"][one_line(setting)] = one_line(value);
  return json;
}

Json shape_json(const Schedule& schedule) {
  const Shape& shape = schedule.shape();
  return {{"stages", shape.stages}, {"microbatches", shape.microbatches}, {"vpp", shape.vpp}, {"shared", shape.shared}};
}

Json stage_json(const MeasuredStage& stage) {
  return {{"static_bytes", stage.static_bytes.count()},
          {"peak_bytes", stage.peak_bytes.count()},
          {"buffer_bytes", stage.buffer_bytes.count()},
          {"busy_ns", stage.busy.count()},
          {"cpu_ns", stage.cpu ? Json(stage.cpu->count()) : Json(nullptr)}};
}

class RunWriter {
public:
  explicit RunWriter(const MeasuredRun& run) : run_{run}, schedule_{run.schedule} {}

  std::string write() {
    put("{{\n");
    put("  \"schema\": 1,\n  \"kind\": \"run\",\n  \"schedule\": {},\n", compact(one_line(schedule_.name())));
    put("  \"shape\": {},\n", compact(shape_json(schedule_)));
    put("  \"asynchronous\": {},\n  \"forward_only\": {},\n", schedule_.asynchronous(), schedule_.forward_only());
    warmup();
    order();
    std::string facts = facts_json(run_.facts).dump(4, ' ', false, Json::error_handler_t::replace);
    facts.insert(facts.size() - 1, "  "); // aligns the last line with the first
    put("  \"facts\": {},\n", facts);
    put("  \"clock_error_ns\": {},\n", run_.clock_error ? fmt::format("{}", run_.clock_error->count()) : "null");
    put("  \"unaligned\": {},\n", run_.unaligned);
    list("stages", run_.stages, [](const MeasuredStage& stage) { return compact(stage_json(stage)); });
    put(",\n  \"proof\": {},\n  \"steps\": [", compact(proof_json(run_.proof)));
    for (std::size_t step = 0; step < run_.steps.size(); ++step) {
      put("{}\n    {{\n", step == 0 ? "" : ",");
      times(run_.steps[step]);
      if (!run_.unrecorded.empty()) recorded(run_.unrecorded[step]);
      put("\n");
      put("    }}");
    }
    put("\n  ]\n}}\n");
    return std::move(out_);
  }

private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
  }

  /// "key": an array with one element per line.
  template <class Elements, class Text>
  void list(std::string_view key, const Elements& elements, Text text) {
    put("  \"{}\": [", key);
    bool first = true;
    for (const auto& element : elements) {
      put("{}\n    {}", first ? "" : ",", text(element));
      first = false;
    }
    put("\n  ]");
  }

  void warmup() {
    if (schedule_.shape().stages == 0 || !schedule_.warmup_forwards(StageId{0})) return;
    put("  \"warmup_forwards\": [");
    for (std::size_t stage = 0; stage < schedule_.shape().stages; ++stage)
      put("{}{}", stage == 0 ? "" : ", ", *schedule_.warmup_forwards(make_id<StageId>(stage)));
    put("],\n");
  }

  void order() {
    const std::string csv = write_schedule_csv(schedule_);
    std::vector<std::string_view> rows;
    for (std::string_view rest = csv; !rest.empty();) rows.push_back(take_line(rest));
    list("order", rows, [](std::string_view row) { return fmt::format("\"{}\"", row); });
    put(",\n");
  }

  /// "key": a number for each task, a row per stage.
  template <class Number>
  void rows(std::string_view key, Number number) {
    put("      \"{}\": [", key);
    for (std::size_t stage = 0; stage < schedule_.shape().stages; ++stage) {
      put("{}\n        [", stage == 0 ? "" : ",");
      const IdRange<TaskId> ids = schedule_.task_ids(make_id<StageId>(stage));
      for (const TaskId id : ids) put("{}{}", id == ids.front() ? "" : ",", number(index(id)));
      put("]");
    }
    put("\n      ]");
  }

  void times(const Timeline& timeline) {
    const auto count = [](SimTime at) { return at.time_since_epoch().count(); };
    rows("start_ns", [&](std::size_t id) { return count(timeline.tasks[id].start); });
    put(",\n");
    rows("end_ns", [&](std::size_t id) { return count(timeline.tasks[id].end); });
    put(",\n");
    rows("transfer_start_ns", [&](std::size_t id) { return count(timeline.transfers[id].start); });
    put(",\n");
    rows("transfer_end_ns", [&](std::size_t id) { return count(timeline.transfers[id].end); });
    const auto span_text = [](const Span& span) {
      return fmt::format(R"("start_ns": {}, "end_ns": {})", span.start.time_since_epoch().count(),
                         span.end.time_since_epoch().count());
    };
    put(",\n      \"optimizer\": [");
    for (std::size_t stage = 0; stage < timeline.optimizer.size(); ++stage)
      put("{}\n        {{{}}}", stage == 0 ? "" : ",", span_text(timeline.optimizer[stage].span));
    put("{}],\n      \"reductions\": [", timeline.optimizer.empty() ? "" : "\n      ");
    for (std::size_t i = 0; i < timeline.reductions.size(); ++i) {
      const Reduction& reduction = timeline.reductions[i];
      put("{}\n        {{\"stage\": {}, \"chunk\": {}, \"tied_embedding\": {}, {}}}", i == 0 ? "" : ",",
          index(reduction.stage), index(reduction.chunk), reduction.tied, span_text(reduction.span));
    }
    put("{}]", timeline.reductions.empty() ? "" : "\n      ");
  }

  /// The recorded transfers, if some are missing.
  void recorded(const std::vector<bool>& unrecorded) {
    put(",\n");
    rows("transfer_recorded", [&](std::size_t id) { return unrecorded[id] ? 0 : 1; });
  }

  const MeasuredRun& run_;
  const Schedule& schedule_;
  std::string out_;
};

} // namespace

std::string write_run(const MeasuredRun& run) {
  return RunWriter{run}.write();
}

} // namespace ppsim::traces
