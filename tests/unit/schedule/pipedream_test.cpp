// PipeDream: 1F1B without a flush, with and without replicas (Narayanan et al., SOSP 2019, arXiv 1806.03377).

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "support/lowered.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::pipedream_test {

using namespace std::chrono_literals;

namespace {

using Counts = std::vector<std::size_t>;

ScheduleRequest request(const Counts& replicas, std::size_t microbatches) {
  ScheduleRequest request{.shape = {.stages = 0, .microbatches = microbatches}};
  request.replicas = replicas;
  for (const std::size_t count : replicas) request.shape.stages += count;
  request.shape.shared = request.shape.stages - replicas.size();
  return request;
}

Schedule pipedream(const Counts& replicas, std::size_t microbatches) {
  return make_schedule(find_generator("pipedream"), request(replicas, microbatches));
}

/// A position with r replicas takes r times as long, so that all have as much to do.
Scenario balanced(const Shape& shape, const Counts& replicas) {
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms);
  for (std::size_t position = 0; position < replicas.size(); ++position)
    for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
      (*costs)[position] *= static_cast<std::int64_t>(replicas[position]);
  return scenario;
}

RunReport simulated(const Counts& replicas, std::size_t microbatches) {
  const Schedule schedule = pipedream(replicas, microbatches);
  return run(schedule, balanced(schedule.shape(), replicas)).report;
}

Counts most_in_flight(const Counts& replicas, std::size_t microbatches) {
  Counts live;
  for (const StageReport& stage : simulated(replicas, microbatches).stages) live.push_back(stage.peak_live_activations);
  return live;
}

Rows refusal(const ScheduleRequest& request) {
  return refusal_of([&] { (void)make_schedule(find_generator("pipedream"), request); }).lines;
}

} // namespace

TEST_CASE("PipeDream without replicas has the order of 1F1B, and no flush") {
  for (const std::size_t m : {1U, 3U, 8U}) {
    const Shape shape{.stages = 4, .microbatches = m};
    CHECK(generate("pipedream", shape) == generate("1f1b", shape));
    CHECK(generate("pipedream", shape).asynchronous());
    CHECK(!generate("1f1b", shape).asynchronous());
    CHECK(pipedream({1, 1, 1, 1}, m) == generate("pipedream", shape));
  }
}

TEST_CASE("Replicas take the microbatches of their position in turn") {
  CHECK(rows_of(pipedream({2, 1, 1}, 5)) == Rows{"0F0 0F2 0B0 0F4 0B2 0B4", "0F1 0F3 0B1 0B3",
                                                 "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1F4 1B3 1B4",
                                                 "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2F4 2B4"});
}

TEST_CASE("A position's chunk is placed on the first of its replicas") {
  const ScheduleRequest shared = request({2, 3, 1}, 6);
  CHECK(find_generator("pipedream").place(shared) == std::vector<StageId>{StageId{0}, StageId{2}, StageId{5}});
  CHECK(placement_of(pipedream({2, 3, 1}, 6)) == find_generator("pipedream").place(shared));
}

TEST_CASE("Without replicas stage s of PipeDream keeps p-s activations, and so p-s versions of its weights") {
  CHECK(most_in_flight({1, 1, 1, 1}, 12) == Counts{4, 3, 2, 1});
}

TEST_CASE("Each input replica keeps NOAM = ceil(workers / input replicas) active microbatches") {
  CHECK(most_in_flight({2, 1, 1}, 12) == Counts{2, 2, 2, 1});
  CHECK(most_in_flight({3, 1, 1, 1, 1}, 20) == Counts{3, 3, 3, 4, 3, 2, 1});
  CHECK(most_in_flight({4, 2, 1}, 24) == Counts{2, 2, 2, 2, 2, 2, 1});
}

