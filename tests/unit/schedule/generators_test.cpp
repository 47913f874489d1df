// Schedules by name: their orders, what they refuse and in which words, and the closed forms beside them.

#include "ppsim/schedule/generators.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace ppsim::test::generators_test {

using namespace std::chrono_literals;

namespace {

std::string refusal(std::string_view name, const Shape& shape, std::optional<std::size_t> group_size = {},
                    std::optional<bool> descending_backward = {}) {
  const Refusal refusal = refusal_of([&] { (void)generate(name, shape, group_size, descending_backward); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.first();
}

std::optional<ClosedForm> form(std::string_view name, const Scenario& scenario) {
  ScheduleRequest request;
  request.shape = scenario.shape;
  return closed_form(find_generator(name), request, scenario);
}

constexpr Shape four_by_eight{.stages = 4, .microbatches = 8, .vpp = 1};
constexpr Shape four_by_eight_by_two{.stages = 4, .microbatches = 8, .vpp = 2};

} // namespace

TEST_CASE("Sequential runs one microbatch at a time, chunks up and then down") {
  CHECK(rows_of(generate("sequential", {.stages = 2, .microbatches = 2, .vpp = 2})) ==
        Rows{"0F0 2F0 2B0 0B0 0F1 2F1 2B1 0B1", "1F0 3F0 3B0 1B0 1F1 3F1 3B1 1B1"});
}

TEST_CASE("GPipe runs all forwards, then all backwards, ascending or in the paper's order") {
  CHECK(rows_of(generate("gpipe", {.stages = 2, .microbatches = 3, .vpp = 1})) ==
        Rows{"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1F1 1F2 1B0 1B1 1B2"});
  CHECK(rows_of(generate("gpipe", {.stages = 2, .microbatches = 3, .vpp = 1}, {}, true)) ==
        Rows{"0F0 0F1 0F2 0B2 0B1 0B0", "1F0 1F1 1F2 1B2 1B1 1B0"});
}

TEST_CASE("1F1B warms up with p-1-s forwards, then one forward and one backward in turn, then drains") {
  CHECK(rows_of(generate("1f1b", {.stages = 3, .microbatches = 4, .vpp = 1})) ==
        Rows{"0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3", "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3", "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3"});
}

TEST_CASE("1F1B warms up with m forwards where there are fewer than stages to fill") {
  CHECK(rows_of(generate("1f1b", {.stages = 4, .microbatches = 2, .vpp = 1})) ==
        Rows{"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2F1 2B0 2B1", "3F0 3B0 3F1 3B1"});
}

TEST_CASE("Eager 1F1B warms up with 2(p-1-s) forwards") {
  CHECK(rows_of(generate("eager-1f1b", {.stages = 3, .microbatches = 5, .vpp = 1})) ==
        Rows{"0F0 0F1 0F2 0F3 0F4 0B0 0B1 0B2 0B3 0B4", "1F0 1F1 1F2 1B0 1F3 1B1 1F4 1B2 1B3 1B4",
             "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2F4 2B4"});
  CHECK(rows_of(generate("eager-1f1b", {.stages = 3, .microbatches = 1, .vpp = 1})) ==
        Rows{"0F0 0B0", "1F0 1B0", "2F0 2B0"});
}

TEST_CASE("Looped BFS runs all microbatches of a chunk before the next chunk, and the backwards in reverse") {
  CHECK(rows_of(generate("looped-bfs", {.stages = 2, .microbatches = 3, .vpp = 2})) ==
        Rows{"0F0 0F1 0F2 2F0 2F1 2F2 2B2 2B1 2B0 0B2 0B1 0B0", "1F0 1F1 1F2 3F0 3F1 3F2 3B2 3B1 3B0 1B2 1B1 1B0"});
}

TEST_CASE("Interleaved 1F1B warms up with 2(p-1-s) + (v-1)g forwards, group after group, chunk after chunk") {
  //  p = 2, m = 4, v = 2, g = 2: warm-up 4 and 2 of 8 forwards; stage 0 holds chunks 0 and 2, stage 1 chunks 1 and 3
  CHECK(rows_of(generate("interleaved", {.stages = 2, .microbatches = 4, .vpp = 2})) ==
        Rows{"0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3",
             "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3"});
}

TEST_CASE("Interleaved 1F1B in larger groups keeps a chunk for longer") {
  //  g = m = 4: warm-up 2 + 4 and 4
  CHECK(rows_of(generate("interleaved", {.stages = 2, .microbatches = 4, .vpp = 2}, 4)) ==
        Rows{"0F0 0F1 0F2 0F3 2F0 2F1 2F2 2B0 2F3 2B1 2B2 2B3 0B0 0B1 0B2 0B3",
             "1F0 1F1 1F2 1F3 3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 1B0 1B1 1B2 1B3"});
}

TEST_CASE("A last group of at least p microbatches may be shorter than the others") {
  //  p = 2, m = 5, g = 3: groups 0 1 2 and 3 4
  const Schedule schedule = generate("interleaved", {.stages = 2, .microbatches = 5, .vpp = 2}, 3);
  CHECK(rows_of(schedule)[1].starts_with("1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1F3 1B0 1F4 1B1 3F3 1B2 3F4"));
  CHECK_NOTHROW(lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms)));
}

