#pragma once
// The stages of a program on one GPU, issued by one thread.

#include "ppsim/runtime/gpu.hpp"

#include <memory>

namespace ppsim::runtime::gpu {

/// See GpuPlugin::make_pipeline.
[[nodiscard]] std::unique_ptr<GpuPipeline> make_pipeline(const Program& program, const GpuOptions& options);

} // namespace ppsim::runtime::gpu
