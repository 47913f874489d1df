#pragma once
// Actions of a rank in order: their steps, and their kernels on streams of a device.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pp_action.hpp"

namespace ppsim::traces {

/// A time interval, in nanoseconds of the file's clock.
struct Stretch {
  std::int64_t start = 0;
  std::int64_t end = 0;
  bool operator==(const Stretch&) const = default;
};

/// The extent of one action's kernels by stream: from the first kernel to the last.
using Extents = std::map<std::uint64_t, Stretch>;

/// Extends an interval to include `time`.
void extend(std::optional<Stretch>& stretch, Stretch time);
void extend(Extents& extents, std::uint64_t stream, Stretch time);
/// From the first start to the last end. `extents` must not be empty.
[[nodiscard]] Stretch hull(const Extents& extents);

/// The stream with the most tasks; of several, the one with more time. Other streams run collectives, which may overlap
/// the next task.
class MainStream {
public:
  void add_task(const Extents& extents);
  /// 0 if no task ran on any.
  [[nodiscard]] std::uint64_t stream() const;

private:
  std::map<std::uint64_t, std::pair<std::size_t, std::int64_t>> streams_; ///< tasks, time (saturating)
};

/// When a task ran on the device: only on `main` if it ran there. None if it launched no kernel.
[[nodiscard]] std::optional<Stretch> time_on_device(const Extents& task, std::uint64_t main);

/// When a rank's received inputs arrived.
class ReceivedInputs {
public:
  /// `task` as in PpAction: the receiving side's, `forward` or `backward`. No `end`: the end of the receive is unknown.
  void add_receive(std::int64_t step, const Task& task, std::optional<std::int64_t> end);
  [[nodiscard]] std::optional<std::int64_t> of(std::int64_t step, const Task& task) const;
  [[nodiscard]] bool is_endless(std::int64_t step, const Task& task) const;

private:
  using Key = std::pair<std::int64_t, std::uint64_t>; ///< step and key_of()
  std::map<Key, std::optional<std::int64_t>> ends_;
};

/// The known times of a task.
struct TaskTime {
  std::int64_t step = 0;
  std::optional<Stretch> ran{};        ///< on the device; none if it launched no kernel
  std::optional<std::int64_t> input{}; ///< the end of its receive; none if unknown, or if it has none
};

/// Gives tasks without kernels a time of zero length between their neighbours in processor order, if any task ran on
/// the device: the processor runs ahead, so its times do not compare with the device's. The partial backward of a first
/// stage is such a task. Its time is the arrival of its input; if that is unknown, the start of the task after it (or
/// the end of the one before, if it is the last of its step). Returns their number.
std::size_t place_without_kernels(std::span<TaskTime> tasks);

/// Notes the tasks without their own times: those placed as above, and those of ranks without any kernel, which have
/// times of `substitute`.
void note_times(std::vector<std::string>& notes, std::size_t without_kernels, std::size_t on_processor,
                std::string_view substitute);

/// Why actions before the first complete step are dropped.
inline constexpr std::string_view begun_before = "actions of a step that began before the recording";

struct ActionSteps {
  std::size_t cut = 0;             ///< number of first actions that belong to a step begun before the recording
  std::vector<std::int64_t> steps; ///< of every action, from 0; cut off ones have 0
};

/// Separates steps by actions alone. A step begins with the first task, send or receive that the step before already
/// had, or with a forward whose backward it already had. Optimizers and reductions are no evidence, because there may
/// be one per chunk. A recording that begins within a step is detected by a backward without its forward, or by a first
/// forward that is not of the lowest microbatch of its chunk. Its first step begins at the first forward of a lowest
/// microbatch after which every backward has its forward, until an optimizer or a repetition.
[[nodiscard]] ActionSteps steps_of(std::span<const PpAction> actions);

} // namespace ppsim::traces
