#pragma once
// Communicators: how sends and receives share them.

#include <array>
#include <cstdint>
#include <string_view>

namespace ppsim {

/// Operations on one communicator run in launch order, on each stage that takes part. edge: one per directed edge
/// between two stages. pair: one per pair of stages, both directions (PyTorch's isend and irecv on a group without
/// device_id). direction: two for all stages, one for activations and one for gradients (PyTorch's
/// pipeline_per_direction_p2p). group: one for all stages (Megatron-LM's batch_isend_irecv, and isend and irecv on a
/// group with device_id).
enum class Communicators : std::uint8_t { edge, pair, direction, group };
inline constexpr std::array all_communicators{Communicators::edge, Communicators::pair, Communicators::direction,
                                              Communicators::group};
[[nodiscard]] std::string_view to_string(Communicators communicators);

} // namespace ppsim
