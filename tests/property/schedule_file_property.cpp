// Any valid schedule is written and read back unchanged, in every format that supports it.

#include "ppsim/base/error.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/place.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "support/lowered.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::schedule_file_property {

using namespace std::chrono_literals;

namespace {

std::size_t draw(std::size_t below) {
  return *rc::gen::inRange<std::size_t>(0, below);
}

/// The stage of a chunk for a microbatch: v chunks per stage in any order; if mirrored, the second half of the
/// microbatches runs on the stages counted from the other end, as in DualPipe.
struct Placement {
  std::vector<std::size_t> stage_of_chunk;
  Shape shape;
  bool mirrored = false;
  [[nodiscard]] std::size_t stage(const Task& task) const {
    const std::size_t stage = stage_of_chunk[task.chunk_index];
    return mirrored && 2 * index(task.microbatch) >= shape.microbatches ? shape.stages - 1 - stage : stage;
  }
};

Placement draw_placement() {
  Placement placement;
  placement.shape = {.stages = 1 + draw(4), .microbatches = 1 + draw(5), .vpp = 1 + draw(3)};
  placement.mirrored = draw(3) == 0;
  for (std::size_t chunk = 0; chunk < placement.shape.chunks(); ++chunk)
    placement.stage_of_chunk.push_back(chunk % placement.shape.stages);
  for (std::size_t left = placement.shape.chunks(); left > 1; --left)
    std::swap(placement.stage_of_chunk[left - 1], placement.stage_of_chunk[draw(left)]);
  return placement;
}

/// The passes of one microbatch in a valid order: forwards up, backwards down, W anywhere after its I.
std::vector<Task> draw_chain(const Shape& shape, std::size_t microbatch, bool may_split) {
  std::vector<Task> chain;
  for (std::size_t chunk = 0; chunk < shape.chunks(); ++chunk)
    chain.push_back(make_task(Pass::forward, chunk, microbatch));
  std::vector<Task> weight;
  for (std::size_t chunk = shape.chunks(); chunk-- > 0;) {
    const bool split = may_split && draw(2) == 0;
    chain.push_back(make_task(split ? Pass::input_grad : Pass::backward, chunk, microbatch));
    if (split) weight.push_back(make_task(Pass::weight_grad, chunk, microbatch));
    while (!weight.empty() && draw(2) == 0) {
      chain.push_back(weight.front());
      weight.erase(weight.begin());
    }
  }
  chain.insert(chain.end(), weight.begin(), weight.end());
  return chain;
}

/// A schedule without deadlock: the microbatches' chains interleaved, each task appended to its stage's row.
Schedule draw_schedule(bool may_split) {
  const Placement placement = draw_placement();
  std::vector<std::vector<Task>> chains;
  for (std::size_t microbatch = 0; microbatch < placement.shape.microbatches; ++microbatch)
    chains.push_back(draw_chain(placement.shape, microbatch, may_split));
  std::vector<std::vector<Task>> rows(placement.shape.stages);
  while (!chains.empty()) {
    const auto chain = chains.begin() + static_cast<std::ptrdiff_t>(draw(chains.size()));
    rows[placement.stage(chain->front())].push_back(chain->front());
    chain->erase(chain->begin());
    if (chain->empty()) chains.erase(chain);
  }
  ScheduleBuilder builder{"random", placement.shape};
  for (const std::vector<Task>& row : rows) {
    for (const Task& task : row) builder.add(task);
    builder.end_stage();
  }
  return builder.build();
}

/// The same with some adjacent forwards and backwards overlapped; these may wait for each other.
Schedule draw_paired_schedule() {
  const Schedule plain = draw_schedule(true);
  ScheduleBuilder builder{"random", plain.shape()};
  for (std::size_t stage = 0; stage < plain.shape().stages; ++stage) {
    std::vector<Task> row{plain.stage(make_id<StageId>(stage)).begin(), plain.stage(make_id<StageId>(stage)).end()};
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      const bool fits = (row[i].pass == Pass::forward && gives_gradient(row[i + 1].pass)) ||
                        (gives_gradient(row[i].pass) && row[i + 1].pass == Pass::forward);
      if (!fits || row[i].pairing != Pairing::alone || draw(2) == 0) continue;
      row[i].pairing = Pairing::first;
      row[i + 1].pairing = Pairing::second;
    }
    for (const Task& task : row) builder.add(task);
    builder.end_stage();
  }
  return builder.build();
}

TaskGraph graph_of(const Schedule& schedule) {
  return lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms, 300us));
}

Schedule read(const std::string& text, std::string_view name) {
  return traces::read_schedule(text, name).schedule;
}

} // namespace

TEST_CASE("A schedule written as CSV is read back unchanged") {
  rc::prop("with split backwards, pairs and any placement", [] {
    const Schedule schedule = draw_paired_schedule();
    RC_ASSERT(read(traces::write_schedule_csv(schedule), "s.csv") == schedule);
  });
}

TEST_CASE("A schedule without deadlock can be written with send and receive cells, and the reader accepts them") {
  // The reader checks each cell against the transfers, so a send that is missing, repeated or on the wrong side of its
  // task shows here.
  rc::prop("with split backwards and any placement", [] {
    const Schedule schedule = draw_schedule(true);
    RC_ASSERT(read(test::csv_with_operations(graph_of(schedule)), "s.csv") == schedule);
  });
  rc::prop("with pairs, where they do not wait for each other", [] {
    const Schedule schedule = draw_paired_schedule();
    try {
      const TaskGraph graph = graph_of(schedule);
      RC_ASSERT(read(test::csv_with_operations(graph), "s.csv") == schedule);
    } catch (const Error& error) {
      RC_ASSERT(error.code() == ExitCode::no);
      RC_ASSERT(error.problems().front().what.starts_with("deadlock")); // from lower(), not from the writer
    }
  });
}

TEST_CASE("A schedule of whole backwards written as a task list is read back unchanged") {
  rc::prop("with any placement", [] {
    const Schedule schedule = draw_schedule(false);
    RC_ASSERT(read(traces::write_task_list(graph_of(schedule)), "s.tasks.csv") == schedule);
  });
}

TEST_CASE("A truncated CSV is read or refused without a crash") {
  rc::prop("at any byte", [] {
    const Schedule schedule = draw_paired_schedule();
    const std::string text = traces::write_schedule_csv(schedule);
    const std::size_t length = draw(text.size());
    try {
      const Schedule shorter = read(text.substr(0, length), "s.csv"); // the rest may be a complete schedule
      RC_ASSERT(shorter.size() <= schedule.size());
    } catch (const Error& error) {
      RC_ASSERT(error.code() == ExitCode::bad_input);
    }
  });
}

} // namespace ppsim::test::schedule_file_property
