// TaskGraph: what waits for what and why, how long each task lasts, and how a cycle is named.

#include "ppsim/graph/task_graph.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace ppsim::test::task_graph_test {

using namespace std::chrono_literals;

namespace {

TaskGraph graph_of(const Rows& rows, PairRule pair = {}) {
  const Schedule schedule = order(rows);
  Scenario scenario = uniform_scenario(schedule.shape(), 10ns, 30ns, 3ns);
  scenario.pair = pair;
  return lower(schedule, scenario);
}

/// Every edge as "0F0 -> 1F0 activation".
Rows edges_of(const TaskGraph& graph) {
  Rows edges;
  for (std::size_t id = 0; id < graph.size(); ++id)
    for (const Edge& edge : graph.successors(make_id<TaskId>(id)))
      edges.push_back(to_string(graph.schedule().task(edge.from)) + " -> " + to_string(graph.schedule().task(edge.to)) +
                      " " + std::string{to_string(edge.cause)});
  std::ranges::sort(edges);
  return edges;
}

/// The deadlock that lowering names: "what -- hint".
std::string deadlock(const Rows& rows) {
  const Schedule schedule = order(rows);
  const Refusal refusal =
      refusal_of([&] { (void)lower(schedule, uniform_scenario(schedule.shape(), 1ns, 2ns), "s.csv"); });
  CHECK(refusal.code == ExitCode::no);
  CHECK(refusal.lines.size() == 1);
  return refusal.first();
}

} // namespace

TEST_CASE("The hint for a deadlock never suggests an order that data dependencies forbid") {
  //  a V; 0W0 stands before everything that it needs, and 1I0 rightly after 2I0
  const std::string text = deadlock({"0W0 0F0 3F0 3I0 3W0 0I0", "1F0 2F0 2I0 1I0 2W0 1W0"});
  CHECK(text.ends_with("-- on stage 0, 0F0 must come before 0W0"));
  CHECK(text.find("2I0 on stage 1 (which comes first for the same microbatch)") != std::string::npos);
}

TEST_CASE("A task waits for the one before it, for its activation and for its gradient") {
  //  stage 0  0F0            0B0
  //  stage 1       1F0  1B0
  const TaskGraph graph = graph_of({"0F0 0B0", "1F0 1B0"});
  CHECK(edges_of(graph) ==
        Rows{"0F0 -> 0B0 order", "0F0 -> 1F0 activation", "1B0 -> 0B0 gradient", "1F0 -> 1B0 order"});
  CHECK(graph.edge_count() == 4);
}

TEST_CASE("The input-gradient half sends the gradient, the weight-gradient half sends nothing") {
  const TaskGraph graph = graph_of({"0F0 0I0 0W0", "1F0 1I0 1W0"});
  CHECK(edges_of(graph) == Rows{"0F0 -> 0I0 order", "0F0 -> 1F0 activation", "0I0 -> 0W0 order", "1F0 -> 1I0 order",
                                "1I0 -> 0I0 gradient", "1I0 -> 1W0 order"});
}

TEST_CASE("Between two chunks of one stage there are only order edges and no transfer") {
  //  V placement: stage 0 holds chunks 0 and 3, stage 1 holds 1 and 2
  const TaskGraph graph = graph_of({"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"});
  CHECK(edges_of(graph) == Rows{"0F0 -> 1F0 activation", "0F0 -> 3F0 order", "1B0 -> 0B0 gradient", "1F0 -> 2F0 order",
                                "2B0 -> 1B0 order", "2F0 -> 2B0 order", "2F0 -> 3F0 activation", "3B0 -> 0B0 order",
                                "3B0 -> 2B0 gradient", "3F0 -> 3B0 order"});
  CHECK(graph.transfer_count() == 4);
}

TEST_CASE("Each boundary between stages is crossed once forward and once backward per microbatch") {
  const Schedule schedule = generate("1f1b", {.stages = 4, .microbatches = 8, .vpp = 1});
  Scenario scenario = uniform_scenario(schedule.shape(), 1ns, 2ns);
  scenario.network.boundary_bytes = {Bytes{1}, Bytes{10}, Bytes{100}};
  const TaskGraph graph = lower(schedule, scenario);
  CHECK(graph.transfer_count() == 3 * 8 * 2);
  CHECK(graph.transfer_volume() == Bytes{111 * 8 * 2});
}