TEST_CASE("Interleaved 1F1B with fewer microbatches than stages is one group") {
  const Schedule schedule = generate("interleaved", {.stages = 4, .microbatches = 2, .vpp = 2});
  CHECK(schedule == generate("interleaved", {.stages = 4, .microbatches = 2, .vpp = 2}, 2));
  CHECK(rows_of(schedule)[0] == "0F0 0F1 4F0 4F1 4B0 4B1 0B0 0B1");
  CHECK_NOTHROW(lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms)));
}

TEST_CASE("Interleaved with one chunk per stage is 1F1B, for any number of microbatches") {
  for (const std::size_t microbatches : {1U, 3U, 7U, 8U}) {
    CAPTURE(microbatches);
    const Shape shape{.stages = 4, .microbatches = microbatches, .vpp = 1};
    CHECK(generate("interleaved", shape) == generate("1f1b", shape));
  }
}

TEST_CASE("Every schedule that takes one stage and one microbatch keeps the stage busy all the time") {
  for (const Generator* generator : generators()) {
    CAPTURE(generator->name);
    const Shape shape{.stages = 1, .microbatches = 1, .vpp = generator->vpp.standard};
    Problems problems;
    if (generator->refuse != nullptr) generator->refuse({.shape = shape}, problems);
    if (!problems.empty()) continue;
    CHECK(run(generate(generator->name, shape), uniform_scenario(shape, 1ms, 2ms)).report.makespan == 3ms);
  }
}

TEST_CASE("Every schedule describes its order, promise, constraints and source") {
  for (const Generator* generator : generators()) {
    CAPTURE(generator->name);
    CHECK(!generator->placement.empty());
    CHECK(!generator->summary.empty());
    CHECK(!generator->promise.empty());
    CHECK(!generator->constraints.empty());
    CHECK(!generator->source.empty());
    const Shape shape{.stages = 4, .microbatches = 8, .vpp = generator->vpp.standard};
    CHECK(generate(generator->name, shape).name() == generator->name);
  }
}

TEST_CASE("Other names of schedules map to ours") {
  const std::vector<std::pair<std::string_view, std::string_view>> meant{
      {"naive", "sequential"},
      {"F-then-B", "gpipe"},
      {"ScheduleGPipe", "gpipe"},
      {"AFAB", "gpipe"},
      {"fill-drain", "gpipe"},
      {"dapple", "1f1b"},
      {"PipeDream-Flush", "1f1b"},
      {"Interleaved1F1B", "interleaved"},
      {"1f1b-interleaved", "interleaved"},
      {"vpp", "interleaved"},
      {"LoopedBFS", "looped-bfs"},
      {"breadth_first", "looped-bfs"},
      {"zero-bubble", "zb-auto"},
      {"zb1p", "zb-auto"},
      {"zb1p", "zb-h1"},
      {"zb2p", "zb-h2"},
      {"ScheduleInterleavedZeroBubble", "zb-interleaved"},
      {"ScheduleZBVZeroBubble", "zb-v"},
      {"ZBV", "zb-v"},
      {"zbvpp", "zb-v"},
      {"V-ZB", "v-auto"},
      {"ScheduleDualPipeV", "dualpipe-v"},
      {"bidirectional", "chimera"},
      {"wave", "hanayo"}};
  for (const auto& [word, name] : meant) {
    CAPTURE(word);
    CHECK_NOTHROW(find_generator(name));
    const std::string words = refusal_of([&, other = word] { (void)find_generator(other); }).first();
    CHECK(words.find("did you mean") != std::string::npos);
    CHECK(words.find("'" + std::string{name} + "'") != std::string::npos);
  }
}

