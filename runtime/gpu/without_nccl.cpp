// Replaces nccl.cpp if the plugin is built without NCCL.

#include <stdexcept>

#include "nccl.hpp"

namespace ppsim::runtime::gpu {

namespace {

constexpr const char* why = "the plugin ppsim_gpu was built without NCCL";

} // namespace

Mover make_nccl_self_mover() {
  throw std::runtime_error{why};
}

GpuState nccl_state() {
  return {
      .usable = false, .why = why, .remedy = "install libnccl-dev, or set NCCL_ROOT, and build again", .devices = 0};
}

NcclId make_nccl_id() {
  throw std::runtime_error{why};
}

std::unique_ptr<RankParts> make_nccl_rank(const Program& /*program*/, const GpuRankOptions& /*options*/) {
  throw std::runtime_error{why};
}

} // namespace ppsim::runtime::gpu
