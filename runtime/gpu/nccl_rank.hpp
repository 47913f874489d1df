#pragma once
// One stage on a GPU of its own, with NCCL between the processes. See GpuPlugin.

#include "ppsim/runtime/gpu.hpp"

#include <memory>

namespace ppsim::runtime::gpu {

[[nodiscard]] GpuState nccl_state();
[[nodiscard]] std::size_t communicators(const Program& program);
[[nodiscard]] NcclId make_nccl_id();
[[nodiscard]] std::unique_ptr<GpuRank> make_nccl_rank(const Program& program, const GpuRankOptions& options);

} // namespace ppsim::runtime::gpu