TEST_CASE("An unknown schedule gets the nearest as hint, or our name for it") {
  const auto words = [](std::string_view name) { return refusal_of([&] { (void)find_generator(name); }).first(); };
  CHECK(words("1fb1") == "`schedule`: unknown schedule '1fb1' -- did you mean '1f1b'? 'ppsim list schedules' lists "
                         "all; `schedule-file` reads other orders");
  CHECK(words("gpip") == "`schedule`: unknown schedule 'gpip' -- did you mean 'gpipe'? 'ppsim list schedules' lists "
                         "all; `schedule-file` reads other orders");
  CHECK(words("") ==
        "`schedule`: unknown schedule '' -- 'ppsim list schedules' lists all; `schedule-file` reads other orders");
  CHECK(words("zb_v") == "`schedule`: unknown schedule 'zb_v' -- did you mean 'zb-v'?");
  CHECK(words("DualPipeV") == "`schedule`: unknown schedule 'DualPipeV' -- did you mean 'dualpipe-v'?");
  CHECK(words("ScheduleInterleaved1F1B") ==
        "`schedule`: unknown schedule 'ScheduleInterleaved1F1B' -- did you mean 'interleaved'?");
  CHECK(words("ScheduleZeroBubble") ==
        "`schedule`: unknown schedule 'ScheduleZeroBubble' -- did you mean 'zb-auto' or 'zb-h1' or 'zb-v'?");
  CHECK(words("ZB1P") == "`schedule`: unknown schedule 'ZB1P' -- did you mean 'zb-auto' or 'zb-h1'?");
  CHECK(words("GPipe!!!!!!") == "`schedule`: unknown schedule 'GPipe!!!!!!' -- 'ppsim list schedules' lists all; "
                                "`schedule-file` reads other orders");
}

TEST_CASE("A number of microbatches that is not a multiple of p gets the nearest two as hint") {
  CHECK(refusal("interleaved", {.stages = 4, .microbatches = 10, .vpp = 2}) ==
        "`mb`: must be a multiple of p = 4 here, got 10 -- 8 and 12 are the nearest to 10; or give `group-size`, with "
        "m mod g = 0 or >= p");
  CHECK_NOTHROW(generate("interleaved", {.stages = 4, .microbatches = 8, .vpp = 2}));
  CHECK_NOTHROW(generate("interleaved", {.stages = 4, .microbatches = 12, .vpp = 2}));
  CHECK_NOTHROW(generate("interleaved", {.stages = 4, .microbatches = 10, .vpp = 2}, 5));
  CHECK_NOTHROW(generate("interleaved", {.stages = 4, .microbatches = 10, .vpp = 2}, 6));
}

TEST_CASE("A microbatch group smaller than p or larger than m is refused") {
  CHECK(refusal("interleaved", four_by_eight_by_two, 3) ==
        "`group-size`: must be 4 (the smaller of p and m) to 8 (m), got 3 -- leave it out for 4");
  CHECK(refusal("interleaved", four_by_eight_by_two, 9)
            .starts_with("`group-size`: must be 4 (the smaller of p and m) to 8 (m), got 9"));
  CHECK(refusal("interleaved", {.stages = 8, .microbatches = 3, .vpp = 2}, 2)
            .starts_with("`group-size`: must be 3 (the smaller of p and m) to 3 (m), got 2"));
}

TEST_CASE("A microbatch group that leaves a last group shorter than p is refused") {
  CHECK(refusal("interleaved", four_by_eight_by_two, 5) ==
        "`group-size`: 8 microbatches in groups of 5 leave a last group of 3, fewer than the 4 stages -- m mod g must "
        "be 0 or at least p = 4");
}

TEST_CASE("Megatron's order in groups smaller than p would deadlock, in groups of p it runs") {
  // The formula, with no rule: groups of g, chunk after chunk, warm-up 2(p-1-s) + (v-1)g. p = 4, v = 2, m = 8.
  const auto rows_with_group = [](std::size_t group) {
    std::vector<std::pair<std::size_t, std::size_t>> slots; // local chunk, microbatch
    for (std::size_t first = 0; first < 8; first += group)
      for (std::size_t local = 0; local < 2; ++local)
        for (std::size_t k = first; k < first + group; ++k) slots.emplace_back(local, k);
    Rows rows;
    for (std::size_t stage = 0; stage < 4; ++stage) {
      const std::size_t warmup = 2 * (3 - stage) + group;
      std::string row;
      for (std::size_t i = 0; i < slots.size() + warmup; ++i) {
        if (i < slots.size())
          row += to_string(make_task(Pass::forward, 4 * slots[i].first + stage, slots[i].second)) + " ";
        if (i < warmup) continue;
        const auto [local, microbatch] = slots[i - warmup];
        row += to_string(make_task(Pass::backward, 4 * (1 - local) + stage, microbatch)) + " ";
      }
      rows.push_back(row);
    }
    return rows;
  };
  CHECK(order(rows_with_group(4)) == generate("interleaved", four_by_eight_by_two));
  const Schedule small = order(rows_with_group(2));
  const Refusal deadlock = refusal_of([&] { (void)lower(small, uniform_scenario(small.shape(), 1ms, 2ms)); });
  CHECK(deadlock.code == ExitCode::no);
  CHECK(refusal("interleaved", four_by_eight_by_two, 2).starts_with("`group-size`: must be 4"));
}

