#include "process_run.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/runtime/session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <new>
#include <type_traits>

#include "host/cores.hpp"
#include "stage/result_bytes.hpp"

namespace ppsim::runtime {

namespace {

using Clock = std::chrono::steady_clock;

/// The current exception as a report for rank 0. `is_cause`: this process failed by itself.
FailureReport report_thrown(std::size_t rank, bool is_cause) {
  const std::string where = fmt::format("rank {}", rank);
  try {
    throw;
  } catch (const Error& error) {
    FailureReport report{is_cause, error.problems()};
    for (Problem& problem : report.problems)
      if (!problem.where.starts_with(where))
        problem.where = problem.where.empty() ? where : fmt::format("{}, {}", where, problem.where);
    return report;
  } catch (const std::bad_alloc&) {
    return {is_cause, {{where, "no memory", "use a smaller workload"}}};
  } catch (const std::exception& error) {
    return {is_cause, {{where, error.what(), ""}}};
  }
}

/// All ranks read the same command line, but files can differ between hosts.
void check_same(const Program& program, const RunOptions& options, ProcessGroup& group, const GiveUp& give_up) {
  const std::vector<Message> all = gather(group.messages(), fingerprint(program, options), give_up);
  Problems problems;
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      problems.add("", fmt::format("rank {} has a different schedule or workload than rank 0", rank),
                   "give all processes the same command line and files");
  problems.throw_if_any(ExitCode::failed);
}

/// One process's part of a run, with its monitor.
class RankRun {
public:
  RankRun(const Program& program, const RunOptions& options, const RankKind& kind, ProcessGroup& group)
      : program_{program}, options_{options}, kind_{kind}, group_{group}, stage_{make_id<StageId>(group.rank())},
        monitor_{program, {stage_}, progress_limit(program, options), stop_grace, [&group](const std::string& what) {
                   group.abort_with(fmt::format("rank {}: {}", group.rank(), what));
                 }} {
    group.set_doing([this] { return monitor_.describe(stage_); });
  }
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;
  ~RankRun() { group_.set_doing(nullptr); }

  /// All results on rank 0, none elsewhere. Throws the Error to report.
  [[nodiscard]] std::vector<StageResult> train_all() {
    const GiveUp give_up = [this] { give_up_if_stopped(); };
    std::unique_ptr<RankParts> parts;
    std::unique_ptr<PipelineStage> stage; // declared after the parts that it uses
    try {
      monitor_.note(stage_, Doing::meeting);
      check_same(program_, options_, group_, give_up);
      monitor_.note(stage_, Doing::preparing);
      parts = kind_.make_parts({program_, options_, group_, stage_, give_up});
      description_ = parts->describe();
      stage = std::make_unique<PipelineStage>(
          program_, stage_, parts->device(), parts->transport(), monitor_,
          StageOptions{.compute = options_.compute, .poison = false, .fault = options_.fault});
      return train_and_gather(*stage, *parts, give_up);
    } catch (const std::exception&) {
      monitor_.note(stage_, Doing::nothing); // it has ended, although not successfully
      // Never destroyed: messages still use its buffers, and waiting for a GPU could hang before anything is reported.
      // The process ends right after the report.
      static_cast<void>(stage.release());
      static_cast<void>(parts.release());
      throw group_.failures().conclude(report_thrown(group_.rank(), !gave_up_));
    }
  }
  [[nodiscard]] const std::string& description() const { return description_; }

private:
  /// Throws if another process has failed, or this one makes no progress.
  void give_up_if_stopped() {
    if (!monitor_.stopped() && group_.failures().look())
      monitor_.stop(fmt::format("stopped: {}", monitor_.describe(stage_)));
    if (!monitor_.stopped()) return;
    gave_up_ = true;
    throw Error(ExitCode::failed, Problem{"", monitor_.failure(), ""});
  }

  [[nodiscard]] std::vector<StageResult> train_and_gather(PipelineStage& stage, const RankParts& parts,
                                                          const GiveUp& give_up) {
    barrier(group_.messages(), give_up, Wait::patient); // others may prepare for longer
    const ClockReading before = read(give_up);
    StageResult result = train(stage, program_, options_);
    const ClockReading after = read(give_up);
    result.clock = {before.leader_time, before.offset, after.leader_time, after.offset,
                    std::max(before.error, after.error) + parts.clock_error()};
    monitor_.note(stage_, Doing::meeting);
    std::vector<StageResult> results;
    for (const Message& message : gather(group_.messages(), to_bytes(result), give_up))
      results.push_back(result_from_bytes(message));
    barrier(group_.messages(), give_up, Wait::patient);
    monitor_.note(stage_, Doing::nothing);
    return results;
  }

