#pragma once
// Checks of calls into CUDA, its driver and cublasLt: errors become exceptions with place, error and call.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cublasLt.h>

namespace ppsim::runtime::gpu {

/// Throws std::runtime_error: "link.cpp:31: cudaErrorInvalidValue (invalid argument) from cudaMemsetAsync(...)".
[[noreturn]] void throw_failure(const char* file, int line, const char* name, const char* text, const char* call);

/// Throws on failure: std::bad_alloc if device memory ran out, otherwise as throw_failure(). Clears the runtime's
/// error, so that a later cudaGetLastError() does not return it again.
void check(cudaError_t status, const char* file, int line, const char* call);
void check(CUresult status, const char* file, int line, const char* call);
void check(cublasStatus_t status, const char* file, int line, const char* call);

} // namespace ppsim::runtime::gpu

#define PPSIM_GPU_CHECK(call) ::ppsim::runtime::gpu::check((call), __FILE__, __LINE__, #call)
