#pragma once
// Launches of kernels, by nvcc or (in tests, on machines without a GPU) by a loop over their threads.

#include <cuda_runtime.h>

#include <cstddef>

#ifndef __CUDACC__
#  include "emulated_launch.hpp"
#endif

#include "check.hpp"

namespace ppsim::runtime::gpu {

#ifdef __CUDACC__
/// A power of two, as sums over a block halve it.
inline constexpr std::size_t block_threads = 256;

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::size_t blocks, std::size_t threads, cudaStream_t stream,
            Arguments... arguments) {
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(arguments...);
  const cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return;
  const char* name = nullptr;
  static_cast<void>(cudaFuncGetName(&name, reinterpret_cast<const void*>(kernel)));
  check(status, __FILE__, __LINE__, name == nullptr ? "a kernel" : name);
}
#endif

} // namespace ppsim::runtime::gpu
