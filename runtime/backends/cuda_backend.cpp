// Backend cuda: all stages on one GPU, issued by one thread. The GPU code is in the plugin ppsim_gpu.

#include "ppsim/base/error.hpp"
#include "ppsim/base/percentile.hpp"
#include "ppsim/runtime/session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <optional>

#include "backend_list.hpp"
#include "gpu_plugin.hpp"

namespace ppsim::runtime {

namespace {

using Clock = std::chrono::steady_clock;

/// Neighbours in a ring (as interleaved schedules need), both directions, `transfers` each.
Program ring(std::size_t stages, std::size_t transfers) {
  Program program;
  program.stages.resize(stages);
  const auto add = [&](std::size_t from, std::size_t to) {
    const auto id = make_id<ChannelId>(program.channels.size());
    program.channels.push_back({.from = make_id<StageId>(from),
                                .to = make_id<StageId>(to),
                                .transfers = std::vector<Transfer>(transfers),
                                .slots = 2});
    program.stages[from].out.push_back(id);
    program.stages[to].in.push_back(id);
  };
  for (std::size_t stage = 0; stages > 1 && stage < stages; ++stage) {
    add(stage, (stage + 1) % stages);
    if (stages > 2) add((stage + 1) % stages, stage);
  }
  return program;
}

/// The time from the end of the content on the sender's stream until the receiver's stream continues. Everything is
/// enqueued while the sender is held, so that enqueueing does not count.
Duration time_transfers_of(GpuPipeline& pipeline, const Program& program, ChannelId id, Bytes bytes) {
  const Channel& channel = program.channels[index(id)];
  Device& sender = pipeline.device(channel.from);
  Device& receiver = pipeline.device(channel.to);
  sender.begin_step();
  receiver.begin_step();
  for (const StageId stage : {channel.from, channel.to}) pipeline.transport(stage).begin_step();
  std::vector<Stamp> sent;
  std::vector<Stamp> seen;
  for (std::uint32_t position = 0; position < channel.transfers.size(); ++position) {
    const TransferRef transfer{id, position};
    static_cast<void>(pipeline.transport(channel.from).output(transfer));
    sender.hold(sender.stamp(), std::chrono::microseconds{500});
    sent.push_back(sender.stamp());
    pipeline.transport(channel.from).isend(transfer, bytes);
    static_cast<void>(pipeline.transport(channel.to).input(transfer, bytes));
    seen.push_back(receiver.stamp());
    pipeline.transport(channel.to).release(transfer);
    receiver.synchronize();
  }
  pipeline.transport(channel.from).finish_step();
  sender.synchronize();
  const std::vector<std::int64_t> begins = sender.stamps();
  const std::vector<std::int64_t> ends = receiver.stamps();
  std::vector<Duration> times;
  for (std::size_t i = 0; i < sent.size(); ++i) times.emplace_back(ends[seen[i]] - begins[sent[i]]);
  return percentile(std::move(times), 50);
}

class CudaBackend final : public Backend {
public:
  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] std::vector<std::string_view> transports() const override { return {"direct", "paced", "nccl-self"}; }
  Usability usability() override {
    const GpuState state = gpu_plugin().state();
    return {state.usable, state.why, state.remedy};
  }
  ChunkSizes sizes(const Workload& workload) override { return gpu_sizes(workload); }

  std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) override;
  std::vector<TransferSample> time_transfers(std::size_t stages, const RunOptions& options) override;

private:
  void check(const Program& program, const RunOptions& options) const;
  static void check_transport(const RunOptions& options);
  [[nodiscard]] static std::string transport_in_words(const Program& program, const RunOptions& options);
};

void CudaBackend::check(const Program& program, const RunOptions& options) const {
  check_options(*this, program, options);
  check_gpu_workload(options.workload);
  Problems problems = problems_without_nccl(program, options, " between GPUs, but there is only one");
  if (options.transport == "paced" && program.has_uplinks())
    problems.add("--transport", "on one GPU each pair of stages has its own emulated link, and nodes have no uplink",
                 "leave out --stages-per-node, or use --backend threads or --transport direct");
  problems.throw_if_any();
  check_transport(options);
}

void CudaBackend::check_transport(const RunOptions& options) {
  if (options.transport != "nccl-self") return;
  if (const GpuState nccl = gpu_plugin().nccl_state(); !nccl.usable)
    throw Error(ExitCode::failed, {"--transport nccl-self", nccl.why, nccl.remedy});
}

std::string CudaBackend::transport_in_words(const Program& program, const RunOptions& options) {
  if (options.transport == "paced") return fmt::format("emulated links ({})", to_string(program.transfer_model));
  return options.transport == "direct" ? "copies" : "NCCL, from the GPU to itself";
}

