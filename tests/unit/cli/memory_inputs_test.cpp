// Inputs for recomputation, parts of activations, the ends of the pipeline and forward-only runs.

#include "ppsim/study/build_run.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "cli/options/commands.hpp"
#include "cli/runs/inputs.hpp"

namespace ppsim::test::memory_inputs_test {

using namespace ppsim::cli;
using namespace std::chrono_literals;
using ppsim::test::refusal_of;
using ppsim::test::Rows;
using Times = std::vector<Duration>;
using Sizes = std::vector<Bytes>;

namespace {

/// With 2 stages and 4 microbatches.
BuiltRun run_of(Rows arguments) {
  arguments.insert(arguments.begin(), {"--stages", "2", "--mb", "4"});
  return build_run(parse_arguments(find_command("simulate"), arguments));
}

Rows faults(const Rows& arguments) {
  return refusal_of([&] { (void)run_of(arguments); }).lines;
}

} // namespace

TEST_CASE("Full recomputation takes as long as the forward, and keeps the input of the chunk") {
  const BuiltRun run = run_of({"--recompute", "full", "--vpp", "2", "--forward", "1ms,2ms,3ms,4ms", "--backward", "2ms",
                               "--activation-bytes", "800B", "--boundary-bytes", "10B,20B,30B"});
  CHECK(run.scenario.recompute.kind == RecomputeKind::full);
  CHECK(run.scenario.recompute.time == Times{1ms, 2ms, 3ms, 4ms});
  CHECK(run.scenario.recompute.checkpoint == Sizes{Bytes{10}, Bytes{10}, Bytes{20}, Bytes{30}});
  CHECK(run.scenario.recompute.microbatches_without == 0);
  CHECK(run.notes.empty());
}

TEST_CASE("If layers are known, they are recomputed one by one, in units, or only the first of a chunk") {
  // 4 layers on each stage, of 100 bytes each; a chunk's input has 10.
  const auto of = [](Rows more) {
    more.insert(more.begin(), {"--recompute", "full", "--layers", "8", "--forward", "8ms", "--backward", "16ms",
                               "--activation-bytes", "400B", "--boundary-bytes", "10B"});
    const Recompute recompute = run_of(more).scenario.recompute;
    return std::tuple{recompute.time[1], recompute.checkpoint[1], recompute.restored[1]};
  };
  CHECK(of({}) == std::tuple{8ms, Bytes{40}, Bytes{90}});
  CHECK(of({"--recompute-num-layers", "2"}) == std::tuple{8ms, Bytes{20}, Bytes{190}});
  CHECK(of({"--recompute-num-layers", "9"}) == std::tuple{8ms, Bytes{10}, Bytes{390}});
  CHECK(of({"--recompute-method", "block", "--recompute-num-layers", "1"}) == std::tuple{2ms, Bytes{310}, Bytes{90}});
  CHECK(of({"--checkpoint-bytes", "0B"}) == std::tuple{8ms, Bytes{0}, Bytes{100}});
  CHECK(run_of({"--recompute", "full", "--activation-bytes", "400B", "--boundary-bytes", "10B"})
            .scenario.recompute.restored.empty());
  CHECK(faults({"--recompute", "full", "--recompute-num-layers", "2"}) ==
        Rows{"`recompute-num-layers`: layers are not known -- give `layers` or `layout`"});
  CHECK(faults({"--recompute", "full", "--layers", "8", "--recompute-method", "block"}) ==
        Rows{"`recompute-method`: how many layers of a chunk? -- give `recompute-num-layers`"});
  CHECK(faults({"--recompute", "selective", "--recompute-time", "1ms", "--recompute-num-layers", "2"}) ==
        Rows{"`recompute-num-layers`: recomputation is not full -- give `recompute` full"});
  CHECK(faults({"--model", "gpt2-xl", "--device", "a100", "--recompute-modules", "layernorm"}) ==
        Rows{"`recompute-modules`: no modules are recomputed -- give `recompute` selective"});
}

TEST_CASE("Time and checkpoint may be given, for a stage or per chunk") {
  const BuiltRun run = run_of({"--recompute", "full", "--vpp", "2", "--recompute-time", "1ms", "--activation-bytes",
                               "800B", "--checkpoint-bytes", "1B,2B,3B,4B", "--microbatches-without-recompute", "3"});
  CHECK(run.scenario.recompute.time == Times{500us, 500us, 500us, 500us});
  CHECK(run.scenario.recompute.checkpoint == Sizes{Bytes{1}, Bytes{2}, Bytes{3}, Bytes{4}});
  CHECK(run.scenario.recompute.microbatches_without == 3);
}

TEST_CASE("Without sizes, recomputation only takes time, and if only inputs have none there is a note") {
  CHECK(run_of({"--recompute", "full"}).scenario.recompute.checkpoint == Sizes{Bytes{0}, Bytes{0}});
  CHECK(run_of({"--recompute", "full", "--boundary-bytes", "1MiB"}).scenario.recompute.checkpoint ==
        Sizes{Bytes{0}, Bytes{0}});
  CHECK(run_of({"--recompute", "full"}).notes.empty());
  CHECK(run_of({"--recompute", "full", "--activation-bytes", "1GiB"}).notes ==
        Rows{"`recompute`: forwards keep nothing; `boundary-bytes` gives the size of a chunk's input, "
             "`checkpoint-bytes` what else they keep"});
}

TEST_CASE("Selective recomputation needs its time, and its checkpoint if activations have a size") {
  CHECK(faults({"--recompute", "selective"}) ==
        Rows{"`recompute`: how long does it take to recompute the selected part? -- give `recompute-time`"});
  CHECK(faults({"--recompute", "selective", "--recompute-time", "1ms", "--activation-bytes", "1B"}) ==
        Rows{"`recompute`: which part of `activation-bytes` does a forward keep? -- give `checkpoint-bytes`"});
  CHECK(run_of({"--recompute", "selective", "--recompute-time", "1ms"}).scenario.recompute.time == Times{1ms, 1ms});
}

TEST_CASE("Options of recomputation are refused without it") {
  const std::string hint = ": nothing is recomputed -- give `recompute` full or selective";
  CHECK(faults({"--recompute-time", "1ms"}) == Rows{"`recompute-time`" + hint});
  CHECK(faults({"--microbatches-without-recompute", "0", "--recompute", "none"}) ==
        Rows{"`microbatches-without-recompute`" + hint});
  CHECK(faults({"--checkpoint-bytes", "1B", "--recompute", "full"}) ==
        Rows{"`checkpoint-bytes`: a part of an activation of unknown size -- give `activation-bytes`"});
}

TEST_CASE("The number of microbatches without recomputation may be zero or any size, not negative") {
  const auto without = [](const char* number) {
    return run_of({"--recompute", "full", "--microbatches-without-recompute", number})
        .scenario.recompute.microbatches_without;
  };
  CHECK(without("0") == 0);
  CHECK(without("1000000") == 1000000);
  CHECK(faults({"--recompute", "full", "--microbatches-without-recompute", "-1"}) ==
        Rows{"`microbatches-without-recompute`: expected a whole number, got '-1' -- for example 8"});
}

TEST_CASE("Embedding and head add to the first and the last chunk after the costs are distributed") {
  // F 1 ms and B 2 ms per stage: half of that per chunk
  const Costs costs = run_of({"--vpp", "2", "--embedding", "100us", "--head", "3ns"}).scenario.costs;
  CHECK(costs.forward == Times{600us, 500us, 500us, 500us + 3ns});
  CHECK(costs.input_grad == Times{500us, 500us, 500us, 500us + 3ns});
  CHECK(costs.weight_grad == Times{600us, 500us, 500us, 500us + 3ns});
}

TEST_CASE(
    "Their backward may be given: the embedding's is weight gradient, the head's is halved, an odd nanosecond to I") {
  const Costs costs = run_of({"--embedding", "1us,5us", "--head", "1us,5ns"}).scenario.costs;
  CHECK(costs.forward == Times{1001us, 1001us});
  CHECK(costs.input_grad == Times{1ms, 1ms + 3ns});
  CHECK(costs.weight_grad == Times{1005us, 1ms + 2ns});
  CHECK(faults({"--embedding", "1us,2us,3us"}) ==
        Rows{"`embedding`: 3 values -- give the forward, or the forward and the backward"});
  CHECK(faults({"--head", "1us", "--input-grad", "1ms"}).size() == 1); // there is no backward to add to
}

TEST_CASE("A single chunk has the embedding and the head") {
  const Costs costs = build_run(parse_arguments(find_command("simulate"),
                                                {"--stages", "1", "--mb", "1", "--embedding", "1us", "--head", "10us"}))
                          .scenario.costs;
  CHECK(costs.forward == Times{1011us});
  CHECK(costs.input_grad == Times{1010us});
  CHECK(costs.weight_grad == Times{1011us});
}

TEST_CASE("Time outside the layers of a chunk is not recomputed") {
  CHECK(run_of({"--recompute", "full", "--embedding", "1us", "--head", "1us"}).scenario.recompute.time ==
        Times{1ms, 1ms});
}

TEST_CASE("W needs the whole activation unless its part is given") {
  CHECK(run_of({"--activation-bytes", "10B"}).scenario.memory.activation_for_weight == Sizes{Bytes{10}, Bytes{10}});
  const BuiltRun run = run_of({"--activation-bytes", "10B", "--weight-activation-bytes", "4B,5B"});
  CHECK(run.scenario.memory.activation_for_weight == Sizes{Bytes{4}, Bytes{5}});
  CHECK(run.notes == Rows{"`weight-activation-bytes`: changes nothing, as no backward is split"});
  CHECK(faults({"--weight-activation-bytes", "4B"}) ==
        Rows{"`weight-activation-bytes`: a part of an activation of unknown size -- give `activation-bytes`"});
  CHECK(faults({"--activation-bytes", "10B", "--weight-activation-bytes", "4B,11B"}) ==
        Rows{"`weight-activation-bytes`: chunk 1: part for W of 11 B is more than its activation of 10 B -- it must be "
             "part of the activation"});
}

TEST_CASE("Outputs can be released if their size is known and is part of the activation") {
  const BuiltRun run = run_of({"--release-outputs", "--activation-bytes", "10B", "--boundary-bytes", "10B"});
  CHECK(run.scenario.memory.release_outputs);
  CHECK(run.notes.empty());
  CHECK(faults({"--release-outputs", "--activation-bytes", "10B"}) ==
        Rows{"`release-outputs`: the size of an activation, or of its output, is not known -- give `activation-bytes` "
             "and `boundary-bytes`"});
  CHECK(faults({"--release-outputs", "--activation-bytes", "10B", "--boundary-bytes", "11B"}) ==
        Rows{"`boundary-bytes`: chunk 0: output of 11 B is more than its activation of 10 B -- it must be part of the "
             "activation"});
  const BuiltRun alone =
      build_run(parse_arguments(find_command("simulate"), {"--stages", "1", "--mb", "1", "--release-outputs",
                                                           "--activation-bytes", "10B", "--boundary-bytes", "1B"}));
  CHECK(alone.notes == Rows{"`release-outputs`: changes nothing, as no output leaves the one stage"});
}

TEST_CASE("With forwards alone, options of backwards have no effect, with a note") {
  const BuiltRun run = run_of({"--forward-only", "--recompute", "full", "--backward", "1ms"});
  CHECK(run.schedule.forward_only());
  CHECK(run.schedule.size() == 8);
  CHECK(run.notes ==
        Rows{"`backward`: changes nothing with `forward-only`", "`recompute`: changes nothing with `forward-only`"});
}

} // namespace ppsim::test::memory_inputs_test