TEST_CASE("A schedule of one chunk per stage refuses more") {
  CHECK(refusal("1f1b", four_by_eight_by_two) ==
        "`vpp`: '1f1b' runs one chunk per stage, got 2 -- leave `vpp` out, or use `schedule` interleaved");
  CHECK(refusal("gpipe", four_by_eight_by_two).starts_with("`vpp`: 'gpipe' runs one chunk per stage, got 2"));
}

TEST_CASE("An option of another schedule is refused") {
  CHECK(refusal("1f1b", four_by_eight, 4) ==
        "`group-size`: '1f1b' has no microbatch groups -- leave it out, or use `schedule` interleaved");
  CHECK(refusal("1f1b", four_by_eight, {}, true) ==
        "`gpipe-backward`: '1f1b' fixes the order of its backwards -- leave it out, or use `schedule` gpipe");
}

TEST_CASE("A shape beyond the limits is refused before anything is made") {
  CHECK(refusal("1f1b", {.stages = 0, .microbatches = 8, .vpp = 1}).starts_with("`stages`: must be 1 to 4096, got 0"));
  CHECK(refusal("1f1b", {.stages = 4097, .microbatches = 8, .vpp = 1})
            .starts_with("`stages`: must be 1 to 4096, got 4097"));
  CHECK(refusal("1f1b", {.stages = 4, .microbatches = 0, .vpp = 1}).starts_with("`mb`: must be at least 1, got 0"));
  CHECK(refusal("1f1b", {.stages = 4, .microbatches = 1'000'000'000'000'000'000, .vpp = 1})
            .starts_with("`mb`: 1000000000000000000 microbatches on 4 chunks make more than 134217728 tasks"));
  CHECK(refusal("interleaved", {.stages = 4, .microbatches = 8, .vpp = 0})
            .starts_with("`vpp`: must be at least 1, got 0"));
  CHECK(refusal("interleaved", {.stages = 4096, .microbatches = 8, .vpp = 17})
            .starts_with("`vpp`: 4096 stages x 17 chunks are more than 65535 chunks"));
  CHECK(refusal("interleaved", {.stages = 4, .microbatches = 8, .vpp = std::size_t{1} << 62})
            .starts_with("`vpp`: 4 stages x"));
}

TEST_CASE("All problems with a schedule's request are reported together") {
  const Refusal refusal =
      refusal_of([] { (void)generate("1f1b", {.stages = 0, .microbatches = 0, .vpp = 2}, 3, true); });
  CHECK(refusal.lines.size() == 5);
}

TEST_CASE("Closed forms of equal stages without transfers") {
  CHECK(form("sequential", uniform_scenario(four_by_eight, 1ms, 2ms))->value == 3.0);
  CHECK(form("gpipe", uniform_scenario(four_by_eight, 1ms, 2ms))->value == 3.0 / 8.0);
  CHECK(form("gpipe", uniform_scenario(four_by_eight, 1ms, 2ms))->formula == "(p-1)/m");
  CHECK(form("1f1b", uniform_scenario(four_by_eight, 1ms, 2ms))->value == 3.0 / 8.0);
  CHECK(form("interleaved", uniform_scenario(four_by_eight_by_two, 1ms, 2ms))->value == 3.0 / 16.0);
  CHECK(form("interleaved", uniform_scenario(four_by_eight_by_two, 1ms, 2ms))->formula == "(p-1)/(v*m)");
}

TEST_CASE("Closed forms with transfers exist if latency counts a known number of times") {
  // gpipe: 2(p-1)c more: (3 * 30 + 6 * 5) / (8 * 30); sequential: p-1 + 2(p-1)c/(F+B)
  CHECK(form("gpipe", uniform_scenario(four_by_eight, 10ns, 20ns, 5ns))->value == Approx(120.0 / 240.0));
  CHECK(form("sequential", uniform_scenario(four_by_eight, 10ns, 20ns, 5ns))->value == Approx(4.0));
  // 1f1b: 2(p-1 + floor((m-1)(p-1)/p)) = 2(3 + 5) crossings on the chain: (3 * 30 + 16 * 5) / (8 * 30)
  CHECK(form("1f1b", uniform_scenario(four_by_eight, 10ns, 20ns, 5ns))->value == Approx(170.0 / 240.0));
  CHECK(!form("interleaved", uniform_scenario(four_by_eight_by_two, 10ns, 20ns, 5ns)));
}

