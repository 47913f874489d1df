#pragma once
// Aligns the clocks of the stages in one recorded step, by the transfers between them.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ppsim::traces {

/// One output sent between stages: when it was made and used, and when both sides ended. Nanoseconds of each stage's
/// clock.
struct StampedTransfer {
  std::uint32_t from = 0; ///< stage
  std::uint32_t to = 0;
  std::int64_t made = 0;                  ///< end of its producer
  std::int64_t used = 0;                  ///< start of its consumer
  std::optional<std::int64_t> sent{};     ///< end of the send
  std::optional<std::int64_t> received{}; ///< end of the receive
};

/// Offsets that convert the times of each stage to the clock of stage 0.
struct StageClocks {
  std::vector<std::int64_t> offset; ///< by stage
  /// Bound of the remaining error between any two stages; none if unbounded: outputs between two stages went in one
  /// direction only, or there were none.
  std::optional<std::int64_t> error{};
};

/// The largest time by which any of `transfers` was used before it was made, with `offset` added to each stage's times;
/// 0 if the clocks respect causality.
[[nodiscard]] std::int64_t worst_violation(std::span<const StampedTransfer> transfers,
                                           std::span<const std::int64_t> offset);

/// Aligns clocks. Send and receive of one output end together, except for late polling on one side; using both
/// directions between two stages cancels that, as in NTP (RFC 5905, section 8). Without known sends and receives, the
/// offset is in the middle of the interval that causality allows: nothing is used before it was made. With one
/// direction only, the error is the width of that interval.
[[nodiscard]] StageClocks align_clocks(std::size_t stages, std::span<const StampedTransfer> transfers);

} // namespace ppsim::traces