  [[nodiscard]] ClockReading read(const GiveUp& give_up) {
    monitor_.note(stage_, Doing::meeting);
    barrier(group_.messages(), give_up, Wait::patient);
    return read_clock(group_.messages(), monotonic_now, give_up);
  }

  const Program& program_;
  const RunOptions& options_;
  const RankKind& kind_;
  ProcessGroup& group_;
  StageId stage_;
  std::string description_;
  bool gave_up_ = false;
  Monitor monitor_;
};

} // namespace

Message fingerprint(const Program& program, const RunOptions& options) {
  static_assert(std::has_unique_object_representations_v<Transfer> &&
                std::has_unique_object_representations_v<TransferRef>); // they are compared as bytes
  ByteWriter writer;
  for (const StageProgram& stage : program.stages) {
    for (const ProgramTask& task : stage.tasks)
      writer.put(fmt::format("{} {}", to_string(task.task), task.length.count()));
    for (const Batch& batch : stage.batches) writer.put(batch.before, batch.sends, batch.receives);
    writer.put(stage.optimizer.count());
  }
  for (const std::vector<Duration>& step : program.drawn)
    for (const Duration length : step) writer.put(length.count());
  for (const Channel& channel : program.channels)
    writer.put(fmt::format("{} {} {}", index(channel.from), index(channel.to), channel.slots), channel.transfers);
  for (const Lane& lane : program.lanes)
    writer.put(fmt::format("{} {}", index(lane.first), index(lane.second)), lane.transfers);
  writer.put(fmt::format("{} {} {}", to_string(program.p2p), program.synchronous_optimizer,
                         static_cast<int>(program.transfer_model)),
             in_words(options.workload),
             fmt::format("{} {} {} {} {} {} {}", options.workload.seed, to_string(options.workload.optimizer),
                         options.workload.learning_rate, static_cast<int>(options.compute), options.transport,
                         options.warmup, options.steps));
  return writer.bytes();
}

void check_launch(std::string_view backend, std::size_t stages) {
  const std::optional<Launch> launched = launch();
  const std::string command = fmt::format("mpirun -n {} ppsim ... --backend {}", stages, backend);
  if (!launched)
    throw Error(ExitCode::bad_input, {fmt::format("backend {}", backend),
                                      fmt::format("{} need {}, and mpirun (or srun) started none",
                                                  counted(stages, "stage"), counted(stages, "process", "es")),
                                      command});
  const std::optional<std::size_t> size =
      ProcessGroup::started() != nullptr ? ProcessGroup::started()->size() : launched->size;
  if (size && *size != stages)
    throw Error(ExitCode::bad_input, {fmt::format("backend {}", backend),
                                      fmt::format("{} need as many processes; {} {} started", counted(stages, "stage"),
                                                  *size, *size == 1 ? "was" : "were"),
                                      command});
}

void run_together(ProcessGroup& group, Duration limit, const std::function<void(const GiveUp&)>& body) {
  const Clock::time_point end = Clock::now() + limit;
  bool stopped = false;
  try {
    body([&] {
      stopped = group.failures().look();
      if (stopped) throw Error(ExitCode::failed, Problem{"", "stopped with the others", ""});
      if (Clock::now() < end) return;
      stopped = true;
      throw Error(ExitCode::failed,
                  Problem{"", fmt::format("the others have not arrived within {}", format_duration(limit)), ""});
    });
  } catch (const std::exception&) {
    throw group.failures().conclude(report_thrown(group.rank(), !stopped));
  }
}

std::optional<MeasuredRun> run_processes(const Program& program, const RunOptions& options, const RankKind& kind) {
  check_launch(kind.backend, program.stages.size());
  ProcessGroup& group = ProcessGroup::get();
  check_launch(kind.backend, program.stages.size()); // now the number of processes is known
  const Clock::time_point begin = Clock::now();
  std::optional<MeasuredRun> run;
  std::string transport;
  std::vector<StageResult> results;
  {
    RankRun rank{program, options, kind, group};
    results = rank.train_all();
    transport = rank.description();
  }
  // One process does the proof, which takes about p times as long as the run; the others sleep.
  const Duration trained = Clock::now() - begin;
  const auto stages = static_cast<std::int64_t>(program.stages.size());
  run_together(group, progress_limit(program, options) + 4 * stages * trained, [&](const GiveUp& give_up) {
    if (group.is_leader()) {
      run = assemble(program, options, results);
      run->facts.backend = kind.backend;
      run->facts.transport = transport;
      run->facts.machine =
          group.hosts() == 1 ? describe_machine() : fmt::format("{} hosts like {}", group.hosts(), describe_machine());
      if (options.prove)
        run->proof = prove(program, options, results, *kind.make_reference_device(options.workload), kind.tolerance);
    }
    barrier(group.messages(), give_up, Wait::patient);
  });
  return run;
}

} // namespace ppsim::runtime
