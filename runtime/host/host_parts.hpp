#pragma once
// The processor's device with a given matrix library, for tests of both.

#include "ppsim/runtime/host_device.hpp"

#include "blas.hpp"

namespace ppsim::runtime {

[[nodiscard]] std::unique_ptr<Device> make_host_device(const Workload& workload, const MatrixLibrary& library);

} // namespace ppsim::runtime
