#pragma once
// Transfers by NCCL from a GPU to itself.

#include "link.hpp"

namespace ppsim::runtime::gpu {

/// Sends to and receives from itself, in a communicator of one rank of its own. Throws std::runtime_error where the
/// plugin was built without NCCL.
[[nodiscard]] Mover make_nccl_self_mover();

} // namespace ppsim::runtime::gpu
