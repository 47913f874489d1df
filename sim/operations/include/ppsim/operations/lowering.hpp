#pragma once
// Lowerings: where a framework launches the sends and receives of a schedule that does not specify them.

#include "ppsim/graph/task_graph.hpp"

#include <span>
#include <string>
#include <string_view>

namespace ppsim {

/// One policy, by name. To add one: a file in sim/operations/lowerings/, a line in lowerings.def there, one in CMake.
struct Lowering {
  std::string_view name;
  std::string_view summary;                              ///< where it launches what, in one line
  std::string_view source;                               ///< its origin: a paper, or a framework and its function
  Communicators communicators = Communicators::edge;     ///< intended communicators
  Communicators overlapped = Communicators::edge;        ///< as above, if operations overlap tasks
  Communicators overlapped_by_two = Communicators::edge; ///< as above, on two stages
  bool takes_overlap = false;                            ///< whether it supports Overlap
  /// Places the operations. Throws Error: `no` if there is no place for one, `bad_input` if the framework refuses.
  CommOrder (*place)(const TaskGraph& graph, Overlap overlap) = nullptr;
};

/// All lowerings, in the order of docs and lists; the first one is the default.
[[nodiscard]] std::span<const Lowering* const> lowerings();
/// By name; null if unknown.
[[nodiscard]] const Lowering* find_lowering(std::string_view name);

/// The lowering that places the sends and receives of `graph`: the one named in its scenario's Network::streams. If
/// none is named: null if its schedule specifies them, otherwise the first one intended for its communicators
/// (`pytorch` for shared ones).
[[nodiscard]] const Lowering* lowering_of(const TaskGraph& graph);
/// The sends and receives of `graph`, as lowering_of() places them or as its schedule specifies them.
[[nodiscard]] CommOrder operations_of(const TaskGraph& graph);
/// The communicators in use: the scenario's, otherwise those intended by the lowering; `group` if the schedule
/// specifies its operations, because PyTorch runs them so.
[[nodiscard]] Communicators communicators_of(const TaskGraph& graph);

/// `order`, of `graph`, with PyTorch's actions on whole chunks (ChunkAction): those of `order`, otherwise those of the
/// schedule, otherwise those that PyTorch's lowering adds. A chunk without REDUCE_GRAD gets one after its last
/// backward, because its gradients would otherwise not be divided by the number of microbatches; without
/// Streams::reduce_grad there is none.
[[nodiscard]] CommOrder with_chunk_actions(const TaskGraph& graph, const CommOrder& order);

/// Throws Error (bad_input, `where`) unless every transfer between two stages has one send on its sender's stage, not
/// before its sender, and one receive on the receiver's stage, not after the task that needs it.
void check_operations(const Schedule& schedule, const CommOrder& order, std::string_view where);

/// PyTorch's notation: "2RECV_F0".
[[nodiscard]] std::string to_string(const Schedule& schedule, const CommOp& op);

} // namespace ppsim
