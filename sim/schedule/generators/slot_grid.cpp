#include "slot_grid.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

namespace ppsim::generator {
namespace {

using Slot = std::int32_t;
using Kind = SlotCell::Kind;

bool goes_down(Leg leg) {
  return leg == Leg::forward_down || leg == Leg::gradient_down;
}
bool is_forward(Leg leg) {
  return leg == Leg::forward_down || leg == Leg::forward_up;
}

/// Slots of all legs, and the resulting grid.
class Grid {
public:
  Grid(const SlotPattern& pattern, std::size_t microbatches, Compaction pull)
      : pull_{pull}, stages_{pattern.size()}, microbatches_{microbatches}, slot_(legs * stages_ * microbatches_),
        weights_(stages_) {
    for (std::size_t stage = 0; stage < stages_; ++stage)
      for (std::size_t leg = 0; leg < legs; ++leg)
        for (std::size_t k = 0; k < microbatches_; ++k)
          at(static_cast<Leg>(leg), stage, k) = pattern[stage][leg] + slots_per_microbatch * static_cast<Slot>(k);
  }

  /// False if the pattern needs more than `most_live`.
  bool run(std::int64_t most_live) {
    add_weights();
    limit_ = peak();
    if (limit_ > most_live) return false;
    pull(true);
    squeeze();
    for (std::vector<Slot>& weights : weights_) weights.clear();
    pull(false);
    add_weights();
    squeeze();
    add_weights();
    return pull_ != Compaction::tight_end || tighten_end();
  }

  [[nodiscard]] SlotGrid cells() const {
    SlotGrid grid(stages_);
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      Slot last = weights_[stage].empty() ? 0 : weights_[stage].back();
      for (std::size_t leg = 0; leg < legs; ++leg)
        last = std::max(last, at(static_cast<Leg>(leg), stage, microbatches_ - 1));
      std::vector<SlotCell>& row = grid[stage];
      row.resize(static_cast<std::size_t>(last) + 1);
      for (std::size_t leg = 0; leg < legs; ++leg)
        for (std::size_t k = 0; k < microbatches_; ++k)
          row[static_cast<std::size_t>(at(static_cast<Leg>(leg), stage, k))] = {Kind::leg, static_cast<Leg>(leg),
                                                                                static_cast<std::uint32_t>(k)};
      for (std::size_t i = 0; i < weights_[stage].size(); ++i)
        row[static_cast<std::size_t>(weights_[stage][i])] = {Kind::weight, {}, static_cast<std::uint32_t>(i)};
    }
    return grid;
  }

private:
  [[nodiscard]] Slot& at(Leg leg, std::size_t stage, std::size_t microbatch) {
    return slot_[(static_cast<std::size_t>(leg) * stages_ + stage) * microbatches_ + microbatch];
  }
  [[nodiscard]] Slot at(Leg leg, std::size_t stage, std::size_t microbatch) const {
    return slot_[(static_cast<std::size_t>(leg) * stages_ + stage) * microbatches_ + microbatch];
  }

  /// Puts a W in every idle slot after a finished input gradient.
  void add_weights() {
    for (std::vector<Slot>& weights : weights_) weights.clear();
    const SlotGrid grid = cells();
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      std::size_t waiting = 0;
      Slot slot = 0;
      for (const SlotCell& cell : grid[stage]) {
        if (cell.kind == Kind::leg && !is_forward(cell.leg)) ++waiting;
        if (cell.kind == Kind::idle && waiting > 0) {
          weights_[stage].push_back(slot);
          --waiting;
        }
        ++slot;
      }
      for (; waiting > 0; --waiting) weights_[stage].push_back(slot++);
    }
  }

  [[nodiscard]] std::int32_t peak() const {
    std::int32_t most = 0;
    for (const std::vector<SlotCell>& row : cells()) {
      std::int32_t live = 0;
      for (const SlotCell& cell : row) {
        live += change(cell);
        most = std::max(most, live);
      }
    }
    return most;
  }

