#include "ppsim/runtime/session.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

namespace ppsim::runtime {

namespace {

/// A stage's time as the leader's time: the t with moment = t + offset(t).
std::int64_t in_leaders_time(const ClockOffset& clock, std::int64_t moment) {
  const std::int64_t ahead = moment - clock.begin - clock.at_begin;
  if (clock.at_end == clock.at_begin) return clock.at_begin + ahead;
  const double drift =
      static_cast<double>(clock.end - clock.begin) / static_cast<double>(clock.at_end - clock.at_begin);
  return clock.at_begin + ahead - std::llround(static_cast<double>(ahead) * drift / (1 + drift));
}

/// One step of all stages as a Timeline.
class StepAssembly {
public:
  StepAssembly(const Program& program, const RunOptions& options, const std::vector<StageResult>& results,
               std::size_t step)
      : program_{program}, options_{options}, results_{results}, step_{step} {}

  [[nodiscard]] Timeline timeline() {
    find_zero();
    timeline_.tasks.resize(program_.schedule.size());
    timeline_.transfers.resize(program_.schedule.size());
    timeline_.released_by.resize(program_.schedule.size(), no_task);
    timeline_.cause.resize(program_.schedule.size(), Cause::none);
    for (const StageResult& result : results_) {
      const std::vector<ProgramTask>& tasks = program_.stages[index(result.stage)].tasks;
      for (std::size_t task = 0; task < tasks.size(); ++task)
        timeline_.tasks[index(tasks[task].id)] = span(result, record(result).tasks[task]);
    }
    for (const StageResult& result : results_)
      for (const Transport::Arrival& arrival : record(result).arrivals) add(result, arrival);
    add_updates();
    return std::move(timeline_);
  }

  /// Whether a transfer ended before its sender: then the clocks disagree.
  [[nodiscard]] bool is_unaligned() const { return unaligned_; }

private:
  [[nodiscard]] const StageRecord& record(const StageResult& result) const { return result.steps[step_]; }

  void find_zero() {
    zero_ = std::numeric_limits<std::int64_t>::max();
    for (const StageResult& result : results_)
      if (!record(result).tasks.empty())
        zero_ = std::min(zero_, in_leaders_time(result.clock, record(result).tasks.front().start));
  }
  [[nodiscard]] SimTime at(const StageResult& result, std::int64_t moment) const {
    return SimTime{Duration{in_leaders_time(result.clock, moment) - zero_}};
  }
  [[nodiscard]] Span span(const StageResult& result, const StageRecord::Interval& interval) const {
    return {at(result, interval.start), at(result, interval.end)};
  }

  void add(const StageResult& receiver, const Transport::Arrival& arrival) {
    const Transfer& transfer = program_.transfer(arrival.transfer);
    const SimTime made = timeline_.tasks[index(transfer.producer)].end;
    const SimTime ended = at(receiver, arrival.ended);
    const auto from = std::find_if(results_.begin(), results_.end(), [&](const StageResult& result) {
      return result.stage == program_.channel(arrival.transfer).from;
    });
    const std::int64_t bound = receiver.clock.error + (from == results_.end() ? 0 : from->clock.error);
    if (ended + Duration{bound} < made) unaligned_ = true;
    const SimTime began = arrival.began == 0 ? made : std::max(made, at(receiver, arrival.began));
    timeline_.transfers[index(transfer.producer)] = {began, std::max(began, ended)};
  }

  /// Stage by stage. If tasks are timed and the scenario has no optimizer, there is none: the tiny workload's time has
  /// no meaning.
  void add_updates() {
    const bool timed = options_.compute == Compute::timed;
    const bool shown = !timed || std::any_of(program_.stages.begin(), program_.stages.end(),
                                             [](const auto& stage) { return stage.optimizer > Duration{0}; });
    if (!shown) return;
    bool any = false;
    timeline_.optimizer.resize(program_.stages.size());
    for (const StageResult& result : results_) {
      for (const StageRecord::Reduced& reduced : record(result).reductions)
        timeline_.reductions.push_back(
            {.stage = result.stage, .chunk = reduced.chunk, .span = span(result, reduced.interval), .released_by = {}});
      if (record(result).optimizer.end == 0) continue;
      any = true;
      timeline_.optimizer[index(result.stage)].span = span(result, record(result).optimizer);
    }
    if (!any) timeline_.optimizer.clear();
    std::stable_sort(timeline_.reductions.begin(), timeline_.reductions.end(),
                     [](const Reduction& a, const Reduction& b) { return a.stage < b.stage; });
  }

