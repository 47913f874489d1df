// Backend mpi: a process per stage on processors, under mpirun or srun. Its times mean little where stages share cores
// or where messages need a processor to move; what it shows is that order, memory, results and failures are right.

#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/runtime/session.hpp"
#include "ppsim/sim/error.hpp"
#include "ppsim/sim/percentile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend_list.hpp"
#include "cores.hpp"
#include "message_transport.hpp"
#include "process_run.hpp"
#include "result_bytes.hpp"

namespace ppsim::runtime {

namespace {

class HostRank final : public RankParts {
public:
  explicit HostRank(const RankContext& context)
      : device_{make_host_device(context.options.workload)},
        transport_{context.program, context.stage, context.group.messages(), device_->sizes().boundary,
                   context.give_up},
        library_{context.group.mpi_name()} {
    // One of the cores that the launcher leaves it: all of them after mpirun --bind-to none, else often just one.
    pin_to_core(context.group.messages().local_rank());
    sleep_precisely();
  }
  [[nodiscard]] Device& device() override { return *device_; }
  [[nodiscard]] Transport& transport() override { return transport_; }
  [[nodiscard]] std::string describe() const override { return fmt::format("messages by {}", library_); }

private:
  std::unique_ptr<Device> device_;
  MessageTransport transport_;
  std::string library_;
};

/// Half of the time that `bytes` take to `peer` and back: the median of some rounds.
Duration time_round_trip(MessagePassing& messages, std::size_t peer, Bytes bytes, bool begins, const GiveUp& give_up) {
  constexpr int rounds = 15;
  const auto content = std::make_shared<Message>(static_cast<std::size_t>(bytes.count()), std::byte{1});
  std::vector<Duration> times;
  const auto send = [&] {
    Pending sent = Pending::send(messages, content->data(), content->size(), peer, number(Tag::transfer_time), content);
    wait_until([&] { return sent.test(); }, give_up);
  };
  const auto receive = [&] {
    Pending coming =
        Pending::receive(messages, content->data(), content->size(), peer, number(Tag::transfer_time), content);
    wait_until([&] { return coming.test(); }, give_up);
  };
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t start = monotonic_now();
    if (begins) send();
    receive();
    if (!begins) send();
    times.emplace_back((monotonic_now() - start) / 2);
  }
  return percentile(std::move(times), 50);
}

class MpiBackend final : public Backend {
public:
  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  [[nodiscard]] std::vector<std::string_view> transports() const override { return {"direct"}; }
  [[nodiscard]] Usability usability() override {
    return {true,
            fmt::format("{}, {}, {}", library_, matrix_library(),
                        launch() ? "started by a launcher" : "to be started by mpirun -n STAGES, or srun"),
            {}};
  }
  [[nodiscard]] bool is_leader() override { return speaks_first(); }
  [[nodiscard]] ChunkSizes sizes(const Workload& workload) override { return host_sizes(workload); }

  [[nodiscard]] std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) override {
    check_options(*this, program, options);
    if (program.p2p != P2p::edge)
      throw Error(ExitCode::bad_input,
                  {"--p2p",
                   fmt::format("{} is how NCCL's communicators are shared; MPI needs none", to_string(program.p2p)),
                   "leave it out, or take --backend nccl"});
    return run_processes(program, options,
                         {.backend = name(),
                          .make_parts = [](const RankContext& context) { return std::make_unique<HostRank>(context); },
                          .make_reference_device = make_host_device,
                          .tolerance = reordering_tolerance(program.schedule.shape().microbatches)});
  }

  [[nodiscard]] std::vector<TransferSample> time_transfers(std::size_t stages, const RunOptions& options) override;

private:
  std::string library_ = mpi_library();
};

/// Between this process and `peer`, over sizes; what the one that `begins` measured.
std::vector<TransferSample> time_with(MessagePassing& messages, std::size_t peer, bool begins, const GiveUp& give_up) {
  std::vector<TransferSample> samples;
  for (std::int64_t bytes = std::int64_t{4} << 10; bytes <= std::int64_t{16} << 20; bytes *= 4) {
    const Duration time = time_round_trip(messages, peer, Bytes{bytes}, begins, give_up);
    if (!begins) continue;
    samples.push_back({make_id<StageId>(messages.rank()), make_id<StageId>(peer), Bytes{bytes}, time});
    // Only both ways together can be timed by one clock. Of two stages, the other begins in its turn.
    if (messages.size() > 2)
      samples.push_back({make_id<StageId>(peer), make_id<StageId>(messages.rank()), Bytes{bytes}, time});
  }
  return samples;
}

std::vector<TransferSample> MpiBackend::time_transfers(std::size_t stages, const RunOptions& options) {
  check_launch(name(), stages);
  ProcessGroup& group = ProcessGroup::get();
  check_launch(name(), stages);
  const Duration limit =
      options.timeout > Duration{0}
          ? options.timeout
          : Duration{std::chrono::seconds{60}} * static_cast<Duration::rep>(stages); // one edge after another
  std::vector<TransferSample> samples;
  run_together(group, limit, [&](const GiveUp& give_up) {
    ByteWriter mine;
    for (std::size_t from = 0; stages > 1 && from < stages; ++from) {
      const std::size_t to = (from + 1) % stages; // interleaved schedules go round
      barrier(group.messages(), give_up, Wait::patient);
      if (group.rank() == from) mine.put(time_with(group.messages(), to, true, give_up));
      if (group.rank() == to) static_cast<void>(time_with(group.messages(), from, false, give_up));
    }
    for (const Message& message : gather(group.messages(), mine.bytes(), give_up)) {
      if (message.empty()) continue;
      ByteReader reader{message};
      std::vector<TransferSample> theirs;
      reader.get(theirs);
      samples.insert(samples.end(), theirs.begin(), theirs.end());
    }
  });
  return samples;
}

} // namespace

std::unique_ptr<Backend> make_mpi_backend() {
  return std::make_unique<MpiBackend>();
}

} // namespace ppsim::runtime
