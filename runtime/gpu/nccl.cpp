#include "nccl.hpp"

#include <cstring>
#include <stdexcept>

#include "check.hpp"
#include "cuda_device.hpp"
#include "nccl_communicator.hpp"

namespace ppsim::runtime::gpu {

namespace {

/// Makes the GPU of a process current. Throws std::runtime_error if there are too few.
int take_device(const GpuRankOptions& options) {
  int devices = 0;
  PPSIM_GPU_CHECK(cudaGetDeviceCount(&devices));
  // If the launcher leaves only one device visible (srun --gpus-per-task=1), every process sees its own as 0.
  const std::size_t wanted = devices == 1 ? 0 : options.local_rank / options.ranks_per_gpu;
  if (wanted >= static_cast<std::size_t>(devices))
    throw std::runtime_error{"process " + std::to_string(options.local_rank) + " of this host needs GPU " +
                             std::to_string(wanted) + ", there are " + std::to_string(devices) +
                             ": start no more processes than GPUs on a host"};
  const auto device = static_cast<int>(wanted);
  PPSIM_GPU_CHECK(cudaSetDevice(device));
  PPSIM_GPU_CHECK(cudaFree(nullptr));
  return device;
}

class NcclRank final : public RankParts {
public:
  NcclRank(const Program& program, const GpuRankOptions& options)
      : device_number_{take_device(options)},
        clock_{make_queue(), options.timed ? Clock::Kind::kernels : Clock::Kind::events}, handle_{make_matmul_handle()},
        device_{
            options.workload,
            make_queue(),
            multiprocessors(),
            handle_.get(),
            clock_,
            [this, stopped = options.stopped] { return transport_ ? transport_->stopped() : stopped && stopped(); }} {
    device_.warm_up(program.stages[index(options.stage)]); // before anything waits for a peer
    transport_ = make_nccl_transport(program, options, static_cast<std::size_t>(device_.sizes().boundary.count()),
                                     device_.queue(), clock_);
  }
  // Members are destroyed in reverse order: the transport ends kernels that wait for a peer before the device waits for
  // its stream.

  [[nodiscard]] Device& device() override { return device_; }
  [[nodiscard]] Transport& transport() override { return *transport_; }
  [[nodiscard]] std::string describe() const override {
    return "GPU " + std::to_string(device_number_) + ", " +
           nccl_state().why; // the clock's error is reported separately
  }
  [[nodiscard]] std::int64_t clock_error() const override { return clock_.error(); }

private:
  int device_number_;
  Clock clock_;
  MatmulHandle handle_;
  CudaDevice device_;
  std::unique_ptr<Transport> transport_;
};

} // namespace

GpuState nccl_state() {
  int version = 0;
  PPSIM_NCCL_CHECK(ncclGetVersion(&version), nullptr);
  // NCCL_VERSION(): 10000 major + 100 minor + patch, from 2.9 on
  return {.usable = true,
          .why = "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
                 std::to_string(version % 100),
          .remedy = {},
          .devices = 0};
}

NcclId make_nccl_id() {
  ncclUniqueId made{};
  PPSIM_NCCL_CHECK(ncclGetUniqueId(&made), nullptr);
  NcclId id{};
  static_assert(sizeof made == sizeof id);
  std::memcpy(id.data(), &made, sizeof made);
  return id;
}

std::unique_ptr<RankParts> make_nccl_rank(const Program& program, const GpuRankOptions& options) {
  return std::make_unique<NcclRank>(program, options);
}

Mover make_nccl_self_mover() {
  ncclUniqueId id{};
  PPSIM_NCCL_CHECK(ncclGetUniqueId(&id), nullptr);
  const auto communicator = std::make_shared<Communicator>(id, 1, 0);
  return [communicator](void* to, const void* from, std::size_t bytes, const Queue& queue) {
    ncclComm_t const self = communicator->get();
    // A send to oneself needs its receive in the same group.
    as_group(self, [&] {
      PPSIM_NCCL_CHECK(ncclSend(from, bytes, ncclInt8, 0, self, queue.get()), self);
      PPSIM_NCCL_CHECK(ncclRecv(to, bytes, ncclInt8, 0, self, queue.get()), self);
    });
  };
}

} // namespace ppsim::runtime::gpu
