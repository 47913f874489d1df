// Recorded launches and waits of Megatron-LM's own functions, compared with the lowering `megatron`.

#include "ppsim/schedule/generators.hpp"
#include "support/golden.hpp"
#include "support/lowered.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::test::megatron_test {

using namespace std::chrono_literals;

namespace {

Overlap overlap_of(std::string_view word) {
  if (word == "none") return Overlap::none;
  return word == "steady" ? Overlap::steady : Overlap::all;
}

/// The order in a header, with free transfers.
TaskGraph graph_of(std::istringstream& head) {
  std::string name;
  std::string passes;
  std::string overlap;
  ScheduleRequest request;
  std::size_t group = 0;
  head >> name >> request.shape.stages >> request.shape.microbatches >> request.shape.vpp >> group >> overlap >> passes;
  if (request.shape.vpp > 1) request.group_size = group;
  const Schedule whole = make_schedule(find_generator(name), request);
  Scenario scenario = uniform_scenario(request.shape, 1ms, 2ms);
  scenario.network.streams.lowering = "megatron";
  scenario.network.streams.overlap = overlap_of(overlap);
  return lower(passes == "forwards" ? whole.forwards() : whole, scenario);
}

/// The operations of one batch sorted by name, because their order has no meaning.
std::string sorted(const std::string& row) {
  std::string text;
  std::istringstream words{row};
  for (std::string word; words >> word;) {
    std::vector<std::string> members;
    std::istringstream batch{word};
    for (std::string member; std::getline(batch, member, '+');) members.push_back(member);
    std::ranges::sort(members);
    for (const std::string& member : members) text += (member == members.front() ? " " : "+") + member;
  }
  return text;
}

} // namespace

TEST_CASE("The lowering megatron launches and waits as Megatron-LM's own functions do") {
  std::ifstream file{source_path("tests/golden/megatron-operations.txt")};
  std::size_t cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    INFO(line);
    std::istringstream head{line};
    const TaskGraph graph = graph_of(head);
    const CommOrder order = operations_of(graph);
    for (std::size_t stage = 0; stage < graph.schedule().shape().stages; ++stage) {
      std::string row;
      REQUIRE(std::getline(file, row));
      CHECK(sorted(text_of(graph, order, stage)) == sorted(row));
    }
    ++cases;
  }
  CHECK(cases == 19);
}

} // namespace ppsim::test::megatron_test
