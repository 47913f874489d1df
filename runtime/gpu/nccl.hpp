#pragma once
// What the plugin has of NCCL, in nccl.cpp; where it was built without, without_nccl.cpp takes its place. See
// GpuPlugin.

#include "ppsim/runtime/gpu.hpp"

#include <memory>

#include "link.hpp"

namespace ppsim::runtime::gpu {

[[nodiscard]] GpuState nccl_state();
[[nodiscard]] NcclId make_nccl_id();
/// One stage on a GPU of its own, with NCCL between the processes.
[[nodiscard]] std::unique_ptr<RankParts> make_nccl_rank(const Program& program, const GpuRankOptions& options);
/// One stage's ends of its channels, by ncclSend and ncclRecv. Makes the communicators that the stage is in and sends
/// something over each, because NCCL connects at the first use. All stages have to do so at the same time.
[[nodiscard]] std::unique_ptr<Transport> make_nccl_transport(const Program& program, const GpuRankOptions& options,
                                                             std::size_t boundary, const Queue& compute, Clock& clock);
/// Transfers from a GPU to itself: sends to and receives from itself, in a communicator of one rank of its own. Throws
/// std::runtime_error where the plugin was built without NCCL.
[[nodiscard]] Mover make_nccl_self_mover();

} // namespace ppsim::runtime::gpu
