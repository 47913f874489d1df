// Simulation: when each task and transfer runs, by hand, and against figures that other tools agree on.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace ppsim::test::simulate_test {

using namespace std::chrono_literals;

namespace {

const Rows one_f_one_b{"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"};

/// F = 10, B = 20 on every stage, transfers of 3.
Outcome run_uniform(const Rows& rows, Duration comm = 3ns, PairRule pair = {}) {
  Schedule schedule = order(rows);
  Scenario scenario = uniform_scenario(schedule.shape(), 10ns, 20ns, comm);
  scenario.pair = pair;
  return run(std::move(schedule), std::move(scenario));
}

/// Makespan of a generated order with F and B of a chunk as given, in their unit.
Duration makespan(std::string_view name, const Shape& shape, Duration forward, Duration backward, Duration comm = 0ns) {
  const auto v = static_cast<std::int64_t>(shape.vpp);
  return run(generate(name, shape), uniform_scenario(shape, v * forward, v * backward, comm)).report.makespan;
}

} // namespace

TEST_CASE("A task starts when the task before it has ended and its input has arrived") {
  //  1F1B, p = 2, m = 2, F = 10, B = 20, c = 3
  //  stage 0  0F0  0F1  .            0B0         .        0B1
  //           0    10                46   66              76  96
  //  stage 1       1F0      1B0      1F1         1B1
  //                13       23       43          53       73
  const Outcome outcome = run_uniform(one_f_one_b);
  CHECK(outcome.task("0F0") == between(0, 10));
  CHECK(outcome.task("0F1") == between(10, 20));
  CHECK(outcome.task("1F0") == between(13, 23));
  CHECK(outcome.task("1B0") == between(23, 43));
  CHECK(outcome.task("1F1") == between(43, 53));
  CHECK(outcome.task("1B1") == between(53, 73));
  CHECK(outcome.task("0B0") == between(46, 66));
  CHECK(outcome.task("0B1") == between(76, 96));
  CHECK(outcome.report.makespan == 96ns);
}

TEST_CASE("Under latency a transfer starts when its sender ends") {
  const Outcome outcome = run_uniform(one_f_one_b);
  CHECK(outcome.transfer("0F0") == between(10, 13));
  CHECK(outcome.transfer("0F1") == between(20, 23));
  CHECK(outcome.transfer("1B0") == between(43, 46));
  CHECK(outcome.transfer("1B1") == between(73, 76));
  CHECK(outcome.transfer("0B0") == between(0, 0)); // sends nothing
  CHECK(outcome.timeline.transfer_released_by.empty());
}

TEST_CASE("A task is released by the last of what it waited for") {
  const Outcome outcome = run_uniform(one_f_one_b);
  CHECK(outcome.cause("0F0") == Cause::none);
  CHECK(outcome.released_by("0F0") == no_task);
  CHECK(outcome.cause("0F1") == Cause::order);
  CHECK(outcome.cause("1F0") == Cause::activation);
  CHECK(outcome.released_by("1F0") == outcome.id("0F0"));
  CHECK(outcome.cause("1F1") == Cause::order); // its activation came at 23
  CHECK(outcome.released_by("1F1") == outcome.id("1B0"));
  CHECK(outcome.cause("0B1") == Cause::gradient);
  CHECK(outcome.released_by("0B1") == outcome.id("1B1"));
}

