#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/traces/workload_files.hpp"
#include "support/loggops.hpp"
#include "support/workload_path.hpp"
#include "support/workload_reading.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace ppsim::test::workload_files_test {

using namespace std::chrono_literals;
using traces::NamedBytes;

namespace {

TaskGraph graph_of(std::string_view name, const Shape& shape, PairRule pair = {}) {
  const Schedule schedule = make_schedule(find_generator(name), {.shape = shape});
  Scenario scenario = uniform_scenario(schedule.shape(), 1234567ns * shape.vpp, 2345679ns * shape.vpp);
  for (std::size_t chunk = 0; chunk < scenario.costs.forward.size(); ++chunk)
    scenario.costs.forward[chunk] += Duration{1003 * chunk}; // stages that are not all the same
  std::ranges::fill(scenario.network.boundary_bytes, Bytes{4096});
  scenario.pair = pair;
  return lower(schedule, std::move(scenario));
}

Duration makespan(const TaskGraph& graph) {
  return tasks_end(graph, simulate(graph)) - SimTime{};
}

std::string problem_of(std::string_view goal) {
  try {
    (void)read_goal(goal, "w.goal");
  } catch (const Error& error) {
    return error.problems().front().where + ": " + error.problems().front().what;
  }
  return "no error";
}

std::string problem_of(const std::vector<NamedBytes>& files) {
  try {
    (void)read_chakra(files);
  } catch (const Error& error) {
    return error.problems().front().where + ": " + error.problems().front().what;
  }
  return "no error";
}

/// Nodes without names, which GOAL has as labels.
bool same(const Workload& a, const Workload& b) {
  return a.ranks == b.ranks && a.partner == b.partner &&
         std::ranges::equal(a.nodes, b.nodes, [](const WorkloadNode& x, const WorkloadNode& y) {
           return x.kind == y.kind && x.rank == y.rank && x.duration == y.duration && x.peer == y.peer &&
                  x.tag == y.tag && x.bytes == y.bytes && x.after == y.after;
         });
}

} // namespace

TEST_CASE("Chakra and GOAL, read back, take as long as the simulation with free transfers", "[workload]") {
  const auto check = [](std::string_view name, const Shape& shape, PairRule pair = {}) {
    CAPTURE(name, to_string(pair));
    const TaskGraph graph = graph_of(name, shape, pair);
    const Workload chakra = read_chakra(traces::write_chakra(graph, "w"));
    const Workload goal = read_goal(traces::write_goal(graph), "w.goal");
    CHECK(test::longest_path(chakra) == makespan(graph));
    CHECK(same(chakra, goal));
    CHECK(chakra.nodes.size() >= graph.transfer_count() * 2);
  };
  check("1f1b", {.stages = 4, .microbatches = 8});
  check("1f1b", {.stages = 1, .microbatches = 2});
  check("interleaved", {.stages = 4, .microbatches = 8, .vpp = 2});
  check("zb-h1", {.stages = 4, .microbatches = 8});
  check("zb-v", {.stages = 4, .microbatches = 8, .vpp = 2}); // two chunks in a row on the last stage: no transfer
  check("dualpipe", {.stages = 4, .microbatches = 12});      // the same chunk on two stages, and pairs
  check("dualpipe-v", {.stages = 4, .microbatches = 10, .vpp = 2});
  for (const auto kind : {PairRule::Kind::max, PairRule::Kind::serial})
    check("dualpipe", {.stages = 4, .microbatches = 12}, {.kind = kind});
}

TEST_CASE("For GOAL, LogGOPSim takes as long as the simulation with its latency", "[workload]") {
  const std::vector<std::pair<std::string_view, Shape>> cases{
      {"1f1b", {.stages = 4, .microbatches = 8}},
      {"gpipe", {.stages = 3, .microbatches = 5}},
      {"interleaved", {.stages = 4, .microbatches = 8, .vpp = 2}},
      {"zb-h1", {.stages = 4, .microbatches = 8}},
      {"zb-v", {.stages = 4, .microbatches = 8, .vpp = 2}},
      {"dualpipe", {.stages = 4, .microbatches = 12}}};
  for (const auto& [name, shape] : cases) {
    CAPTURE(name);
    const Schedule schedule = make_schedule(find_generator(name), {.shape = shape});
    Scenario scenario = uniform_scenario(schedule.shape(), 1234567ns, 2345679ns, 10us);
    std::ranges::fill(scenario.network.boundary_bytes, Bytes{4096});
    const TaskGraph graph = lower(schedule, std::move(scenario));
    CHECK(test::LogGops{read_goal(traces::write_goal(graph), "w.goal"), 10us}.run() == makespan(graph));
  }
}

