#pragma once
// Owners of NCCL communicators, and checks of calls into NCCL.

#include <nccl.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace ppsim::runtime::gpu {

/// Throws std::runtime_error unless it is a success. `communicator`: whose last error is reported too; may be null.
void check(ncclResult_t status, ncclComm_t communicator, const char* file, int line, const char* call);
#define PPSIM_NCCL_CHECK(call, communicator)                                                                           \
  ::ppsim::runtime::gpu::check((call), (communicator), __FILE__, __LINE__, #call)

/// A communicator, blocking: a non-blocking one starts a thread for every group of calls. Its kernels take 4 blocks at
/// most, as they share the multiprocessors with the tasks.
class Communicator {
public:
  /// Waits for the other ranks. The current device is the rank's.
  Communicator(const ncclUniqueId& id, std::size_t ranks, std::size_t rank);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();
  [[nodiscard]] ncclComm_t get() const { return communicator_; }
  /// Throws std::runtime_error where NCCL has noticed a failure since (a peer that is gone, a network error).
  void check_health() const;

private:
  friend bool abort_all(std::vector<std::unique_ptr<Communicator>>& communicators) noexcept;
  ncclComm_t communicator_ = nullptr;
};

/// Ends what they run on the device, and destroys them: all as one group, because a single one waits for its stream,
/// which may wait for a kernel of another one that was not told yet. From a thread of its own, as it may hang itself
/// (NVIDIA/nccl issues 549, 992). Returns whether it ended, within 5 seconds.
[[nodiscard]] bool abort_all(std::vector<std::unique_ptr<Communicator>>& communicators) noexcept;

/// As abort_all(); if it does not end, so does the process, with `why` it was tried on stderr: streams would be waited
/// for without end next, and nobody watches any more.
void abort_or_exit(std::vector<std::unique_ptr<Communicator>>& communicators, const char* why) noexcept;

/// Calls of one group progress together; they are launched when this is over.
template <class Function>
void as_group(ncclComm_t communicator, Function calls) {
  PPSIM_NCCL_CHECK(ncclGroupStart(), communicator);
  try {
    calls();
  } catch (...) {
    static_cast<void>(ncclGroupEnd()); // else all later calls would belong to this group
    throw;
  }
  PPSIM_NCCL_CHECK(ncclGroupEnd(), communicator);
}

} // namespace ppsim::runtime::gpu
