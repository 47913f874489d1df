#include "check.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "driver.hpp"

namespace ppsim::runtime::gpu {

void throw_failure(const char* file, int line, const char* name, const char* text, const char* call) {
  std::string_view shown{file};
  shown.remove_prefix(shown.rfind('/') + 1); // npos + 1 is 0
  throw std::runtime_error{std::string{shown} + ":" + std::to_string(line) + ": " + name + " (" + text + ") from " +
                           call};
}

void check(cudaError_t status, const char* file, int line, const char* call) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  if (status == cudaErrorMemoryAllocation) throw std::bad_alloc{};
  throw_failure(file, line, cudaGetErrorName(status), cudaGetErrorString(status), call);
}

void check(CUresult status, const char* file, int line, const char* call) {
  if (status == CUDA_SUCCESS) return;
  if (status == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc{};
  const std::string name = driver().error_name(status);
  throw_failure(file, line, name.c_str(), "driver", call);
}

void check(cublasStatus_t status, const char* file, int line, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw_failure(file, line, cublasLtGetStatusName(status), cublasLtGetStatusString(status), call);
}

} // namespace ppsim::runtime::gpu