TEST_CASE("Of two inputs that arrive together, the task before on the stage counts") {
  // GPipe: 1F1 waits for 1F0 until 23 and for its activation until 23
  const Outcome outcome = run_uniform({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"});
  CHECK(outcome.transfer("0F1") == between(20, 23));
  CHECK(outcome.task("1F0") == between(13, 23));
  CHECK(outcome.task("1F1") == between(23, 33));
  CHECK(outcome.cause("1F1") == Cause::order);
}

TEST_CASE("The same if the input comes from a stage that runs later in the list") {
  //  F = 10 then 2, B = 8, c = 0: 0F1 ends at 20, and so does 1B0
  //  stage 0  0F0[0,10) 0F1[10,20) 0B0[20,28)
  //  stage 1  1F0[10,12) 1B0[12,20)
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 8ns);
  scenario.costs.forward[1] = 2ns;
  for (const TransferModel model : {TransferModel::latency, TransferModel::link}) {
    scenario.network.model = model;
    const Outcome outcome = run(order(one_f_one_b), scenario);
    CHECK(outcome.transfer("1B0") == between(20, 20));
    CHECK(outcome.task("0B0") == between(20, 28));
    CHECK(outcome.cause("0B0") == Cause::order);
    CHECK(outcome.released_by("0B0") == outcome.id("0F1"));
  }
}

TEST_CASE("A weight gradient fills the wait for the next gradient") {
  //  F = 10, I = 10, W = 10, c = 3
  //  stage 0  0F0[0,10)  0F1[10,20)  .  0I0[36,46)  0W0[46,56)  0I1[59,69)  0W1[69,79)
  //  stage 1  1F0[13,23) 1I0[23,33)  1F1[33,43)  1W0[43,53)  1I1[53,63) ...: 1I1's gradient arrives at 66
  const Outcome outcome = run_uniform({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1F1 1W0 1I1 1W1"});
  CHECK(outcome.task("0I0") == between(36, 46));
  CHECK(outcome.task("0W0") == between(46, 56));
  CHECK(outcome.task("1W0") == between(43, 53));
  CHECK(outcome.task("1I1") == between(53, 63));
  CHECK(outcome.task("0I1") == between(66, 76));
  CHECK(outcome.task("0W1") == between(76, 86));
  CHECK(outcome.cause("0W0") == Cause::order);
}

TEST_CASE("Both results of a pair are ready at its end, whatever its duration") {
  //  F = 10, B = 20, c = 0
  //  stage 0  0F0[0,10)                       (0F1;0B0) from 40       0B1
  //  stage 1            1F0[10,20) 1B0[20,40)           1F1 1B1
  const Rows rows{"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"};
  const Outcome sum = run_uniform(rows, 0ns);
  CHECK(sum.task("0F1") == between(40, 70));
  CHECK(sum.task("0B0") == between(40, 70));
  CHECK(sum.task("1F1") == between(70, 80));
  CHECK(sum.task("0B1") == between(100, 120));

  const Outcome max = run_uniform(rows, 0ns, {.kind = PairRule::Kind::max});
  CHECK(max.task("0F1") == between(40, 60));
  CHECK(max.task("0B0") == between(40, 60));
  CHECK(max.task("1F1") == between(60, 70));
  CHECK(max.report.makespan == 110ns);

  const Outcome factor = run_uniform(rows, 0ns, {PairRule::Kind::factor, 500'000}); // 15
  CHECK(factor.task("0B0") == between(40, 55));
  CHECK(factor.report.makespan == 105ns);
}

TEST_CASE("In a serial pair, the forward's result is ready when the forward ends") {
  const Outcome outcome = run_uniform({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"}, 0ns, {.kind = PairRule::Kind::serial});
  CHECK(outcome.task("0F1") == between(40, 50));
  CHECK(outcome.task("0B0") == between(50, 70));
  CHECK(outcome.cause("0B0") == Cause::pair);
  CHECK(outcome.task("1F1") == between(50, 60));
  CHECK(outcome.task("1B1") == between(60, 80));
  CHECK(outcome.report.makespan == 100ns);
}

TEST_CASE("A separated pair is two tasks, and the first waits only for its own input") {
  const Outcome outcome = run_uniform({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"}, 0ns, {.kind = PairRule::Kind::serial});
  CHECK(outcome.report.makespan == 100ns); // 0F1 waits for 1B0, until 40
  const Schedule apart = outcome.graph.schedule().taken_apart();
  CHECK(run(apart, uniform_scenario(apart.shape(), 10ns, 20ns)).report.makespan == 90ns);
  CHECK(apart.name() == outcome.graph.schedule().name());
}

TEST_CASE("A pair is released by the last input of either half") {
  const Outcome outcome = run_uniform({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"}, 0ns);
  CHECK(outcome.cause("0F1") == Cause::gradient);
  CHECK(outcome.released_by("0F1") == outcome.id("1B0"));
}

TEST_CASE("Under link, two transfers on one link run one after the other, first come first served") {
  //  GPipe, p = 2, m = 2, F = 10, c = 15
  //  stage 0       0F0[0,10) 0F1[10,20)
  //  link 0 -> 1             0F0[10,25)      0F1[25,40) asked for at 20
  //  stage 1                            1F0[25,35)      1F1[40,50)
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 20ns, 15ns);
  const Rows rows{"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"};
  const Outcome alone = run(order(rows), scenario);
  CHECK(alone.transfer("0F1") == between(20, 35));
  CHECK(alone.task("1F1") == between(35, 45));

  scenario.network.model = TransferModel::link;
  const Outcome outcome = run(order(rows), scenario);
  CHECK(outcome.transfer("0F0") == between(10, 25));
  CHECK(outcome.transfer("0F1") == between(25, 40));
  CHECK(outcome.timeline.transfer_released_by[index(outcome.id("0F0"))] == no_task);
  CHECK(outcome.timeline.transfer_released_by[index(outcome.id("0F1"))] == outcome.id("0F0"));
  CHECK(outcome.task("1F0") == between(25, 35));
  CHECK(outcome.task("1F1") == between(40, 50));
  CHECK(outcome.cause("1F1") == Cause::activation);
}

TEST_CASE("Under link, the two directions between two stages do not share a link") {
  // 1F1B with c = 15: 0F1 goes down in [20, 35) and 1B0 comes back later; enlarge the activation's stay to cross them
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 20ns, 15ns);
  scenario.costs.forward = {40ns, 1ns};
  scenario.costs.input_grad = scenario.costs.weight_grad = {10ns, 10ns};
  scenario.network.model = TransferModel::link;
  //  stage 0  0F0[0,40)  0F1[40,80)             0F1 goes in [80,95)
  //  stage 1  1F0[55,56) 1B0[56,76)             1B0 goes in [76,91)
  const Outcome outcome = run(order(one_f_one_b), scenario);
  CHECK(outcome.transfer("0F1") == between(80, 95));
  CHECK(outcome.transfer("1B0") == between(76, 91));
}

TEST_CASE("Under link the stages of a node share its uplink") {
  //  Chunks 0 1 2 3 on stages 0 2 1 3, nodes {0 1} and {2 3}: stages 0 and 1 both send to node 1. F = 10, c = 15.
  //  stage 0   0F0 0F1 0F2 0F3   until 40
  //  node 0's uplink  0F0[10,25) 0F1[25,40) 0F2[40,55) 0F3[55,70)
  //  stage 2   1F0[25,35), sent by node 1's uplink in [35,50)
  //  stage 1   2F0[50,60), asks for node 0's uplink at 60, which 0F3 holds until 70
  const Rows rows{"0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3", "2F0 2F1 2F2 2F3 2B0 2B1 2B2 2B3",
                  "1F0 1F1 1F2 1F3 1B0 1B1 1B2 1B3", "3F0 3F1 3F2 3F3 3B0 3B1 3B2 3B3"};
  Scenario scenario = uniform_scenario({.stages = 4, .microbatches = 4, .vpp = 1}, 10ns, 20ns, 15ns);
  scenario.network.model = TransferModel::link;
  const Outcome apart = run(order(rows), scenario);
  CHECK(apart.transfer("0F3") == between(55, 70));
  CHECK(apart.transfer("2F0") == between(60, 75));

  scenario.network.stages_per_node = 2;
  const Outcome shared = run(order(rows), scenario);
  CHECK(shared.transfer("0F3") == between(55, 70));
  CHECK(shared.transfer("1F0") == between(35, 50));
  CHECK(shared.transfer("2F0") == between(70, 85));
  CHECK(shared.timeline.transfer_released_by[index(shared.id("2F0"))] == shared.id("0F3"));
}

TEST_CASE("Of two transfers that need a link at the same time, the one of the lower task goes first") {
  //  Chunks 0 1 2 3 on stages 0 2 1 3 as above, F = 10, c = 10: 2F0 is known of since 30, 0F4 starts at 40, and both
  //  end at 50, when node 0's uplink has just sent 0F3
  const Rows rows{"0F0 0F1 0F2 0F3 0F4", "2F0 2F1 2F2 2F3 2F4", "1F0 1F1 1F2 1F3 1F4", "3F0 3F1 3F2 3F3 3F4"};
  Scenario scenario = uniform_scenario({.stages = 4, .microbatches = 5, .vpp = 1}, 10ns, 20ns, 10ns);
  scenario.network.model = TransferModel::link;
  scenario.network.stages_per_node = 2;
  const Outcome outcome = run(order(rows).forwards(), scenario);
  CHECK(outcome.task("0F4") == between(40, 50));
  CHECK(outcome.task("2F0") == between(40, 50));
  CHECK(outcome.transfer("0F3") == between(40, 50));
  CHECK(outcome.transfer("0F4") == between(50, 60));
  CHECK(outcome.transfer("2F0") == between(60, 70));
  CHECK(outcome.timeline.transfer_released_by[index(outcome.id("2F0"))] == outcome.id("0F4"));
}

TEST_CASE("Inside a node a pair of stages keeps its own link") {
  // p = 2 on one node: as without nodes, whatever the latency between nodes
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 20ns, 15ns);
  scenario.network.model = TransferModel::link;
  scenario.network.stages_per_node = 2;
  scenario.network.inter_node_latency = 1'000ns;
  CHECK(run(order(one_f_one_b), scenario).transfer("0F0") == between(10, 25));
}

TEST_CASE("Between nodes, transfers take the inter-node time, also under latency") {
  Scenario scenario = uniform_scenario({.stages = 3, .microbatches = 1, .vpp = 1}, 10ns, 20ns, 2ns);
  scenario.network.stages_per_node = 2; // 0 1 | 2
  scenario.network.inter_node_latency = 7ns;
  const Outcome outcome = run(order({"0F0 0B0", "1F0 1B0", "2F0 2B0"}), scenario);
  CHECK(outcome.transfer("0F0") == between(10, 12));
  CHECK(outcome.transfer("1F0") == between(22, 29));
  CHECK(outcome.transfer("2B0") == between(59, 66));
  CHECK(outcome.transfer("1B0") == between(86, 88));
}

TEST_CASE("The step of a task is its slot when every pass takes one and transfers none") {
  //  slot     0    1    2    3    4    5
  //  stage 0  0F0  0F1  .    0B0  .    0B1
  //  stage 1  .    1F0  1B0  1F1  1B1
  const TaskGraph graph = run_uniform(one_f_one_b, 99ns).graph;
  CHECK(unit_steps(graph) == std::vector<std::uint32_t>{0, 1, 3, 5, 1, 2, 3, 4});
}

TEST_CASE("Both halves of a pair have one step") {
  //  slot     0    1    2    3          4    5    6
  //  stage 0  0F0            (0F1;0B0)            0B1
  //  stage 1       1F0  1B0             1F1  1B1
  const TaskGraph graph = run_uniform({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"}).graph;
  CHECK(unit_steps(graph) == std::vector<std::uint32_t>{0, 3, 3, 6, 1, 2, 4, 5});
}

TEST_CASE("Tasks that cost nothing take no time and keep their order") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 0ns, 0ns, 3ns);
  const Outcome outcome = run(order(one_f_one_b), scenario);
  CHECK(outcome.report.makespan == 6ns);
  CHECK(outcome.task("0B1") == between(6, 6));
}

// F = 1, B = 2 per chunk. Two independent public tools and a bare recurrence agree on these.
TEST_CASE("Interleaved 1F1B has the makespan of other simulators") {
  struct Case {
    Shape shape;
    std::int64_t makespan;
  };
  const auto [shape, expected] = GENERATE(Case{{.stages = 4, .microbatches = 8, .vpp = 2}, 57},
                                          Case{{.stages = 8, .microbatches = 64, .vpp = 2}, 405},
                                          Case{{.stages = 8, .microbatches = 1024, .vpp = 2}, 6165},
                                          Case{{.stages = 16, .microbatches = 512, .vpp = 4}, 6189},
                                          Case{{.stages = 64, .microbatches = 256, .vpp = 4}, 3261},
                                          Case{{.stages = 16, .microbatches = 1024, .vpp = 8}, 24621});
  CAPTURE(shape);
  CHECK(makespan("interleaved", shape, 1ns, 2ns) == Duration{expected});
  // = (m v + p - 1)(F + B)
  CHECK(expected == 3 * static_cast<std::int64_t>(shape.microbatches * shape.vpp + shape.stages - 1));
}

TEST_CASE("1F1B has the makespan of other simulators, without and with transfers") {
  const Shape shape{.stages = 8, .microbatches = 64, .vpp = 1};
  CHECK(makespan("1f1b", {.stages = 4, .microbatches = 8, .vpp = 1}, 1ns, 2ns) == 33ns);
  CHECK(makespan("1f1b", shape, 10ns, 20ns) == 2'130ns);
  CHECK(makespan("1f1b", shape, 10ns, 20ns, 1ns) == 2'254ns);
  CHECK(makespan("interleaved", {.stages = 8, .microbatches = 64, .vpp = 2}, 10ns, 20ns, 1ns) == 4'080ns);
}

TEST_CASE("GPipe and 1F1B take equally long without transfers, and with them GPipe is faster") {
  // F = B = W = 1000, p = 8, m = 24; and p = 8, m = 32, F = 1, B = 2
  const Shape shape{.stages = 8, .microbatches = 24, .vpp = 1};
  CHECK(makespan("gpipe", {.stages = 8, .microbatches = 32, .vpp = 1}, 1ns, 2ns) == 117ns);
  CHECK(makespan("1f1b", {.stages = 8, .microbatches = 32, .vpp = 1}, 1ns, 2ns) == 117ns);
  CHECK(makespan("gpipe", shape, 1'000ns, 2'000ns, 100ns) == 94'400ns);
  CHECK(makespan("1f1b", shape, 1'000ns, 2'000ns, 100ns) == 98'400ns);
  CHECK(makespan("gpipe", shape, 1'000ns, 2'000ns, 500ns) == 100'000ns);
  CHECK(makespan("1f1b", shape, 1'000ns, 2'000ns, 500ns) == 120'000ns);
}

TEST_CASE("GPipe's fill and drain cost p-1 slots each: 4 stages and 8 microbatches make 22 slots, not 14") {
  const Outcome outcome = run(generate("gpipe", {.stages = 4, .microbatches = 8, .vpp = 1}),
                              uniform_scenario({.stages = 4, .microbatches = 8, .vpp = 1}, 1ns, 1ns));
  CHECK(outcome.report.makespan == 22ns);
  CHECK(outcome.report.bubble_ratio == Approx(3.0 / 11.0));
}

TEST_CASE("Interleaving divides the bubble by v only without transfers, and with expensive ones it is slower") {
  // F = B = W = 1000 per stage, p = 8, m = 24: makespan by transfer time and v
  struct Case {
    std::size_t vpp;
    Duration free, cheap, dear;
  };
  const auto [vpp, free, cheap, dear] =
      GENERATE(Case{1, 93'000ns, 98'400ns, 120'000ns}, Case{2, 82'500ns, 85'500ns, 97'500ns},
               Case{4, 77'250ns, 83'450ns, 122'750ns});
  const Shape shape{.stages = 8, .microbatches = 24, .vpp = vpp};
  const auto makespan_with = [&](Duration comm) {
    return run(generate("interleaved", shape), uniform_scenario(shape, 1'000ns, 2'000ns, comm)).report.makespan;
  };
  CAPTURE(vpp);
  CHECK(makespan_with(0ns) == free);
  CHECK(makespan_with(100ns) == cheap);
  CHECK(makespan_with(500ns) == dear);
}

TEST_CASE("A larger microbatch group does not change the bubble and needs more memory") {
  // F = B = W = 1000, p = 8, m = 24, v = 2
  const Shape shape{.stages = 8, .microbatches = 24, .vpp = 2};
  const auto run_group = [&](std::size_t group) {
    return run(generate("interleaved", shape, group), uniform_scenario(shape, 1'000ns, 2'000ns)).report;
  };
  CHECK(run_group(8).makespan == 82'500ns);
  CHECK(run_group(12).makespan == 82'500ns);
  CHECK(run_group(24).makespan == 82'500ns);
  CHECK(run_group(8).stages[0].peak_live_activations == 23);
  CHECK(run_group(12).stages[0].peak_live_activations == 27);
  CHECK(run_group(24).stages[0].peak_live_activations == 39);
}

} // namespace ppsim::test::simulate_test
