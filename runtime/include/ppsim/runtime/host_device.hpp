#pragma once
// The processor as a Device: fp32, matrix products by OpenBLAS if it is installed, one thread per stage.

#include "ppsim/runtime/device.hpp"

#include <memory>
#include <string>

namespace ppsim::runtime {

[[nodiscard]] ChunkSizes host_sizes(const Workload& workload);
/// Throws Error (bad_input) for an invalid workload (heads do not divide the width, sizes out of range).
[[nodiscard]] std::unique_ptr<Device> make_host_device(const Workload& workload);
/// The matrix library in use: "OpenBLAS 0.3.21", or "built-in loops (OpenBLAS is not installed)".
[[nodiscard]] std::string matrix_library();

} // namespace ppsim::runtime
