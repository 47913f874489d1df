// In what words a contender is recommended.

#include "ppsim/viz/comparison.hpp"
#include "support/contenders.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::recommendation_words_test {

using namespace std::chrono_literals;
using viz::recommendation_text;

namespace {

std::string words(std::vector<Contender> contenders, std::int64_t limit = 0) {
  return recommendation_text(ranked(std::move(contenders), limit));
}

} // namespace

TEST_CASE("The recommendation has the gain over the next one, the cost, and a simpler one") {
  CHECK(words({contender("zb-v", 51'500us, 16, folded), contender("v-auto", 55ms, 10, folded),
               contender("interleaved v=2", 52ms, 20, two_chunks), contender("1f1b", 60ms, 10)},
              16) == "take zb-v: 51.5 ms, 6.4 % less time than the next, v-auto (55 ms), for 16 GiB instead of 10 GiB; "
                     "its runtime must split the backward and place 2 chunks per stage in a V.");
  CHECK(words({contender("zb-v", 50ms, 16, folded), contender("interleaved v=2", 51ms, 18, two_chunks)}) ==
        "take zb-v: 50 ms, 2 % less time than the next, interleaved v=2 (51 ms), with 16 GiB instead of 18 GiB; its "
        "runtime must split the backward and place 2 chunks per stage in a V. interleaved v=2 is 2 % slower and only "
        "has to run 2 chunks per stage.");
  CHECK(words({contender("zb-v", 100ms, 5, folded), contender("v-auto", 101ms, 5, folded), contender("1f1b", 102ms, 6)})
            .ends_with(" 1f1b is 2 % slower and needs neither, for 6 GiB instead of 5 GiB."));
  CHECK(words({contender("zb-v", 100ms, 1, folded), contender("1f1b", 101ms, 1)})
            .ends_with(" 1f1b is 1 % slower and needs neither."));
  CHECK(words({contender("interleaved v=2", 100ms, 1, two_chunks), contender("1f1b", 101ms, 1)})
            .ends_with("its runtime must run 2 chunks per stage. 1f1b is 1 % slower and does not need that."));
  CHECK(words({contender("interleaved v=2", 1000ms, 1, two_chunks), contender("1f1b", 1009ms, 1)})
            .ends_with(" 1f1b is 0.9 % slower and does not need that. Costs are rarely known to within 1 %: it is as "
                       "good a choice."));
}

TEST_CASE("A recommendation by another figure names it, and the schedules without it") {
  Contender unsampled = contender("pipedream", 40ms, 10, asynchronous);
  CHECK(recommendation_text(
            ranked({with_p95(contender("1f1b", 50ms), 60ms), with_p95(contender("gpipe", 50ms), 80ms), unsampled}, 0,
                   StepFigure::p95)) ==
        "take 1f1b: p95 60 ms, 25 % less time than the next, gpipe (80 ms). pipedream (step time 40 ms) is not a "
        "substitute: it applies gradients to newer weights than those they were computed with. No p95 of pipedream is "
        "known, so it comes after the others.");
}

TEST_CASE("A recommendation based on assumed halves of the backward says so") {
  const auto text = [](const Demands& demands, bool assumed) {
    Comparison comparison = ranked({contender("best", 2ms, 0, demands)});
    comparison.halves_assumed = assumed;
    return recommendation_text(comparison);
  };
  const std::string_view said = "The halves of the backward were not given";
  CHECK(text(folded, true).find(said) != std::string::npos);
  CHECK(text(folded, false).find(said) == std::string::npos);
  CHECK(text(two_chunks, true).find(said) == std::string::npos);
}

TEST_CASE("The recommendation separates costs from savings") {
  Contender best = contender("a", 50ms, 16);
  best.report.transfers = 10;
  Contender next = contender("b", 51ms, 10);
  next.report.transfers = 20;
  CHECK(words({best, next}).find(", for 16 GiB instead of 10 GiB, but with 10 transfers per step instead of 20.") !=
        std::string::npos);
}

TEST_CASE("The recommendation handles ties, and differences too small to show") {
  CHECK(words({contender("1f1b", 5ms, 2), contender("gpipe", 5ms, 3)}) ==
        "take 1f1b: 5 ms, the same as the next, gpipe, with 2 GiB instead of 3 GiB.");
  CHECK(words({contender("1f1b", 5ms, 2), contender("gpipe", 5ms, 2)}) ==
        "take 1f1b: 5 ms, the same as the next, gpipe.");
  CHECK(words({contender("a", Duration{10'000'000'000}), contender("b", Duration{10'000'000'001})}) ==
        "take a: 10 s, less than 0.01 % less time than the next, b (10 s).");
}

TEST_CASE("The recommendation counts activations if sizes are unknown, and transfers by size or otherwise by number") {
  Contender fast = contender("zb-h2", 4ms, 0, {.splits_backward = true});
  fast.report.stages[0].peak_live_activations = 7;
  fast.report.transfers = 30;
  Contender slow = contender("1f1b", 5ms);
  slow.report.stages[0].peak_live_activations = 4;
  slow.report.transfers = 20;
  CHECK(words({fast, slow}) ==
        "take zb-h2: 4 ms, 20 % less time than the next, 1f1b (5 ms), for 7 live activations of a stage instead of 4 "
        "and 30 transfers per step instead of 20; its runtime must split the backward.");
  fast.report.transfer_volume = Bytes{3 * gib};
  slow.report.transfer_volume = Bytes{2 * gib};
  CHECK(words({fast, slow}).find(" and 3 GiB sent per step instead of 2 GiB;") != std::string::npos);
}

TEST_CASE("The recommendation says why it has no runner-up") {
  CHECK(words({contender("1f1b", 5ms)}) == "take 1f1b: 5 ms, with none to compare it with.");
  Comparison comparison = ranked({contender("1f1b", 5ms, 2)});
  comparison.not_applicable.push_back({"chimera", "--mb: must be even here"});
  CHECK(recommendation_text(comparison) == "take 1f1b: 5 ms with 2 GiB, and no other of them applies.");
  CHECK(words({contender("1f1b", 5ms, 2), contender("gpipe", 6ms, 9)}, 8) ==
        "take 1f1b: 5 ms with 2 GiB, and no other fits in 8 GiB.");
}

TEST_CASE("Schedules that only the transfer model excludes are counted, with a remedy") {
  Comparison comparison = ranked({contender("1f1b", 5ms, 2)});
  comparison.transfer_model = TransferModel::blocking;
  comparison.not_applicable = {{"chimera", "--mb: must be even here"}, {"zb-v", "deadlock", true}};
  CHECK(
      recommendation_text(comparison)
          .ends_with("applies. 1 more is left out only because of --transfer blocking: --transfer latency admits it."));
  comparison.not_applicable.push_back({"v-half", "another deadlock", true});
  CHECK(recommendation_text(comparison)
            .ends_with(
                "applies. 2 more are left out only because of --transfer blocking: --transfer latency admits them."));
}

TEST_CASE("A faster schedule that does not fit is named with its excess, and PipeDream with its difference") {
  CHECK(words({contender("1f1b", 5ms, 2), contender("gpipe", 6ms, 2), contender("zb-h2", 4ms, 9),
               contender("pipedream", 3ms, 2, asynchronous)},
              8) == "take 1f1b: 5 ms, 17 % less time than the next, gpipe (6 ms). zb-h2 would take 4 ms, but needs 9 "
                    "GiB, 1 GiB more than the limit of 8 GiB. pipedream (3 ms) is not a substitute: it applies "
                    "gradients to newer weights than those they were computed with.");
  CHECK(words({contender("1f1b", 5ms, 2), contender("pipedream", 6ms, 2, asynchronous)}) ==
        "take 1f1b: 5 ms with 2 GiB, with none to compare it with.");
}

TEST_CASE("Without a recommendation, the nearest schedule is named") {
  CHECK(words({contender("1f1b", 5ms, 10), contender("gpipe", 6ms, 9)}, 8) ==
        "nothing fits in 8 GiB: gpipe needs least, 9 GiB, which is 1 GiB too much; use smaller microbatches or "
        "recomputation.");
  Contender full = contender("1f1b", 5ms, 10);
  full.report.overflow = Overflow{.stage = make_id<StageId>(1), .needed = Bytes{9 * gib}};
  CHECK(words({full}, 8) == "nothing fits in 8 GiB: 1f1b needs least, 10 GiB, which is 2 GiB too much; stage 1 holds 9 "
                            "GiB before its first task, which no schedule lowers: use more stages.");
  CHECK(words({contender("pipedream", 5ms, 2, asynchronous)}) ==
        "nothing to recommend: no synchronous schedule is among them. pipedream (5 ms) is not a substitute: it applies "
        "gradients to newer weights than those they were computed with.");
}

} // namespace ppsim::test::recommendation_words_test
