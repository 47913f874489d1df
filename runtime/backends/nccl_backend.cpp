// Backend nccl: a process and a GPU per stage. MPI starts, connects and gathers, as for backend mpi; within a step only
// NCCL moves data.

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/runtime/session.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "backend_list.hpp"
#include "gpu_plugin.hpp"
#include "processes/process_run.hpp"
#include "program/transfer_runs.hpp"

namespace ppsim::runtime {

namespace {

/// Activations on a GPU are bf16.
constexpr std::size_t sizeof_bf16 = 2;

/// $PPSIM_RANKS_PER_GPU: processes per GPU, for tests on machines with few GPUs; default 1.
std::size_t ranks_per_gpu() {
  const char* text = std::getenv("PPSIM_RANKS_PER_GPU"); // NOLINT(concurrency-mt-unsafe): nothing sets it
  if (text == nullptr) return 1;
  std::size_t ranks = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), ranks);
  if (error != std::errc{} || *end != '\0' || ranks == 0 || ranks > 64)
    throw Error(ExitCode::bad_input, {"$PPSIM_RANKS_PER_GPU", fmt::format("{}", in_quotes(text)), "1 to 64"});
  return ranks;
}

/// NCCL refuses two ranks of one host on one GPU ("Duplicate GPU detected"). Up to 2.29, a separate host name per rank
/// makes it treat them as separate hosts, connected by sockets (NCCL_HOSTID); from 2.30 a variable allows them. NCCL
/// reads both when it starts. Call it before MPI starts, whose threads may read the environment; later calls have no
/// effect.
void allow_shared_gpu() {
  const std::optional<Launch> launched = launch();
  if (!launched || ranks_per_gpu() == 1) return;
  // NOLINTBEGIN(concurrency-mt-unsafe)
  setenv("NCCL_HOSTID", fmt::format("ppsim-rank-{}", launched->rank).c_str(), 0);
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  // NOLINTEND(concurrency-mt-unsafe)
}

/// The leader creates them and broadcasts them.
std::vector<NcclId> make_ids(const GpuPlugin& plugin, std::size_t count, ProcessGroup& group, const GiveUp& give_up) {
  std::vector<NcclId> ids(count);
  Message bytes(count * sizeof(NcclId));
  if (group.is_leader()) {
    for (NcclId& id : ids) id = plugin.make_id();
    std::memcpy(bytes.data(), ids.data(), bytes.size());
  }
  bytes = broadcast(group.messages(), bytes, give_up);
  PPSIM_ASSERT(bytes.size() == count * sizeof(NcclId));
  std::memcpy(ids.data(), bytes.data(), bytes.size());
  return ids;
}

std::unique_ptr<RankParts> make_rank(const GpuPlugin& plugin, const RankContext& context) {
  check_usable("nccl", plugin.state());
  check_usable("nccl", plugin.nccl_state());
  const GiveUp give_up = context.give_up;
  MessagePassing& messages = context.group.messages();
  return plugin.make_rank(context.program,
                          {.workload = context.options.workload,
                           .stage = context.stage,
                           .local_rank = messages.local_rank(),
                           .ranks_per_gpu = ranks_per_gpu(),
                           .timed = context.options.compute == Compute::timed,
                           .ids = make_ids(plugin, plugin.communicators(context.program), context.group, give_up),
                           // Also called in destructors.
                           .stopped =
                               [give_up] {
                                 try {
                                   give_up();
                                   return false;
                                 } catch (const std::exception&) {
                                   return true;
                                 }
                               },
                           .barrier = [&messages, give_up] { runtime::barrier(messages, give_up); }});
}

class NcclBackend final : public Backend {
public:
  [[nodiscard]] std::string_view name() const override { return "nccl"; }
  [[nodiscard]] std::vector<std::string_view> transports() const override { return {"direct"}; }
  Usability usability() override {
    const GpuState state = gpu_plugin().state();
    const GpuState nccl = gpu_plugin().nccl_state();
    if (!nccl.usable) return {false, nccl.why, nccl.remedy};
    if (!state.usable) return {false, state.why, state.remedy};
    return {true,
            fmt::format("{} x {}, {}, {}, {}", state.devices, state.why, nccl.why, mpi_library(),
                        launch() ? "started by a launcher" : "needs mpirun -n STAGES, or srun, to start it"),
            {}};
  }
  bool is_leader() override { return prints_for_all(); }
  ChunkSizes sizes(const Workload& workload) override { return gpu_sizes(workload); }

  std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) override {
    const GpuPlugin& plugin = gpu_plugin();
    check_options(*this, program, options);
    check_gpu_workload(options.workload);
    allow_shared_gpu();
    return run_processes(
        program, options,
        {.backend = name(),
         .make_parts = [&plugin](const RankContext& context) { return make_rank(plugin, context); },
         .make_reference_device = [&plugin](const Workload& workload) { return plugin.make_device(workload); },
         .tolerance = gpu_tolerance});
  }

  std::vector<TransferSample> time_transfers(std::size_t stages, const RunOptions& options) override {
    // The time of transfers between GPUs of different processes is measured in real runs.
    return transfers_of_runs(*this, stages, options, sizeof_bf16);
  }
};

} // namespace

std::unique_ptr<Backend> make_nccl_backend() {
  return std::make_unique<NcclBackend>();
}

} // namespace ppsim::runtime
