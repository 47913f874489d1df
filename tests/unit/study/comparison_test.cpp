// Comparison: the order of contenders, which of them is recommended, and in what words; what orders ask of a runtime.

#include "ppsim/study/comparison.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::comparison_test {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

/// One that takes `time` and holds so many GiB on its one stage.
Contender contender(std::string name, Duration time, std::int64_t size = 0, Demands demands = {}) {
  Contender made;
  made.name = std::move(name);
  made.demands = demands;
  made.report.step_time = time;
  made.report.stages.resize(1);
  made.report.stages[0].static_bytes = Bytes{size * gib};
  return made;
}

/// Ranked, on devices of so many GiB (0: no limit is known).
Comparison ranked(std::vector<Contender> contenders, std::int64_t limit = 0) {
  Comparison comparison;
  for (const Contender& each : contenders) comparison.knows_memory |= each.peak_bytes() > Bytes{0};
  if (limit > 0) {
    comparison.memory_limit = Bytes{limit * gib};
    for (Contender& each : contenders)
      if (each.peak_bytes() > *comparison.memory_limit) each.report.overflow = Overflow{};
  }
  comparison.contenders = std::move(contenders);
  rank(comparison);
  return comparison;
}

Rows names(const Comparison& comparison) {
  Rows list;
  for (const Contender& each : comparison.contenders) list.push_back(each.name);
  return list;
}

std::string words(std::vector<Contender> contenders, std::int64_t limit = 0) {
  return recommendation_text(ranked(std::move(contenders), limit));
}

const Demands two_chunks{.chunks_per_stage = 2};
const Demands folded{.chunks_per_stage = 2, .splits_backward = true, .folds = true};
const Demands asynchronous{.parameter_copies = 4, .asynchronous = true};

Demands demands_by_name(std::string_view name, Shape shape) {
  const Outcome outcome = run(generate(name, shape), uniform_scenario(shape, Duration{1'000'000}, Duration{2'000'000}));
  return demands_of(outcome.graph.schedule(), outcome.report);
}

} // namespace

TEST_CASE(
    "Contenders stand by step time, and equals by memory, then by what they ask of the runtime, then as they came") {
  CHECK(names(ranked({contender("late", 3ms, 1), contender("early", 2ms, 9)})) == Rows{"early", "late"});
  CHECK(names(ranked({contender("large", 2ms, 2), contender("small", 2ms, 1, folded)})) == Rows{"small", "large"});
  CHECK(names(ranked({contender("split", 2ms, 1, folded), contender("chunks", 2ms, 1, two_chunks),
                      contender("plain", 2ms, 1)})) == Rows{"plain", "chunks", "split"});
  CHECK(names(ranked({contender("b", 2ms), contender("a", 2ms), contender("c", 2ms)})) == Rows{"b", "a", "c"});
}

TEST_CASE("Where no size is known, equals stand by the activations of a whole stage that they hold") {
  Contender chunks = contender("chunks", 2ms); // 6 halves
  chunks.shape.vpp = 2;
  chunks.report.stages[0].peak_live_activations = 6;
  Contender whole = contender("whole", 2ms);
  whole.report.stages[0].peak_live_activations = 4;
  CHECK(chunks.peak_stage_activations() == 3);
  CHECK(names(ranked({whole, chunks})) == Rows{"chunks", "whole"});
}

TEST_CASE("The fastest that fits and is synchronous is recommended, before the next of those") {
  const Comparison comparison = ranked({contender("1f1b", 9ms, 4), contender("pipedream", 5ms, 4, asynchronous),
                                        contender("zb-v", 6ms, 9, folded), contender("zb-h1", 8ms, 4)},
                                       8);
  CHECK(names(comparison) == Rows{"pipedream", "zb-v", "zb-h1", "1f1b"});
  REQUIRE(comparison.recommendation);
  CHECK(comparison.recommendation->best == 2);
  CHECK(comparison.recommendation->runner_up == std::optional<std::size_t>{3});
  CHECK(!ranked({contender("1f1b", 9ms, 9), contender("pipedream", 5ms, 4, asynchronous)}, 8).recommendation);
}

