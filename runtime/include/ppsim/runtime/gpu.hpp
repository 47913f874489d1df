#pragma once
// The interface of the plugin ppsim_gpu (CUDA and NCCL). The plugin does not link ppsim: both share only this header,
// its includes and the standard library, so everything here must be inline. It throws std::runtime_error, and
// std::bad_alloc if device memory runs out.

#include "ppsim/runtime/device.hpp"
#include "ppsim/runtime/program.hpp"
#include "ppsim/runtime/transport.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ppsim::runtime {

/// Which GPU there is and whether it can be used.
struct GpuState {
  bool usable = false;
  std::string why; ///< "NVIDIA H200, 132 multiprocessors, driver 13.0, 139 GiB free", or the reason
  std::string remedy;
  std::size_t devices = 0;
};

/// How the stages share one GPU.
struct GpuOptions {
  Workload workload;
  std::string transport = "direct"; ///< "direct": copies; "paced": copies that last as the scenario says; "nccl-self"
  bool timed = false;               ///< tasks use Device::hold(), so stamps must be readable on the device
  std::function<bool()> stopped;    ///< polled while waiting; if true, the wait ends with std::runtime_error
};

/// The stages of a program on one GPU, each with a partition of its multiprocessors (green context).
class GpuPipeline : public Interface {
public:
  [[nodiscard]] virtual Device& device(StageId stage) = 0;
  [[nodiscard]] virtual Transport& transport(StageId stage) = 0;
  /// "4 partitions of 32 multiprocessors", "transfers by copies"
  [[nodiscard]] virtual std::string describe() const = 0;
};

using NcclId = std::array<char, 128>;

/// Options of one stage in a run with a GPU per process.
struct GpuRankOptions {
  Workload workload;
  StageId stage{};
  std::size_t local_rank = 0;
  std::size_t ranks_per_gpu = 1; ///< more than one in tests: several processes on one GPU
  bool timed = false;            ///< as GpuOptions::timed
  std::vector<NcclId> ids;       ///< one per communicator, in the order of GpuPlugin::communicators
  std::function<bool()> stopped;
  std::function<void()> barrier; ///< of all processes, outside steps
};

/// The plugin exports it as `extern "C" ppsim_gpu_plugin`.
struct GpuPlugin {
  const char* version; ///< of ppsim; must equal the program's
  GpuState (*state)();
  GpuState (*nccl_state)();
  std::unique_ptr<GpuPipeline> (*make_pipeline)(const Program& program, const GpuOptions& options);
  /// The current GPU, undivided, for runs of one task at a time.
  std::unique_ptr<Device> (*make_device)(const Workload& workload);
  /// Number of NCCL communicators of a program: one per channel, one per pair, or one.
  std::size_t (*communicators)(const Program& program);
  NcclId (*make_id)();
  std::unique_ptr<RankParts> (*make_rank)(const Program& program, const GpuRankOptions& options);
};

} // namespace ppsim::runtime
