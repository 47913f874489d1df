// Schedules that split the backward, so that weight gradients fill what would be bubbles.

#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

namespace ppsim::test::generators_zero_bubble_test {

using namespace std::chrono_literals;

namespace {

std::string refusal(std::string_view name, const Shape& shape) {
  const Refusal refusal = refusal_of([&] { (void)generate(name, shape); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.first();
}

/// Every chunk costs the same; times of a chunk.
Scenario equal_chunks(const Shape& shape, Duration forward, Duration input_grad, Duration weight_grad) {
  Scenario scenario = uniform_scenario(shape, 0ns, 0ns);
  scenario.costs.forward.assign(shape.chunks(), forward);
  scenario.costs.input_grad.assign(shape.chunks(), input_grad);
  scenario.costs.weight_grad.assign(shape.chunks(), weight_grad);
  return scenario;
}

std::optional<ClosedForm> form(std::string_view name, const Scenario& scenario) {
  return closed_form(find_generator(name), {.shape = scenario.shape}, scenario);
}

std::vector<std::size_t> warmups(const Schedule& schedule) {
  std::vector<std::size_t> forwards;
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage)
    forwards.push_back(schedule.warmup_forwards(make_id<StageId>(stage)).value());
  return forwards;
}

} // namespace

TEST_CASE("Interleaved zero bubble runs a forward and an input gradient in turn, stage s with its weight gradients s "
          "behind") {
  CHECK(rows_of(generate("zb-interleaved", {.stages = 3, .microbatches = 4, .vpp = 1})) ==
        Rows{"0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3", "1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3",
             "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3"});
}

TEST_CASE("Interleaved zero bubble over two chunks has rounds of p microbatches or more") {
  // m div p = 3 rounds of 2
  const Schedule schedule = generate("zb-interleaved", {.stages = 2, .microbatches = 6, .vpp = 2});
  CHECK(
      rows_of(schedule)[1] ==
      "1F0 1F1 3F0 3I0 3F1 3I1 3W0 1F2 1I0 3W1 1F3 1I1 1W0 3F2 3I2 1W1 3F3 3I3 3W2 1F4 1I2 3W3 1F5 1I3 1W2 3F4 3I4 1W3 "
      "3F5 3I5 3W4 1I4 3W5 1I5 1W4 1W5");
  CHECK(warmups(schedule) == std::vector<std::size_t>{3, 2}); // (v-1)g + p-1-s
}

TEST_CASE("Interleaved zero bubble with fewer microbatches than stages is one round") {
  CHECK(rows_of(generate("zb-interleaved", {.stages = 4, .microbatches = 2, .vpp = 2})) ==
        Rows{"0F0 0F1 4F0 4F1 4I0 4W0 4I1 4W1 0I0 0W0 0I1 0W1", "1F0 1F1 5F0 5F1 5I0 5I1 5W0 1I0 5W1 1I1 1W0 1W1",
             "2F0 2F1 6F0 6F1 6I0 6I1 2I0 6W0 2I1 6W1 2W0 2W1", "3F0 3F1 7F0 7I0 7F1 7I1 3I0 3I1 7W0 7W1 3W0 3W1"});
}

TEST_CASE(
    "Interleaved zero bubble refuses microbatches that do not divide into equal rounds, and names the nearest two") {
  CHECK(refusal("zb-interleaved", {.stages = 4, .microbatches = 9, .vpp = 2}) ==
        "`mb`: must be a multiple of its 2 rounds (m div p) here, got 9 -- 8 and 10 are the nearest to 9");
  CHECK(refusal("zb-interleaved", {.stages = 4, .microbatches = 23, .vpp = 1}) ==
        "`mb`: must be a multiple of its 5 rounds (m div p) here, got 23 -- 20 and 24 are the nearest to 23");
  CHECK_NOTHROW(generate("zb-interleaved", {.stages = 4, .microbatches = 10, .vpp = 2})); // two rounds of 5
  CHECK_NOTHROW(generate("zb-interleaved", {.stages = 4, .microbatches = 7, .vpp = 2}));  // one round
}

TEST_CASE("The closed form of interleaved zero bubble holds if a weight gradient is not longer than F and I") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 2};
  CHECK(form("zb-interleaved", equal_chunks(shape, 5ns, 4ns, 3ns))->value == Approx(3.0 * 6.0 / (16.0 * 12.0)));
  CHECK(!form("zb-interleaved", equal_chunks(shape, 2ns, 4ns, 3ns)));
  CHECK(!form("zb-interleaved", equal_chunks(shape, 5ns, 2ns, 3ns)));
  CHECK(!form("zb-interleaved", equal_chunks({.stages = 4, .microbatches = 3, .vpp = 1}, 5ns, 4ns, 3ns)));
  CHECK(!form("zb-interleaved", uniform_scenario(shape, 10ns, 20ns, 5ns)));
}

TEST_CASE("ZB-V on two stages, by hand") {
  // m = 4: stage 0 warms up with 2p-1 = 3 forwards of chunk 0, then has p = 2 times chunk 3's F I W;
  // stage 1 with 1, then F of chunks 2 and 1 once, then chunk 2's F I W once
  const Schedule schedule = generate("zb-v", {.stages = 2, .microbatches = 4, .vpp = 2});
  CHECK(rows_of(schedule) ==
        Rows{"0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3",
             "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 2W3 1W3"});
  CHECK(warmups(schedule) == std::vector<std::size_t>{3, 3}); // 2p-1 on every stage
}

TEST_CASE("ZB-V with fewer than 2p-1 microbatches is the order of 2p-1 without the missing ones") {
  const Schedule schedule = generate("zb-v", {.stages = 2, .microbatches = 1, .vpp = 2});
  CHECK(rows_of(schedule) == Rows{"0F0 3F0 3I0 3W0 0I0 0W0", "1F0 2F0 2I0 2W0 1I0 1W0"});
  CHECK(warmups(schedule) == std::vector<std::size_t>{1, 2});
  // p = 3, m = 4: the fifth is left out where it stands, so that 1W1 and 4W3 do not move after the last I
  CHECK(rows_of(generate("zb-v", {.stages = 3, .microbatches = 4, .vpp = 2}))[1] ==
        "1F0 1F1 1F2 4F0 1F3 4F1 4I0 4W0 4F2 4I1 4W1 1I0 1W0 4F3 4I2 4W2 1I1 1W1 4I3 4W3 1I2 1I3 1W2 1W3");
}

TEST_CASE("ZB-V runs two chunks per stage") {
  CHECK(refusal("zb-v", {.stages = 4, .microbatches = 8, .vpp = 3}) ==
        "`vpp`: 'zb-v' runs 2 chunks per stage, got 3 -- leave `vpp` out");
}

TEST_CASE("The closed form of ZB-V is a span bubble of 0, at F = I = W and with 2p-1 microbatches or more") {
  const Shape shape{.stages = 4, .microbatches = 7, .vpp = 2};
  const ClosedForm zero = form("zb-v", equal_chunks(shape, 3ns, 3ns, 3ns)).value();
  CHECK(zero.value == 0.0);
  CHECK(zero.metric == "stage_span_bubble");
  CHECK(!form("zb-v", equal_chunks(shape, 4ns, 3ns, 3ns)));
  CHECK(!form("zb-v", equal_chunks(shape, 3ns, 3ns, 2ns)));
  CHECK(!form("zb-v", equal_chunks({.stages = 4, .microbatches = 6, .vpp = 2}, 3ns, 3ns, 3ns)));
}

} // namespace ppsim::test::generators_zero_bubble_test
