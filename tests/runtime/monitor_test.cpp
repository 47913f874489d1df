// The monitor: what stages do, in words, and the end of a run that stands still.

#include "ppsim/runtime/monitor.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "runtime/compiled.hpp"

namespace ppsim::test::monitor_test {

using namespace ppsim::runtime;
using namespace std::chrono_literals;

namespace {

constexpr Duration forever = std::chrono::hours{1};
/// Long enough that a busy machine lets all stages say what they do before it is over.
constexpr Duration limit = 300ms;

/// Three stages; the tasks of each at positions 0 to 5: F0 F1 F2 B0 B1 B2 (stage 2 in turns).
Program three_stages() {
  return compiled(order({"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1F1 1F2 1B0 1B1 1B2", "2F0 2B0 2F1 2B1 2F2 2B2"}),
                  {.slots = 1});
}

std::vector<StageId> all_of(const Program& program) {
  std::vector<StageId> stages;
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage) stages.push_back(make_id<StageId>(stage));
  return stages;
}

void fail_test(const std::string& what) {
  FAIL_CHECK("on_stuck: " << what);
}

/// A waiting stage: gives up when the run is stopped.
void wait_until_stopped(const Monitor& monitor) {
  while (!monitor.stopped()) std::this_thread::sleep_for(1ms);
}

/// A stage notes what it does and then stands still.
struct Note {
  std::size_t stage;
  Doing doing;
  std::size_t task = 0;
};

/// The reason to stop a run with these stages.
std::string stuck(const Program& program, const std::vector<Note>& notes, std::vector<StageId> stages) {
  Monitor monitor{program, std::move(stages), limit, forever, fail_test};
  std::vector<std::thread> threads;
  for (const Note& note : notes)
    threads.emplace_back([&monitor, note] {
      monitor.note(make_id<StageId>(note.stage), note.doing, note.task);
      wait_until_stopped(monitor);
      monitor.note(make_id<StageId>(note.stage), Doing::nothing);
    });
  for (std::thread& thread : threads) thread.join();
  return monitor.failure();
}
std::string stuck(const Program& program, const std::vector<Note>& notes) {
  return stuck(program, notes, all_of(program));
}

} // namespace

TEST_CASE("A stage that prepares has its own limit", "[monitor]") {
  const Program program = three_stages();
  Monitor monitor{program, all_of(program), 50ms, forever, fail_test, 400ms};
  monitor.note(StageId{0}, Doing::preparing);
  std::this_thread::sleep_for(150ms);
  CHECK_FALSE(monitor.stopped());
  wait_until_stopped(monitor);
  CHECK(monitor.failure() == "no progress for 400 ms: stage 0 prepares");
}

TEST_CASE("Preparing may take at least as long as a task", "[monitor]") {
  const Program program = three_stages();
  Monitor monitor{program, all_of(program), 200ms, forever, fail_test, 50ms};
  monitor.note(StageId{1}, Doing::preparing);
  wait_until_stopped(monitor);
  CHECK(monitor.failure() == "no progress for 200 ms: stage 1 prepares");
}

TEST_CASE("The report of a stage has its task and its peer", "[monitor]") {
  const Program program = three_stages();
  Monitor monitor{program, {StageId{0}, StageId{1}}, forever, forever, fail_test};
  const auto told = [&](std::size_t stage, Doing doing, std::size_t task = 0) {
    monitor.note(make_id<StageId>(stage), doing, task);
    return monitor.describe(make_id<StageId>(stage));
  };
  CHECK(monitor.describe(StageId{0}) == "stage 0 does nothing");
  CHECK(told(0, Doing::computing, 4) == "stage 0 computes 0B1");
  CHECK(told(1, Doing::waiting_for_input, 2) ==
        "stage 1 waits for the activation of 0F2 from stage 0, which has run it");
  CHECK(told(0, Doing::computing, 2) == "stage 0 computes 0F2");
  CHECK(told(1, Doing::waiting_for_input, 2) == "stage 1 waits for the activation of 0F2 from stage 0");
  CHECK(told(1, Doing::waiting_for_input, 3) == "stage 1 waits for the gradient of 2B0 from stage 2");
  CHECK(told(1, Doing::waiting_for_slot, 1) == "stage 1 waits for a free slot to stage 2, for the activation of 1F1");
  CHECK(told(1, Doing::finishing) == "stage 1 finishes its step");
  CHECK(told(1, Doing::meeting) == "stage 1 waits for the other stages");
  CHECK(monitor.describe(StageId{2}) == "stage 2 runs in another process");
  // A transport may know of no task.
  CHECK(told(1, Doing::computing, 99) == "stage 1 computes");
  CHECK(told(1, Doing::waiting_for_input, 99) == "stage 1 waits for an input");
  CHECK(told(1, Doing::waiting_for_slot, 99) == "stage 1 waits for a free slot");
}

TEST_CASE("A slot that its receiver has freed is reported as free", "[monitor]") {
  const Program program = three_stages();
  Monitor monitor{program, all_of(program), forever, forever, fail_test};
  // The slot of 0F1 is free when 1F0 has ended.
  monitor.note(StageId{0}, Doing::waiting_for_slot, 1);
  monitor.note(StageId{1}, Doing::computing, 0);
  CHECK(monitor.describe(StageId{0}) == "stage 0 waits for a free slot to stage 1, for the activation of 0F1");
  monitor.note(StageId{1}, Doing::computing, 1);
  CHECK(monitor.describe(StageId{0}) ==
        "stage 0 waits for a free slot to stage 1, which has freed one, for the activation of 0F1");
}