  const Program& program_;
  const RunOptions& options_;
  const std::vector<StageResult>& results_;
  std::size_t step_;
  std::int64_t zero_ = 0;
  Timeline timeline_;
  bool unaligned_ = false;
};

MeasuredStage measured_stage(const StageResult& result) {
  MeasuredStage stage;
  for (const StageRecord& record : result.steps) {
    stage.static_bytes = std::max(stage.static_bytes, record.static_bytes);
    stage.peak_bytes = std::max(stage.peak_bytes, record.peak_bytes);
    stage.buffer_bytes = std::max(stage.buffer_bytes, record.buffer_bytes);
    stage.busy += record.busy;
    if (record.cpu) stage.cpu = stage.cpu.value_or(Duration{0}) + *record.cpu;
  }
  return stage;
}

void keep_step(const PipelineStage& stage, std::size_t step, const Program& program, const RunOptions& options,
               StageResult& result) {
  result.losses.push_back(stage.record().losses);
  if (step == 0 && options.prove)
    for (const std::uint16_t number : stage.chunks()) {
      const auto chunk = make_id<ChunkId>(number);
      result.gradients.emplace_back(chunk,
                                    program.schedule.asynchronous() ? stage.parameters(chunk) : stage.gradients(chunk));
    }
  if (step >= options.warmup) result.steps.push_back(stage.record());
}

void check_fault(const Program& program, const Fault& fault, Problems& problems) {
  const ProgramTask* found = nullptr;
  for (const StageProgram& stage : program.stages)
    for (const ProgramTask& task : stage.tasks)
      if (fault.hits(task.task)) found = &task;
  const std::string name = to_string(fault.task);
  if (found == nullptr)
    problems.add("--inject", fmt::format("the schedule has no task {}", name), "name one of its tasks, such as 0F1");
  else if (fault.kind == FaultKind::no_memory && !found->allocates)
    problems.add("--inject", fmt::format("{} allocates no stash", name), "name a forward, such as 0F1");
  else if ((fault.kind == FaultKind::lose || fault.kind == FaultKind::resize) && !program.leaves_stage(found->output))
    problems.add("--inject", fmt::format("{} sends nothing to another stage", name), "name a task that does");
}

} // namespace

StageResult train(PipelineStage& stage, const Program& program, const RunOptions& options) {
  StageResult result;
  result.stage = stage.rank();
  for (std::size_t step = 0; step < options.warmup + options.steps; ++step) {
    stage.set_poison(step == 0);
    stage.meet();
    stage.train_step();
    keep_step(stage, step, program, options, result);
  }
  return result;
}

namespace {

/// One step of stages that one thread issues, as train_step() for a single one.
void step_together(const std::vector<std::unique_ptr<PipelineStage>>& stages, const Program& program) {
  for (const auto& stage : stages) stage->begin_step();
  for (const TaskId task : program.issue_order) stages[index(program.schedule.stage_of(task))]->run_next();
  for (bool any = true; any;) {
    any = false;
    for (const auto& stage : stages) any = stage->finish_next() || any;
  }
  for (bool all = false; !all;) {
    all = true;
    for (const auto& stage : stages) all = stage->follow() && all;
  }
  for (const auto& stage : stages) stage->end_step();
}

} // namespace

std::vector<StageResult> train_together(const std::vector<std::unique_ptr<PipelineStage>>& stages,
                                        const Program& program, const RunOptions& options) {
  std::vector<StageResult> results(stages.size());
  for (std::size_t stage = 0; stage < stages.size(); ++stage) results[stage].stage = stages[stage]->rank();
  for (std::size_t step = 0; step < options.warmup + options.steps; ++step) {
    for (const auto& stage : stages) stage->set_poison(step == 0);
    for (const auto& stage : stages) stage->meet();
    step_together(stages, program);
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
      keep_step(*stages[stage], step, program, options, results[stage]);
  }
  return results;
}

MeasuredRun assemble(const Program& program, const RunOptions& options, const std::vector<StageResult>& results) {
  PPSIM_ASSERT(results.size() == program.stages.size());
  MeasuredRun run;
  run.schedule = program.schedule;
  run.facts.timed = options.compute == Compute::timed;
  run.facts.compute = run.facts.timed ? "timed: tasks take the times of the scenario" : in_words(options.workload);
  if (!run.facts.timed) run.facts.workload = settings(options.workload);
  for (std::size_t step = 0; step < options.steps; ++step) {
    StepAssembly assembly{program, options, results, step};
    run.steps.push_back(assembly.timeline());
    run.unaligned = run.unaligned || assembly.is_unaligned();
  }
  run.stages.resize(results.size());
  std::int64_t error = 0;
  for (const StageResult& result : results) {
    run.stages[index(result.stage)] = measured_stage(result);
    error = std::max(error, result.clock.error);
  }
  // Between two stages, each with its own error.
  if (error > 0) run.clock_error = Duration{2 * error};
  return run;
}

TrainingResult training_result(const Program& program, const std::vector<StageResult>& results) {
  TrainingResult training;
  training.gradients.resize(program.schedule.shape().chunks());
  for (const StageResult& result : results) {
    training.losses.resize(result.losses.size());
    for (std::size_t step = 0; step < result.losses.size(); ++step)
      training.losses[step] += result.losses[step] / static_cast<double>(program.schedule.shape().microbatches);
    // Both stages of a chunk have the same sum: prove() checks it.
    for (const auto& [chunk, gradients] : result.gradients) training.gradients[index(chunk)] = gradients;
  }
  return training;
}

namespace {

/// Whether stages that hold the same chunk have equal gradients, bit by bit.
bool copies_agree(const std::vector<StageResult>& results) {
  std::map<ChunkId, const std::vector<float>*> first;
  for (const StageResult& result : results)
    for (const auto& [chunk, gradients] : result.gradients)
      if (const auto [found, is_new] = first.try_emplace(chunk, &gradients); !is_new && *found->second != gradients)
        return false;
  return true;
}

} // namespace

Proof prove(const Program& program, const RunOptions& options, const std::vector<StageResult>& results, Device& device,
            double tolerance) {
  TrainingResult training = training_result(program, results);
  const std::vector<double> losses = training.losses;
  const std::size_t steps = std::min(options.warmup + options.steps, most_proved_steps);
  training.losses.resize(steps);
  Proof proof = compare_results(program, training, train_one_at_a_time(program, device, steps), tolerance);
  if (!copies_agree(results)) {
    proof.bit_equal = false;
    proof.gradient_error = std::numeric_limits<double>::infinity();
  }
  proof.losses = losses;
  return proof;
}

void check_options(const Backend& backend, const Program& program, const RunOptions& options) {
  Problems problems;
  if (options.steps == 0) problems.add("--steps", "0 steps: nothing would be measured", "give at least 1");
  const std::vector<std::string_view> transports = backend.transports();
  if (std::find(transports.begin(), transports.end(), options.transport) == transports.end())
    problems.add("--transport",
                 fmt::format("backend {} has no transport {}", backend.name(), in_quotes(options.transport)),
                 did_you_mean(options.transport, transports, fmt::format("take {}", joined(transports, " or "))));
  if (options.fault) {
    check_fault(program, *options.fault, problems);
    if (options.warmup + options.steps < 2)
      problems.add("--inject", "it happens in the second step, but there is only one", "run more steps");
  }
  problems.throw_if_any();
}

Problems problems_without_nccl(const Program& program, const RunOptions& options, std::string_view communicators) {
  Problems problems;
  if (program.p2p != P2p::edge)
    problems.add("--p2p",
                 fmt::format("{} says how to share NCCL communicators{}", to_string(program.p2p), communicators),
                 "leave it out, or use --backend nccl");
  if (options.transport == "paced" && program.transfer_model == TransferModel::blocking)
    problems.add("--transport", "emulated links do not make their sender wait, unlike the transfer model 'blocking'",
                 "use --transfer latency or link, or --transport direct");
  return problems;
}

Duration progress_limit(const Program& program, const RunOptions& options) {
  if (options.timeout > Duration{0}) return options.timeout;
  return 10 * program.predicted_step + std::chrono::seconds{10};
}

void end_process(const std::string& what) noexcept {
  std::fputs(("ppsim: error: " + what + "\n").c_str(), stderr);
  std::_Exit(static_cast<int>(ExitCode::failed));
}

} // namespace ppsim::runtime
