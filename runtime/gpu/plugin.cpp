// The functions that the plugin exports.

#include "ppsim/runtime/gpu.hpp"

#include <cstdlib>
#include <stdexcept>

#include "check.hpp"
#include "cuda_device.hpp"
#include "driver.hpp"
#include "layout.hpp"
#include "nccl.hpp"
#include "nccl_plan.hpp"
#include "pipeline.hpp"

namespace ppsim::runtime::gpu {

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string gib(std::size_t bytes) {
  return std::to_string((bytes + (std::size_t{1} << 29U)) >> 30U) + " GiB";
}

/// Describes the device without creating a context, which would take GPU memory in each process.
GpuState describe_device(int devices) {
  cudaDeviceProp properties{};
  int driver_version = 0;
  PPSIM_GPU_CHECK(cudaGetDeviceProperties(&properties, 0));
  PPSIM_GPU_CHECK(cudaDriverGetVersion(&driver_version));
  GpuState state{.usable = false, .why = {}, .remedy = {}, .devices = static_cast<std::size_t>(devices)};
  state.why = std::string{properties.name} + ", " + std::to_string(properties.multiProcessorCount) +
              " multiprocessors, " + gib(properties.totalGlobalMem) + ", driver for CUDA " +
              version_text(driver_version);
  if (properties.major < 8) {
    state.why += ": it does not compute in bf16";
    state.remedy = "use a GPU of compute capability 8.0 (Ampere) or newer";
    return state;
  }
  try {
    static_cast<void>(driver());
    state.usable = true;
  } catch (const std::exception& error) {
    state.why += std::string{": "} + error.what();
    state.remedy = "install an NVIDIA driver for CUDA 12.5 or newer";
  }
  return state;
}

GpuState state() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  static_cast<void>(cudaGetLastError());
  if (status == cudaSuccess && devices > 0) return describe_device(devices);
  GpuState state;
  if (status == cudaErrorInsufficientDriver) {
    // The runtime returns this also if libcuda.so.1 is missing; the driver's version is then 0.
    int driver_version = 0;
    static_cast<void>(cudaDriverGetVersion(&driver_version));
    state.why = driver_version == 0 ? "no NVIDIA driver is installed"
                                    : "the NVIDIA driver is too old: it is for CUDA " + version_text(driver_version) +
                                          ", the plugin for " + version_text(CUDART_VERSION);
    state.remedy = "on a machine with an NVIDIA GPU, install its driver, for CUDA " + version_text(CUDART_VERSION);
  } else {
    state.why = status == cudaSuccess ? "no GPU was found"
                                      : std::string{"no GPU can be used: "} + cudaGetErrorString(status) + " (" +
                                            cudaGetErrorName(status) + ")";
    state.remedy = "check that nvidia-smi lists a GPU and that CUDA_VISIBLE_DEVICES does not hide it";
  }
  return state;
}

std::size_t communicators(const Program& program) {
  return plan_communicators(program).size();
}

/// With more streams than this, streams share a hardware queue, and one blocks the other ("HW connections ... could
/// cause a dependency", cuda.h): a receive that waits for a peer would block the send that the peer waits for. So fewer
/// are not accepted, although some users set 1 for Megatron-LM. CUDA reads it when it starts, so it is set when the
/// plugin is loaded.
[[gnu::constructor]] void allow_connections() {
  // NOLINTBEGIN(concurrency-mt-unsafe): plugins are loaded by one thread
  constexpr const char* name = "CUDA_DEVICE_MAX_CONNECTIONS";
  const char* const set = std::getenv(name);
  if (set == nullptr || std::strtol(set, nullptr, 10) < 32) setenv(name, "32", 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

} // namespace

} // namespace ppsim::runtime::gpu

using namespace ppsim::runtime;

extern "C" __attribute__((visibility("default"))) const GpuPlugin ppsim_gpu_plugin{.version = PPSIM_VERSION,
                                                                                   .state = &gpu::state,
                                                                                   .nccl_state = &gpu::nccl_state,
                                                                                   .make_pipeline = &gpu::make_pipeline,
                                                                                   .make_device = &gpu::make_device,
                                                                                   .communicators = &gpu::communicators,
                                                                                   .make_id = &gpu::make_nccl_id,
                                                                                   .make_rank = &gpu::make_nccl_rank};
