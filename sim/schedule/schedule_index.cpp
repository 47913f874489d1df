#include "ppsim/base/error.hpp"
#include "ppsim/schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim {
namespace {

/// Collects all faults of a schedule while its tables are filled.
class Checker {
public:
  Checker(const Schedule& schedule, std::string_view where) : schedule_{schedule}, where_{where} {
    const auto is_forward = [](const Task& task) { return task.pass == Pass::forward; };
    lacks_all_backwards_ = std::ranges::all_of(schedule.tasks(), is_forward);
  }

  void fault(std::string what, std::string hint = {}) { problems_.add(where_, std::move(what), std::move(hint)); }

  /// A table has an entry per chunk and microbatch; refuses sizes that the tasks cannot fill anyway.
  void check_size() {
    const std::size_t passes = schedule_.forward_only() ? 1 : 2;
    const std::size_t needed = passes * schedule_.shape().chunks() * schedule_.shape().microbatches;
    if (needed > 4 * schedule_.size() + 4096)
      fault(fmt::format("{} tasks, but {} chunks x {} microbatches need at least {}", schedule_.size(),
                        schedule_.shape().chunks(), schedule_.shape().microbatches, needed),
            "is a chunk or microbatch number wrong?");
    finish();
  }

  void check_pairs() {
    for (std::size_t stage = 0; stage < schedule_.shape().stages; ++stage) {
      const auto tasks = schedule_.stage(make_id<StageId>(stage));
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        const bool is_second = i > 0 && tasks[i - 1].pairing == Pairing::first;
        if (is_second != (tasks[i].pairing == Pairing::second) ||
            (tasks[i].pairing == Pairing::first && i + 1 == tasks.size()))
          fault(fmt::format("stage {}: {} is half of an overlapped pair without the other half", stage,
                            to_string(tasks[i])));
        else if (is_second && (tasks[i - 1].pass == Pass::forward) == (tasks[i].pass == Pass::forward))
          fault(fmt::format("stage {}: pair ({};{}) is not one forward with one backward", stage,
                            to_string(tasks[i - 1]), to_string(tasks[i])));
        else if (tasks[i].pairing != Pairing::alone && tasks[i].pass == Pass::weight_grad)
          fault(fmt::format("stage {}: {} cannot be part of an overlapped pair", stage, to_string(tasks[i])));
      }
    }
  }

  [[nodiscard]] bool in_range(const Task& task, std::size_t stage) {
    const Shape& shape = schedule_.shape();
    if (task.chunk_index < shape.chunks() && index(task.microbatch) < shape.microbatches) return true;
    fault(fmt::format("stage {}: {} is outside {} chunks x {} microbatches", stage, to_string(task), shape.chunks(),
                      shape.microbatches));
    return false;
  }

  void duplicate(TaskId earlier, const Task& task, std::size_t stage) {
    const Task& first = schedule_.task(earlier);
    const std::size_t before = index(schedule_.stage_of(earlier));
    if (first.pass == task.pass && before == stage)
      fault(fmt::format("{} appears twice on stage {}", to_string(task), stage), "keep one of them");
    else if (first.pass == task.pass)
      fault(fmt::format("{} appears twice, on stage {} and on stage {}", to_string(task), before, stage),
            "keep one of them; chunks count through all stages, not on each");
    else
      fault(fmt::format("both {} (stage {}) and {} (stage {}): a backward is either whole (B) or split (I and W)",
                        to_string(first), index(schedule_.stage_of(earlier)), to_string(task), stage),
            "keep the B, or the I and the W");
  }

  void missing(Pass pass, std::size_t chunk, std::size_t microbatch) {
    const std::string cell = to_string(make_task(pass, chunk, microbatch));
    fault(pass == Pass::backward ? fmt::format("{} is missing (or its I and W)", cell)
                                 : fmt::format("{} is missing", cell),
          lacks_all_backwards_ ? "add a B (or I and W) to each forward, or run only forwards with `forward-only`"
                               : "every chunk needs one F and one B (or I and W) per microbatch");
  }