TEST_CASE("A sender has its receiver, and the time of its transfer on an idle link") {
  Scenario scenario = uniform_scenario({.stages = 3, .microbatches = 1, .vpp = 1}, 1ns, 2ns);
  scenario.network.latency = {5ns, 6ns};
  scenario.network.boundary_bytes = {Bytes{10}, Bytes{20}};
  scenario.network.bandwidth = Bandwidth{1'000'000'000};
  const TaskGraph graph = lower(order({"0F0 0B0", "1F0 1B0", "2F0 2B0"}), scenario); // ids 0 1 | 2 3 | 4 5
  CHECK(graph.receiver(TaskId{0}) == TaskId{2});
  CHECK(graph.receiver(TaskId{2}) == TaskId{4});
  CHECK(graph.receiver(TaskId{4}) == std::nullopt);
  CHECK(graph.receiver(TaskId{5}) == TaskId{3});
  CHECK(graph.receiver(TaskId{3}) == TaskId{1});
  CHECK(graph.receiver(TaskId{1}) == std::nullopt);
  CHECK(graph.transfer_time(TaskId{0}) == 15ns);
  CHECK(graph.transfer_time(TaskId{2}) == 26ns);
  CHECK(graph.transfer_time(TaskId{5}) == 26ns); // a gradient crosses the same boundary as the activation did
  CHECK(graph.transfer_time(TaskId{4}) == 0ns);
  CHECK(graph.transfer_bytes(TaskId{5}) == Bytes{20});
  CHECK(graph.transfer_bytes(TaskId{1}) == Bytes{0});
}

TEST_CASE("A pair needs the inputs of its second half") {
  //  stage 0  0F0            (0F1;0B0)  0B1       1B0's gradient is for 0B0 and starts both
  //  stage 1       1F0  1B0             1F1 1B1
  const TaskGraph graph = graph_of({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"});
  CHECK(edges_of(graph) == Rows{"0B0 -> 0B1 order", "0F0 -> 0F1 order", "0F0 -> 1F0 activation", "0F1 -> 0B0 pair",
                                "0F1 -> 1F1 activation", "1B0 -> 0F1 gradient", "1B0 -> 1F1 order",
                                "1B1 -> 0B1 gradient", "1F0 -> 1B0 order", "1F1 -> 1B1 order"});
  CHECK(graph.receiver(TaskId{5}) == TaskId{2}); // 1B0 sends to 0B0, not to the half that waits for it
}

TEST_CASE("A task takes its pass of its chunk, a full backward both halves, and every task the overhead") {
  const Schedule schedule = order({"0F0 0I0 0W0", "1F0 1B0"});
  Scenario scenario = uniform_scenario(schedule.shape(), 0ns, 0ns);
  scenario.costs = {
      .forward = {1ns, 2ns}, .input_grad = {10ns, 20ns}, .weight_grad = {100ns, 200ns}, .overhead = 1000ns};
  const TaskGraph graph = lower(schedule, scenario);
  CHECK(graph.duration(TaskId{0}) == 1001ns);
  CHECK(graph.duration(TaskId{1}) == 1010ns);
  CHECK(graph.duration(TaskId{2}) == 1100ns);
  CHECK(graph.duration(TaskId{3}) == 1002ns);
  CHECK(graph.duration(TaskId{4}) == 1220ns);
}

TEST_CASE("A pair takes the sum, the longer half, or a factor of the sum, and serial halves take their own time") {
  const Rows rows{"0F0 (0F1;0B0) 0B1"}; // F = 10, B = 30
  const auto durations = [&](PairRule rule) {
    const TaskGraph graph = graph_of(rows, rule);
    return std::vector{graph.duration(TaskId{1}), graph.duration(TaskId{2})};
  };
  CHECK(durations({}) == std::vector<Duration>{40ns, 40ns});
  CHECK(durations({.kind = PairRule::Kind::max}) == std::vector<Duration>{30ns, 30ns});
  CHECK(durations({.kind = PairRule::Kind::serial}) == std::vector<Duration>{10ns, 30ns});
  CHECK(durations({PairRule::Kind::factor, 800'000}) == std::vector<Duration>{32ns, 32ns});
  CHECK(durations({PairRule::Kind::factor, 512'500}) == std::vector<Duration>{21ns, 21ns}); // 20.5
}

TEST_CASE("Two stages that run the microbatches in opposite orders deadlock, and the chain says why") {
  CHECK(deadlock({"0F0 0B0 0F1 0B1", "1F1 1B1 1F0 1B0"}) ==
        "s.csv: deadlock: 0B0 on stage 0 waits for 1B0 on stage 1 (its gradient), which waits for 1F1 on stage 1 "
        "(before it on stage 1), "
        "which waits for 0F1 on stage 0 (its activation), which waits for 0B0 on stage 0 (before it on stage 0) -- "
        "move one task: on stage 1, 1B0 before 1F1; or on stage 0, 0F1 before 0B0");
  for (const Rows& mended : {Rows{"0F0 0B0 0F1 0B1", "1F0 1B0 1F1 1B1"}, Rows{"0F0 0F1 0B0 0B1", "1F1 1B1 1F0 1B0"}})
    CHECK_NOTHROW((void)graph_of(mended));
  // A warm-up that is one task too short hangs with stages that are as they ought to be.
  const std::string hint = deadlock({"0F0 0F1 0B0 0F2 0B1 0B2", "1F0 1F1 1F2 1B0 1B1 1B2", "2F0 2F1 2B0 2F2 2B1 2B2"});
  CHECK(hint.ends_with("-- move one task: on stage 1, 1B0 before 1F2; or on stage 0, 0F2 before 0B0"));
}

TEST_CASE("Of a circle of four orders, three are named") {
  CHECK(deadlock({"0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3", "1F0 1F1 1F2 1B1 1B0 1F3 1B2 1B3",
                  "2F0 2F1 2F2 2B0 2B2 2B1 2F3 2B3", "3F0 3B0 3F1 3B1 3F2 3F3 3B2 3B3"})
            .ends_with(" -- move one task: on stage 1, 1B0 before 1B1; or on stage 2, 2B1 before 2B2; or on stage 3, "
                       "3B2 before 3F3; or another in this circle"));
}

TEST_CASE("A W before its I is a deadlock") {
  CHECK(deadlock({"0F0 0W0 0I0", "1F0 1I0 1W0"}) ==
        "s.csv: deadlock: 0W0 on stage 0 waits for 0I0 on stage 0 (its input gradient), which waits for 0W0 on stage 0 "
        "(before it on stage 0) "
        "-- on stage 0, 0I0 must come before 0W0");
}

TEST_CASE("A B before its own F is a deadlock") {
  CHECK(deadlock({"0B0 0F0"}) == "s.csv: deadlock: 0B0 on stage 0 waits for 0F0 on stage 0 (its forward), which waits "
                                 "for 0B0 on stage 0 (before it on stage 0) "
                                 "-- on stage 0, 0F0 must come before 0B0");
}

TEST_CASE("A forward before the forward of the chunk before it, both on one stage, is a deadlock") {
  CHECK(deadlock({"1F0 0F0 1B0 0B0"}) == "s.csv: deadlock: 1F0 on stage 0 waits for 0F0 on stage 0 (its activation), "
                                         "which waits for 1F0 on stage 0 (before it on stage 0) "
                                         "-- on stage 0, 0F0 must come before 1F0");
}

TEST_CASE("A pair whose halves need each other is a deadlock") {
  CHECK(deadlock({"(0F0;0B0)"}) == "s.csv: deadlock: 0F0 on stage 0 waits for 0F0 on stage 0 (for the other half of "
                                   "its pair) -- on stage 0, 0F0 cannot overlap with the task that needs it");
  CHECK(deadlock({"(0B0;0F0)"}).starts_with("s.csv: deadlock: 0B0 on stage 0 waits for 0F0 on stage 0 (its forward)"));
}

TEST_CASE("A pair that waits for a task after one of its halves is a deadlock") {
  //  0B0 needs 1B0, which needs 1F0 after 1F1, which needs 0F1: in the pair
  const std::string chain = deadlock({"0F0 (0F1;0B0) 0B1", "1F1 1F0 1B0 1B1"});
  CHECK(chain.find("0F1 on stage 0 waits for 1B0 on stage 1 (for the other half of its pair)") != std::string::npos);
  CHECK(chain.find("1F1 on stage 1 (before it on stage 1)") != std::string::npos);
  CHECK(chain.find("waits for 0F1 on stage 0 (its activation)") != std::string::npos);
}

TEST_CASE("A chain of more than twelve links is truncated") {
  // Stage 0 wants the gradient of microbatch 0 before it sends microbatch 1, the last stage wants microbatch 1 first.
  constexpr std::size_t stages = 16;
  Rows rows;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::string c = std::to_string(stage);
    rows.push_back(stage == 0            ? c + "F0 " + c + "B0 " + c + "F1 " + c + "B1"
                   : stage + 1 == stages ? c + "F1 " + c + "F0 " + c + "B0 " + c + "B1"
                                         : c + "F0 " + c + "F1 " + c + "B0 " + c + "B1");
  }
  const std::string chain = deadlock(rows);
  CHECK(chain.find("and so on through") != std::string::npos);
  CHECK(chain.find("more tasks back to the first") != std::string::npos);
}

} // namespace ppsim::test::task_graph_test
