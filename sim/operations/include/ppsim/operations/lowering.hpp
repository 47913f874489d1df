#pragma once
// Lowerings: where a framework launches the sends and receives of a schedule that does not say so itself.

#include "ppsim/graph/task_graph.hpp"

#include <span>
#include <string>
#include <string_view>

namespace ppsim {

/// One policy, by name. To add one: a file in sim/operations/lowerings/, a line in lowerings.def there, one in CMake.
struct Lowering {
  std::string_view name;
  std::string_view summary;                              ///< where it launches what, in a line
  std::string_view source;                               ///< whose it is: a paper, a framework and its function
  Communicators communicators = Communicators::edge;     ///< that it is meant for
  Communicators overlapped = Communicators::edge;        ///< as above where operations overlap tasks
  Communicators overlapped_by_two = Communicators::edge; ///< as above, on two stages
  bool takes_overlap = false;                            ///< whether it knows Overlap
  /// Places the operations. Throws Error: `no` where it has no place for one, `bad_input` where the framework refuses.
  CommOrder (*place)(const TaskGraph& graph, Overlap overlap) = nullptr;
};

/// All of them, in the order of docs and lists; the first one is the default.
[[nodiscard]] std::span<const Lowering* const> lowerings();
/// By name; null where there is none.
[[nodiscard]] const Lowering* find_lowering(std::string_view name);

/// The lowering that places the sends and receives of `graph`: the one that its scenario's Network::streams names;
/// where it names none, null if its schedule came with them, else the first that is meant for its communicators (for
/// shared ones, `pytorch`).
[[nodiscard]] const Lowering* lowering_of(const TaskGraph& graph);
/// The sends and receives of `graph`, as lowering_of() places them, or those that its schedule came with.
[[nodiscard]] CommOrder operations_of(const TaskGraph& graph);
/// The communicators they use: what the scenario says, else those that the lowering is meant for; where they are those
/// that the schedule came with, `group`, on which PyTorch runs them.
[[nodiscard]] Communicators communicators_of(const TaskGraph& graph);

/// `order`, of `graph`, with what PyTorch does with whole chunks (ChunkAction): what `order` says of it, else what the
/// schedule says, else what PyTorch's lowering adds. A chunk without REDUCE_GRAD has one added after its last
/// backward, as its gradients would not be divided by the number of microbatches; without Streams::reduce_grad there is
/// none.
[[nodiscard]] CommOrder with_chunk_actions(const TaskGraph& graph, const CommOrder& order);

/// Throws Error (bad_input, `where`) unless every transfer between two stages has one send on its sender's stage, not
/// before the task that makes its content, and one receive on the receiver's, not after the task that needs it.
void check_operations(const Schedule& schedule, const CommOrder& order, std::string_view where);

/// PyTorch's notation: "2RECV_F0".
[[nodiscard]] std::string to_string(const Schedule& schedule, const CommOp& op);

} // namespace ppsim
