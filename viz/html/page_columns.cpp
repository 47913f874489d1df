// Columns hold differences to expected values, so most entries are zero or nearly zero and take one byte. The expected
// start of a task is the end of the task before; its expected length is that of the last task of its pass.

#include "page_columns.hpp"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "columns.hpp"

namespace ppsim::viz {

namespace {

void add_column(JsonObject& columns, std::string_view name, const Column& column) {
  columns.add(name, base64(column.bytes()));
}

/// Distance in ids to the other task; 0 if there is none.
std::int64_t distance(std::size_t id, TaskId other) {
  return other == no_task ? 0 : static_cast<std::int64_t>(id) - static_cast<std::int64_t>(index(other));
}

/// A column of differences to the previous entry.
class Differences {
public:
  explicit Differences(Column& column) : column_{column} {}
  void add(std::int64_t value) {
    column_.add(value - before_);
    before_ = value;
  }

private:
  Column& column_;
  std::int64_t before_ = 0;
};

struct TaskColumns {
  Column kind, cause, chunk, microbatch, start, length, released;

  void add_stage(const Panel& panel, StageId stage) {
    const Schedule& schedule = panel.graph.schedule();
    Differences chunks{chunk};
    Differences microbatches{microbatch};
    SimTime before{};
    std::array<std::int64_t, 4> last_length{}; // by pass
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      const Span& span = panel.timeline.tasks[index(id)];
      const auto pass = static_cast<std::size_t>(task.pass);
      kind.add_byte(static_cast<std::uint8_t>(pass | static_cast<std::size_t>(task.pairing) << 2U));
      cause.add_byte(static_cast<std::uint8_t>(panel.timeline.cause[index(id)]));
      chunks.add(task.chunk_index);
      microbatches.add(static_cast<std::int64_t>(index(task.microbatch)));
      start.add((span.start - before).count());
      length.add(span.length().count() - last_length[pass]);
      released.add(distance(index(id), panel.timeline.released_by[index(id)]));
      before = span.end;
      last_length[pass] = span.length().count();
    }
  }
};

void add_tasks(JsonObject& columns, const Panel& panel) {
  TaskColumns tasks;
  for (const StageId stage : panel.graph.schedule().stage_ids()) tasks.add_stage(panel, stage);
  add_column(columns, "kind", tasks.kind);
  add_column(columns, "cause", tasks.cause);
  add_column(columns, "chunk", tasks.chunk);
  add_column(columns, "microbatch", tasks.microbatch);
  add_column(columns, "start", tasks.start);
  add_column(columns, "length", tasks.length);
  add_column(columns, "released", tasks.released);
}

void add_recomputation(JsonObject& columns, const Panel& panel) {
  if (!panel.graph.scenario().recompute.is_on()) return;
  Column recompute;
  bool any = false;
  for (std::size_t id = 0; id < panel.graph.size(); ++id) {
    const Duration length = recompute_span(panel.graph, panel.timeline, make_id<TaskId>(id)).length();
    any = any || length > Duration{0};
    recompute.add(length.count());
  }
  if (any) add_column(columns, "recompute", recompute);
}

void add_transfers(JsonObject& columns, const Panel& panel) {
  if (panel.graph.transfer_count() == 0) return;
  const Timeline& timeline = panel.timeline;
  Column receiver;
  Column start;
  Column length;
  Column released;
  Differences lengths{length};
  for (std::size_t id = 0; id < panel.graph.size(); ++id) {
    const std::optional<TaskId> to = panel.graph.receiver(make_id<TaskId>(id));
    receiver.add(to ? -distance(id, *to) : 0);
    if (!to) continue;
    start.add((timeline.transfers[id].start - timeline.tasks[id].end).count());
    lengths.add(timeline.transfers[id].length().count());
    if (!timeline.transfer_released_by.empty()) released.add(distance(id, timeline.transfer_released_by[id]));
  }
  add_column(columns, "receiver", receiver);
  add_column(columns, "transfer_start", start);
  add_column(columns, "transfer_length", length);
  if (!timeline.transfer_released_by.empty()) add_column(columns, "transfer_released", released);
}

struct IdleColumns {
  Column count, label, start, length, task;

  void add_stage(const std::vector<LabelledSpan>& spans) {
    Differences lengths{length};
    Differences tasks{task};
    SimTime before{};
    std::int64_t found = 0;
    for (const LabelledSpan& idle : spans) {
      if (!is_idle(idle.label)) continue;
      ++found;
      label.add_byte(static_cast<std::uint8_t>(idle.label));
      start.add((idle.span.start - before).count());
      before = idle.span.end;
      lengths.add(idle.span.length().count());
      tasks.add(idle.task == no_task ? 0 : static_cast<std::int64_t>(index(idle.task)) + 1);
    }
    count.add(found);
  }
};

void add_idle(JsonObject& columns, const Panel& panel) {
  IdleColumns idle;
  for (const StageId stage : panel.graph.schedule().stage_ids())
    idle.add_stage(account(panel.graph, panel.timeline, stage, SimTime{panel.report.makespan}));
  add_column(columns, "idle_count", idle.count);
  add_column(columns, "idle_label", idle.label);
  add_column(columns, "idle_start", idle.start);
  add_column(columns, "idle_length", idle.length);
  add_column(columns, "idle_task", idle.task);
}

/// Recurring numbers, by the position of their first occurrence.
class Recurring {
public:
  [[nodiscard]] std::int64_t position_of(std::int64_t value) {
    const auto [found, is_new] = positions_.try_emplace(value, static_cast<std::int64_t>(values_.size()));
    if (is_new) values_.push_back(value);
    return found->second;
  }
  [[nodiscard]] const std::vector<std::int64_t>& values() const { return values_; }

private:
  std::unordered_map<std::int64_t, std::int64_t> positions_;
  std::vector<std::int64_t> values_;
};

struct MemoryColumns {
  Column count, at, live, step;
  Recurring steps;

  void add_stage(const std::vector<MemoryPoint>& points) {
    count.add(static_cast<std::int64_t>(points.size()));
    Differences times{at};
    Differences lives{live};
    Bytes before{};
    for (const MemoryPoint& point : points) {
      times.add(point.at.time_since_epoch().count());
      lives.add(static_cast<std::int64_t>(point.live));
      step.add(steps.position_of((point.bytes - before).count()));
      before = point.bytes;
    }
  }
};

/// Returns the changes of memory; columns refer to them.
JsonText add_memory(JsonObject& columns, const Panel& panel) {
  MemoryColumns memory;
  for (const StageId stage : panel.graph.schedule().stage_ids())
    memory.add_stage(memory_over_time(panel.graph, panel.timeline, stage));
  add_column(columns, "memory_count", memory.count);
  add_column(columns, "memory_at", memory.at);
  add_column(columns, "memory_live", memory.live);
  add_column(columns, "memory_step", memory.step);
  return json_list(memory.steps.values(), std::identity{});
}

} // namespace

void add_columns(JsonObject& run, const Panel& panel) {
  JsonObject columns;
  add_tasks(columns, panel);
  add_recomputation(columns, panel);
  add_transfers(columns, panel);
  add_idle(columns, panel);
  run.add("memory_steps", add_memory(columns, panel));
  run.add("columns", columns.value());
}

} // namespace ppsim::viz
