#pragma once
// Functions of the CUDA driver, found at run time: the plugin must not link libcuda, which a machine without a GPU does
// not have. (A library that lists libcuda.so.1 as needed does not load there.)

#include <cuda.h>
#include <cudaTypedefs.h>

#include <string>

namespace ppsim::runtime::gpu {

/// What green contexts take. A name ends in the version of CUDA in which its function has this signature: that version
/// is what cudaGetDriverEntryPointByVersion has to be asked for.
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

/// Found at the first call. Throws std::runtime_error naming the function that the driver has not.
[[nodiscard]] const Driver& driver();

} // namespace ppsim::runtime::gpu
