#include "v_pattern.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace ppsim::generator {
namespace {

constexpr std::int64_t slot = 2; // two half slots
constexpr std::int64_t interval = slots_per_microbatch * slot;

using Times = std::vector<std::array<std::int64_t, legs>>; // by stage

/// The times of microbatch 0 on each stage, per leg.
Times first_times(const VPattern& pattern, std::size_t stages) {
  Times times(stages);
  std::int64_t time = 0;
  for (std::size_t leg = 0; leg < legs; ++leg) {
    if (leg > 0) time += pattern.turn[leg - 1];
    for (std::size_t i = 0; i < stages; ++i) {
      const bool down = leg % 2 == 0;
      if (i > 0) time += down && i < pattern.bend ? pattern.step_before_bend : pattern.step[leg];
      times[down ? i : stages - 1 - i][leg] = time;
    }
  }
  return times;
}

/// `times` are those of the pattern if it turns at once.
bool shares_a_slot(const VPattern& pattern, const Times& times) {
  std::array<std::int64_t, legs> delay{};
  for (std::size_t leg = 1; leg < legs; ++leg) delay[leg] = delay[leg - 1] + pattern.turn[leg - 1];
  return std::ranges::any_of(times, [&](const std::array<std::int64_t, legs>& of_stage) {
    std::uint32_t taken = 0;
    for (std::size_t leg = 0; leg < legs; ++leg)
      taken |= 1U << static_cast<std::uint64_t>(of_stage[leg] + delay[leg]) % interval;
    return std::popcount(taken) < static_cast<int>(legs);
  });
}

constexpr std::int64_t far_off = 1'000'000'000;
constexpr std::size_t most_bends = 15;

VPattern regular(std::int64_t down, std::int64_t before_bend) {
  return {.step = {down * slot, slot, down * slot, slot}, .step_before_bend = before_bend * slot, .policy = {}};
}

VPattern with_turns(VPattern pattern, std::int64_t first, std::int64_t middle, std::int64_t last) {
  pattern.turn = {first * slot, middle * slot, last * slot};
  return pattern;
}

void add_patterns(const VPattern& pattern, std::size_t stages, std::vector<VPattern>& found) {
  const Times times = first_times(with_turns(pattern, 0, 0, 0), stages);
  for (std::int64_t first = 1; first <= slots_per_microbatch; ++first)
    for (std::int64_t middle = 1; middle <= slots_per_microbatch; ++middle)
      for (std::int64_t last = 1; last <= slots_per_microbatch; ++last) {
        const VPattern turned = with_turns(pattern, first, middle, last);
        if (!shares_a_slot(turned, times)) found.push_back(turned);
      }
}

/// The longest sum of the lifetimes of a microbatch's two activations on a stage, with W right after I.
std::int64_t longest_lives(const VPattern& pattern, std::size_t stages) {
  std::int64_t longest = 0;
  for (const auto& times : first_times(pattern, stages))
    longest = std::max(longest, times[3] - times[0] + times[2] - times[1] + slot * 4);
  return longest;
}

} // namespace

TaskKeys keys_of(const VPattern& pattern, const Shape& shape) {
  const auto times = first_times(pattern, shape.stages);
  TaskKeys keys;
  for (auto* list : {&keys.forward, &keys.input_grad, &keys.weight_grad})
    list->reserve(shape.chunks() * shape.microbatches);
  for (std::size_t chunk = 0; chunk < shape.chunks(); ++chunk) {
    const bool lower = chunk < shape.stages;
    const auto& of_stage = times[lower ? chunk : shape.chunks() - 1 - chunk];
    std::int64_t forward = of_stage[lower ? 0 : 1];
    std::int64_t gradient = of_stage[lower ? 3 : 2];
    for (std::size_t i = 0; i < shape.microbatches; ++i) {
      keys.forward.push_back(forward);
      keys.input_grad.push_back(gradient);
      keys.weight_grad.push_back(gradient + pattern.weight_delay);
      const std::int64_t step = i + shape.stages < shape.microbatches ? interval : pattern.last_interval;
      forward += step;
      gradient += step;
    }
  }
  return keys;
}

SlotPattern slots_of(const VPattern& pattern, std::size_t stages) {
  SlotPattern slots;
  for (const auto& times : first_times(pattern, stages)) {
    auto& of_stage = slots.emplace_back();
    std::ranges::transform(times, of_stage.begin(),
                           [](std::int64_t time) { return static_cast<std::int32_t>(time / slot); });
  }
  return slots;
}

std::vector<VPattern> regular_patterns(std::size_t stages, std::int64_t live) {
  std::vector<VPattern> found;
  for (std::int64_t down = 1; down <= 5; ++down) {
    add_patterns(regular(down, 0), stages, found);
    for (std::int64_t before = down + 1; before <= 5; ++before)
      for (std::size_t i = 1; i <= most_bends && i + 1 < stages; ++i) {
        VPattern bent = regular(down, before);
        bent.bend = 1 + i * (stages - 1) / (std::min(most_bends, stages - 2) + 1);
        add_patterns(bent, stages, found);
      }
  }
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int64_t missing = live * interval - longest_lives(found[i], stages);
    order.emplace_back(missing >= 0 ? missing : far_off - missing, i); // patterns that hold too much come last
  }
  std::ranges::sort(order);
  // tables 8 and 9 of the paper: the middle turn keeps the legs of a stage apart
  std::vector<VPattern> sorted{with_turns(regular(1, 0), 1, stages % 3 == 0 ? 3 : 1, 1),
                               with_turns(regular(2, 0), 1, stages % 2 == 0 ? 4 : 1, 2)};
  if (live >= static_cast<std::int64_t>(2 * (stages / 2) + 2)) std::swap(sorted[0], sorted[1]);
  for (const auto& [distance, i] : order) sorted.push_back(found[i]);
  return sorted;
}

std::vector<VPattern> neighbours(const VPattern& pattern) {
  std::vector<VPattern> all;
  const auto vary = [&](auto change) { change(all.emplace_back(pattern)); };
  for (const std::int64_t window : {0, 2, 4, 8, 12, 18, 24, 36, 48, 96, 1'000'000})
    if (window != pattern.policy.window) vary([&](VPattern& next) { next.policy.window = window; });
  for (const std::int64_t last : {0, 2, 4, 6, 9, 12})
    if (last != pattern.last_interval) vary([&](VPattern& next) { next.last_interval = last; });
  vary([](VPattern& next) { next.policy.keyed_weights = !next.policy.keyed_weights; });
  for (const std::int64_t delay : {0, 2, 4, 6, 8, 12, 24})
    vary([&](VPattern& next) {
      next.policy.keyed_weights = true;
      next.weight_delay = delay;
    });
  for (const Reserve reserves : {Reserve::nothing, Reserve::one, Reserve::all_before})
    if (reserves != pattern.policy.reserves) vary([&](VPattern& next) { next.policy.reserves = reserves; });
  vary([](VPattern& next) { next.policy.overruns = !next.policy.overruns; });
  const auto shift = [](std::int64_t& time, std::int64_t by) { time = std::max<std::int64_t>(0, time + by); };
  for (const std::int64_t by : {-1, 1, 2, -2, 4, -4}) {
    for (std::size_t leg = 0; leg < legs; ++leg) vary([&](VPattern& next) { shift(next.step[leg], by); });
    for (std::size_t i = 0; i + 1 < legs; ++i) vary([&](VPattern& next) { shift(next.turn[i], by); });
    vary([&](VPattern& next) {
      shift(next.step[0], by);
      shift(next.step[2], by);
    });
  }
  return all;
}

} // namespace ppsim::generator
