// Forwards alone: a schedule's forwards in their order, without a backward.

#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::forward_only_test {

using namespace std::chrono_literals;

TEST_CASE("The forwards of a schedule are unpaired and in their order") {
  const Schedule forwards = order({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"}).forwards();
  CHECK(rows_of(forwards) == Rows{"0F0 0F1", "1F0 1F1"});
  CHECK(forwards.forward_only());
  for (const Task& task : forwards.tasks()) CHECK(task.pairing == Pairing::alone);
}

TEST_CASE("Forwards alone take (m+p-1)F + (p-1)c, and no metric is undefined") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 1};
  const RunReport report = run(generate("1f1b", shape).forwards(), uniform_scenario(shape, 10ns, 20ns, 3ns)).report;
  CHECK(report.makespan == 119ns);
  CHECK(report.ideal == 80ns);
  CHECK(report.bubble_ratio == Approx(39.0 / 119.0));
  CHECK(report.stages[2].warmup_forwards == 8);
  CHECK(report.stages[2].steady_pairs == 0);
  CHECK(report.stages[2].cooldown_backwards == 0);
  const RunReport nothing = run(generate("1f1b", shape).forwards(), uniform_scenario(shape, 0ns, 20ns)).report;
  for (const Metric& metric : metrics())
    if (metric.ratio != nullptr) CHECK(metric.ratio(nothing) == 0.0);
}

TEST_CASE("Without a backward, an activation is live until the end of its forward, a released output until sent") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 1, .vpp = 1}, 10ns, 20ns, 5ns);
  scenario.memory.activation = {Bytes{100}, Bytes{100}};
  scenario.network.boundary_bytes = {Bytes{30}};
  const Schedule forwards = generate("1f1b", scenario.shape).forwards();
  CHECK(points(run(forwards, scenario), 0) == std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {10, 0, 0}});
  scenario.memory.release_outputs = true;
  CHECK(points(run(forwards, scenario), 0) == std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {10, 30, 0}, {15, 0, 0}});
}

TEST_CASE("Without backwards nothing is recomputed") {
  Scenario scenario = uniform_scenario({.stages = 1, .microbatches = 1, .vpp = 1}, 10ns, 20ns);
  scenario.memory.activation = {Bytes{100}};
  scenario.recompute = {.kind = RecomputeKind::full, .time = {10ns}, .checkpoint = {Bytes{1}}};
  CHECK(run(generate("1f1b", scenario.shape).forwards(), scenario).report.stages[0].peak_activation_bytes ==
        Bytes{100});
}

TEST_CASE("A file of forwards alone is read if requested, otherwise its backwards are missing") {
  const std::string text = "0F0,0F1\n1F0,1F1\n";
  const Schedule schedule = traces::read_schedule(text, "s.csv", true).schedule;
  CHECK(schedule.forward_only());
  CHECK(rows_of(schedule) == Rows{"0F0 0F1", "1F0 1F1"});
  const std::string hint = " -- add a B (or I and W) to each forward, or run only forwards with `forward-only`";
  CHECK(refusal_of([&] { (void)traces::read_schedule(text, "s.csv"); }).lines ==
        Rows{"s.csv: 0B0 is missing (or its I and W)" + hint, "s.csv: 0B1 is missing (or its I and W)" + hint,
             "s.csv: 1B0 is missing (or its I and W)" + hint, "s.csv: 1B1 is missing (or its I and W)" + hint});
  const std::string list = "step,microbatch_id,global_chunk_id,local_chunk_idx,is_forward,stage_id,is_first_chunk,"
                           "is_last_chunk\n0,0,0,0,1,0,1,1\n";
  CHECK(traces::read_schedule(list, "s.tasks.csv", true).schedule.forward_only());
  CHECK(refusal_of([&] { (void)traces::read_schedule(list, "s.tasks.csv"); }).lines.size() == 1);
}

TEST_CASE("A file with backwards is checked as a whole before its forwards are taken") {
  CHECK(rows_of(traces::read_schedule("0F0,0F1,0B0,0B1\n", "s.csv", true).schedule) == Rows{"0F0 0F1"});
  CHECK(refusal_of([] { (void)traces::read_schedule("0F0,0F1,0B0\n", "s.csv", true); }).first() ==
        "s.csv: 0B1 is missing (or its I and W) -- every chunk needs one F and one B (or I and W) per microbatch");
  CHECK(refusal_of([] { (void)traces::read_schedule("0F0,0F0\n", "s.csv", true); })
            .first()
            .starts_with("s.csv: 0F0 appears twice"));
}

TEST_CASE("Sends and receives in a file of forwards alone are checked") {
  CHECK(traces::read_schedule("0F0,0SEND_F0\n1RECV_F0,1F0\n", "s.csv", true).schedule.forward_only());
  CHECK(refusal_of([] { (void)traces::read_schedule("0F0\n1RECV_F0,1F0\n", "s.csv", true); }).lines.size() == 1);
  CHECK(refusal_of([] { (void)traces::read_schedule("0F0,0RECV_B0\n1F0\n", "s.csv", true); })
            .first()
            .starts_with("s.csv:1:5: '0RECV_B0' belongs to no transfer between two stages"));
}

} // namespace ppsim::test::forward_only_test
