#include "nccl_communicator.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "check.hpp"

namespace ppsim::runtime::gpu {

void check(ncclResult_t status, ncclComm_t communicator, const char* file, int line, const char* call) {
  if (status == ncclSuccess) return;
  std::string text = ncclGetErrorString(status);
  if (const char* last = ncclGetLastError(communicator); last != nullptr && *last != '\0')
    text += std::string{": "} + last;
  throw_failure(file, line, "NCCL", text.c_str(), call);
}

Communicator::Communicator(const ncclUniqueId& id, std::size_t ranks, std::size_t rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  config.minCTAs = 1;
  config.maxCTAs = 4;
  PPSIM_NCCL_CHECK(ncclCommInitRankConfig(&communicator_, static_cast<int>(ranks), id, static_cast<int>(rank), &config),
                   nullptr);
}

Communicator::~Communicator() {
  if (communicator_ != nullptr) static_cast<void>(ncclCommDestroy(communicator_));
}

void Communicator::check_health() const {
  ncclResult_t noticed = ncclSuccess;
  PPSIM_NCCL_CHECK(ncclCommGetAsyncError(communicator_, &noticed), communicator_);
  if (noticed != ncclSuccess && noticed != ncclInProgress) PPSIM_NCCL_CHECK(noticed, communicator_);
}

void abort_all(std::vector<std::unique_ptr<Communicator>>& communicators) noexcept {
  // Shared with the thread, which may outlive this call.
  struct Shared {
    std::vector<ncclComm_t> communicators;
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
  };
  try {
    int device = 0;
    PPSIM_GPU_CHECK(cudaGetDevice(&device));
    const auto shared = std::make_shared<Shared>();
    for (auto& communicator : communicators)
      if (communicator && communicator->communicator_ != nullptr)
        shared->communicators.push_back(std::exchange(communicator->communicator_, nullptr));
    communicators.clear();
    std::thread{[shared, device] {
      static_cast<void>(cudaSetDevice(device));
      for (ncclComm_t communicator : shared->communicators) static_cast<void>(ncclCommAbort(communicator));
      const std::lock_guard lock{shared->mutex};
      shared->done = true;
      shared->ended.notify_all();
    }}.detach();
    std::unique_lock lock{shared->mutex};
    shared->ended.wait_for(lock, std::chrono::seconds{5}, [&] { return shared->done; });
  } catch (...) { // NOLINT(bugprone-empty-catch): the process ends because of another failure already
  }
}

} // namespace ppsim::runtime::gpu
