#include "ppsim/base/error.hpp"
#include "ppsim/base/percentile.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "backend_list.hpp"
#include "host/cores.hpp"
#include "stage/counter.hpp"
#include "stage/thread_channels.hpp"

namespace ppsim::runtime {

namespace {

Duration spin_of(std::size_t stages) {
  return usable_cores() >= stages ? wake_time
                                  : Duration{0}; // otherwise a spinning thread keeps another stage from its core
}

/// Keeps the first exception, and stops the other threads.
class FirstFailure {
public:
  explicit FirstFailure(Monitor& monitor) : monitor_{monitor} {}
  [[nodiscard]] Monitor& monitor() const { return monitor_; }

  /// Call it in a catch block.
  void keep() {
    const std::lock_guard lock{mutex_};
    // Exceptions after a stop are caused by the stop.
    if (monitor_.stopped()) return;
    thrown_ = std::current_exception();
    try {
      throw;
    } catch (const std::exception& error) {
      monitor_.stop(error.what());
    }
  }

  /// Call it after all threads have ended.
  void rethrow_if_any() const {
    if (thrown_) std::rethrow_exception(thrown_);
    if (monitor_.stopped())
      throw Error(ExitCode::failed,
                  Problem{"run", monitor_.failure(), "if tasks are only slow, give a longer --timeout"});
  }

private:
  Monitor& monitor_;
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

/// Runs work(stage) on a pinned thread per stage; returns when all have ended.
template <class Work>
void on_stage_threads(std::size_t stages, FirstFailure& failure, const Work& work) {
  const auto on_thread = [&](std::size_t stage) {
    pin_to_core(stage);
    sleep_precisely();
    try {
      work(make_id<StageId>(stage));
    } catch (const std::exception&) {
      failure.keep();
    }
    failure.monitor().note(make_id<StageId>(stage), Doing::nothing);
  };
  std::vector<std::jthread> threads;
  for (std::size_t stage = 0; stage < stages; ++stage) try {
      threads.push_back(start_thread(fmt::format("rank {}", stage), [&, stage] { on_thread(stage); }));
    } catch (const Error&) { // the others would wait for it
      failure.keep();
      break;
    }
}

/// Throws Error (failed) with the rank if memory runs out.
std::unique_ptr<Device> make_device(StageId stage, const Workload& workload) {
  try {
    return make_host_device(workload);
  } catch (const std::bad_alloc&) {
    throw Error(ExitCode::failed, Problem{fmt::format("rank {}", index(stage)), "no memory for its scratch space",
                                          "use a smaller workload"});
  }
}

/// Two stages and `transfers` transfers from the first to the second, for measurements.
Program one_way(StageId from, StageId to, std::size_t transfers) {
  Program program;
  program.stages.resize(std::max(index(from), index(to)) + 1);
  program.channels.push_back({.from = from, .to = to, .transfers = std::vector<Transfer>(transfers), .slots = 2});
  program.stages[index(from)].out.push_back(ChannelId{0});
  program.stages[index(to)].in.push_back(ChannelId{0});
  return program;
}

class ThreadsBackend final : public Backend {
public:
  [[nodiscard]] std::string_view name() const override { return "threads"; }
  [[nodiscard]] std::vector<std::string_view> transports() const override { return {"direct", "paced"}; }
  Usability usability() override {
    return {true, fmt::format("{}, {}", counted(usable_cores(), "core"), matrix_library()), {}};
  }
  ChunkSizes sizes(const Workload& workload) override { return host_sizes(workload); }

  std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) override {
    check_options(*this, program, options);
    problems_without_nccl(program, options, "; threads have none").throw_if_any();
    const std::vector<StageResult> results = train_all(program, options);
    MeasuredRun run = assemble(program, options, results);
    run.facts.backend = name();
    run.facts.transport = options.transport == "paced"
                              ? fmt::format("emulated links ({})", to_string(program.transfer_model))
                              : "buffers are handed over";
    run.facts.machine = describe_machine();
    if (options.prove)
      run.proof = prove(program, options, results, *make_host_device(options.workload),
                        reordering_tolerance(program.schedule.shape().microbatches));
    return run;
  }