TEST_CASE("If replicas do not divide the active microbatches further down, more than NOAM are needed") {
  // p = 4, NOAM = 4. The middle replicas run F for two time units and B for four, and the last stage comes between:
  // with 4 under way on the input stage one in three time units is lost.
  CHECK(most_in_flight({1, 2, 1}, 24) == Counts{5, 2, 2, 1});
  Rows rows(4);
  const auto add = [](std::string& row, std::size_t chunk, std::size_t share, const Counts& microbatches) {
    for (std::size_t turn = 0; turn < microbatches.size() + share - 1; ++turn) {
      if (turn < microbatches.size()) row += to_string(make_task(Pass::forward, chunk, microbatches[turn])) + " ";
      if (turn + 1 >= share) row += to_string(make_task(Pass::backward, chunk, microbatches[turn + 1 - share])) + " ";
    }
  };
  const auto makespan = [&](std::size_t m, std::size_t input_share) {
    Counts all;
    Counts even;
    Counts odd;
    for (std::size_t k = 0; k < m; ++k) {
      all.push_back(k);
      (k % 2 == 0 ? even : odd).push_back(k);
    }
    rows.assign(4, "");
    add(rows[0], 0, input_share, all);
    add(rows[1], 1, 2, even);
    add(rows[2], 1, 2, odd);
    add(rows[3], 2, 1, all);
    const Shape shape = request({1, 2, 1}, m).shape;
    ScheduleBuilder builder{"mine", shape};
    for (const std::string& text : rows) {
      for (const Task& task : row(text)) builder.add(task);
      builder.end_stage();
    }
    return run(builder.build(), balanced(shape, {1, 2, 1})).report.makespan;
  };
  CHECK(makespan(36, 4) - makespan(24, 4) == 12 * 3ms * 3 / 2);
  CHECK(makespan(36, 5) - makespan(24, 5) == 12 * 3ms);
}

TEST_CASE("PipeDream's steady state has no bubble if the positions are balanced") {
  for (const Counts& replicas : {Counts{1, 1, 1, 1}, Counts{2, 1, 1}, Counts{1, 2, 1}, Counts{3, 2}}) {
    const std::vector<StageReport> shorter = simulated(replicas, 24).stages;
    const std::vector<StageReport> longer = simulated(replicas, 36).stages;
    for (std::size_t stage = 0; stage < shorter.size(); ++stage)
      CHECK(longer[stage].extent.end - shorter[stage].extent.end == 12 * 3ms);
  }
}

TEST_CASE("A schedule with replicas reads back from its files as it was written") {
  for (const Counts& replicas : {Counts{2, 1, 1}, Counts{1, 3}, Counts{4}}) {
    const Schedule schedule = pipedream(replicas, 7);
    const TaskGraph graph = lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms));
    CHECK(traces::read_schedule(traces::write_schedule_csv(schedule), "s.csv").schedule == schedule);
    CHECK(traces::read_schedule(test::csv_with_operations(graph), "s.csv").schedule == schedule);
    CHECK(traces::read_schedule(traces::write_task_list(graph), "s.tasks.csv").schedule == schedule);
  }
}

TEST_CASE("Layers are split over the positions, and the last stage's are those of the last position") {
  const Shape shape = request({1, 2}, 4).shape;
  const auto layers = split_layers(shape, find_generator("pipedream").place(request({1, 2}, 4)), 10, {}, 3);
  CHECK(layers == Counts{7, 3});
}

TEST_CASE("Replicas that do not add up to the stages are refused") {
  const auto with = [](const Counts& replicas, std::size_t stages) {
    ScheduleRequest made = request(replicas, 8);
    made.shape.stages = stages;
    made.shape.shared = 0;
    return made;
  };
  CHECK(refusal(with({2, 1}, 4)) == Rows{"`replicas`: 2 + 1 are 3 stages, but there are 4 -- give numbers that add up "
                                         "to 4, or `stages` 3"});
  CHECK(refusal(with({0, 4}, 4)) ==
        Rows{"`replicas`: 0 stages at one position, but there are 4 -- give each position 1 to 4"});
  CHECK(refusal(with({~std::size_t{0}, 5}, 4)).size() == 2); // the sum would wrap around to 4
  CHECK(refusal(request({3, 1}, 2)) == Rows{"`mb`: 3 stages share a position, but there are 2 microbatches -- give at "
                                            "least 3, so that each has one"});
}

TEST_CASE("PipeDream's closed form is 1F1B's for the simulated microbatches, and none with replicas") {
  const auto form = [](const Counts& replicas) {
    const ScheduleRequest made = request(replicas, 8);
    return closed_form(find_generator("pipedream"), made, uniform_scenario(made.shape, 1ms, 2ms));
  };
  CHECK(form({1, 1, 1, 1})->value == 3.0 / 8.0);
  CHECK(!form({2, 1, 1}));
}

} // namespace ppsim::test::pipedream_test
