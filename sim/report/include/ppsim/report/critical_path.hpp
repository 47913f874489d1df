#pragma once
// The critical path: the chain of tasks and transfers that ends at the makespan.

#include "ppsim/graph/timeline.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace ppsim {

/// The kind of a critical path's element.
enum class PathKind : std::uint8_t { task, transfer, reduction, optimizer };
[[nodiscard]] std::string_view to_string(PathKind kind);

/// One element of the critical path.
struct PathStep {
  TaskId task = no_task; ///< for a transfer, its sender
  PathKind kind = PathKind::task;
  Cause cause = Cause::none; ///< why this task or transfer had to wait for the one before
  std::size_t number = 0;    ///< reduction: position in Timeline::reductions; optimizer: the stage
  [[nodiscard]] bool is_transfer() const { return kind == PathKind::transfer; }
  /// True for work after the tasks.
  [[nodiscard]] bool is_update() const { return kind == PathKind::reduction || kind == PathKind::optimizer; }
};
/// When it ran. For a sliced transfer that waited for nothing else: the part after its sender's end.
[[nodiscard]] Span span_of(const Timeline& timeline, const PathStep& step);
/// Its stage; for a transfer, the sender's.
[[nodiscard]] StageId stage_of(const TaskGraph& graph, const Timeline& timeline, const PathStep& step);

/// Follows the releases back from the end. First to last; empty for a timeline without tasks.
[[nodiscard]] std::vector<PathStep> find_critical_path(const TaskGraph& graph, const Timeline& timeline);

} // namespace ppsim
