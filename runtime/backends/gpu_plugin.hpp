#pragma once
// The plugin ppsim_gpu, as backends cuda and nccl see it.

#include "ppsim/runtime/gpu.hpp"

#include <string_view>

namespace ppsim::runtime {

/// Loads it. Throws Error (failed) where it is missing or does not load.
[[nodiscard]] const GpuPlugin& gpu_plugin();

/// Throws Error (failed), with the remedy, unless it can be used.
void check_usable(std::string_view backend, const GpuState& state);

/// Throws Error (bad_input) for a workload that makes no sense (as make_host_device), or that a GPU's matrix products
/// do not take.
void check_gpu_workload(const Workload& workload);

/// What is being thrown, by a plugin that knows no Error, as one (failed). From within a catch.
[[noreturn]] void rethrow_as_error(std::string_view backend);

/// Sums of bf16 products in another order than the reference's differ by so much, relative to the largest.
inline constexpr double gpu_tolerance = 5e-3;

} // namespace ppsim::runtime