TEST_CASE("The stage that waits for no other one is named first", "[monitor]") {
  const Program program = three_stages();
  CHECK(stuck(program, {{0, Doing::waiting_for_slot, 2}, {1, Doing::waiting_for_slot, 1}, {2, Doing::computing, 0}}) ==
        "no progress for 300 ms: stage 2 computes 2F0; stage 0 waits for a free slot to stage 1, for the activation of "
        "0F2; stage 1 waits for a free slot to stage 2, for the activation of 1F1");
  // 1F0's output was lost: stage 1 is past it.
  CHECK(stuck(program,
              {{0, Doing::waiting_for_slot, 2}, {1, Doing::waiting_for_slot, 1}, {2, Doing::waiting_for_input, 0}}) ==
        "no progress for 300 ms: stage 2 waits for the activation of 1F0 from stage 1, which has run it; stage 0 waits "
        "for a free slot to stage 1, for the activation of 0F2; stage 1 waits for a free slot to stage 2, for the "
        "activation of 1F1");
  // At the end of the step.
  CHECK(stuck(program, {{0, Doing::meeting}, {1, Doing::finishing}, {2, Doing::meeting}}) ==
        "no progress for 300 ms: stage 1 finishes its step; stage 0 waits for the other stages; stage 2 waits for the "
        "other stages");
}

TEST_CASE("A stage that has ended is named before those that wait for it", "[monitor]") {
  const Program program = three_stages();
  CHECK(
      stuck(program, {{0, Doing::waiting_for_input, 3}, {2, Doing::waiting_for_input, 0}}) ==
      "no progress for 300 ms: stage 1 does nothing; stage 0 waits for the gradient of 1B0 from stage 1; stage 2 waits "
      "for the activation of 1F0 from stage 1");
}

TEST_CASE("A process with some of the stages names only those", "[monitor]") {
  const Program program = three_stages();
  CHECK(stuck(program, {{1, Doing::waiting_for_input, 2}}, {StageId{1}}) ==
        "no progress for 300 ms: stage 1 waits for the activation of 0F2 from stage 0");
}

TEST_CASE("A run is not stopped while one of its stages makes progress, or before any has begun", "[monitor]") {
  const Program program = three_stages();
  Monitor monitor{program, all_of(program), limit, forever, fail_test};
  std::this_thread::sleep_for(2 * limit);
  CHECK(!monitor.stopped());
  monitor.note(StageId{1}, Doing::waiting_for_input, 0);
  for (int i = 0; i < 50; ++i) { // the same again counts: task 0 of the next step
    monitor.note(StageId{0}, Doing::computing, 0);
    std::this_thread::sleep_for(5ms);
  }
  CHECK(!monitor.stopped());
  monitor.note(StageId{0}, Doing::nothing);
  monitor.note(StageId{1}, Doing::nothing);
  std::this_thread::sleep_for(2 * limit);
  CHECK(!monitor.stopped());
  CHECK(monitor.failure().empty());
}

TEST_CASE("The first reason to stop is kept", "[monitor]") {
  const Program program = three_stages();
  Monitor monitor{program, all_of(program), forever, forever, fail_test};
  CHECK(!monitor.stopped());
  std::vector<std::thread> threads;
  monitor.stop("stage 1: 1F0 failed");
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { monitor.stop("later"); });
  for (std::thread& thread : threads) thread.join();
  CHECK(monitor.stopped());
  CHECK(monitor.failure() == "stage 1: 1F0 failed");
}

TEST_CASE("A stage that does not end after a stop is reported, so that the process can be ended", "[monitor]") {
  const Program program = three_stages();
  std::atomic<int> calls{0};
  std::string told;
  std::atomic<bool> release{false};
  std::thread endless;
  {
    Monitor monitor{program, all_of(program), limit, 500ms, [&](const std::string& what) {
                      told = what;
                      ++calls;
                    }};
    monitor.note(StageId{0}, Doing::waiting_for_input, 3);
    monitor.note(StageId{1}, Doing::computing, 0);
    endless = std::thread{[&] {
      while (!release) std::this_thread::sleep_for(1ms);
    }};
    wait_until_stopped(monitor);
    monitor.note(StageId{0}, Doing::nothing); // this one has given up
    while (calls == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(60ms);
    release = true;
    endless.join();
  }
  CHECK(calls == 1);
  CHECK(told == "no progress for 300 ms: stage 1 computes 1F0; stage 0 waits for the gradient of 1B0 from stage 1; "
                "500 ms later: stage 1 computes 1F0");
}

TEST_CASE("Stages that end within the grace period are not reported, however long they were blocked", "[monitor]") {
  const Program program = three_stages();
  Monitor monitor{program, all_of(program), forever, 300ms, fail_test};
  monitor.note(StageId{0}, Doing::computing, 0);
  std::this_thread::sleep_for(350ms);
  monitor.stop("stage 1 failed");
  std::this_thread::sleep_for(20ms);
  monitor.note(StageId{0}, Doing::nothing);
  std::this_thread::sleep_for(350ms);
}

TEST_CASE("Of many stages only some are named", "[monitor]") {
  const Program program = compiled(generate("gpipe", {.stages = 20, .microbatches = 1}));
  std::vector<Note> notes;
  for (std::size_t stage = 0; stage < 20; ++stage) notes.push_back({stage, Doing::computing, 0});
  const std::string said = stuck(program, notes);
  CHECK(said.find("stage 15 computes 15F0; and 4 more stages") != std::string::npos);
  CHECK(said.find("stage 16") == std::string::npos);
}

} // namespace ppsim::test::monitor_test
