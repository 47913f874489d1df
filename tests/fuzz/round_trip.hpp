#pragma once
// Shared by both schedule fuzzers: round trips of an accepted file.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/operations/lowering.hpp"
#include "ppsim/report/report.hpp"
#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <chrono>
#include <cstdlib>
#include <string_view>

namespace ppsim::fuzz {

/// Stops the fuzzer. An assertion would throw, and a fuzzer must catch nothing but Error.
inline void require(bool condition) {
  if (!condition) std::abort();
}

/// Small enough to run thousands of times a second.
inline bool is_small(const Schedule& schedule) {
  return schedule.size() <= 2000 && schedule.shape().stages <= 64;
}

/// `written` must be readable, with the same schedule and, if `order` is given, these sends and receives.
inline void require_same(const Schedule& schedule, std::string_view written, std::string_view name,
                         const CommOrder* order = nullptr) {
  try {
    const Schedule again = traces::read_schedule(written, name).schedule;
    require(again == schedule);
    require((again.communications() == nullptr) == (order == nullptr || order->size() == 0));
    require(again.communications() == nullptr || *again.communications() == *order);
  } catch (const Error&) {
    require(false);
  }
}

/// Lowers and simulates the schedule, writes it in every possible format, and checks that it reads back unchanged.
inline void round_trip(const Schedule& schedule) {
  using namespace std::chrono_literals;
  require_same(schedule, traces::write_schedule_csv(schedule), "again.csv");
  const TaskGraph graph =
      lower(schedule, uniform_scenario(schedule.shape(), 3us, 5us, 1us), "fuzz"); // a deadlock ends here
  const Timeline timeline = simulate(graph);
  require(!traces::chrome_trace(graph, timeline, run_report(graph, timeline)).empty());
  if (const CommOrder* const order =
          schedule.communications()) { // each fits its tasks, but they may not fit each other
    check_operations(schedule, *order, "fuzz");
    require_same(schedule, traces::write_schedule_csv_comms(schedule, *order), "again.csv", order);
  }
  try {
    for (const Lowering* const lowering : lowerings()) {
      const CommOrder order = lowering->place(graph, Overlap::steady);
      check_operations(schedule, order, lowering->name);
      if (lowering->name != "megatron") // its waits cannot be written to cells
        require_same(schedule, traces::write_schedule_csv_comms(schedule, order), "again.csv", &order);
    }
  } catch (const Error&) {
    require(false); // lower() has accepted it, so it must finish
  }
  require_same(schedule, traces::write_task_list(graph), "again.tasks.csv"); // pairs and split backwards end here
}

/// Reads `text`; only Error may be thrown.
inline int read_and_round_trip(std::string_view text, std::string_view name) {
  try {
    const traces::ScheduleFile file = traces::read_schedule(text, name);
    if (is_small(file.schedule)) round_trip(file.schedule);
  } catch (const Error& error) {
    require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
  }
  return 0;
}

} // namespace ppsim::fuzz
