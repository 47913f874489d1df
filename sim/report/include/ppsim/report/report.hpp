#pragma once
// Report: metrics, the labels of every nanosecond, memory, the critical path.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/report/critical_path.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// How a stage spends its time. Every nanosecond of every stage has exactly one label (SPEC section 4).
enum class Label : std::uint8_t {
  forward,
  backward,
  input_grad,
  weight_grad,
  overlap,
  recompute,
  optimizer, // busy
  warmup,
  upstream,
  downstream,
  link,
  stall, ///< `streams` only: a send or receive of its input was queued after another operation or launched late
  transfer,
  drain,
  flush,
  host // idle; `host` only in measured runs: all inputs had arrived, and the task had not started
};
inline constexpr std::size_t label_count = 16;
inline constexpr std::size_t first_idle_label = 7;
[[nodiscard]] constexpr bool is_idle(Label label) {
  return static_cast<std::size_t>(label) >= first_idle_label;
}
[[nodiscard]] std::string_view to_string(Label label);
[[nodiscard]] constexpr Label label_at(std::size_t position) {
  return static_cast<Label>(position);
}

/// An interval of one stage's time under one label.
struct LabelledSpan {
  Label label{};
  Span span;
  TaskId task = no_task; ///< busy: the task (first half of a pair); idle: the task that waits. no_task for optimizer,
                         ///< drain and flush
};

struct StageReport {
  std::array<Duration, label_count> time{}; ///< by Label; adds up to the makespan
  Duration busy{0};
  Duration idle{0};
  Span extent;                           ///< first start to last end, of tasks and optimizer step
  std::size_t warmup_forwards = 0;       ///< from the generator, or counted: docs/model.md
  std::size_t steady_pairs = 0;          ///< the other forwards
  std::size_t cooldown_backwards = 0;    ///< backwards not in a pair
  std::size_t peak_live_activations = 0; ///< (chunk, microbatch) pairs
  Bytes peak_activation_bytes{};
  SimTime peak_at{};               ///< when peak_activation_bytes (otherwise the count) is first reached
  TaskId peak_task = no_task;      ///< the task whose start reaches it
  std::size_t weight_versions = 1; ///< parameter versions that the stage keeps; more than one without a flush
  Bytes static_bytes{};            ///< parameters (all versions), gradients, optimizer state
  [[nodiscard]] Bytes peak_bytes() const { return static_bytes + peak_activation_bytes; }
};

/// The first place where a stage exceeds the device's memory.
struct Overflow {
  StageId stage{};
  TaskId task = no_task; ///< no_task: static memory alone is too large
  SimTime at{};
  Bytes needed{};
  [[nodiscard]] bool is_before_tasks() const { return task == no_task; }
};

struct Report {
  Duration makespan{0};
  Duration ideal{0};
  double bubble_ratio = 0;
  double bubble_overhead = 0;
  double stage_span_bubble = 0;
  std::vector<StageReport> stages;
  std::vector<PathStep> critical_path; ///< first to last
  std::size_t transfers = 0;
  Bytes transfer_volume{};
  std::optional<Overflow> overflow; ///< with a memory limit: the first moment at which it is exceeded
  [[nodiscard]] std::array<Duration, label_count> time_by_label() const; ///< over all stages; adds up to p x makespan
  [[nodiscard]] Bytes peak_bytes() const; ///< of the stage that needs most; zero if no size is known
};

[[nodiscard]] Report analyse(const TaskGraph& graph, const Timeline& timeline);

/// The time of `stage` as labelled spans without gaps, from 0 to the makespan.
[[nodiscard]] std::vector<LabelledSpan> account(const TaskGraph& graph, const Timeline& timeline, StageId stage,
                                                SimTime end);

/// The part of a task's span, from its start, in which it recomputes an activation. Empty if it does not, and for half
/// of an overlapped pair, whose span has one label.
[[nodiscard]] Span recompute_span(const TaskGraph& graph, const Timeline& timeline, TaskId task);

/// Memory of one stage after a change, in time order. The first point is at time zero with the static bytes.
struct MemoryPoint {
  SimTime at{};
  Bytes bytes{};        ///< static and activations
  std::size_t live = 0; ///< live (chunk, microbatch) pairs
};
[[nodiscard]] std::vector<MemoryPoint> memory_over_time(const TaskGraph& graph, const Timeline& timeline,
                                                        StageId stage);

} // namespace ppsim
