#pragma once
// Kernels on the processor: runs the threads of each block one after another, switching at __syncthreads().

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "check.hpp"

#undef __shared__
#define __shared__ static // blocks run one after another

namespace ppsim::emulation {

struct Position {
  unsigned x = 0;
};

/// Appends work to a stream.
void enqueue(cudaStream_t stream, std::function<void()> work);
/// Runs all threads of all blocks.
void run_grid(std::size_t blocks, std::size_t threads, const std::function<void()>& thread);
void synchronize_threads();
std::uint64_t globaltimer();

} // namespace ppsim::emulation

// What nvcc predefines
inline ppsim::emulation::Position threadIdx, blockIdx, blockDim, gridDim; // NOLINT
inline void __syncthreads() {                                             // NOLINT
  ppsim::emulation::synchronize_threads();
}
inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}

namespace ppsim::runtime::gpu {

inline constexpr std::size_t block_threads = 8; // switching takes time

inline std::uint64_t emulated_globaltimer() {
  return emulation::globaltimer();
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::size_t blocks, std::size_t threads, cudaStream_t stream,
            Arguments... arguments) {
  emulation::enqueue(stream, [=] { emulation::run_grid(blocks, threads, [&] { kernel(arguments...); }); });
  PPSIM_GPU_CHECK(cudaGetLastError()); // like the real one: fails on an error left by an earlier call
}

} // namespace ppsim::runtime::gpu
