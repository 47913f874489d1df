#pragma once
// Schedules of repeated patterns in slots of equal length, for V placement: a pattern for one microbatch, repeated
// every six slots. Warm-up and cool-down are compacted as far as the pattern's peak of activations allows (Qi et al.,
// Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3: repeat, squeeze, reorder).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppsim::generator {

/// The passes of a microbatch in order: forward down the stages and up again, then input gradient down and up. A stage
/// runs forward_down and gradient_up for its lower chunk, the others for its upper one.
enum class Leg : std::uint8_t { forward_down, forward_up, gradient_down, gradient_up };
constexpr std::size_t legs = 4;
constexpr std::int32_t slots_per_microbatch = 6;

/// The slot of each leg of microbatch 0, per stage. No stage has two legs in the same slot, counted modulo six.
using SlotPattern = std::vector<std::array<std::int32_t, legs>>;

/// The task of a stage in a slot.
struct SlotCell {
  enum class Kind : std::uint8_t { idle, leg, weight };
  Kind kind = Kind::idle;
  Leg leg = Leg::forward_down;
  std::uint32_t microbatch = 0;
};

/// For every stage, its task slot by slot; a W belongs to any finished input gradient.
using SlotGrid = std::vector<std::vector<SlotCell>>;

/// The parts that are compacted.
enum class Compaction : std::uint8_t {
  ends, ///< before the first gradient reaches the start and after the last forward has left it
  everything,
  tight_end ///< everything; then the last gradients follow the last microbatch at two slots' distance
};

/// Empty if the end cannot be compacted, or the pattern holds more than `most_live` activations on a stage.
[[nodiscard]] SlotGrid repeat_pattern(const SlotPattern& pattern, std::size_t microbatches, std::int64_t most_live,
                                      Compaction pull);

} // namespace ppsim::generator
