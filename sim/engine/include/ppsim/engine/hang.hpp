#pragma once
// Hangs: whether sends and receives in a given order run to their end, and what stands in the way.

#include "ppsim/operations/lowering.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// An order of operations that hangs.
struct Hang {
  std::vector<std::string> cycle; ///< each operation waits for the next one, the last for the first; a sentence each
  std::string fix;                ///< what would break it, where that is a local change; else what else to try
};
/// Whether `order` hangs on `communicators` when every transfer is a rendezvous; or, with `eager`, when no send waits.
/// None: it runs to its end.
[[nodiscard]] std::optional<Hang> find_hang(const Schedule& schedule, const CommOrder& order,
                                            Communicators communicators, bool eager = false);
/// The same, where those sends do not wait that the scenario of `graph` says (Streams::eager_below).
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

} // namespace ppsim
