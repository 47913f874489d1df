#include "nccl_self.hpp"

#include "nccl_communicator.hpp"

namespace ppsim::runtime::gpu {

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
