#pragma once
// Actions of PyTorch's pipeline runtime by name, as it marks them in profiles: "PP:0F3", "PP:1SEND_B2".

#include "ppsim/sim/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace ppsim::traces {

/// What ran under one annotation of a profile.
struct PpAction {
  enum class Kind : std::uint8_t {
    task,
    send,
    receive,
    reduction, ///< REDUCE_GRAD
    optimizer,
    overlapped, ///< two tasks in one piece: OVERLAP_F_B
    shard       ///< UNSHARD, RESHARD
  };
  Kind kind{};
  Task task{}; ///< of sends and receives the acting side's, `forward` or `backward`; of a reduction its chunk
  bool operator==(const PpAction&) const = default;
};

/// Chunks and microbatches in names count up to these at most.
inline constexpr std::uint32_t most_named_chunks = 1U << 14U;
inline constexpr std::uint32_t most_named_microbatches = 1U << 20U;

/// The action that `name` (without "PP:") stands for; nothing where it is none, or out of range.
[[nodiscard]] std::optional<PpAction> parse_pp_action(std::string_view name);
/// One number per action, different for different ones (whole and input-gradient backwards too).
[[nodiscard]] std::uint64_t key_of(const PpAction& action);

} // namespace ppsim::traces
