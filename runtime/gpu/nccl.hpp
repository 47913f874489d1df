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
/// Transfers from a GPU to itself: sends to and receives from itself, in a communicator of one rank of its own. Throws
/// std::runtime_error where the plugin was built without NCCL.
[[nodiscard]] Mover make_nccl_self_mover();

} // namespace ppsim::runtime::gpu
