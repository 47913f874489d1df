#include "run.hpp"

#include "ppsim/schedule/generators.hpp"

#include <fmt/format.h>

#include "runs/judging.hpp"

namespace ppsim::python {
namespace {

/// Runs with at most this many tasks take a few milliseconds, including the report.
constexpr std::size_t small_tasks = 2048;

/// Whether the options show that the run is small and its schedule does not search. False if that is unknown.
bool is_said_to_be_small(const cli::Inputs& inputs) {
  if (!inputs.stages || !inputs.microbatches || inputs.scenario_file || inputs.order) return false;
  if (inputs.varies_by_chance() || inputs.balance || inputs.bound || inputs.sensitivity) return false;
  constexpr std::size_t usual_chunks = 4; // of schedules with several chunks by default
  const std::size_t chunks = inputs.vpp && !inputs.vpp->empty() ? inputs.vpp->front() : usual_chunks;
  const bool searches = inputs.schedule && find_generator(*inputs.schedule).searches();
  return !searches && *inputs.stages * *inputs.microbatches <= small_tasks / chunks; // products within Limits
}

} // namespace

Run::Run(cli::Inputs inputs, std::shared_ptr<cli::MemoryFiles> files)
    : inputs_{std::move(inputs)}, files_{std::move(files)} {
  const bool asks_for_more = inputs_.varies_by_chance() || inputs_.sensitivity || inputs_.bound ||
                             !inputs_.fail_if.empty(); // its result is part of the call
  work_without_lock(*files_, is_said_to_be_small(inputs_), [this, asks_for_more] {
    simulated_.emplace(simulate_spec(inputs_));
    if (asks_for_more) cli::check_conditions(inputs_, evaluation().report);
  });
}

bool Run::is_small() const {
  return graph().size() <= small_tasks;
}

const StepTime& Run::step_time() {
  const std::scoped_lock lock{mutex_};
  if (!step_time_) step_time_ = find_step_time(graph(), end_of(timeline()) - SimTime{});
  return *step_time_;
}

const RunReport& Run::report() {
  const std::scoped_lock lock{mutex_};
  if (!has_report_) add_report(inputs_, *simulated_, true);
  has_report_ = true;
  return simulated_->run.report;
}

const Evaluation& Run::evaluation() {
  static_cast<void>(report());
  const std::scoped_lock lock{mutex_};
  Evaluation& run = simulated_->run;
  if (is_complete_) return run;
  sample_steps(inputs_, run);
  add_others(inputs_, run, inputs_.sensitivity);
  is_complete_ = true;
  return run;
}

const std::vector<TaskRow>& Run::task_rows() {
  const std::scoped_lock lock{mutex_};
  if (!task_rows_.empty()) return task_rows_;
  const Schedule& schedule = graph().schedule();
  std::vector<TaskRow> rows;
  rows.reserve(schedule.size());
  for (const StageId stage : schedule.stage_ids())
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      const Span& span = timeline().tasks[index(id)];
      rows.push_back({.stage = static_cast<std::uint16_t>(index(stage)),
                      .chunk = task.chunk_index,
                      .microbatch = static_cast<std::uint32_t>(index(task.microbatch)),
                      .pass = static_cast<char32_t>(letter(task.pass)),
                      .pairing = static_cast<std::uint32_t>(task.pairing),
                      .start_ns = span.start.time_since_epoch().count(),
                      .end_ns = span.end.time_since_epoch().count()});
    }
  task_rows_ = std::move(rows);
  return task_rows_;
}

const std::vector<MemoryPoint>& Run::memory(std::size_t stage) {
  const std::scoped_lock lock{mutex_};
  const auto found = memory_.find(stage);
  if (found != memory_.end()) return found->second;
  return memory_.emplace(stage, memory_over_time(graph(), timeline(), make_id<StageId>(stage))).first->second;
}

std::vector<std::string> Run::notes() {
  std::vector<std::string> all = files_->notes();
  const Evaluation& run = evaluation();
  all.insert(all.end(), run.notes.begin(), run.notes.end());
  return all;
}

ExitCode Run::exit_code() {
  const RunReport& said = inputs_.fail_if.empty() ? report() : evaluation().report;
  return cli::holds_any(inputs_, said) || said.overflow ? ExitCode::no : ExitCode::done;
}

} // namespace ppsim::python
