#pragma once
// The backends in the table of backends.cpp. Each is created on first use.

#include "ppsim/runtime/backend.hpp"

#include <memory>

namespace ppsim::runtime {

[[nodiscard]] std::unique_ptr<Backend> make_threads_backend();
// These load their plugins. They throw Error (failed) if one is missing or does not load.
[[nodiscard]] std::unique_ptr<Backend> make_mpi_backend();
[[nodiscard]] std::unique_ptr<Backend> make_cuda_backend();
[[nodiscard]] std::unique_ptr<Backend> make_nccl_backend();

} // namespace ppsim::runtime