  std::vector<TransferSample> time_transfers(std::size_t stages, const RunOptions& options) override;

private:
  static std::vector<StageResult> train_all(const Program& program, const RunOptions& options) {
    const std::size_t stages = program.stages.size();
    std::vector<StageResult> results(stages);
    Monitor monitor{program, all_stages(stages), progress_limit(program, options), stop_grace, end_process};
    ThreadChannels channels{program,
                            host_sizes(options.workload).boundary,
                            monitor,
                            {.paced = options.transport == "paced", .spin = spin_of(stages)}};
    FirstFailure failure{monitor};
    // They live until all threads have ended: after a failure, another thread may still read gradients.
    std::vector<std::unique_ptr<Device>> devices(stages);
    std::vector<std::unique_ptr<PipelineStage>> pipeline(stages);
    on_stage_threads(stages, failure, [&](StageId id) {
      std::unique_ptr<Device>& device = devices[index(id)];
      std::unique_ptr<PipelineStage>& stage = pipeline[index(id)];
      device = make_device(id, options.workload);
      const StageOptions how{.compute = options.compute, .poison = false, .fault = options.fault};
      stage = std::make_unique<PipelineStage>(program, id, *device, channels.transport(id), monitor, how);
      results[index(id)] = train(*stage, program, options);
    });
    failure.rethrow_if_any();
    return results;
  }
};

/// The time from the end of a send until the sleeping receiver continues, as a waiting stage sees it. Tasks write and
/// read the content, so the size does not matter except for noise.
Duration time_transfer(StageId from, StageId to, Bytes bytes, Duration timeout) {
  constexpr std::size_t transfers = 15;
  constexpr Duration pause = 2 * wake_time; // longer than a receiver spins
  const Program program = one_way(from, to, transfers);
  std::vector<Duration> times;
  Monitor monitor{program, {from, to}, timeout, stop_grace, end_process};
  ThreadChannels channels{program, bytes, monitor, {.paced = false, .spin = spin_of(program.stages.size())}};
  FirstFailure failure{monitor};
  on_stage_threads(program.stages.size(), failure, [&](StageId stage) {
    if (stage != from && stage != to) return;
    Transport& transport = channels.transport(stage);
    transport.begin_step();
    for (std::uint32_t position = 0; position < transfers; ++position) {
      const TransferRef transfer{ChannelId{0}, position};
      monitor.note(stage, Doing::computing);
      if (stage == from) {
        void* const content = transport.output(transfer);
        std::fill_n(static_cast<std::byte*>(content), bytes.count(), std::byte{1});
        std::this_thread::sleep_for(pause);
        transport.isend(transfer, bytes);
      } else {
        const void* const content = transport.input(transfer, bytes);
        const auto seen = std::chrono::steady_clock::now().time_since_epoch();
        times.push_back(std::chrono::duration_cast<Duration>(seen) - Duration{transport.arrivals().back().began});
        PPSIM_ASSERT(*static_cast<const std::byte*>(content) == std::byte{1});
        transport.release(transfer);
      }
    }
  });
  failure.rethrow_if_any();
  return percentile(std::move(times), 50);
}

std::vector<TransferSample> ThreadsBackend::time_transfers(std::size_t stages, const RunOptions& options) {
  std::vector<TransferSample> samples;
  const Duration timeout = options.timeout > Duration{0} ? options.timeout : Duration{std::chrono::seconds{10}};
  for (std::size_t stage = 0; stages > 1 && stage < stages; ++stage) {
    const auto from = make_id<StageId>(stage);
    const auto to = make_id<StageId>((stage + 1) % stages); // interleaved schedules use a ring
    for (std::int64_t bytes = std::int64_t{4} << 10; bytes <= std::int64_t{16} << 20; bytes *= 4) {
      samples.push_back({from, to, Bytes{bytes}, time_transfer(from, to, Bytes{bytes}, timeout)});
      if (stages > 2) samples.push_back({to, from, Bytes{bytes}, time_transfer(to, from, Bytes{bytes}, timeout)});
    }
  }
  return samples;
}

} // namespace

std::unique_ptr<Backend> make_threads_backend() {
  return std::make_unique<ThreadsBackend>();
}

} // namespace ppsim::runtime
