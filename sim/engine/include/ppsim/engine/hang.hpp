#pragma once
// Hangs: whether sends and receives in a given order run to their end, and what blocks them.

#include "ppsim/operations/lowering.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// An order of operations that hangs.
struct Hang {
  std::vector<std::string> cycle; ///< each operation waits for the next one, the last for the first; one sentence each
  std::string fix;                ///< a local change that breaks the cycle, if there is one; otherwise what else to try
};
/// The hang of `order` on `communicators` if every transfer is a rendezvous, or with `eager` if no send waits. None if
/// it runs to its end.
[[nodiscard]] std::optional<Hang> find_hang(const Schedule& schedule, const CommOrder& order,
                                            Communicators communicators, bool eager = false);
/// The same, with sends below Streams::eager_below of `graph`'s scenario not waiting.
[[nodiscard]] std::optional<Hang> find_hang(const TaskGraph& graph, const CommOrder& order,
                                            Communicators communicators);
/// "deadlock: ...; ...": the first sentences of the cycle. The caller appends `fix`.
[[nodiscard]] std::string in_a_line(const Hang& hang);
/// Whether some stage sends to another, on one communicator, in another order than that stage receives. NCCL has no
/// tags and matches operations in order, so data is misdelivered without a hang. Returns a description; none if the
/// orders match.
[[nodiscard]] std::optional<std::string> find_mismatch(const Schedule& schedule, const CommOrder& order,
                                                       Communicators communicators);
/// The remedy for find_mismatch().
inline constexpr std::string_view mismatch_fix =
    "list the transfers between them in one order; or let 'ppsim place' find an order that runs";
/// Whether two stages group the transfers between them differently, which NCCL leaves undefined (nccl#1279): one
/// launches two together, the other launches them one after the other. Returns a description; none if they do not.
[[nodiscard]] std::optional<std::string> find_uneven_groups(const Schedule& schedule, const CommOrder& order,
                                                            Communicators communicators);

} // namespace ppsim
