// For every order and lowering: operations fit the order, those that must not hang do not, and a placement search never
// makes them worse.

#include "ppsim/engine/hang.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/study/place.hpp"
#include "property/drawn_inputs.hpp"
#include "support/lowered.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::lowering_property {

namespace {

TaskGraph draw_graph(std::optional<Communicators> communicators = {}, bool may_pair = true) {
  const Schedule schedule = draw_order(may_pair);
  Scenario scenario = draw_scenario(schedule.shape());
  scenario.network.streams.communicators = communicators;
  return lower(schedule, scenario);
}

Communicators draw_communicators() {
  return all_communicators[draw(0, all_communicators.size() - 1)];
}

/// Megatron-LM refuses batches if two stages hold several chunks each.
std::vector<Overlap> overlaps_of(const Shape& shape) {
  std::vector<Overlap> overlaps{Overlap::steady, Overlap::all};
  if (shape.stages != 2 || shape.vpp == 1) overlaps.push_back(Overlap::none);
  return overlaps;
}
Overlap draw_overlap(const TaskGraph& graph) {
  const std::vector<Overlap> overlaps = overlaps_of(graph.schedule().shape());
  return overlaps[draw(0, overlaps.size() - 1)];
}

const Lowering& draw_lowering() {
  return *lowerings()[draw(0, lowerings().size() - 1)];
}

/// Removes what a CSV cannot express: waits for the stage's operations, and optionally groups.
CommOrder without_holds(const CommOrder& order, bool keeps_groups = true) {
  std::vector<CommOp> ops{order.ops().begin(), order.ops().end()};
  for (CommOp& op : ops) {
    op.holds = false;
    op.joins = op.joins && keeps_groups;
    op.holds_after = 0;
  }
  return {std::move(ops), order.offsets()};
}

} // namespace

TEST_CASE("Every lowering places one send and one receive of every transfer at a valid position") {
  rc::prop("of any order", [] {
    const TaskGraph graph = draw_graph();
    for (const Lowering* const lowering : lowerings())
      for (const Overlap overlap : overlaps_of(graph.schedule().shape())) {
        const CommOrder order = lowering->place(graph, overlap);
        RC_ASSERT(order.size() == 2 * graph.transfer_count());
        check_operations(graph.schedule(), order, lowering->name);
      }
  });
}

TEST_CASE("The lowerings edge and eager never hang on a communicator per edge, nor eager on those it is given") {
  rc::prop("of any order", [] {
    const TaskGraph graph = draw_graph();
    for (const char* const name : {"edge", "eager"})
      RC_ASSERT(!find_hang(graph.schedule(), operations(graph, name), Communicators::edge));
  });
  rc::prop("with other communicators", [] {
    const Communicators communicators = draw_communicators();
    const TaskGraph graph = draw_graph(communicators);
    RC_ASSERT(!find_hang(graph.schedule(), operations(graph, "eager"), communicators));
  });
}

TEST_CASE("Megatron-LM's own orders never hang or misdeliver data with its lowering") {
  rc::prop("1F1B, and interleaved in groups of any size", [] {
    ScheduleRequest request;
    request.shape = {.stages = draw(2, 5), .microbatches = 0, .vpp = draw(1, 3)};
    const std::size_t group = draw(request.shape.stages, 2 * request.shape.stages);
    request.shape.microbatches = group * draw(1, 3);
    if (request.shape.vpp > 1) request.group_size = group;
    const Schedule schedule = make_schedule(find_generator(request.shape.vpp > 1 ? "interleaved" : "1f1b"), request);
    Scenario scenario = draw_scenario(request.shape);
    scenario.network.streams.lowering = "megatron";
    for (const Overlap overlap : overlaps_of(request.shape)) {
      scenario.network.streams.overlap = overlap;
      const TaskGraph graph = lower(schedule, scenario);
      RC_ASSERT(!find_mismatch(schedule, operations_of(graph), communicators_of(graph)));
      RC_ASSERT(!find_hang(schedule, operations_of(graph), communicators_of(graph)));
    }
  });
}

