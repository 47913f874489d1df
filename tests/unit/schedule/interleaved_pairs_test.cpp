// Interleaved 1F1B with forwards and backwards as pairs (--overlap-moe-expert-parallel-comm).

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/evaluate.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"

namespace ppsim::test::interleaved_pairs_test {

using namespace std::chrono_literals;

namespace {

Schedule order_of(std::size_t stages, std::size_t microbatches, std::size_t vpp, bool overlap) {
  return make_schedule(find_generator("interleaved"),
                       {.shape = {stages, microbatches, vpp}, .overlap_expert_exchange = overlap});
}

std::size_t pairs_of(const Schedule& schedule, std::size_t stage) {
  return static_cast<std::size_t>(
      std::ranges::count(schedule.stage(make_id<StageId>(stage)), Pairing::first, &Task::pairing));
}

} // namespace

TEST_CASE("Each stage runs one more warm-up forward, and then pairs of a forward and a backward") {
  const auto [stages, microbatches, vpp] = GENERATE(std::tuple{2, 4, 2}, std::tuple{4, 8, 2}, std::tuple{4, 8, 3},
                                                    std::tuple{3, 6, 1}, std::tuple{8, 16, 4});
  CAPTURE(stages, microbatches, vpp);
  const auto p = static_cast<std::size_t>(stages);
  const auto m = static_cast<std::size_t>(microbatches);
  const auto v = static_cast<std::size_t>(vpp);
  const Schedule schedule = order_of(p, m, v, true);
  CHECK_NOTHROW(ScheduleIndex{schedule, "schedule"});
  for (std::size_t stage = 0; stage < p; ++stage) {
    // Megatron-LM's get_pp_rank_microbatches (d98e8a64): one forward more than without.
    const std::size_t distance = p - 1 - stage;
    const std::size_t warmup = 1 + (v == 1 ? distance : 2 * distance + (v - 1) * p);
    CHECK(pairs_of(schedule, stage) == m * v - std::min(warmup, m * v));
    CHECK(pairs_of(order_of(p, m, v, false), stage) == 0);
  }
}

TEST_CASE("Pairs hide their communication: a full pipeline takes only its compute time") {
  // Per chunk F 5 ms and B 10 ms, of each 1 ms communication: pairs take 13 ms, one after another 15 ms.
  const auto step_with = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"--stages", "1", "--mb", "100", "--vpp", "2", "--forward", "10ms", "--backward", "20ms",
                               "--forward-collective", "2ms", "--backward-collective", "2ms"});
    return evaluate(cli::parse_arguments(cli::find_command("simulate"), more)).report.step_time;
  };
  CHECK(step_with({"--schedule", "interleaved"}) == 200 * 15ms);
  // The warm-up of 2 chunks' forwards and the drain stand alone: (2 + 1) forwards ahead of 197 pairs, 3 backwards.
  const Duration overlapped = step_with({"--schedule", "interleaved", "--overlap-moe-expert-parallel-comm"});
  CHECK(overlapped < 200 * 15ms);
  CHECK(overlapped >= 200 * 13ms);
  CHECK(step_with({"--schedule", "interleaved", "--overlap-moe-expert-parallel-comm", "--pair", "sum"}) == 200 * 15ms);
}

} // namespace ppsim::test::interleaved_pairs_test
