// Outputs that leave in slices, before their task has ended (SPEC section 2).

#include "ppsim/schedule/generators.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::slices_test {

using namespace std::chrono_literals;

namespace {

const Rows one_microbatch{"0F0 0B0", "1F0 1B0"};

/// F = 20, B = 40, latency 3, a boundary of `bytes` at a byte per nanosecond.
Scenario sliced(const Schedule& schedule, std::int64_t bytes, std::size_t slices,
                TransferModel model = TransferModel::latency) {
  Scenario scenario = uniform_scenario(schedule.shape(), 20ns, 40ns, 3ns);
  for (Bytes& size : scenario.network.boundary_bytes) size = Bytes{bytes};
  scenario.network.bandwidth = Bandwidth{1'000'000'000};
  scenario.network.model = model;
  scenario.network.slices = slices;
  return scenario;
}

} // namespace

TEST_CASE("On a fast link, only the last slice remains when the task ends") {
  const Schedule schedule = order(one_microbatch);
  // four slices of 2: the first is made at 5; the last leaves at 20 and takes 2 + 3
  const Outcome outcome = run(schedule, sliced(schedule, 8, 4));
  CHECK(outcome.transfer("0F0") == between(5, 25));
  CHECK(outcome.task("1F0") == between(25, 45));
  CHECK(outcome.transfer("1B0") == between(55, 90)); // B 45-85
  CHECK(run(schedule, sliced(schedule, 8, 1)).transfer("0F0") == between(20, 31));
}

TEST_CASE("On a slow link, slices follow each other from the first one") {
  const Schedule schedule = order(one_microbatch);
  // four slices of 10: made at 5, 10, 15, 20, sent 5-15-25-35-45, and 3 more
  CHECK(run(schedule, sliced(schedule, 40, 4)).transfer("0F0") == between(5, 48));
}

TEST_CASE("Fractions are rounded up, for a slice's time and for the making of the first") {
  const Schedule schedule = order(one_microbatch);
  // three slices of 8/3: the first is made at 6.67, the last takes 2.67
  CHECK(run(schedule, sliced(schedule, 8, 3)).transfer("0F0") == between(7, 26));
}

TEST_CASE("Slices change nothing if sizes cost no time") {
  const Schedule schedule = order(one_microbatch);
  Scenario scenario = sliced(schedule, 8, 4);
  scenario.network.bandwidth.reset();
  CHECK(run(schedule, scenario).transfer("0F0") == between(20, 23));
  CHECK(run(schedule, sliced(schedule, 0, 4)).transfer("0F0") == between(20, 23));
}

TEST_CASE("Under link a transfer in slices holds its link from the first slice to the last") {
  const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"});
  // F0 0-20: made from 5, sent 5 to 5 + 40 + 3. F1 20-40: made from 25, the link is free at 48.
  const Outcome outcome = run(schedule, sliced(schedule, 40, 4, TransferModel::link));
  CHECK(outcome.transfer("0F0") == between(5, 48));
  CHECK(outcome.transfer("0F1") == between(48, 91));
  CHECK(outcome.timeline.transfer_released_by[index(outcome.id("0F1"))] == outcome.id("0F0"));
  CHECK(outcome.task("1F1") == between(91, 111));
  // Stage 1 waits from 68 to 91, all of it for a transfer under way: its sender ended at 40, it had the link at 48.
  CHECK(outcome.report.stages[1].time[static_cast<std::size_t>(Label::transfer)] == 23ns);
}

TEST_CASE("Under link, a short queue does not count if the sender itself ends later") {
  const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"});
  // F0 0-20: 5-25. F1 20-40 in slices of 2, made from 25 on: the link is free at 25. Its last slice leaves at 40.
  const Outcome outcome = run(schedule, sliced(schedule, 8, 4, TransferModel::link));
  CHECK(outcome.transfer("0F1") == between(25, 45));
  Scenario later = sliced(schedule, 8, 4, TransferModel::link);
  later.costs.forward[1] = 0ns;
  later.network.latency[0] = 5ns; // the link is free at 27, and F1's last slice arrives at 40 + 2 + 5
  const Outcome queued = run(schedule, later);
  CHECK(queued.transfer("0F1") == between(27, 47));
  CHECK(queued.timeline.transfer_released_by[index(queued.id("0F1"))] == no_task);
}

TEST_CASE("A wait for slices is upstream until their task has ended, then transfer, and the path adds up") {
  const Schedule schedule = order({"0F0 0B0 0F1 0B1", "1F0 1B0 1F1 1B1"});
  const Outcome outcome = run(schedule, sliced(schedule, 8, 4));
  // 1B0 ends at 85 and arrives at 90; 0B0 90-130, 0F1 130-150, sent 135-155, 1F1 from 155 on
  CHECK(outcome.task("1F1").start == SimTime{155ns});
  CHECK(outcome.report.stages[1].time[static_cast<std::size_t>(Label::upstream)] == 65ns);
  CHECK(outcome.report.stages[1].time[static_cast<std::size_t>(Label::transfer)] == 5ns);
  Duration path{0};
  for (const PathStep& step : outcome.report.critical_path) path += span_of(outcome.timeline, step).length();
  CHECK(path == outcome.report.makespan);
}

TEST_CASE("Blocking refuses slices, and has no closed form with them") {
  const Schedule schedule = generate("1f1b", {.stages = 2, .microbatches = 2});
  const Refusal refusal = refusal_of([&] { validate(sliced(schedule, 8, 2, TransferModel::blocking)); });
  CHECK(refusal.first() == "`send-slices`: with 'blocking' a stage sends when its task has ended, in one piece -- "
                           "leave it out, or use `transfer` latency or link");
  CHECK(refusal_of([&] { validate(sliced(schedule, 8, 0)); }).lines.size() == 1);
  CHECK(closed_form(find_generator("1f1b"), {.shape = schedule.shape()}, sliced(schedule, 8, 1)));
  CHECK(!closed_form(find_generator("1f1b"), {.shape = schedule.shape()}, sliced(schedule, 8, 2)));
}

} // namespace ppsim::test::slices_test
