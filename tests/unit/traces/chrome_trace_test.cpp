// The Chrome trace, parsed back: times, threads, arrows, counters.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ppsim::test::chrome_trace_test {

using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr std::string_view two_by_two = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

Schedule read(std::string_view csv) {
  return traces::read_schedule(csv, "s.csv").schedule;
}

std::string trace_text(const Schedule& schedule, Scenario scenario) {
  const TaskGraph graph = lower(schedule, std::move(scenario));
  const Timeline timeline = simulate(graph);
  return traces::chrome_trace(graph, timeline, run_report(graph, timeline));
}

json trace_of(const Schedule& schedule, Scenario scenario) {
  return json::parse(trace_text(schedule, std::move(scenario)));
}

json trace_of(std::string_view csv, Duration comm = 0ns) {
  const Schedule schedule = read(csv);
  return trace_of(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms, comm));
}

std::vector<json> events(const json& trace, std::string_view phase) {
  std::vector<json> found;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("ph") == phase) found.push_back(event);
  return found;
}

json slice(const json& trace, std::string_view name, std::string_view category) {
  for (const json& event : events(trace, "X"))
    if (event.at("name") == name && event.at("cat") == category) return event;
  FAIL("no slice " << name);
  return {};
}

std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

/// Slices of one thread in time order must not overlap: Perfetto would move the later one away.
void check_threads(const json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> threads;
  for (const json& event : events(trace, "X")) {
    const std::int64_t start = nanoseconds(event.at("ts"));
    threads[{event.at("pid"), event.at("tid")}].emplace_back(start, start + nanoseconds(event.at("dur")));
  }
  for (auto& [thread, spans] : threads) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i - 1].second <= spans[i].first);
  }
  std::set<std::pair<int, int>> named;
  for (const json& event : events(trace, "M"))
    if (event.at("name") == "thread_name") CHECK(named.emplace(event.at("pid"), event.at("tid")).second);
  for (const auto& [thread, spans] : threads) CHECK(named.count(thread) == 1);
}

/// Every arrow begins inside a slice of its thread and ends at the start of one, once each, and not before it began.
void check_arrows(const json& trace, std::size_t expected) {
  std::map<int, json> begins;
  for (const json& event : events(trace, "s")) CHECK(begins.emplace(event.at("id"), event).second);
  CHECK(begins.size() == expected);
  const std::vector<json> ends = events(trace, "f");
  CHECK(ends.size() == expected);
  for (const json& end : ends) {
    const json& begin = begins.at(end.at("id"));
    CHECK(begin.at("name") == end.at("name"));
    CHECK(begin.at("cat") == end.at("cat"));
    CHECK(begin.at("pid") != end.at("pid"));
    CHECK(end.at("bp") == "e");
    CHECK(nanoseconds(begin.at("ts")) < nanoseconds(end.at("ts")));
    std::size_t around = 0;
    std::size_t at_start = 0;
    for (const json& event : events(trace, "X")) {
      const std::int64_t start = nanoseconds(event.at("ts"));
      const std::int64_t at = nanoseconds(begin.at("ts"));
      const auto on = [&](const json& arrow) {
        return event.at("pid") == arrow.at("pid") && event.at("tid") == arrow.at("tid");
      };
      around += on(begin) && start <= at && at < start + nanoseconds(event.at("dur")) ? 1U : 0U;
      at_start += on(end) && event.at("ts") == end.at("ts") ? 1U : 0U;
    }
    CHECK(around == 1);
    CHECK(at_start == 1);
  }
}

} // namespace

TEST_CASE("A trace has a named process per stage, in the order of the stages") {
  const json trace = trace_of(two_by_two);
  CHECK(trace.at("displayTimeUnit") == "ms");
  std::map<int, std::string> names;
  std::map<int, int> order;
  for (const json& event : events(trace, "M")) {
    if (event.at("name") == "process_name") names[event.at("pid")] = event.at("args").at("name");
    if (event.at("name") == "process_sort_index") order[event.at("pid")] = event.at("args").at("sort_index");
  }
  CHECK(names == std::map<int, std::string>{{0, "stage 0"}, {1, "stage 1"}});
  CHECK(order == std::map<int, int>{{0, 0}, {1, 1}});
}

