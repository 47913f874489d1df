#pragma once
// The plugin ppsim_gpu for the backends cuda and nccl.

#include "ppsim/runtime/gpu.hpp"

#include <string_view>

namespace ppsim::runtime {

/// The plugin, loaded at the first call. Throws Error (failed) if it is missing or does not load.
[[nodiscard]] const GpuPlugin& gpu_plugin();

/// Throws Error (failed), with the remedy, unless it can be used.
void check_usable(std::string_view backend, const GpuState& state);

/// Throws Error (bad_input) for an invalid workload (as make_host_device()), or for sizes that a GPU's matrix products
/// do not support.
void check_gpu_workload(const Workload& workload);

/// The sizes of such a workload; needs no plugin. Throws Error as check_gpu_workload().
[[nodiscard]] ChunkSizes gpu_sizes(const Workload& workload);

/// Rethrows the current exception, from a plugin that cannot throw Error, as Error (failed). Call it in a catch block.
[[noreturn]] void rethrow_as_error(std::string_view backend);

/// The relative difference, against the largest value, of sums of bf16 products in another order than the reference's.
inline constexpr double gpu_tolerance = 5e-3;

} // namespace ppsim::runtime
