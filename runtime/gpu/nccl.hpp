#pragma once
// The parts of the plugin that use NCCL, in nccl.cpp; without_nccl.cpp replaces them if the plugin is built without
// NCCL. See GpuPlugin.

#include "ppsim/runtime/gpu.hpp"

#include <memory>

#include "link.hpp"

namespace ppsim::runtime::gpu {

[[nodiscard]] GpuState nccl_state();
[[nodiscard]] NcclId make_nccl_id();
/// One stage on its own GPU, with NCCL between the processes.
[[nodiscard]] std::unique_ptr<RankParts> make_nccl_rank(const Program& program, const GpuRankOptions& options);
/// One stage's ends of its channels, with ncclSend and ncclRecv. Creates the communicators of the stage and sends
/// something over each, because NCCL connects at the first use. All stages have to call it at the same time.
[[nodiscard]] std::unique_ptr<Transport> make_nccl_transport(const Program& program, const GpuRankOptions& options,
                                                             std::size_t boundary, const Queue& compute, Clock& clock);
/// Transfers from a GPU to itself, as sends and receives in a communicator of one rank. Throws std::runtime_error if
/// the plugin was built without NCCL.
[[nodiscard]] Mover make_nccl_self_mover();

} // namespace ppsim::runtime::gpu
