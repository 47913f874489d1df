#include "gpu_plugin.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/host_device.hpp"

#include <fmt/format.h>

#include <new>

#include "gpu/layout.hpp"
#include "plugin.hpp"

namespace ppsim::runtime {

const GpuPlugin& gpu_plugin() {
  static const auto& loaded = load_plugin<GpuPlugin>(
      "ppsim_gpu", "ppsim_gpu_plugin",
      "install the CUDA Toolkit 12.5 or newer (and NCCL for backend nccl), then build ppsim again");
  return loaded;
}

void check_usable(std::string_view backend, const GpuState& state) {
  if (!state.usable) throw Error(ExitCode::failed, {fmt::format("backend {}", backend), state.why, state.remedy});
}

void check_gpu_workload(const Workload& workload) {
  static_cast<void>(host_sizes(workload)); // for its checks, which are the same
  Problems problems;
  const std::size_t heads = workload.block == Block::transformer ? workload.heads : 1;
  if (workload.width % (8 * heads) != 0)
    problems.add("workload: width",
                 fmt::format("{}{}: bf16 matrix products need multiples of 16 bytes", workload.width,
                             heads > 1 ? fmt::format(", in {} heads", heads) : ""),
                 heads > 1 ? "use a multiple of 8 for each head" : "use a multiple of 8");
  if (workload.block == Block::transformer && workload.tokens % 8 != 0)
    problems.add("workload: tokens",
                 fmt::format("{}: bf16 matrix products need multiples of 16 bytes", workload.tokens),
                 "use a multiple of 8");
  problems.throw_if_any();
}

ChunkSizes gpu_sizes(const Workload& workload) {
  check_gpu_workload(workload);
  return gpu::Layout{workload}.sizes(workload.optimizer);
}

void rethrow_as_error(std::string_view backend) {
  const std::string where = fmt::format("backend {}", backend);
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ExitCode::failed, Problem{where, "no memory", "use a smaller workload, or free memory of the GPU"});
  } catch (const std::exception& error) {
    throw Error(ExitCode::failed, Problem{where, error.what(), ""});
  }
}

} // namespace ppsim::runtime
