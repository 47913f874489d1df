#pragma once
// One file of the PyTorch profiler (Kineto), as far as it concerns pipelines.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "imports/actions.hpp"
#include "imports/pp_action.hpp"
#include "imports/recorded.hpp"

namespace ppsim::traces {

/// An annotation of the program, while the processor was inside it.
struct KinetoAnnotation {
  PpAction action{};
  Stretch time{};
  std::uint64_t external_id = 0; ///< 0: unknown
};
/// The extent of an annotation on one stream of the device, from the first kernel to the last.
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
  std::uint64_t external_id = 0; ///< of the processor's operation that launched it; 0: unknown
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

/// The hint for files without a pipeline.
inline constexpr std::string_view how_to_profile =
    "profile schedule.step() of torch.distributed.pipelining with torch.profiler, activities CPU and CUDA: the runtime "
    "of its multi-stage schedules (and of those from a CSV file) marks every action as PP:0F3";

/// The facts about one file's rank.
struct KinetoFacts {
  std::string name; ///< of the file
  std::int64_t rank = 0;
  std::int64_t world_size = 0; ///< number of ranks in the job; 0: unknown
  std::vector<KinetoGroup> groups;
  std::string device;           ///< its name; may be empty
  std::int64_t peak_bytes = 0;  ///< allocated on devices; 0: not recorded
  bool single_schedule = false; ///< it has "Forward 3" annotations, as from GPipe's own loop
  bool whole_microseconds = true;
  DropCounts dropped;
};

/// The content of one file.
struct KinetoTrace : KinetoFacts {
  std::vector<KinetoAnnotation> annotations;
  std::vector<KinetoGpuAnnotation> gpu_annotations;
  std::vector<KinetoLaunch> launches;
  std::vector<KinetoKernel> kernels;
  std::vector<KinetoKernel> send_recvs; ///< kernels of NCCL that send or receive
  std::vector<KinetoStep> steps;
  std::vector<Stretch> gloo_receives; ///< from the posting of a receive to the end of the processor's wait
};

/// Reads one file. Throws Error (bad_input) with its name and byte. `progress` may be empty; it is called with a share.
[[nodiscard]] KinetoTrace read_kineto_trace(const ImportFile& file, const std::function<void(double)>& progress);

/// A decimal number of microseconds as nanoseconds, exactly; none if it is not a number, negative, or above 4e18.
[[nodiscard]] std::optional<std::int64_t> microseconds(std::string_view text);

} // namespace ppsim::traces