  static std::int32_t change(const SlotCell& cell) {
    if (cell.kind == Kind::weight) return -1;
    return cell.kind == Kind::leg && is_forward(cell.leg) ? 1 : 0;
  }

  /// Moves everything as early as its inputs and the order of its stage allow, one slot each.
  void squeeze() {
    const SlotGrid grid = cells();
    std::vector<Slot> free(stages_, 0);
    std::size_t last = 0;
    for (const auto& row : grid) last = std::max(last, row.size());
    for (std::size_t slot = 0; slot < last; ++slot)
      for (std::size_t stage = 0; stage < stages_; ++stage) {
        if (slot >= grid[stage].size()) continue;
        const SlotCell& cell = grid[stage][slot];
        if (cell.kind == Kind::idle) continue;
        if (cell.kind == Kind::leg) {
          free[stage] = std::max(free[stage], earliest(cell.leg, stage, cell.microbatch));
          at(cell.leg, stage, cell.microbatch) = free[stage]++;
        } else {
          weights_[stage][cell.microbatch] = free[stage]++;
        }
      }
  }

  /// Appendix of the paper: after the last microbatch has turned, only gradients are left. Those of the microbatches
  /// before it keep two slots' distance from it and from each other, so that it meets no busy stage.
  bool tighten_end() {
    const Slot turn = at(Leg::forward_up, 0, microbatches_ - 1);
    const auto live = static_cast<std::size_t>(limit_);
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      const auto own = static_cast<Slot>(stage);
      const auto width = static_cast<Slot>(2 * stages_);
      for (std::size_t k = 0; k < std::min((live + 1) / 2, microbatches_); ++k)
        at(Leg::gradient_up, stage, microbatches_ - 1 - k) = turn - own + width - 2 * static_cast<Slot>(k);
      for (std::size_t k = 0; k < std::min({live / 2, microbatches_, stage + 1}); ++k)
        at(Leg::gradient_down, stage, microbatches_ - 1 - k) = turn + 1 + own - 2 * static_cast<Slot>(k);
    }
    for (std::vector<Slot>& weights : weights_) weights.clear();
    if (!rises()) return false;
    for (const std::vector<SlotCell>& row : cells()) {
      const auto used = std::ranges::count(row, Kind::leg, &SlotCell::kind);
      if (static_cast<std::size_t>(used) != legs * microbatches_) return false; // two in one slot
    }
    add_weights();
    squeeze();
    add_weights();
    return true;
  }

  /// Every leg takes the microbatches in order.
  [[nodiscard]] bool rises() const {
    for (std::size_t stage = 0; stage < stages_; ++stage)
      for (std::size_t leg = 0; leg < legs; ++leg)
        for (std::size_t k = 0; k < microbatches_; ++k)
          if (at(static_cast<Leg>(leg), stage, k) < (k == 0 ? 0 : at(static_cast<Leg>(leg), stage, k - 1) + 1))
            return false;
    return true;
  }

  /// The first slot after all inputs of a leg.
  [[nodiscard]] Slot earliest(Leg leg, std::size_t stage, std::size_t microbatch) const {
    Slot after = -1;
    if (goes_down(leg) && stage > 0) after = std::max(after, at(leg, stage - 1, microbatch));
    if (!goes_down(leg) && stage + 1 < stages_) after = std::max(after, at(leg, stage + 1, microbatch));
    if (leg != Leg::forward_down)
      after = std::max(after, at(static_cast<Leg>(static_cast<std::size_t>(leg) - 1), stage, microbatch));
    if (microbatch > 0) after = std::max(after, at(leg, stage, microbatch - 1));
    return after + 1;
  }

  /// Moves the tasks before the first gradient_up of stage 0 and after its last forward_down into the earliest free
  /// slot that keeps the peak. With fixed W they move too; otherwise they are where add_weights() would put them, and
  /// only the end is compacted.
  void pull(bool with_weights) {
    const SlotGrid old = cells();
    grid_.assign(stages_, {});
    std::size_t last = 0;
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      grid_[stage] = old[stage];
      last = std::max(last, old[stage].size());
    }
    states_.assign(stages_, {});
    fresh_.resize(last);
    for (std::size_t stage = 0; stage < stages_; ++stage) account(stage, with_weights);
    const Slot steady_from = at(Leg::gradient_up, 0, 0);
    const Slot steady_to = at(Leg::forward_down, 0, microbatches_ - 1);
    for (std::size_t slot = 0; slot < last; ++slot)
      for (std::size_t stage = 0; stage < stages_; ++stage) {
        if (slot >= old[stage].size() || old[stage][slot].kind == Kind::idle) continue;
        const bool before = std::pair{static_cast<Slot>(slot), stage} < std::pair{steady_from, std::size_t{0}};
        const bool after = std::pair{static_cast<Slot>(slot), stage} > std::pair{steady_to, std::size_t{0}} && !before;
        if ((before && with_weights) || after || pull_ != Compaction::ends) move(stage, slot, with_weights);
      }
  }

  /// The state after a slot.
  struct State {
    std::int32_t live = 0;    ///< activations
    std::int32_t waiting = 0; ///< W, if they are not fixed

    bool operator==(const State&) const = default;
  };

  void account(std::size_t stage, bool with_weights) {
    State state;
    for (const SlotCell& cell : grid_[stage]) states_[stage].push_back(state = behind(state, cell, with_weights));
  }

  static State behind(State state, const SlotCell& cell, bool with_weights) {
    state.live += change(cell);
    if (with_weights) return state;
    if (cell.kind == Kind::leg && !is_forward(cell.leg)) ++state.waiting;
    if (cell.kind == Kind::idle && state.waiting > 0) {
      --state.waiting;
      --state.live;
    }
    return state;
  }

  void move(std::size_t stage, std::size_t from, bool with_weights) {
    std::vector<SlotCell>& row = grid_[stage];
    const SlotCell cell = row[from];
    const Slot first =
        cell.kind == Kind::leg ? earliest(cell.leg, stage, cell.microbatch) : earliest_weight(stage, cell);
    for (auto to = static_cast<std::size_t>(first); to < from; ++to) {
      if (row[to].kind != Kind::idle) continue;
      std::swap(row[to], row[from]);
      if (keeps_peak(stage, to, from, with_weights)) {
        (cell.kind == Kind::leg ? at(cell.leg, stage, cell.microbatch) : weights_[stage][cell.microbatch]) =
            static_cast<Slot>(to);
        return;
      }
      std::swap(row[to], row[from]);
    }
  }

  /// The k-th W of a stage needs its k-th input gradient, of either chunk.
  [[nodiscard]] Slot earliest_weight(std::size_t stage, const SlotCell& cell) const {
    const Slot after = cell.microbatch > 0 ? weights_[stage][cell.microbatch - 1] : -1;
    return std::max(after, last_gradient(stage, cell.microbatch + 1)) + 1;
  }

  /// The last of the first `count` input gradients of a stage: downward ones in order, and the rest upward ones.
  [[nodiscard]] Slot last_gradient(std::size_t stage, std::size_t count) const {
    const std::size_t fewest = count - std::min(count, microbatches_);
    const auto choices = std::views::iota(fewest, std::min(count, microbatches_));
    const auto enough = std::ranges::partition_point(choices, [&](std::size_t taken) {
      return at(Leg::gradient_down, stage, taken) < at(Leg::gradient_up, stage, count - 1 - taken);
    });
    const std::size_t down = fewest + static_cast<std::size_t>(enough - choices.begin());
    const std::size_t up = count - down;
    return std::max(down > 0 ? at(Leg::gradient_down, stage, down - 1) : -1,
                    up > 0 ? at(Leg::gradient_up, stage, up - 1) : -1);
  }

  /// Walks from the changed slot until the state is unchanged; accepts the new states if they stay below the limit.
  bool keeps_peak(std::size_t stage, std::size_t from, std::size_t to, bool with_weights) {
    std::vector<State>& states = states_[stage];
    State state = from > 0 ? states[from - 1] : State{};
    std::size_t slot = from;
    for (; slot < states.size(); ++slot) {
      state = behind(state, grid_[stage][slot], with_weights);
      if (state.live > limit_) return false;
      if (slot >= to && state == states[slot]) break;
      fresh_[slot] = state;
    }
    std::copy(fresh_.begin() + static_cast<std::ptrdiff_t>(from), fresh_.begin() + static_cast<std::ptrdiff_t>(slot),
              states.begin() + static_cast<std::ptrdiff_t>(from));
    return true;
  }

  Compaction pull_;
  std::size_t stages_;
  std::size_t microbatches_;
  std::vector<Slot> slot_;                 // by leg, stage, microbatch
  std::vector<std::vector<Slot>> weights_; // by stage, rising
  std::int32_t limit_ = 0;
  SlotGrid grid_;                          // while pulling
  std::vector<std::vector<State>> states_; // of grid_
  std::vector<State> fresh_;               // of a stage, with a change that is tried
};

