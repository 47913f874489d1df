#pragma once
#include "ppsim/operations/detail/stage_transfers.hpp"

#include <optional>

namespace ppsim::lowering {

/// The communicator_number() of an operation.
[[nodiscard]] std::size_t communicator_of(const StageTransfer& transfer, bool is_send, Communicators communicators);

/// The positions of all transfers in the order of `places`, which has one per sender.
[[nodiscard]] std::vector<std::uint32_t> by_sender(const StageTransfers& transfers,
                                                   std::span<const std::uint32_t> places);

/// The operations if every communicator takes the transfers in the order of `ranks` (positions in
/// StageTransfers::all()) and each operation is launched as early as that permits. None if a receive would follow the
/// task that needs it.
[[nodiscard]] std::optional<CommOrder> ranked_order(const StageTransfers& transfers,
                                                    std::span<const std::uint32_t> ranks, Communicators communicators,
                                                    std::size_t stages);

} // namespace ppsim::lowering
