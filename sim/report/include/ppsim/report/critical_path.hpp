#pragma once
// The critical path: the chain of tasks and transfers that ends at the makespan.

#include "ppsim/graph/timeline.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace ppsim {

/// What an element of the critical path is.
enum class PathKind : std::uint8_t { task, transfer, reduction, optimizer };
[[nodiscard]] std::string_view to_string(PathKind kind);

/// One element of the critical path.
struct PathStep {
  TaskId task = no_task; ///< for a transfer, its sender
  PathKind kind = PathKind::task;
  Cause cause = Cause::none; ///< why this task or transfer had to wait for the one before
  std::size_t number = 0;    ///< reduction: position in Timeline::reductions; optimizer: the stage
  [[nodiscard]] bool is_transfer() const { return kind == PathKind::transfer; }
  /// True for what follows the tasks.
  [[nodiscard]] bool is_update() const { return kind == PathKind::reduction || kind == PathKind::optimizer; }
};
/// When it ran. Of a transfer in slices that waited for nothing else, what remained when its sender had ended.
[[nodiscard]] Span span_of(const Timeline& timeline, const PathStep& step);
/// Whose it is; of a transfer, the sender's.
[[nodiscard]] StageId stage_of(const TaskGraph& graph, const Timeline& timeline, const PathStep& step);

/// Follows from the end what released each task. First to last; empty of a timeline without tasks.
[[nodiscard]] std::vector<PathStep> find_critical_path(const TaskGraph& graph, const Timeline& timeline);

} // namespace ppsim
