// Simulations with free transfers take as long when read back from the files of other simulators.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/traces/workload_files.hpp"
#include "support/workload_path.hpp"
#include "support/workload_reading.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include "drawn_inputs.hpp"
#include <rapidcheck.h>

namespace ppsim::test::workload_files_property {

TEST_CASE("Chakra and GOAL give the makespan of any order with free transfers", "[workload]") {
  rc::prop("the longest path of what is read back is the makespan", [] {
    const Schedule schedule = test::draw_order();
    if (!test::runs(schedule)) return;
    Scenario scenario = test::draw_scenario(schedule.shape());
    Network network; // free
    network.latency.assign(scenario.network.latency.size(), test::zero);
    network.boundary_bytes = scenario.network.boundary_bytes;
    scenario.network = std::move(network);
    scenario.update = {};
    const TaskGraph graph = lower(schedule, std::move(scenario));
    const Duration makespan = tasks_end(graph, simulate(graph)) - SimTime{};
    RC_ASSERT(test::longest_path(read_chakra(traces::write_chakra(graph, "w"))) == makespan);
    RC_ASSERT(test::longest_path(read_goal(traces::write_goal(graph), "w.goal")) == makespan);
  });
}

} // namespace ppsim::test::workload_files_property