/// The first slot of a full period of every stage, in the middle of the steady state.
std::optional<std::size_t> steady_slot(const SlotGrid& grid, std::size_t microbatches) {
  const std::size_t slot = slots_per_microbatch * microbatches / 2;
  for (const std::vector<SlotCell>& row : grid) {
    std::array<int, legs> count{};
    if (row.size() < slot + slots_per_microbatch) return std::nullopt;
    for (std::size_t i = 0; i < slots_per_microbatch; ++i)
      if (row[slot + i].kind == Kind::leg) ++count[static_cast<std::size_t>(row[slot + i].leg)];
    if (std::ranges::any_of(count, [](int times) { return times != 1; })) return std::nullopt;
  }
  return slot;
}

/// The grid with `extra` more microbatches: repeats the period from `slot`.
SlotGrid lengthen(const SlotGrid& grid, std::size_t slot, std::size_t extra) {
  SlotGrid longer(grid.size());
  for (std::size_t stage = 0; stage < grid.size(); ++stage) {
    const auto begin = grid[stage].begin() + static_cast<std::ptrdiff_t>(slot);
    std::vector<SlotCell>& row = longer[stage];
    row.reserve(grid[stage].size() + slots_per_microbatch * extra);
    row.assign(grid[stage].begin(), begin);
    for (std::size_t i = 0; i <= extra; ++i) row.insert(row.end(), begin, begin + slots_per_microbatch);
    row.insert(row.end(), begin + slots_per_microbatch, grid[stage].end());
  }
  return longer;
}

} // namespace

SlotGrid repeat_pattern(const SlotPattern& pattern, std::size_t microbatches, std::int64_t most_live, Compaction pull) {
  Slot longest = 0; // until the first microbatch has returned
  for (const auto& of_stage : pattern) longest = std::max(longest, std::ranges::max(of_stage));
  // warm-up and cool-down do not depend on how many microbatches are between them
  const std::size_t enough = 2 * static_cast<std::size_t>(longest) / slots_per_microbatch + 8;
  for (std::size_t fewer = std::min(enough, microbatches);; fewer = std::min(2 * fewer, microbatches)) {
    Grid grid{pattern, fewer, pull};
    if (!grid.run(most_live)) return {};
    SlotGrid cells = grid.cells();
    if (fewer == microbatches) return cells;
    if (const auto slot = steady_slot(cells, fewer)) return lengthen(cells, *slot, microbatches - fewer);
  }
}

} // namespace ppsim::generator
