#pragma once
// The transfer model `streams`: sends and receives as NCCL runs them (SPEC section 2; docs/communication.md).

#include "ppsim/sim/lowering.hpp"
#include "ppsim/sim/timeline.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// When one send or receive was where.
struct OpRun {
  SimTime launched{}; ///< its stage had done the tasks before it
  SimTime front{};    ///< and it was the next on its communicator there
  SimTime done{};     ///< it, and the others of its group on that communicator
};

/// A run under `streams`.
struct StreamRun {
  Timeline timeline;      ///< of a transfer: from when data flows to when it is there
  std::vector<OpRun> ops; ///< as in CommOrder::ops()
  Communicators communicators{};
};

/// Simulates `graph` with the operations of `order` on `communicators`; Network::streams says the rest. A task is
/// launched behind the task before it on its stage; an operation behind the `before` tasks of its stage, and on each
/// communicator one behind the other (those of one group on one communicator together). Between the halves of a pair
/// nothing is launched: what stands there, is behind both. A transfer flows when its send
/// and its receive are both in front (rendezvous); one of fewer bytes than Streams::eager_below when its send is.
/// Stages start at zero, or when `stage_ready` says. What follows the tasks (Scenario::update) is in the timeline too.
/// Throws Error (`no`) where data would go astray (find_mismatch) and where the order hangs (find_hang).
[[nodiscard]] StreamRun simulate_streams(const TaskGraph& graph, const CommOrder& order, Communicators communicators,
                                         std::span<const SimTime> stage_ready = {});
/// As simulate_streams() from zero, of an order without find_mismatch(); nothing where it hangs.
[[nodiscard]] std::optional<StreamRun> try_streams(const TaskGraph& graph, const CommOrder& order,
                                                   Communicators communicators);

/// A task that waited for an input because one of its two operations stood behind another one on its communicator, or
/// was launched late.
struct Stall {
  TaskId task{};           ///< that waited
  StageId stage{};         ///< where it did
  Span wait;               ///< the part of its wait that the order of operations cost: the label `stall`
  std::size_t waiting = 0; ///< position in CommOrder::ops(): the send or the receive of its input that was held up
  std::size_t behind = 0;  ///< likewise: the operation that held it up; `waiting` itself where it was launched late
  [[nodiscard]] Duration length() const { return wait.length(); }
};
/// All of them, longest first, of equal ones the earliest.
[[nodiscard]] std::vector<Stall> find_stalls(const TaskGraph& graph, const CommOrder& order, const StreamRun& run);
/// "stage 1's 1F1 waits 4 ns: 2RECV_F0 from stage 1 was posted before 0SEND_F1 on the same communicator of stage 0". Of
/// several operations in front the one is named for which nothing flowed for longest.
[[nodiscard]] std::string describe(const TaskGraph& graph, const CommOrder& order, const Stall& stall);
/// PyTorch's notation: "2RECV_F0".
[[nodiscard]] std::string to_string(const Schedule& schedule, const CommOp& op);

/// An order of operations that hangs.
struct Hang {
  std::vector<std::string> cycle; ///< each operation waits for the next one, the last for the first; a sentence each
  std::string fix;                ///< what would break it, where that is a local change; else what else to try
};
/// Whether `order` hangs on `communicators` when every transfer is a rendezvous; or, with `eager`, when no send waits.
/// None: it runs to its end.
[[nodiscard]] std::optional<Hang> find_hang(const Schedule& schedule, const CommOrder& order,
                                            Communicators communicators, bool eager = false);
/// Likewise, where those sends do not wait that the scenario of `graph` says (Streams::eager_below).
[[nodiscard]] std::optional<Hang> find_hang(const TaskGraph& graph, const CommOrder& order,
                                            Communicators communicators);
/// "deadlock: ...; ...": the first sentences of its cycle, to be followed by its `fix`.
[[nodiscard]] std::string in_a_line(const Hang& hang);
/// Whether some stage sends to another one, on one communicator, in an order in which that one does not receive. NCCL
/// has no tags and takes them as they come, so that data goes astray, and nothing hangs for it. What, in words.
[[nodiscard]] std::optional<std::string> find_mismatch(const Schedule& schedule, const CommOrder& order,
                                                       Communicators communicators);
/// What to do about it.
inline constexpr std::string_view mismatch_fix =
    "list the transfers between them in one order; or let 'ppsim place' find an order that runs";
/// Whether two stages group the transfers between them in different ways, which NCCL leaves undefined (nccl#1279): one
/// launches two together, the other one after the other. What, in words.
[[nodiscard]] std::optional<std::string> find_uneven_groups(const Schedule& schedule, const CommOrder& order,
                                                            Communicators communicators);

/// A better place for the operations of a schedule.
struct Placement {
  CommOrder order;
  Duration before{0};        ///< makespan with the order that was given
  Duration after{0};         ///< with this one; longer only where groups, or waits, were worth more than any place
  Duration stalls_before{0}; ///< of all stages
  Duration stalls_after{0};
  std::size_t moved = 0; ///< operations that stand elsewhere
};
/// Searches an order of operations with a shorter step than `order`, which may also hang; the tasks keep theirs. The
/// result runs to its end. It has no groups, and no task waits for what it does not need: what is written of it says
/// all that was simulated. `before` is zero where `order` hangs, or has a find_mismatch().
[[nodiscard]] Placement place_operations(const TaskGraph& graph, const CommOrder& order, Communicators communicators);

} // namespace ppsim