TEST_CASE("A trace has a slice per task with its position in the schedule and what released it") {
  //  stage 0 | 0F0 | 0F1 |     | 0B0       | ...      F = 1 ms, B = 2 ms
  //  stage 1       | 1F0 | 1B0       | ...
  const json trace = trace_of(two_by_two);
  CHECK(events(trace, "X").size() == 8); // transfers take no time: arrows only
  const json first = slice(trace, "1B0", "B");
  CHECK(first.at("pid") == 1);
  CHECK(first.at("tid") == 0);
  CHECK(nanoseconds(first.at("ts")) == 2'000'000);
  CHECK(nanoseconds(first.at("dur")) == 2'000'000);
  CHECK(first.at("args") ==
        json{{"stage", 1}, {"chunk", 1}, {"microbatch", 0}, {"pass", "B"}, {"cause", "order"}, {"released_by", "1F0"}});
  CHECK(slice(trace, "0B0", "B").at("args").at("released_by") == "1B0");
  CHECK(slice(trace, "0B0", "B").at("args").at("cause") == "gradient");
  CHECK(slice(trace, "0F0", "F").at("args").at("released_by").is_null());
}

TEST_CASE("Split backwards have their own categories") {
  // A reader that sorts by category must find I among compute, not among transfers.
  const json trace = trace_of("0F0,0I0,0W0\n");
  CHECK(slice(trace, "0I0", "I").at("tid") == 0);
  CHECK(slice(trace, "0W0", "W").at("tid") == 0);
}