TEST_CASE("Simpler is what asks least within 2 % of the fastest, and nothing beyond that") {
  const auto simpler = [](Duration time) {
    return ranked({contender("zb-v", 1000us, 1, folded), contender("interleaved", 1001us, 1, two_chunks),
                   contender("1f1b", time, 1)})
        .recommendation->simpler;
  };
  CHECK(simpler(1020us) == std::optional<std::size_t>{2});
  CHECK(simpler(1021us) == std::optional<std::size_t>{1});
  CHECK(ranked({contender("1f1b", 1ms), contender("zb-v", 1ms, 0, folded)}).recommendation->simpler == std::nullopt);
}

TEST_CASE("The recommendation says what is gained over the next one, what it costs, and what is simpler") {
  CHECK(words({contender("zb-v", 51'500us, 16, folded), contender("v-auto", 55ms, 10, folded),
               contender("interleaved v=2", 52ms, 20, two_chunks), contender("1f1b", 60ms, 10)},
              16) == "take zb-v: 51.5 ms, 6.4 % less time than the next, v-auto (55 ms), for 16 GiB instead of 10 GiB; "
                     "its runtime has to split the backward and place 2 chunks per stage in a V.");
  CHECK(words({contender("zb-v", 50ms, 16, folded), contender("interleaved v=2", 51ms, 18, two_chunks)}) ==
        "take zb-v: 50 ms, 2 % less time than the next, interleaved v=2 (51 ms), with 16 GiB instead of 18 GiB; its "
        "runtime has to split the backward and place 2 chunks per stage in a V. interleaved v=2 is 2 % slower and has "
        "only to run 2 chunks per stage.");
  CHECK(words({contender("zb-v", 100ms, 5, folded), contender("v-auto", 101ms, 5, folded), contender("1f1b", 102ms, 6)})
            .ends_with(" 1f1b is 2 % slower and needs neither, for 6 GiB instead of 5 GiB."));
  CHECK(words({contender("zb-v", 100ms, 1, folded), contender("1f1b", 101ms, 1)})
            .ends_with(" 1f1b is 1 % slower and needs neither."));
  CHECK(words({contender("interleaved v=2", 100ms, 1, two_chunks), contender("1f1b", 101ms, 1)})
            .ends_with("its runtime has to run 2 chunks per stage. 1f1b is 1 % slower and does not need that."));
  CHECK(words({contender("interleaved v=2", 1000ms, 1, two_chunks), contender("1f1b", 1009ms, 1)})
            .ends_with(" 1f1b is 0.9 % slower and does not need that. Costs are hardly known to 1 %: it is as good a "
                       "choice."));
}

TEST_CASE("A recommendation that rests on halves of the backward which nobody measured says so") {
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

TEST_CASE("The recommendation tells costs from savings") {
  Contender best = contender("a", 50ms, 16);
  best.report.transfers = 10;
  Contender next = contender("b", 51ms, 10);
  next.report.transfers = 20;
  CHECK(words({best, next}).find(", for 16 GiB instead of 10 GiB, but with 10 transfers per step instead of 20.") !=
        std::string::npos);
}

TEST_CASE("The recommendation knows ties, and differences too small to show") {
  CHECK(words({contender("1f1b", 5ms, 2), contender("gpipe", 5ms, 3)}) ==
        "take 1f1b: 5 ms, the same as the next, gpipe, with 2 GiB instead of 3 GiB.");
  CHECK(words({contender("1f1b", 5ms, 2), contender("gpipe", 5ms, 2)}) ==
        "take 1f1b: 5 ms, the same as the next, gpipe.");
  CHECK(words({contender("a", Duration{10'000'000'000}), contender("b", Duration{10'000'000'001})}) ==
        "take a: 10 s, less than 0.01 % less time than the next, b (10 s).");
}

TEST_CASE("The recommendation counts activations where no size is known, and transfers by size or else by number") {
  Contender fast = contender("zb-h2", 4ms, 0, {.splits_backward = true});
  fast.report.stages[0].peak_live_activations = 7;
  fast.report.transfers = 30;
  Contender slow = contender("1f1b", 5ms);
  slow.report.stages[0].peak_live_activations = 4;
  slow.report.transfers = 20;
  CHECK(words({fast, slow}) == "take zb-h2: 4 ms, 20 % less time than the next, 1f1b (5 ms), for 7 live activations of "
                               "a stage instead of 4 and 30 transfers per step instead of 20; its runtime has to split "
                               "the backward.");
  fast.report.transfer_volume = Bytes{3 * gib};
  slow.report.transfer_volume = Bytes{2 * gib};
  CHECK(words({fast, slow}).find(" and 3 GiB sent per step instead of 2 GiB;") != std::string::npos);
}

TEST_CASE("The recommendation says why it stands alone") {
  CHECK(words({contender("1f1b", 5ms)}) == "take 1f1b: 5 ms, with none to compare it with.");
  Comparison comparison = ranked({contender("1f1b", 5ms, 2)});
  comparison.not_applicable.push_back({"chimera", "`mb`: must be even here"});
  CHECK(recommendation_text(comparison) == "take 1f1b: 5 ms with 2 GiB, and no other of them applies.");
  CHECK(words({contender("1f1b", 5ms, 2), contender("gpipe", 6ms, 9)}, 8) ==
        "take 1f1b: 5 ms with 2 GiB, and no other fits in 8 GiB.");
}

TEST_CASE("Schedules that only the transfer model leaves out are counted, with the way to let them in") {
  Comparison comparison = ranked({contender("1f1b", 5ms, 2)});
  comparison.transfer_model = TransferModel::blocking;
  comparison.not_applicable = {{"chimera", "`mb`: must be even here"}, {"zb-v", "deadlock", true}};
  CHECK(recommendation_text(comparison)
            .ends_with(
                "applies. 1 more is left out only because of `transfer` blocking: `transfer` latency lets it in."));
  comparison.not_applicable.push_back({"v-half", "another deadlock", true});
  CHECK(recommendation_text(comparison)
            .ends_with(
                "applies. 2 more are left out only because of `transfer` blocking: `transfer` latency lets them in."));
}

TEST_CASE("What would be faster but does not fit is named with what it lacks, and PipeDream with what it changes") {
  CHECK(words({contender("1f1b", 5ms, 2), contender("gpipe", 6ms, 2), contender("zb-h2", 4ms, 9),
               contender("pipedream", 3ms, 2, asynchronous)},
              8) ==
        "take 1f1b: 5 ms, 17 % less time than the next, gpipe (6 ms). zb-h2 would take 4 ms, but needs 9 "
        "GiB, 1 GiB more than the limit of 8 GiB. pipedream (3 ms) is no substitute: it applies gradients to "
        "newer weights than they were taken at.");
  CHECK(words({contender("1f1b", 5ms, 2), contender("pipedream", 6ms, 2, asynchronous)}) ==
        "take 1f1b: 5 ms with 2 GiB, with none to compare it with.");
}

TEST_CASE("Where nothing can be taken, the recommendation says what is nearest") {
  CHECK(words({contender("1f1b", 5ms, 10), contender("gpipe", 6ms, 9)}, 8) ==
        "nothing fits in 8 GiB: gpipe needs least, 9 GiB, which is 1 GiB too much; smaller microbatches or "
        "recomputation need less.");
  CHECK(words({contender("pipedream", 5ms, 2, asynchronous)}) ==
        "nothing to take: no synchronous schedule is among them. pipedream (5 ms) is no substitute: it applies "
        "gradients to newer weights than they were taken at.");
}

TEST_CASE(
    "Demands are what an order asks of a runtime: chunks, copies of the parameters, split backwards, pairs, folds") {
  CHECK(demands_by_name("1f1b", {4, 8, 1}) == Demands{});
  CHECK(demands_by_name("interleaved", {4, 8, 2}) == Demands{.chunks_per_stage = 2});
  CHECK(demands_by_name("zb-h1", {4, 8, 1}) == Demands{.splits_backward = true});
  CHECK(demands_by_name("zb-v", {4, 8, 2}) == Demands{.chunks_per_stage = 2, .splits_backward = true, .folds = true});
  CHECK(demands_by_name("hanayo", {4, 8, 2}) == Demands{.chunks_per_stage = 2, .folds = true});
  CHECK(demands_by_name("chimera", {4, 8, 1}) == Demands{.chunks_per_stage = 2, .parameter_copies = 2});
  CHECK(demands_by_name("dualpipe", {4, 8, 1}) ==
        Demands{.chunks_per_stage = 2, .parameter_copies = 2, .splits_backward = true, .overlaps_pairs = true});
  CHECK(demands_by_name("pipedream", {4, 8, 1}) == Demands{.parameter_copies = 4, .asynchronous = true}); // stage 0: p
  CHECK(demands_by_name("hanayo", {1, 4, 2}).folds == false); // one stage holds all
}

} // namespace ppsim::test::comparison_test