std::optional<MeasuredRun> CudaBackend::run(const Program& program, const RunOptions& options) {
  check(program, options);
  check_usable(name(), gpu_plugin().state());
  const std::vector<StageId> ids = all_stages(program.stages.size());
  // They include the pipeline's destruction, which waits for the GPU.
  const Clock::time_point begin = Clock::now();
  Monitor monitor{program, ids, progress_limit(program, options), stop_grace, end_process};
  std::optional<Monitor> proof_monitor;
  const auto stopped = [&] { return monitor.stopped() || (proof_monitor && proof_monitor->stopped()); };
  try {
    monitor.note(StageId{0}, Doing::preparing); // the GPU may not answer
    const std::unique_ptr<GpuPipeline> pipeline =
        gpu_plugin().make_pipeline(program, {.workload = options.workload,
                                             .transport = options.transport,
                                             .timed = options.compute == Compute::timed,
                                             .stopped = stopped});
    std::vector<StageResult> results;
    {
      std::vector<std::unique_ptr<PipelineStage>> stages;
      stages.reserve(ids.size());
      for (const StageId id : ids)
        stages.push_back(std::make_unique<PipelineStage>(
            program, id, pipeline->device(id), pipeline->transport(id), monitor,
            StageOptions{.compute = options.compute, .poison = false, .fault = options.fault}));
      results = train_together(stages, program, options);
    }
    for (const StageId id : ids) pipeline->device(id).synchronize(); // frees their memory for the proof
    for (const StageId id : ids) monitor.note(id, Doing::nothing);
    MeasuredRun run = assemble(program, options, results);
    run.facts.backend = name();
    run.facts.transport = transport_in_words(program, options);
    run.facts.machine = fmt::format("{}; {}", gpu_plugin().state().why, pipeline->describe());
    if (options.prove) {
      // The reference run does all stages' work on one stage's share of the GPU, without reporting progress.
      const Duration trained = Clock::now() - begin;
      const auto stages = static_cast<std::int64_t>(ids.size());
      proof_monitor.emplace(program, std::vector<StageId>{StageId{0}},
                            progress_limit(program, options) + 4 * stages * trained, stop_grace, end_process);
      proof_monitor->note(StageId{0}, Doing::computing);
      run.proof = prove(program, options, results, pipeline->device(StageId{0}), gpu_tolerance);
      proof_monitor->note(StageId{0}, Doing::nothing);
    }
    return run;
  } catch (const std::exception&) {
    // Exceptions after a stop are caused by the stop.
    const bool was_stopped = monitor.stopped();
    const bool proof_was_stopped = proof_monitor && proof_monitor->stopped();
    for (const StageId id : ids) monitor.note(id, Doing::nothing);
    if (proof_monitor) proof_monitor->note(StageId{0}, Doing::nothing);
    if (proof_was_stopped)
      throw Error(ExitCode::failed, Problem{"proof", "the reference run, one task at a time, does not end", ""});
    if (was_stopped) throw Error(ExitCode::failed, Problem{"run", monitor.failure(), ""});
    rethrow_as_error(name());
  }
}

std::vector<TransferSample> CudaBackend::time_transfers(std::size_t stages, const RunOptions& options) {
  check_usable(name(), gpu_plugin().state());
  check_transport(options);
  constexpr std::size_t transfers = 15;
  constexpr std::size_t activation_width = 64; // for an activation of the transfer's size
  const Program program = ring(stages, transfers);
  std::vector<TransferSample> samples;
  Monitor monitor{program, all_stages(stages), progress_limit(program, options), stop_grace, end_process};
  try {
    for (std::int64_t bytes = std::int64_t{4} << 10; bytes <= std::int64_t{64} << 20; bytes *= 4) {
      Workload workload;
      workload.width = activation_width;
      workload.tokens = static_cast<std::size_t>(bytes) / (activation_width * 2);
      monitor.note(StageId{0}, Doing::preparing);
      // The program's links take no time, so only the time of their copies remains.
      const std::unique_ptr<GpuPipeline> pipeline = gpu_plugin().make_pipeline(
          program, {.workload = workload, .transport = options.transport, .timed = true, .stopped = [&monitor] {
                      return monitor.stopped();
                    }});
      monitor.note(StageId{0}, Doing::nothing);
      for (std::size_t i = 0; i < program.channels.size(); ++i) {
        const Channel& channel = program.channels[i];
        monitor.note(channel.from, Doing::computing);
        samples.push_back({channel.from, channel.to, Bytes{bytes},
                           time_transfers_of(*pipeline, program, make_id<ChannelId>(i), Bytes{bytes})});
        monitor.note(channel.from, Doing::nothing);
      }
    }
  } catch (const std::exception&) {
    const bool stopped = monitor.stopped();
    for (std::size_t stage = 0; stage < stages; ++stage) monitor.note(make_id<StageId>(stage), Doing::nothing);
    if (stopped) throw Error(ExitCode::failed, Problem{"timing of transfers", monitor.failure(), ""});
    rethrow_as_error(name());
  }
  return samples;
}

} // namespace

std::unique_ptr<Backend> make_cuda_backend() {
  return std::make_unique<CudaBackend>();
}

} // namespace ppsim::runtime