TEST_CASE("If transfers take no time, those of edge and eager delay no task") {
  rc::prop("without pairs, whose halves send at the end of the pair", [] {
    const Schedule schedule = draw_order(false);
    Scenario scenario = draw_scenario(schedule.shape());
    scenario.network = uniform_scenario(schedule.shape(), zero, zero).network; // free
    const TaskGraph graph = lower(schedule, scenario);
    const std::vector<Span> expected = simulate(graph).tasks;
    for (const char* const name : {"edge", "eager"})
      RC_ASSERT(simulate(graph, operations(graph, name), Communicators::edge).tasks == expected);
  });
}

TEST_CASE("An order written with its operations is read back with them") {
  rc::prop("as any lowering places them", [] {
    const TaskGraph graph = draw_graph();
    CommOrder order = without_holds(draw_lowering().place(graph, draw_overlap(graph)));
    if (one_in(2)) order = with_chunk_actions(graph, order);
    const std::string csv = traces::write_schedule_csv_comms(graph.schedule(), order);
    const Schedule again = traces::read_schedule(csv, "s.csv", graph.schedule().forward_only()).schedule;
    RC_ASSERT(again == graph.schedule());
    RC_ASSERT((again.communications() == nullptr) == (order.size() == 0));
    if (again.communications() != nullptr) RC_ASSERT(*again.communications() == order);
  });
}

TEST_CASE("The operations of a schedule's forwards stay with its forwards") {
  rc::prop("as any lowering places them", [] {
    const TaskGraph graph = draw_graph();
    const CommOrder order = draw_lowering().place(graph, draw_overlap(graph));
    const Schedule forwards = graph.schedule().with_communications(order).forwards();
    if (forwards.communications() != nullptr) check_operations(forwards, *forwards.communications(), "forwards");
  });
}

TEST_CASE(
    "A search for better places never makes a step of single operations longer, never hangs and leaves every task "
    "where it is") {
  rc::prop("from any lowering", [] {
    const Communicators communicators = draw_communicators();
    const TaskGraph graph = draw_graph(communicators);
    const CommOrder given = draw_lowering().place(graph, draw_overlap(graph));
    const bool hangs = find_mismatch(graph.schedule(), given, communicators) || find_hang(graph, given, communicators);
    const Placement placement = place_operations(graph, given, communicators);
    check_operations(graph.schedule(), placement.order, "placed");
    RC_ASSERT(!find_hang(graph.schedule(), placement.order, communicators));
    RC_ASSERT(!find_mismatch(graph.schedule(), placement.order, communicators));
    const Timeline timeline = simulate(graph, placement.order, communicators);
    RC_ASSERT(end_of(timeline) - SimTime{} == placement.after);
    RC_ASSERT(!hangs || placement.before == zero);
    if (find_mismatch(graph.schedule(), given, communicators)) return;
    const auto single = try_simulate(graph, without_holds(given, false), communicators);
    if (single) RC_ASSERT(placement.after <= end_of(*single) - SimTime{});
    if (!hangs && std::ranges::none_of(given.ops(), [](const CommOp& op) { return op.joins || op.holds; }))
      RC_ASSERT(placement.after <= placement.before);
  });
}

TEST_CASE("The output of place has the step time that it reported") {
  rc::prop("from any lowering", [] {
    const Communicators communicators = draw_communicators();
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    scenario.network.model = TransferModel::streams;
    scenario.network.slices = 1;
    scenario.network.streams.communicators = communicators;
    if (one_in(2)) // so much that groups, which use both directions at the same time, are hard to improve
      for (Duration& latency : scenario.network.latency) latency += draw_time(200);
    scenario.recompute.microbatches_without = 0; // depends on the warm-up of a stage, which files do not contain
    const TaskGraph graph = lower(schedule, scenario);
    const Lowering& lowering = one_in(2) ? draw_lowering() : *find_lowering("megatron");
    const Placement placement = place_operations(graph, lowering.place(graph, draw_overlap(graph)), communicators);
    const std::string csv = traces::write_schedule_csv_comms(schedule, placement.order);
    RC_ASSERT(csv.find("BATCH_P2P") == std::string::npos);
    const Schedule again = traces::read_schedule(csv, "s.csv", schedule.forward_only()).schedule;
    RC_ASSERT(end_of(simulate(lower(again, scenario))) - SimTime{} == placement.after);
  });
}

} // namespace ppsim::test::lowering_property
