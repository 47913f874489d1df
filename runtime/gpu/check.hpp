#pragma once
// Checks of calls into CUDA, its driver and cublasLt: what they return becomes an exception that says where, what and
// which call.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cublasLt.h>

namespace ppsim::runtime::gpu {

/// Throws std::runtime_error: "link.cpp:31: cudaErrorInvalidValue (invalid argument) from cudaMemsetAsync(...)".
[[noreturn]] void throw_failure(const char* file, int line, const char* name, const char* text, const char* call);

/// Throws unless it is a success: std::bad_alloc where device memory ran out, else as throw_failure(). The error is
/// taken from the runtime, so that a later cudaGetLastError() does not find it again.
void check(cudaError_t status, const char* file, int line, const char* call);
void check(CUresult status, const char* file, int line, const char* call);
void check(cublasStatus_t status, const char* file, int line, const char* call);

} // namespace ppsim::runtime::gpu

#define PPSIM_GPU_CHECK(call) ::ppsim::runtime::gpu::check((call), __FILE__, __LINE__, #call)
