#pragma once
// Short ways to write an order, run it and look at a task, for the tests of the core.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/study/run_report.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::test {

using Rows = std::vector<std::string>;

/// "3B12": a pass of a chunk on a microbatch.
inline Task cell(std::string_view text) {
  std::size_t chunk = 0;
  std::size_t microbatch = 0;
  const char* end = text.data() + text.size();
  const char* letter_at = std::from_chars(text.data(), end, chunk).ptr;
  REQUIRE(letter_at != end);
  REQUIRE(std::from_chars(letter_at + 1, end, microbatch).ptr == end);
  const std::size_t pass = std::string_view{"FBIW"}.find(*letter_at);
  REQUIRE(pass != std::string_view::npos);
  return make_task(static_cast<Pass>(pass), chunk, microbatch);
}

/// "0F0 (0F1;0B0)": a stage's order, with an overlapped pair.
inline std::vector<Task> row(const std::string& text) {
  std::vector<Task> tasks;
  std::istringstream words{text};
  for (std::string word; words >> word;) {
    const std::size_t middle = word.find(';');
    if (word.front() != '(' || middle == std::string::npos) {
      tasks.push_back(cell(word));
      continue;
    }
    tasks.push_back(cell(std::string_view{word}.substr(1, middle - 1)));
    tasks.back().pairing = Pairing::first;
    tasks.push_back(cell(std::string_view{word}.substr(middle + 1, word.size() - middle - 2)));
    tasks.back().pairing = Pairing::second;
  }
  return tasks;
}

/// A schedule of these rows, one per stage. The highest ids determine the numbers of microbatches and chunks.
inline Schedule order(const Rows& rows, std::string name = "mine") {
  Shape shape{.stages = rows.size(), .microbatches = 1, .vpp = 1};
  for (const std::string& text : rows)
    for (const Task& task : row(text)) {
      shape.microbatches = std::max(shape.microbatches, index(task.microbatch) + 1);
      shape.vpp = std::max(shape.vpp, task.chunk_index / rows.size() + 1);
    }
  ScheduleBuilder builder{std::move(name), shape};
  for (const std::string& text : rows) {
    for (const Task& task : row(text)) builder.add(task);
    builder.end_stage();
  }
  return builder.build();
}

/// The rows of a schedule, as order() takes them.
inline Rows rows_of(const Schedule& schedule) {
  Rows rows;
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    std::string& text = rows.emplace_back();
    for (const Task& task : schedule.stage(make_id<StageId>(stage)))
      text += (text.empty() ? "" : " ") + to_string(task);
  }
  return rows;
}

inline Schedule generate(std::string_view name, Shape shape, std::optional<std::size_t> group_size = std::nullopt,
                         std::optional<bool> descending_backward = std::nullopt) {
  return make_schedule(find_generator(name), {shape, group_size, descending_backward});
}

/// A run from its inputs to its report.
struct Outcome {
  TaskGraph graph;
  Timeline timeline;
  RunReport report;

  [[nodiscard]] TaskId id(std::string_view name) const {
    const auto tasks = graph.schedule().tasks();
    const auto found = std::ranges::find_if(tasks, [&](const Task& task) { return to_string(task) == name; });
    REQUIRE(found != tasks.end());
    return make_id<TaskId>(static_cast<std::size_t>(found - tasks.begin()));
  }
  [[nodiscard]] Span task(std::string_view name) const { return timeline.tasks[index(id(name))]; }
  [[nodiscard]] Span transfer(std::string_view sender) const { return timeline.transfers[index(id(sender))]; }
  [[nodiscard]] Cause cause(std::string_view name) const { return timeline.cause[index(id(name))]; }
  [[nodiscard]] TaskId released_by(std::string_view name) const { return timeline.released_by[index(id(name))]; }
};

/// The longest first start to last end of a stage.
inline Duration span_of(const Outcome& outcome) {
  Duration longest{0};
  for (const StageReport& stage : outcome.report.stages)
    longest = std::max(longest, stage.extent.end - stage.extent.start);
  return longest;
}

inline Outcome run(Schedule schedule, Scenario scenario) {
  TaskGraph graph = lower(std::move(schedule), std::move(scenario));
  Timeline timeline = simulate(graph);
  RunReport report = run_report(graph, timeline);
  return {std::move(graph), std::move(timeline), std::move(report)};
}

/// A MemoryPoint in bare numbers.
struct Point {
  std::int64_t at;
  std::int64_t bytes;
  std::size_t live;
  bool operator==(const Point&) const = default;
};

inline std::vector<Point> points(const Outcome& outcome, std::size_t stage) {
  std::vector<Point> list;
  for (const MemoryPoint& point : memory_over_time(outcome.graph, outcome.timeline, make_id<StageId>(stage)))
    list.push_back({point.at.time_since_epoch().count(), point.bytes.count(), point.live});
  return list;
}

/// From nanosecond `start` to nanosecond `end`.
inline Span between(std::int64_t start, std::int64_t end) {
  return {SimTime{Duration{start}}, SimTime{Duration{end}}};
}

/// What `action` throws: its exit code, and "where: what -- hint" per problem.
struct Refusal {
  std::optional<ExitCode> code;
  std::vector<std::string> lines;
  [[nodiscard]] std::string first() const { return lines.empty() ? "nothing was refused" : lines.front(); }
};

template <class Action>
Refusal refusal_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    Refusal refusal{error.code(), {}};
    for (const Problem& problem : error.problems())
      refusal.lines.push_back(problem.where + ": " + problem.what + " -- " + problem.hint);
    return refusal;
  }
  return {};
}

} // namespace ppsim::test
