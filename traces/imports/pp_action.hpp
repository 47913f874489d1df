#pragma once
// Actions of PyTorch's pipeline runtime, with the names of its profile annotations: "PP:0F3", "PP:1SEND_B2".

#include "ppsim/schedule/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ppsim::traces {

/// The action of one annotation of a profile.
struct PpAction {
  enum class Kind : std::uint8_t {
    task,
    send,
    receive,
    reduction, ///< REDUCE_GRAD
    optimizer,
    shard ///< UNSHARD, RESHARD
  };
  Kind kind{};
  Task task{};   ///< for sends and receives the acting side's, `forward` or `backward`; for a reduction its chunk
  Task second{}; ///< the second half of an overlapped pair; `task` is the first
  bool operator==(const PpAction&) const = default;
};

/// The largest chunk and microbatch numbers in names.
inline constexpr std::uint32_t most_named_chunks = 1U << 14U;
inline constexpr std::uint32_t most_named_microbatches = 1U << 20U;

/// Why labels "PP:..." are dropped that parse_pp_action() does not know.
inline constexpr const char* unknown_action = "PP: labels with an unknown action";

/// The action that `name` (without "PP:") denotes; none if it is not an action, or out of range.
[[nodiscard]] std::optional<PpAction> parse_pp_action(std::string_view name);
/// A unique number for each action (also for whole and input-gradient backwards).
[[nodiscard]] std::uint64_t key_of(const PpAction& action);

/// Whether the action is two tasks in one piece: OVERLAP_F_B.
[[nodiscard]] inline bool is_pair(const PpAction& action) {
  return action.second.pairing == Pairing::second;
}

/// Replaces each pair by its two halves. The other members are equal for both.
template <class Item>
void take_pairs_apart(std::vector<Item>& items, PpAction Item::*action) {
  if (std::ranges::none_of(items, is_pair, action)) return;
  std::vector<Item> apart;
  apart.reserve(2 * items.size());
  for (Item& item : items) {
    const PpAction whole = item.*action;
    if (is_pair(whole)) {
      apart.push_back(item);
      apart.back().*action = {whole.kind, whole.task, {}};
      item.*action = {whole.kind, whole.second, {}};
    }
    apart.push_back(std::move(item));
  }
  items = std::move(apart);
}

} // namespace ppsim::traces