TEST_CASE("A Chakra file is in the wire format of protobuf", "[workload]") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 1}, 1500ns, 2ms);
  scenario.network.boundary_bytes = {Bytes{300}};
  const TaskGraph graph = lower(make_schedule(find_generator("1f1b"), {.shape = scenario.shape}), std::move(scenario));
  const std::vector<NamedBytes> files = traces::write_chakra(graph, "trace");
  REQUIRE(files.size() == 2);
  CHECK(files[1].name == "trace.1.et");
  // GlobalMetadata: 7 bytes, field 1 of type text. Node 0: name "0F0", type 4, 2 us (1.5 rounded up).
  const std::string begin{"\x07\x0A\x05"
                          "0.0.4"
                          "\x2D\x08\x00\x12\x03"
                          "0F0"
                          "\x18\x04\x38\x02\x52\x0E\x0A\x09is_cpu_op\xD8\x01\x00"
                          "\x52\x10\x0A\x0B"
                          "duration_ns\x48\xDC\x0B",
                          54};
  CHECK(files[0].bytes.substr(0, begin.size()) == begin);
  const Workload workload = read_chakra(files);
  REQUIRE(workload.nodes.size() == 8);
  const WorkloadNode& send = workload.nodes[1];
  CHECK(send.name == "0SEND_F0");
  CHECK(send.kind == WorkloadKind::send);
  CHECK(send.after == std::vector<std::size_t>{0});
  CHECK(send.bytes == Bytes{300});
  const WorkloadNode& receive = workload.nodes[workload.partner[1]];
  CHECK(receive.name == "1RECV_F0");
  CHECK(receive.tag == send.tag);
  CHECK(receive.after.empty()); // posted at once: the network, not the order, determines its end
}

TEST_CASE("Microseconds of Chakra add up to the time of a stage", "[workload]") {
  // 1.4 us each: rounded one by one, 100 tasks would be 100 us.
  const Scenario scenario = uniform_scenario({.stages = 1, .microbatches = 50}, 1400ns, 1400ns);
  const TaskGraph graph = lower(make_schedule(find_generator("1f1b"), {.shape = scenario.shape}), scenario);
  std::vector<NamedBytes> files = traces::write_chakra(graph, "w");
  CHECK(test::longest_path(read_chakra(files)) == 140us);
  for (std::size_t at = files[0].bytes.find("duration_ns"); at != std::string::npos;
       at = files[0].bytes.find("duration_ns"))
    files[0].bytes[at] = 'x'; // as readers do that do not know it
  CHECK(test::longest_path(read_chakra(files)) == 140us);
}

TEST_CASE("GOAL has LogGOPSim's syntax", "[workload]") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 1}, 1us, 2us);
  scenario.network.boundary_bytes = {Bytes{300}};
  const TaskGraph graph = lower(make_schedule(find_generator("1f1b"), {.shape = scenario.shape}), std::move(scenario));
  CHECK(traces::write_goal(graph) == "num_ranks 2\n"
                                     "\nrank 0 {\n"
                                     "c0F0: calc 1000 cpu 0\n"
                                     "s0SEND_F0: send 300b to 1 tag 0 cpu 0\n"
                                     "s0SEND_F0 requires c0F0\n"
                                     "r0RECV_B0: recv 300b from 1 tag 3 cpu 0\n"
                                     "c0B0: calc 2000 cpu 0\n"
                                     "c0B0 requires c0F0\n"
                                     "c0B0 requires r0RECV_B0\n"
                                     "}\n"
                                     "\nrank 1 {\n"
                                     "r1RECV_F0: recv 300b from 0 tag 0 cpu 0\n"
                                     "c1F0: calc 1000 cpu 0\n"
                                     "c1F0 requires r1RECV_F0\n"
                                     "c1B0: calc 2000 cpu 0\n"
                                     "c1B0 requires c1F0\n"
                                     "s1SEND_B0: send 300b to 0 tag 3 cpu 0\n"
                                     "s1SEND_B0 requires c1B0\n"
                                     "}\n");
}

