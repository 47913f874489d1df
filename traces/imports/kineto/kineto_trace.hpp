#pragma once
// One file of the PyTorch profiler (Kineto), as far as pipelines are concerned.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "imports/actions.hpp"
#include "imports/pp_action.hpp"
#include "imports/recorded.hpp"

namespace ppsim::traces {

/// An annotation of the program, when the processor was inside it.
struct KinetoAnnotation {
  PpAction action{};
  Stretch time{};
  std::uint64_t external_id = 0; ///< 0: not known
};
/// What ran on one stream of the device for an annotation, from the first kernel to the last.
struct KinetoGpuAnnotation {
  PpAction action{};
  Stretch time{};
  std::uint64_t external_id = 0;
  std::uint64_t stream = 0;
};
/// A call of the CUDA runtime.
struct KinetoLaunch {
  std::uint64_t correlation = 0;
  std::int64_t time = 0;
};
/// A kernel, a copy or a fill on a stream.
struct KinetoKernel {
  Stretch time{};
  std::uint64_t correlation = 0;
  std::uint64_t external_id = 0; ///< of the operation of the processor that launched it; 0: not known
  std::uint64_t stream = 0;
};
/// ProfilerStep#`number`.
struct KinetoStep {
  std::int64_t number = 0;
  Stretch time{};
};
/// A process group of torch.distributed.
struct KinetoGroup {
  std::string description; ///< "mesh_tp"
  std::vector<std::int64_t> ranks;
};

/// What to do where a file shows no pipeline.
inline constexpr std::string_view how_to_profile =
    "profile schedule.step() of torch.distributed.pipelining with torch.profiler, activities CPU and CUDA: the runtime "
    "of its multi-stage schedules (and of those from a CSV file) marks every action as PP:0F3";

/// What one file says of its rank as a whole.
struct KinetoFacts {
  std::string name; ///< of the file
  std::int64_t rank = 0;
  std::int64_t world_size = 0; ///< how many ranks the job had; 0: not known
  std::vector<KinetoGroup> groups;
  std::string device;           ///< its name; may be empty
  std::int64_t peak_bytes = 0;  ///< that the allocator had handed out on devices; 0: not recorded
  bool single_schedule = false; ///< it has "Forward 3" annotations, as GPipe's own loop makes them
  bool whole_microseconds = true;
  DropCounts dropped;
};

/// What one file holds.
struct KinetoTrace : KinetoFacts {
  std::vector<KinetoAnnotation> annotations;
  std::vector<KinetoGpuAnnotation> gpu_annotations;
  std::vector<KinetoLaunch> launches;
  std::vector<KinetoKernel> kernels;
  std::vector<KinetoKernel> send_recvs; ///< kernels of NCCL that send or receive
  std::vector<KinetoStep> steps;
  std::vector<Stretch> gloo_receives; ///< from where one was posted to where the processor had waited for it
};

/// Reads one file. Throws Error (bad_input) with its name and byte. `progress` may be empty; it is called with a share.
[[nodiscard]] KinetoTrace read_kineto_trace(const ImportFile& file, const std::function<void(double)>& progress);

/// A decimal number of microseconds as nanoseconds, every digit of it; nothing where it is none, negative, or beyond
/// 4e18.
[[nodiscard]] std::optional<std::int64_t> microseconds(std::string_view text);

} // namespace ppsim::traces
