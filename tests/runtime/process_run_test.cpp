// ProcessRun: what processes compare before they run.

#include "ppsim/schedule/generators.hpp"

#include <catch2/catch.hpp>

#include "runtime/compiled.hpp"
#include "runtime/processes/process_run.hpp"

namespace ppsim::test::process_run_test {

using namespace runtime;
using namespace std::chrono_literals;

TEST_CASE("Processes that would wait in different ways are detected", "[processes]") {
  const Shape shape{.stages = 2, .microbatches = 4, .vpp = 1};
  const Schedule schedule = make_schedule(find_generator("1f1b"), {.shape = shape});
  const auto bytes = [](const Program& program) { return fingerprint(program, {}); };
  const auto differ = [](const Message& a, const Message& b) { return a != b; }; // not shown byte by byte
  const auto of = [&](const auto& change) {
    Scenario scenario = uniform_scenario(shape, 10ns, 20ns, 5ns);
    change(scenario);
    return bytes(compiled(schedule, scenario));
  };
  const Message usual = of([](Scenario&) {});
  CHECK_FALSE(differ(usual, of([](Scenario&) {})));
  CHECK(differ(usual, of([](Scenario& scenario) { scenario.update.step = OptimizerStep::per_stage; })));
  CHECK(differ(usual, of([](Scenario& scenario) { scenario.network.model = TransferModel::link; })));
  CHECK(differ(usual, bytes(compiled(schedule, {}, 6ns)))); // transfer times
  const Message per_pair = bytes(compiled(schedule, {.p2p = P2p::pair}, 5ns));
  const Message batched = bytes(compiled(schedule, {.p2p = P2p::batched}, 5ns));
  CHECK(differ(usual, per_pair));
  CHECK(differ(usual, batched));
  CHECK(differ(per_pair, batched));
  Program other = compiled(schedule, {.p2p = P2p::pair}, 5ns);
  std::swap(other.lanes.front().transfers.front(), other.lanes.front().transfers.back());
  CHECK(differ(per_pair, bytes(other)));
  other = compiled(schedule, {.p2p = P2p::batched}, 5ns);
  ++other.stages.front().batches.back().before;
  CHECK(differ(batched, bytes(other)));
  RunOptions options;
  ++options.workload.seed;
  CHECK(differ(usual, fingerprint(compiled(schedule, {}, 5ns), options)));
}

} // namespace ppsim::test::process_run_test