TEST_CASE("Looped BFS waits between chunks if m microbatches end before the first has passed all stages") {
  const auto overhead = [](std::size_t microbatches, Duration comm) {
    return form("looped-bfs", uniform_scenario({.stages = 4, .microbatches = microbatches, .vpp = 2}, 10ns, 20ns, comm))
        ->value;
  };
  CHECK(overhead(8, 0ns) == Approx(3.0 / 16.0));
  CHECK(overhead(2, 0ns) == Approx((3.0 + 2.0) / 4.0)); // p - m = 2 chunk passes between the two chunks
  // c = 5: fill 3(30 + 20); from chunk to chunk 4(10 + 10) - 8 * 10 = 0 up and 4(20 + 10) - 8 * 20 < 0 down
  CHECK(overhead(8, 5ns) == Approx(150.0 / 480.0));
  // with 4 microbatches 80 - 40 up and 120 - 80 down
  CHECK(overhead(4, 5ns) == Approx(230.0 / 240.0));
}

TEST_CASE("Eager 1F1B pays for transfers once, as GPipe does, until two of them take longer than F+B") {
  const auto overhead = [](Duration comm) {
    return form("eager-1f1b", uniform_scenario(four_by_eight, 10ns, 20ns, comm))->value;
  };
  CHECK(overhead(0ns) == Approx(3.0 / 8.0));
  CHECK(overhead(15ns) == Approx(3.0 * 60.0 / 240.0));
  // 7 microbatches after the first fill one loop of 2p-1, which costs (p-1)(2c - (F+B)) = 3 * 10
  CHECK(overhead(20ns) == Approx((3.0 * 70.0 + 30.0) / 240.0));
  // p = 3: 7 = 2p-1 + 2: one loop of d = 2, and 2 microbatches are too few for another of d = 1, which takes 3
  const Scenario three = uniform_scenario({.stages = 3, .microbatches = 8, .vpp = 1}, 10ns, 20ns, 20ns);
  CHECK(form("eager-1f1b", three)->value == Approx((2.0 * 70.0 + 2.0 * 10.0) / 240.0));
}

TEST_CASE("No closed form is given if it would not hold") {
  const Scenario equal = uniform_scenario(four_by_eight, 10ns, 20ns, 5ns);
  Scenario scenario = equal;
  scenario.costs.forward[2] = 11ns;
  CHECK(!form("gpipe", scenario)); // unequal chunks
  scenario = equal;
  scenario.costs.weight_grad[0] = 0ns;
  CHECK(!form("gpipe", scenario));
  scenario = equal;
  scenario.network.latency[1] = 6ns;
  CHECK(!form("gpipe", scenario)); // unequal boundaries
  scenario = equal;
  scenario.network.boundary_bytes[1] = Bytes{1};
  scenario.network.bandwidth = Bandwidth{1'000'000'000};
  CHECK(!form("gpipe", scenario));
  for (const TransferModel model : {TransferModel::link, TransferModel::blocking}) {
    scenario = equal;
    scenario.network.model = model;
    CHECK(!form("gpipe", scenario)); // contention
  }
  scenario = equal;
  scenario.network.stages_per_node = 2;
  CHECK(!form("gpipe", scenario)); // two classes of links
  CHECK(!form("gpipe", uniform_scenario(four_by_eight, 0ns, 0ns)));
  CHECK(!form("interleaved", uniform_scenario({.stages = 4, .microbatches = 2, .vpp = 2}, 10ns, 20ns))); // m < p
}

TEST_CASE("Contention that costs no time leaves the closed form") {
  Scenario scenario = uniform_scenario(four_by_eight, 10ns, 20ns);
  scenario.network.model = TransferModel::link;
  CHECK(form("1f1b", scenario)->value == 3.0 / 8.0);
}

TEST_CASE("An overhead per task is compute time in the closed form too") {
  Scenario scenario = uniform_scenario(four_by_eight, 10ns, 20ns, 5ns);
  scenario.costs.overhead = 5ns; // F = 15, B = 25: (3 * 40 + 6 * 5) / (8 * 40)
  CHECK(form("gpipe", scenario)->value == Approx(150.0 / 320.0));
}

} // namespace ppsim::test::generators_test
