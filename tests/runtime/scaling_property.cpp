// Costs that are scaled to another work and back are those that they were.

#include "ppsim/runtime/scaling.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <rapidcheck.h>

namespace ppsim::runtime::scaling_property {
namespace {

Workload drawn_workload(Block block) {
  return {.block = block,
          .tokens = *rc::gen::inRange<std::size_t>(1, 4096),
          .width = *rc::gen::inRange<std::size_t>(1, 4096),
          .heads = 1,
          .layers = *rc::gen::inRange<std::size_t>(1, 64)};
}

constexpr std::array tasks{&Scaling::forward, &Scaling::input_grad, &Scaling::weight_grad, &Scaling::backward,
                           &Scaling::optimizer};

} // namespace

TEST_CASE("Scaling there and back gives the same times", "[scaling]") {
  rc::prop("within the rounding of the time between", [] {
    const Block block = *rc::gen::element(Block::mlp, Block::transformer);
    const Workload from = drawn_workload(block);
    const Workload to = drawn_workload(block);
    const Duration time{*rc::gen::inRange<std::int64_t>(0, 1'000'000'000)};
    const Scaling there = scaling(from, to);
    const Scaling back = scaling(to, from);
    for (Ratio Scaling::*task : tasks) {
      const auto other = scaled(time, there.*task);
      if (!other) continue; // longer than a day
      const auto again = scaled(*other, back.*task);
      RC_ASSERT(again.has_value());
      // What half a nanosecond in the middle is at the end, and half a nanosecond there.
      const double limit =
          0.5 + 0.5 * static_cast<double>((back.*task).part) / static_cast<double>((back.*task).whole) + 1e-6;
      RC_ASSERT(std::abs(static_cast<double>((*again - time).count())) <= limit);
      if ((there.*task).part >= (there.*task).whole) RC_ASSERT(std::abs((*again - time).count()) <= 1);
    }
  });
  rc::prop("to the nanosecond, for the same work", [] {
    const Workload work = drawn_workload(*rc::gen::element(Block::mlp, Block::transformer));
    const Duration time{*rc::gen::inRange<std::int64_t>(0, max_duration.count())};
    for (Ratio Scaling::*task : tasks) RC_ASSERT(scaled(time, scaling(work, work).*task) == time);
  });
}

TEST_CASE("Scaling from two workloads meets the times of both", "[scaling]") {
  rc::prop("and lies between them in between", [] {
    const Block block = *rc::gen::element(Block::mlp, Block::transformer);
    const Workload first = drawn_workload(block);
    const Scaling to_second = scaling(first, drawn_workload(block));
    const Scaling to_third = scaling(first, drawn_workload(block));
    const Duration time{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000)};
    const Duration second_time{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000)};
    for (Ratio Scaling::*task : tasks) {
      const SecondTime second{second_time, to_second.*task};
      RC_ASSERT(scaled(time, Ratio{}, second) == time);
      if (second.ratio.part == second.ratio.whole) {
        RC_ASSERT(scaled(time, to_third.*task, second) == scaled(time, to_third.*task));
        continue;
      }
      const auto met = scaled(time, second.ratio, second);
      RC_ASSERT(met.has_value());
      RC_ASSERT(std::abs((*met - second_time).count()) <= 1);
      const double lower = std::min(1.0, value_of(second.ratio));
      const double upper = std::max(1.0, value_of(second.ratio));
      if (value_of(to_third.*task) < lower || value_of(to_third.*task) > upper) continue;
      const auto between = scaled(time, to_third.*task, second);
      RC_ASSERT(between.has_value());
      RC_ASSERT(*between >= std::min(time, second_time) - Duration{1});
      RC_ASSERT(*between <= std::max(time, second_time) + Duration{1});
    }
  });
}

} // namespace ppsim::runtime::scaling_property
