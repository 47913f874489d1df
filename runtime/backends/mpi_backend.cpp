// Backend mpi: a process per stage on processors, under mpirun or srun. Its times mean little if stages share cores or
// messages need a processor; it checks order, memory, results and failures.

#include "ppsim/base/percentile.hpp"
#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/runtime/session.hpp"

#include <fmt/format.h>

#include "backend_list.hpp"
#include "host/cores.hpp"
#include "processes/message_transport.hpp"
#include "processes/process_run.hpp"
#include "stage/result_bytes.hpp"

namespace ppsim::runtime {

namespace {

class HostRank final : public RankParts {
public:
  explicit HostRank(const RankContext& context)
      : device_{make_host_device(context.options.workload)},
        transport_{make_message_transport(context.program, context.stage, context.group.messages(),
                                          device_->sizes().boundary, context.give_up)},
        library_{context.group.mpi_name()} {
    // A core that the launcher leaves it: all of them after mpirun --bind-to none, otherwise often only one.
    pin_to_core(context.group.messages().local_rank());
    sleep_precisely();
  }
  [[nodiscard]] Device& device() override { return *device_; }
  [[nodiscard]] Transport& transport() override { return *transport_; }
  [[nodiscard]] std::string describe() const override { return fmt::format("messages by {}", library_); }

private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Transport> transport_;
  std::string library_;
};

/// Half of the round trip of `bytes` to `peer`: the median of several rounds.
Duration time_round_trip(MessagePassing& messages, std::size_t peer, Bytes bytes, bool begins, const GiveUp& give_up) {
  constexpr int rounds = 15;
  const auto content = std::make_shared<Message>(static_cast<std::size_t>(bytes.count()), std::byte{1});
  std::vector<Duration> times;
  const auto send = [&] {
    Pending::send(messages, content->data(), content->size(), peer, number(Tag::transfer_time), content).wait(give_up);
  };
  const auto receive = [&] {
    Pending::receive(messages, content->data(), content->size(), peer, number(Tag::transfer_time), content)
        .wait(give_up);
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
                        launch() ? "started by a launcher" : "needs mpirun -n STAGES, or srun, to start it"),
            {}};
  }
  [[nodiscard]] bool is_leader() override { return prints_for_all(); }
  [[nodiscard]] ChunkSizes sizes(const Workload& workload) override { return host_sizes(workload); }

  [[nodiscard]] std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) override {
    check_options(*this, program, options);
    problems_without_nccl(program, options, "; MPI needs none").throw_if_any();
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

/// Times transfers between the processes `from` and `to`, if this is one of them; adds the results on `from`.
void time_edge(MessagePassing& messages, std::size_t from, std::size_t to, Bytes bytes, const GiveUp& give_up,
               std::vector<TransferSample>& samples) {
  if (messages.rank() == to) static_cast<void>(time_round_trip(messages, from, bytes, false, give_up));
  if (messages.rank() != from) return;
  const Duration time = time_round_trip(messages, to, bytes, true, give_up);
  samples.push_back({make_id<StageId>(from), make_id<StageId>(to), bytes, time});
  // One clock can only time both directions together. With two stages, the other one times its own direction.
  if (messages.size() > 2) samples.push_back({make_id<StageId>(to), make_id<StageId>(from), bytes, time});
}

std::vector<TransferSample> MpiBackend::time_transfers(std::size_t stages, const RunOptions& options) {
  check_launch(name(), stages);
  ProcessGroup& group = ProcessGroup::get();
  check_launch(name(), stages);
  // One size on one edge must finish within the limit, as a task in a run.
  const Duration limit = options.timeout > Duration{0} ? options.timeout : std::chrono::seconds{60};
  std::vector<TransferSample> measured;
  for (std::size_t from = 0; stages > 1 && from < stages; ++from)
    for (std::int64_t bytes = std::int64_t{4} << 10; bytes <= std::int64_t{16} << 20; bytes *= 4)
      run_together(group, limit, [&](const GiveUp& give_up) {
        barrier(group.messages(), give_up, Wait::patient);
        const std::size_t to = (from + 1) % stages; // interleaved schedules use a ring
        time_edge(group.messages(), from, to, Bytes{bytes}, give_up, measured);
      });
  std::vector<TransferSample> samples;
  run_together(group, limit, [&](const GiveUp& give_up) {
    ByteWriter mine;
    mine.put(measured);
    for (const Message& message : gather(group.messages(), mine.bytes(), give_up)) {
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