TEST_CASE("Times are microseconds with exactly three decimals, however long the run") {
  // A double would have lost the nanosecond: 20 hours are 7.2e13 ns, and 7.2e10 us with three decimals need more than 6
  // digits.
  const Schedule schedule = read("0F0,0B0\n");
  Scenario scenario = uniform_scenario(schedule.shape(), 72'000'000'000'001ns, 1'002ns);
  const std::string text = trace_text(schedule, scenario);
  CHECK(text.find(R"("name":"0F0","pid":0,"tid":0,"ts":0.000,"dur":72000000000.001)") != std::string::npos);
  CHECK(text.find(R"("name":"0B0","pid":0,"tid":0,"ts":72000000000.001,"dur":1.002)") != std::string::npos);
}

TEST_CASE("A transfer is a slice on the receiving stage, from the end of its sender to its arrival") {
  const json trace = trace_of(two_by_two, 100us);
  const json activation = slice(trace, "0F1", "transfer");
  CHECK(activation.at("pid") == 1);
  CHECK(nanoseconds(activation.at("ts")) == 2'000'000);
  CHECK(nanoseconds(activation.at("dur")) == 100'000);
  CHECK(activation.at("args") ==
        json{{"from_stage", 0}, {"to_stage", 1}, {"chunk", 0}, {"microbatch", 1}, {"bytes", 0}});
  CHECK(slice(trace, "1B0", "transfer").at("pid") == 0);
  CHECK(events(trace, "X").size() == 8 + 4);
  check_threads(trace);
  check_arrows(trace, 4);
}

TEST_CASE("Overlapping transfers get separate threads, as few as possible") {
  const auto threads = [](Duration comm) {
    const json trace =
        trace_of("0F0,0F1,0F2,0F3,0F4,0B0,0B1,0B2,0B3,0B4\n1F0,1F1,1F2,1F3,1F4,1B0,1B1,1B2,1B3,1B4\n", comm);
    check_threads(trace);
    std::set<std::string> names;
    for (const json& event : events(trace, "M"))
      if (event.at("name") == "thread_name" && event.at("pid") == 1) names.insert(event.at("args").at("name"));
    return names;
  };
  // A forward every millisecond: transfers of 2.5 ms run three at a time, those of 1 ms one after the other.
  CHECK(threads(2500us) == std::set<std::string>{"compute", "activations in", "activations in 2", "activations in 3"});
  CHECK(threads(1ms) == std::set<std::string>{"compute", "activations in"});
}

TEST_CASE("Arrows join every sender with its receiver under every placement and transfer model") {
  const Schedule v = read("0F0,3F0,0F1,3B0,3F1,3B1,0B0,0B1\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1\n");
  check_arrows(trace_of(v, uniform_scenario(v.shape(), 2ms, 4ms, 10us)), 8);
  ScheduleRequest request;
  request.shape = {.stages = 4, .microbatches = 8, .vpp = 1};
  const Schedule schedule = make_schedule(find_generator("1f1b"), request);
  for (const TransferModel model : {TransferModel::latency, TransferModel::link, TransferModel::blocking}) {
    Scenario scenario = uniform_scenario(request.shape, 1ms, 2ms, 300us);
    scenario.network.model = model;
    const json trace = trace_of(schedule, scenario);
    check_threads(trace);
    check_arrows(trace, 2 * 3 * 8);
    CHECK(trace.at("otherData").at("transfer_model") == std::string{to_string(model)});
  }
}

TEST_CASE("An overlapped pair in one piece is one slice; run one after the other, it is two") {
  const Schedule schedule = read("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
  const json together = trace_of(schedule, scenario);
  CHECK(events(together, "X").size() == 3);
  const json pair = slice(together, "(0F1;0B0)", "overlap");
  CHECK(nanoseconds(pair.at("dur")) == 3'000'000);
  CHECK(pair.at("args").at("overlaps") == "0B0");
  scenario.pair.kind = PairRule::Kind::serial;
  const json serial = trace_of(schedule, scenario);
  CHECK(events(serial, "X").size() == 4);
  CHECK(nanoseconds(slice(serial, "0B0", "B").at("ts")) == 2'000'000);
  check_threads(serial);
}

TEST_CASE("The count of live activations rises with each forward and returns to zero") {
  const json trace = trace_of(two_by_two);
  std::map<int, std::vector<int>> counts;
  for (const json& event : events(trace, "C")) {
    CHECK(event.at("name") == "live activations"); // no memory figures, no memory counter
    counts[event.at("pid")].push_back(event.at("args").at("count"));
  }
  for (const int stage : {0, 1}) {
    CHECK(counts[stage].back() == 0);
    CHECK(*std::max_element(counts[stage].begin(), counts[stage].end()) == 2 - stage);
  }
}

TEST_CASE("With memory sizes, a second counter shows bytes, down to the static ones") {
  const Schedule schedule = read(two_by_two);
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
  scenario.memory.activation = {Bytes{100}, Bytes{10}};
  scenario.memory.parameters = {Bytes{7}, Bytes{5}};
  std::map<int, std::vector<int>> bytes;
  for (const json& event : events(trace_of(schedule, scenario), "C"))
    if (event.at("name") == "memory") bytes[event.at("pid")].push_back(event.at("args").at("bytes"));
  REQUIRE(!bytes[0].empty());
  CHECK(*std::max_element(bytes[0].begin(), bytes[0].end()) == 207);
  CHECK(bytes[0].back() == 7);
  CHECK(bytes[1].back() == 5);
}

TEST_CASE("A title in any encoding leaves the trace valid JSON") {
  const Schedule schedule = read("0F0,0B0\n");
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
  scenario.title = "a \"b\" \\ \n {} \xFF";
  const json trace = trace_of(schedule, scenario);
  CHECK(trace.at("otherData").at("title") == "a \"b\" \\ \n {} \xEF\xBF\xBD");
  CHECK(trace.at("otherData").at("makespan_ns") == 3'000'000);
}

TEST_CASE("The same run gives the same trace, byte by byte") {
  const Schedule schedule = read(two_by_two);
  const Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms, 5us);
  CHECK(trace_text(schedule, scenario) == trace_text(schedule, scenario));
}

} // namespace ppsim::test::chrome_trace_test
