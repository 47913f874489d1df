#pragma once
// What the plugin ppsim_gpu (CUDA and NCCL) gives. It links nothing of ppsim: this header, those it includes and the
// standard library are all that both share, so nothing here may need a function of ppsim that is not inline. It throws
// std::runtime_error, and std::bad_alloc where device memory runs out.

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

/// What a GPU is and whether it can be used.
struct GpuState {
  bool usable = false;
  std::string why; ///< "NVIDIA H200, 132 multiprocessors, driver 13.0, 139 GiB free", or why not
  std::string remedy;
  std::size_t devices = 0;
};

/// How one GPU is shared by the stages.
struct GpuOptions {
  Workload workload;
  std::string transport = "direct"; ///< "direct": copies; "paced": copies that last as the scenario says; "nccl-self"
  bool timed = false;               ///< tasks will be held: stamps have to be such that Device::hold() can read them
  std::function<bool()> stopped;    ///< asked while waiting; then give up with std::runtime_error
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

/// For one stage's part of a run with a GPU per process.
struct GpuRankOptions {
  Workload workload;
  StageId stage{};
  std::size_t local_rank = 0;
  std::size_t ranks_per_gpu = 1; ///< more than one: for tests, several processes on one GPU
  bool timed = false;            ///< as GpuOptions::timed
  std::vector<NcclId> ids;       ///< one per communicator, as GpuPlugin::communicators counts them
  std::function<bool()> stopped;
  std::function<void()> barrier; ///< of all processes, outside steps
};

/// What the plugin exports as `extern "C" ppsim_gpu_plugin`.
struct GpuPlugin {
  const char* version; ///< of ppsim; must be the program's
  GpuState (*state)();
  GpuState (*nccl_state)();
  ChunkSizes (*sizes)(const Workload& workload);
  std::unique_ptr<GpuPipeline> (*make_pipeline)(const Program& program, const GpuOptions& options);
  /// The current GPU, whole, for runs that do one task at a time.
  std::unique_ptr<Device> (*make_device)(const Workload& workload);
  /// How many NCCL communicators a program needs, in all: by channel, by pair, or one.
  std::size_t (*communicators)(const Program& program);
  NcclId (*make_id)();
  std::unique_ptr<RankParts> (*make_rank)(const Program& program, const GpuRankOptions& options);
};

} // namespace ppsim::runtime
