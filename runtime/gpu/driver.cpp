#include "driver.hpp"

#include <cuda_runtime_api.h>

#include <stdexcept>

namespace ppsim::runtime::gpu {

namespace {

template <class Function>
void find(Function& function, const char* name, unsigned version) {
  // "If the specified CUDA version is greater than the driver version, the API will return cudaErrorInvalidValue"; it
  // returns success and null where the driver has no such function (cuda_runtime_api.h).
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found);
  static_cast<void>(cudaGetLastError());
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess || address == nullptr)
    throw std::runtime_error{std::string{"the driver has no "} + name + ", which came with CUDA " +
                             std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
                             ": install a newer driver"};
  function = reinterpret_cast<Function>(address);
}

Driver find_all() {
  Driver driver;
  find(driver.device_get, "cuDeviceGet", 2000);
  find(driver.device_get_dev_resource, "cuDeviceGetDevResource", 12040);
  find(driver.split_by_count, "cuDevSmResourceSplitByCount", 12040);
  find(driver.generate_desc, "cuDevResourceGenerateDesc", 12040);
  find(driver.green_create, "cuGreenCtxCreate", 12040);
  find(driver.green_destroy, "cuGreenCtxDestroy", 12040);
  find(driver.green_stream_create, "cuGreenCtxStreamCreate", 12050);
  find(driver.context_of, "cuCtxFromGreenCtx", 12040);
  find(driver.push, "cuCtxPushCurrent", 4000);
  find(driver.pop, "cuCtxPopCurrent", 4000);
  find(driver.get_error_name, "cuGetErrorName", 6000);
  return driver;
}

} // namespace

std::string Driver::error_name(CUresult status) const {
  const char* name = nullptr;
  if (get_error_name(status, &name) != CUDA_SUCCESS || name == nullptr) return std::to_string(status);
  return name;
}

const Driver& driver() {
  static const Driver found = find_all();
  return found;
}

} // namespace ppsim::runtime::gpu
