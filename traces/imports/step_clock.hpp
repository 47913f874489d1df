#pragma once
// The clocks of the stages in one recorded step, brought together by what the stages sent each other.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ppsim::traces {

/// One output that goes from a stage to another: when it was made and used, and when both sides said that it had gone.
/// Nanoseconds, each of the clock of its stage.
struct StampedTransfer {
  std::uint32_t from = 0; ///< stage
  std::uint32_t to = 0;
  std::int64_t made = 0;                  ///< end of the task that made it
  std::int64_t used = 0;                  ///< start of the task that needs it
  std::optional<std::int64_t> sent{};     ///< end of the send
  std::optional<std::int64_t> received{}; ///< end of the receive
};

/// What to add to the times of each stage so that all are of the clock of stage 0.
struct StageClocks {
  std::vector<std::int64_t> offset; ///< by stage
  /// Bound of what is left between any two stages; none where nothing bounds it: of two stages, outputs went from one
  /// to the other only, or none at all.
  std::optional<std::int64_t> error{};
};

/// By how much anything of `transfers` was used before it was made, at worst, with `offset` added to the times of each
/// stage; 0 where the clocks show what comes first.
[[nodiscard]] std::int64_t worst_violation(std::span<const StampedTransfer> transfers,
                                           std::span<const std::int64_t> offset);

/// Aligns clocks. Send and receive of one output end together, but for what one side notices later; that is taken out
/// by looking at both directions between two stages, as NTP does (RFC 5905, section 8). Where nothing is known of sends
/// and receives, the clock is put in the middle of what causality allows: nothing is used before it was made. Where
/// they are known in one direction only, the error is as much as causality allows.
[[nodiscard]] StageClocks align_clocks(std::size_t stages, std::span<const StampedTransfer> transfers);

} // namespace ppsim::traces
