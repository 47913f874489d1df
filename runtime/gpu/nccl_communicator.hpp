#pragma once
// Owners of NCCL communicators, and checks of calls into NCCL.

#include <nccl.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace ppsim::runtime::gpu {

/// Throws std::runtime_error on failure. `communicator`: its last error is included; may be null.
void check(ncclResult_t status, ncclComm_t communicator, const char* file, int line, const char* call);
#define PPSIM_NCCL_CHECK(call, communicator)                                                                           \
  ::ppsim::runtime::gpu::check((call), (communicator), __FILE__, __LINE__, #call)

/// A blocking communicator: a non-blocking one starts a thread for every group of calls. Its kernels use at most 4
/// blocks, because they share the multiprocessors with the tasks.
class Communicator {
public:
  /// Waits for the other ranks. The current device is used.
  Communicator(const ncclUniqueId& id, std::size_t ranks, std::size_t rank);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();
  [[nodiscard]] ncclComm_t get() const { return communicator_; }
  /// Throws std::runtime_error if NCCL has detected an asynchronous failure (a lost peer, a network error).
  void check_health() const;

private:
  friend bool abort_all(std::vector<std::unique_ptr<Communicator>>& communicators) noexcept;
  ncclComm_t communicator_ = nullptr;
};

/// Ends their work on the device and destroys them. All in one group, because a single one waits for its stream, which
/// may wait for a kernel of another communicator. Runs on a separate thread, because it may hang (NVIDIA/nccl issues
/// 549, 992). Returns whether it ended within 5 s.
[[nodiscard]] bool abort_all(std::vector<std::unique_ptr<Communicator>>& communicators) noexcept;

/// As abort_all(). If it does not end, ends the process, with the reason `why` on stderr: otherwise streams would be
/// waited for without end, with no watcher left.
void abort_or_exit(std::vector<std::unique_ptr<Communicator>>& communicators, const char* why) noexcept;

/// Calls of one group progress together; they are launched at its end.
template <class Function>
void as_group(ncclComm_t communicator, Function calls) {
  PPSIM_NCCL_CHECK(ncclGroupStart(), communicator);
  try {
    calls();
  } catch (...) {
    static_cast<void>(ncclGroupEnd()); // otherwise all later calls would belong to this group
    throw;
  }
  PPSIM_NCCL_CHECK(ncclGroupEnd(), communicator);
}

} // namespace ppsim::runtime::gpu
