// The transfer model `blocking`: between two tasks a stage posts the sends of the first and the receives of the second,
// and goes on when they are done.

#include "ppsim/graph/timeline.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

namespace ppsim::test::blocking_test {

using namespace std::chrono_literals;

namespace {

Scenario blocking(const Shape& shape, Duration forward, Duration backward, Duration comm) {
  Scenario scenario = uniform_scenario(shape, forward, backward, comm);
  scenario.network.model = TransferModel::blocking;
  return scenario;
}

Outcome run_blocking(const Rows& rows, PairRule pair = {}) {
  Schedule schedule = order(rows);
  Scenario scenario = blocking(schedule.shape(), 10ns, 20ns, 3ns);
  scenario.pair = pair;
  return run(std::move(schedule), std::move(scenario));
}

const Rows one_f_one_b{"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"};

} // namespace

TEST_CASE("Under blocking, a stage continues when its batch is done") {
  //  1F1B, p = 2, m = 2, F = 10, B = 20, c = 3; x is a batch
  //  stage 0  0F0[0,10) x[10,13) 0F1[13,23) x ........... [43,46) 0B0[46,66) x .......[76,79) 0B1[79,99)
  //  stage 1            x[10,13) 1F0[13,23) 1B0[23,43)  x [43,46) 1F1[46,56) 1B1[56,76) x[76,79)
  const Outcome outcome = run_blocking(one_f_one_b);
  CHECK(outcome.task("0F0") == between(0, 10));
  CHECK(outcome.task("0F1") == between(13, 23));
  CHECK(outcome.task("1F0") == between(13, 23));
  CHECK(outcome.task("1B0") == between(23, 43));
  CHECK(outcome.task("0B0") == between(46, 66));
  CHECK(outcome.task("1F1") == between(46, 56));
  CHECK(outcome.task("1B1") == between(56, 76));
  CHECK(outcome.task("0B1") == between(79, 99));
  CHECK(outcome.report.makespan == 99ns);
}

TEST_CASE("Under blocking a transfer starts when both ends have posted it, and its two directions run together") {
  const Outcome outcome = run_blocking(one_f_one_b);
  CHECK(outcome.transfer("0F0") == between(10, 13));
  CHECK(outcome.transfer("0F1") == between(43, 46)); // ready at 23, received before 1F1
  CHECK(outcome.transfer("1B0") == between(43, 46));
  CHECK(outcome.transfer("1B1") == between(76, 79));
  const auto& held_up_by = outcome.timeline.transfer_released_by;
  CHECK(held_up_by[index(outcome.id("0F0"))] == no_task);
  CHECK(held_up_by[index(outcome.id("0F1"))] == outcome.id("1B0"));
}

TEST_CASE("Under blocking, a stage may be blocked by its own send") {
  const Outcome outcome = run_blocking(one_f_one_b);
  CHECK(outcome.cause("0F1") == Cause::send_activation);
  CHECK(outcome.released_by("0F1") == outcome.id("0F0"));
  CHECK(outcome.cause("0B0") == Cause::gradient); // ends together with its own send of 0F1
  CHECK(outcome.cause("1F1") == Cause::activation);
  CHECK(outcome.released_by("1F1") == outcome.id("0F1"));
  CHECK(outcome.cause("1B0") == Cause::order);
}

TEST_CASE("Under blocking, a wait for the stage's own send is a wait for the peer, then transfer") {
  //  stage 0: [10,13) own send; [23,43) 1B0 not ready, then its transfer; [66,76) 1B1 not ready, then its transfer
  using L = Label;
  const Outcome outcome = run_blocking(one_f_one_b);
  const auto time = [&](std::size_t stage, L label) {
    return outcome.report.stages[stage].time[static_cast<std::size_t>(label)];
  };
  CHECK(time(0, L::forward) == 20ns);
  CHECK(time(0, L::backward) == 40ns);
  CHECK(time(0, L::downstream) == 30ns);
  CHECK(time(0, L::transfer) == 9ns);
  CHECK(time(0, L::link) == 0ns);
  CHECK(time(0, L::drain) == 0ns);
  //  stage 1: [0,13) warm-up, [43,46) transfer, [76,99) drain
  CHECK(time(1, L::warmup) == 13ns);
  CHECK(time(1, L::transfer) == 3ns);
  CHECK(time(1, L::upstream) == 0ns);
  CHECK(time(1, L::drain) == 23ns);
}

TEST_CASE("Under blocking, the critical path moves to the stage that posted last") {
  //  0F0, its transfer, 1F0, 1B0, and then either direction: 0F1's transfer was held up by 1B0 and releases nothing on
  //  the path
  const Outcome outcome = run_blocking(one_f_one_b);
  const auto& path = outcome.report.critical_path;
  std::vector<std::string> steps;
  for (const PathStep& step : path)
    steps.push_back((step.is_transfer() ? "send " : "") + to_string(outcome.graph.schedule().task(step.task)));
  CHECK(steps == Rows{"0F0", "send 0F0", "1F0", "1B0", "send 0F1", "1F1", "1B1", "send 1B1", "0B1"});
}

TEST_CASE("Under blocking both halves of a pair send and receive in one batch") {
  //  stage 0  0F0[0,10) x ........................[46) (0F1;0B0)[46,76) x ..................[112) 0B1[112,132)
  //  stage 1     x[0,13) 1F0[13,23) 1B0[23,43) x ....................[79) 1F1[79,89) 1B1[89,109) x[109,112)
  //  Stage 0's batch before the pair is {send 0F0, receive 1B0}, done at 46; stage 1's after 1B0 is {send 1B0, receive
  //  0F1}, done when 0F1 has run and arrived, at 79.
  const Outcome outcome = run_blocking({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"});
  CHECK(outcome.transfer("0F0") == between(10, 13));
  CHECK(outcome.transfer("1B0") == between(43, 46));
  CHECK(outcome.task("0F1") == between(46, 76));
  CHECK(outcome.task("0B0") == between(46, 76));
  CHECK(outcome.transfer("0F1") == between(76, 79));
  CHECK(outcome.task("1F1") == between(79, 89));
  CHECK(outcome.task("0B1") == between(112, 132));
}

TEST_CASE("Blocking costs 1F1B more than latency does: 226.9 instead of 225.4") {
  // p = 8, m = 64, F = 1, B = 2, c = 0.1
  const Shape shape{.stages = 8, .microbatches = 64, .vpp = 1};
  CHECK(run(generate("1f1b", shape), uniform_scenario(shape, 10ns, 20ns, 1ns)).report.makespan == 2'254ns);
  CHECK(run(generate("1f1b", shape), blocking(shape, 10ns, 20ns, 1ns)).report.makespan == 2'269ns);
}

TEST_CASE("Without transfer time blocking may still make a stage wait for its peer") {
  //  stage 0 sends 0F0 and goes on only when stage 1, busy with a long forward, has posted the receive
  //  stage 0  0F0[0,1) x[1,1) 0F1[1,2) x ......[101,101) 0F2[101,102)
  //  stage 1           1F0[1,101)        x[101,101) 1F1[101,201)
  const Shape shape{.stages = 2, .microbatches = 3, .vpp = 1};
  Scenario scenario = blocking(shape, 1ns, 2ns, 0ns);
  scenario.costs.forward[1] = 100ns;
  const Outcome outcome = run(generate("gpipe", shape), scenario);
  CHECK(outcome.task("0F1") == between(1, 2));
  CHECK(outcome.task("1F1") == between(101, 201));
  CHECK(outcome.task("0F2") == between(101, 102));
  CHECK(outcome.cause("0F2") == Cause::send_activation);
  CHECK(outcome.report.stages[0].time[static_cast<std::size_t>(Label::downstream)] >= 99ns);
}

TEST_CASE("Two stages that both send before they receive deadlock under blocking only, and are named") {
  //  Even microbatches run upwards, odd ones downwards. Stage 0 offers 0F0 while it wants 0F2 next, stage 1 offers 0F1
  //  and wants 0F3
  const Rows rows{"0F0 0F2 1F1 1F3 1B1 1B3 0B0 0B2", "0F1 0F3 1F0 1F2 1B0 1B2 0B1 0B3"};
  const Schedule schedule = order(rows);
  CHECK(run(schedule, uniform_scenario(schedule.shape(), 1ns, 2ns, 1ns)).report.makespan > 0ns);
  const Refusal refusal = refusal_of([&] { (void)run_blocking(rows); });
  CHECK(refusal.code == ExitCode::no);
  CHECK(refusal.first() ==
        "schedule: deadlock under 'blocking': stage 0, before 0F2, waits to send 0F0's output to stage 1; stage 1, "
        "before 0F3, waits to send 0F1's output to stage 0 -- each stage waits for the next one listed: order tasks so "
        "that their sends and receives meet, or let transfers not block (`transfer` latency or link)");
}

TEST_CASE("Interleaved 1F1B, whose warm-up sends without receiving, deadlocks under blocking") {
  const Schedule schedule = generate("interleaved", {.stages = 4, .microbatches = 8, .vpp = 2});
  const Refusal refusal = refusal_of([&] { (void)run(schedule, blocking(schedule.shape(), 10ns, 20ns, 1ns)); });
  CHECK(refusal.code == ExitCode::no);
  CHECK(refusal.first().starts_with("schedule: deadlock under 'blocking': stage "));
}

TEST_CASE("An order that passes no data between stages never blocks") {
  const Outcome outcome = run_blocking({"0F0 0B0 0F1 0B1"});
  CHECK(outcome.report.makespan == 60ns);
}

} // namespace ppsim::test::blocking_test
