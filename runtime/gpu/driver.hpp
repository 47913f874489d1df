#pragma once
// Functions of the CUDA driver, found at run time. The plugin must not link libcuda, because a library that needs
// libcuda.so.1 does not load on a machine without a GPU.

#include <cuda.h>
#include <cudaTypedefs.h>

#include <string>

namespace ppsim::runtime::gpu {

/// The functions for green contexts. The suffix is the version of CUDA that introduced this signature, the argument for
/// cudaGetDriverEntryPointByVersion.
struct Driver {
  PFN_cuDeviceGet_v2000 device_get = nullptr;
  PFN_cuDeviceGetDevResource_v12040 device_get_dev_resource = nullptr;
  PFN_cuDevSmResourceSplitByCount_v12040 split_by_count = nullptr;
  PFN_cuDevResourceGenerateDesc_v12040 generate_desc = nullptr;
  PFN_cuGreenCtxCreate_v12040 green_create = nullptr;
  PFN_cuGreenCtxDestroy_v12040 green_destroy = nullptr;
  PFN_cuGreenCtxStreamCreate_v12050 green_stream_create = nullptr;
  PFN_cuCtxFromGreenCtx_v12040 context_of = nullptr;
  PFN_cuCtxPushCurrent_v4000 push = nullptr;
  PFN_cuCtxPopCurrent_v4000 pop = nullptr;
  PFN_cuGetErrorName_v6000 get_error_name = nullptr;

  [[nodiscard]] std::string error_name(CUresult status) const;
};

/// Found at the first call. Throws std::runtime_error with the first missing function.
[[nodiscard]] const Driver& driver();

} // namespace ppsim::runtime::gpu
