#include "nccl_communicator.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "check.hpp"

namespace ppsim::runtime::gpu {

namespace {

constexpr std::chrono::seconds abort_limit{5};

} // namespace

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
  config.cgaClusterSize = 0; // clusters of 4, the default on Hopper, need 4 adjacent free multiprocessors
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

bool abort_all(std::vector<std::unique_ptr<Communicator>>& communicators) noexcept {
  // Shared with the thread, which may outlive this call.
  struct Shared {
    std::vector<ncclComm_t> communicators;
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
  };
  try {
    int device = 0;
    static_cast<void>(cudaGetDevice(&device)); // earlier failures are reported elsewhere
    const auto shared = std::make_shared<Shared>();
    for (auto& communicator : communicators)
      if (communicator && communicator->communicator_ != nullptr)
        shared->communicators.push_back(std::exchange(communicator->communicator_, nullptr));
    communicators.clear();
    std::thread{[shared, device] {
      static_cast<void>(cudaSetDevice(device));
      static_cast<void>(ncclGroupStart());
      for (ncclComm_t communicator : shared->communicators) static_cast<void>(ncclCommAbort(communicator));
      static_cast<void>(ncclGroupEnd());
      const std::lock_guard lock{shared->mutex};
      shared->done = true;
      shared->ended.notify_all();
    }}.detach();
    std::unique_lock lock{shared->mutex};
    return shared->ended.wait_for(lock, abort_limit, [&] { return shared->done; });
  } catch (...) {
    return false; // no thread could be started
  }
}

void abort_or_exit(std::vector<std::unique_ptr<Communicator>>& communicators, const char* why) noexcept {
  if (abort_all(communicators)) return;
  std::fprintf(stderr, "ppsim: error: NCCL: %s; then ncclCommAbort() did not end, and the process ends without it\n",
               why);
  std::_Exit(1);
}

} // namespace ppsim::runtime::gpu
