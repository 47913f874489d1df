#pragma once
// Actions that a rank was seen to begin, one after another: their steps, and what ran for them on streams of a device.

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

/// A stretch of time, in nanoseconds of the clock of the file.
struct Stretch {
  std::int64_t start = 0;
  std::int64_t end = 0;
  bool operator==(const Stretch&) const = default;
};

/// What ran for one action, by stream: from the first kernel to the last.
using Extents = std::map<std::uint64_t, Stretch>;

/// To where `time` begins or ends, too.
void extend(std::optional<Stretch>& stretch, Stretch time);
void extend(Extents& extents, std::uint64_t stream, Stretch time);
/// From the first start to the last end. There is at least one.
[[nodiscard]] Stretch hull(const Extents& extents);

/// The stream that most tasks ran on; of several, that with more time. Others hold collectives, which may go on beside
/// the next task.
class MainStream {
public:
  void add_task(const Extents& extents);
  /// 0 where no task ran on any.
  [[nodiscard]] std::uint64_t stream() const;

private:
  std::map<std::uint64_t, std::pair<std::size_t, std::int64_t>> streams_; ///< tasks, time (saturating)
};

/// When a task ran on the device: where it ran on `main`, only that counts. Nothing where it launched no kernel.
[[nodiscard]] std::optional<Stretch> time_on_device(const Extents& task, std::uint64_t main);

/// When the inputs that a rank received were there.
class ReceivedInputs {
public:
  /// `task` as of PpAction: the receiving side's, `forward` or `backward`. No `end`: nothing says until when it was
  /// received.
  void add_receive(std::int64_t step, const Task& task, std::optional<std::int64_t> end);
  [[nodiscard]] std::optional<std::int64_t> of(std::int64_t step, const Task& task) const;
  [[nodiscard]] bool is_endless(std::int64_t step, const Task& task) const;

private:
  using Key = std::pair<std::int64_t, std::uint64_t>; ///< step and key_of()
  std::map<Key, std::optional<std::int64_t>> ends_;
};

/// When a task ran, as far as it is known.
struct TaskTime {
  std::int64_t step = 0;
  std::optional<Stretch> ran{};        ///< on the device; none where it launched no kernel
  std::optional<std::int64_t> input{}; ///< when its receive had ended; none where none was seen, or it has none
};

/// Gives those of a rank's tasks that launched nothing a time without length, between the tasks before and after them
/// in the order of the processor, where any task ran on the device: the processor runs ahead, so that its times say
/// nothing beside those of the device. The partial backward of a first stage is such a task. It ran when its input was
/// there; where that was not seen, when the task after it began (the one before it had ended, where it is the last of
/// its step). Returns how many.
std::size_t place_without_kernels(std::span<TaskTime> tasks);

/// Tells of the tasks that have no times of their own: those that were placed so, and those of ranks that show no
/// kernel of a task, which have times of `substitute`.
void note_times(std::vector<std::string>& notes, std::size_t without_kernels, std::size_t on_processor,
                std::string_view substitute);

/// Why actions before the first whole step are dropped.
inline constexpr std::string_view begun_before = "actions of a step that began before the recording";

struct ActionSteps {
  std::size_t cut = 0;             ///< so many first actions are of a step that had begun before the recording
  std::vector<std::int64_t> steps; ///< of every action, from 0 on; those that are cut off have 0
};

/// Tells steps apart by actions alone. A step begins with the first task, send or receive that the step before had
/// already, or with a forward whose backward it had. Optimizers and reductions tell nothing, as there may be one of
/// them per chunk. A recording that begins within a step gives itself away by a backward without its forward, or by a
/// first forward that is not that of the lowest microbatch of its chunk: its first step begins at the first forward of
/// a lowest microbatch from which on every backward has its forward, up to an optimizer or a repetition.
[[nodiscard]] ActionSteps steps_of(std::span<const PpAction> actions);

} // namespace ppsim::traces