  void other_stage(const Task& task, std::size_t stage, TaskId forward) {
    fault(fmt::format("{} is on stage {}, but its forward is on stage {}", to_string(task), stage,
                      index(schedule_.stage_of(forward))),
          "all passes of one chunk and microbatch belong on one stage");
  }

  void lone_weight_grad(const Task& task) {
    fault(fmt::format("{} without {}", to_string(task),
                      to_string(make_task(Pass::input_grad, task.chunk_index, index(task.microbatch)))),
          "a W needs the I of the same chunk and microbatch");
  }

  void finish() { problems_.throw_if_any(); }

private:
  const Schedule& schedule_;
  std::string where_;
  bool lacks_all_backwards_;
  Problems problems_;
};

bool is_input_grad(const Task& task) {
  return task.pass == Pass::input_grad;
}
bool is_weight_grad(const Task& task) {
  return task.pass == Pass::weight_grad;
}

/// Every chunk and microbatch must have its F and its B, or its I and W.
void check_complete(const Schedule& schedule, const ScheduleIndex& where, Checker& checker) {
  for (std::size_t chunk = 0; chunk < schedule.shape().chunks(); ++chunk)
    for (std::size_t microbatch = 0; microbatch < schedule.shape().microbatches; ++microbatch) {
      if (where.forward(chunk, microbatch) == no_task) checker.missing(Pass::forward, chunk, microbatch);
      if (schedule.forward_only()) continue;
      const TaskId backward = where.backward(chunk, microbatch);
      const TaskId weight = where.weight_grad(chunk, microbatch);
      const bool split = backward != no_task && schedule.task(backward).pass == Pass::input_grad;
      if (split && weight == no_task)
        checker.missing(Pass::weight_grad, chunk, microbatch);
      else if (weight != no_task && backward == no_task)
        checker.lone_weight_grad(schedule.task(weight));
      else if (weight != no_task && !split)
        checker.duplicate(backward, schedule.task(weight), index(schedule.stage_of(weight)));
      else if (backward == no_task)
        checker.missing(Pass::backward, chunk, microbatch);
    }
}

/// All passes of one chunk and microbatch must be on the stage of its forward.
void check_stages(const Schedule& schedule, const ScheduleIndex& where, Checker& checker) {
  const Shape& shape = schedule.shape();
  for (const StageId stage : schedule.stage_ids()) {
    const IdRange<TaskId> ids = schedule.task_ids(stage);
    for (const Task& task : schedule.stage(stage)) {
      if (task.pass == Pass::forward || task.chunk_index >= shape.chunks() ||
          index(task.microbatch) >= shape.microbatches)
        continue;
      const TaskId forward = where.forward(task.chunk_index, index(task.microbatch));
      if (forward != no_task && !ids.contains(forward)) checker.other_stage(task, index(stage), forward);
    }
  }
}

} // namespace

ScheduleIndex::ScheduleIndex(const Schedule& schedule, std::string_view where)
    : microbatches_{schedule.shape().microbatches} {
  const Shape& shape = schedule.shape();
  Checker checker{schedule, where};
  checker.check_size();
  checker.check_pairs();
  const std::size_t cells = shape.chunks() * microbatches_;
  forward_.assign(cells, no_task);
  backward_.assign(cells, no_task);
  const bool split = std::ranges::any_of(schedule.tasks(), is_weight_grad);
  if (split) weight_.assign(cells, no_task);

  std::size_t placed = 0;
  for (const StageId stage : schedule.stage_ids()) {
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      if (!checker.in_range(task, index(stage))) continue;
      TaskId& cell = cell_of(task);
      if (cell != no_task) {
        checker.duplicate(cell, task, index(stage));
      } else {
        cell = id;
        ++placed;
      }
    }
  }
  // Without split backwards, the count alone proves completeness.
  if (split || placed < 2 * cells || std::ranges::any_of(schedule.tasks(), is_input_grad))
    check_complete(schedule, *this, checker);
  check_stages(schedule, *this, checker);
  checker.finish();
}

TaskId& ScheduleIndex::cell_of(const Task& task) {
  auto& table = task.pass == Pass::forward ? forward_ : task.pass == Pass::weight_grad ? weight_ : backward_;
  return table[at(task.chunk_index, index(task.microbatch))];
}

} // namespace ppsim
