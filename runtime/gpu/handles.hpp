#pragma once
// Owners of what CUDA hands out.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include <cublasLt.h>

namespace ppsim::runtime::gpu {

/// Calls the C function that gives a handle back; what it returns can not be acted upon any more.
template <auto destroy>
struct Destroy {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    static_cast<void>(destroy(handle));
  }
};

using Stream = std::unique_ptr<CUstream_st, Destroy<&cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Destroy<&cudaEventDestroy>>;
using Pool = std::unique_ptr<CUmemPoolHandle_st, Destroy<&cudaMemPoolDestroy>>;
using Memory = std::unique_ptr<std::byte, Destroy<static_cast<cudaError_t (*)(void*)>(&cudaFree)>>;
using MatmulHandle = std::unique_ptr<cublasLtContext, Destroy<&cublasLtDestroy>>;
using MatmulDescriptor = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<&cublasLtMatmulDescDestroy>>;
using MatrixLayout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<&cublasLtMatrixLayoutDestroy>>;
using MatmulPreference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<&cublasLtMatmulPreferenceDestroy>>;

/// Device memory outside of any stream's order, for what lives as long as a run; null for zero bytes.
[[nodiscard]] Memory allocate_memory(std::size_t bytes);

} // namespace ppsim::runtime::gpu