TEST_CASE("A transfer without a size has one byte, because other simulators cannot send zero", "[workload]") {
  const Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 1}, 1us, 2us, 3us);
  const TaskGraph graph = lower(make_schedule(find_generator("1f1b"), {.shape = scenario.shape}), scenario);
  for (const WorkloadNode& node : read_goal(traces::write_goal(graph), "w.goal").nodes)
    CHECK((node.kind == WorkloadKind::compute || node.bytes == Bytes{1}));
}

TEST_CASE("Workloads on which a simulator would hang are refused", "[workload]") {
  CHECK(problem_of("num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1 cpu 1\n}\nrank 1 {\nb: recv 9b from 0 tag 1\n}\n") ==
        "w.goal: the send of 8 bytes from rank 0 to rank 1 with tag 1 has no receive on the other side");
  CHECK(problem_of("num_ranks 2\nrank 0 {\n}\nrank 1 {\nb: recv 9b from 0 tag 1 cpu 2\n}\n") ==
        "w.goal: the receive of 9 bytes from rank 0 to rank 1 with tag 1 has no send on the other side");
  CHECK(problem_of("num_ranks 1\nrank 0 {\na: calc 1\nb requires a\n}\n") == "w.goal:4: the label 'b' is not there");
  CHECK(problem_of("num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n}\n") == "w.goal:4: the label 'a' appears twice");
  CHECK(problem_of("num_ranks 1\nrank 0 {\na: calc x\n}\n").starts_with("w.goal:3: 'x' is not a number"));
  CHECK(problem_of("num_ranks 1\nrank 0 {\n") == "w.goal:2: the file ends before the '}' of a rank");
  CHECK(problem_of("num_ranks 1\nrank 3 {\n}\n") == "w.goal:2: rank 3 stands here, where 0 of 1 is expected");
  CHECK(problem_of("") == "w.goal:0: there is no num_ranks");
  CHECK(problem_of("num_ranks 2\nrank 0 {\na: calc 1\n}\n") == "w.goal:4: the file ends behind 1 of 2 ranks");
}

TEST_CASE("Broken Chakra files are refused", "[workload]") {
  const TaskGraph graph = graph_of("1f1b", {.stages = 2, .microbatches = 2});
  const std::vector<NamedBytes> files = traces::write_chakra(graph, "w");
  CHECK(problem_of({files[0]}).find("has no receive on the other side") != std::string::npos);
  CHECK(problem_of({{"w.0.et", files[0].bytes.substr(0, 50)}}) == "w.0.et: the file ends inside a message");
  CHECK(problem_of({{"w.0.et", ""}}) == "w.0.et: the file is empty");
  CHECK(problem_of({{"w.0.et", std::string{"\x00", 1}}}) == "w.0.et: does not begin with a version of the schema");
  CHECK(problem_of({{"w.0.et", std::string(11, '\xFF')}}) == "w.0.et: a number has more than 64 bits");
  CHECK(problem_of({{"w.0.et", "\x05\x0A\x03"
                               "1.0"}}) == "w.0.et: is of version '1.0' of the schema, not 0.0.x");
  const std::string head = "\x07\x0A\x05"
                           "0.0.4";
  CHECK(problem_of({{"w.0.et", head + "\x02\x1B\x07"}}) == "w.0.et: a field is of a type that protobuf does not have");
  CHECK(problem_of({{"w.0.et", head + "\x02\x01\x07"}}) == "w.0.et: a field has a number that protobuf does not allow");
  CHECK(problem_of({{"w.0.et", head + "\x02\x12\x07"}}) == "w.0.et: the file ends inside a message");
  CHECK(problem_of({{"w.0.et", head + "\x02\x10\x07"}}) ==
        "w.0.et: a field that is text or a message is of another type");
  CHECK(problem_of({{"w.0.et", head + "\x03\x1A\x01\x04"}}) == "w.0.et: a field that is a number is of another type");
  CHECK(problem_of({{"w.0.et", head + "\x02\x18\x07"}}).find("is of type 7; only COMP") != std::string::npos);
  CHECK(problem_of({{"w.0.et", head + "\x04\x18\x04\x28\x09"}}) ==
        "w.0.et: node '' depends on node 9, which is not there");
}

} // namespace ppsim::test::workload_files_test
