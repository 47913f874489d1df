// Links as stages of a synthesis, against all orders of tiny pipelines as the engine runs them.

#include "ppsim/base/error.hpp"
#include "ppsim/certificate/certificate.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/synthesize.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

namespace ppsim::test::synthesize_links_test {
namespace {

constexpr std::size_t tries = 90;
constexpr std::size_t most_orders = 2000;

/// All orders of the tasks of one stage that have each microbatch's tasks in the order of `tasks`, and each task by
/// rising microbatch.
class StageOrders {
public:
  StageOrders(std::vector<Task> tasks, std::size_t microbatches) : tasks_{std::move(tasks)}, next_(microbatches) {}

  std::vector<std::vector<Task>> all() && {
    extend();
    return std::move(found_);
  }

private:
  void extend() {
    if (order_.size() == tasks_.size() * next_.size()) return found_.push_back(order_);
    for (std::size_t j = 0; j < next_.size(); ++j) {
      if (next_[j] == tasks_.size() || (j > 0 && next_[j - 1] == next_[j])) continue;
      const Task& task = tasks_[next_[j]++];
      order_.push_back(make_task(task.pass, task.chunk_index, j));
      extend();
      order_.pop_back();
      --next_[j];
    }
  }

  std::vector<Task> tasks_;
  std::vector<std::size_t> next_; // by microbatch
  std::vector<Task> order_;
  std::vector<std::vector<Task>> found_;
};

std::vector<Task> tasks_of(std::span<const StageId> placement, StageId stage, std::span<const Pass> passes) {
  std::vector<Task> tasks;
  for (std::size_t chunk = 0; chunk < placement.size(); ++chunk)
    if (placement[chunk] == stage) tasks.push_back(make_task(Pass::forward, chunk, 0));
  for (std::size_t chunk = placement.size(); chunk-- > 0;)
    if (placement[chunk] == stage)
      for (const Pass pass : passes.subspan(1)) tasks.push_back(make_task(pass, chunk, 0));
  return tasks;
}

/// The makespan of `schedule` in the run `spec`; none if it deadlocks or holds more than `limit` activations.
std::optional<Duration> makespan_of(RunSpec spec, Schedule schedule, std::optional<std::size_t> limit) {
  spec.order = std::make_shared<GivenOrder>(GivenOrder{std::move(schedule), "trial", "", {}});
  try {
    const RunReport report = evaluate(spec).report;
    const bool fits = !limit || std::ranges::all_of(report.stages, [&](const StageReport& stage) {
      return stage.peak_live_activations <= *limit;
    });
    return fits ? std::optional{report.makespan} : std::nullopt;
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return std::nullopt;
  }
}

/// The least makespan of all orders; none if there are more than `most_orders`.
std::optional<Duration> least_of_all(const SynthesizedOrder& found, const Shape& shape,
                                     std::optional<std::size_t> limit, std::span<const Pass> passes) {
  const std::vector<StageId> placement = found.placement.place(shape);
  std::vector<std::vector<std::vector<Task>>> of_stage;
  std::size_t count = 1;
  for (const StageId stage : shape.stage_ids()) {
    of_stage.push_back(StageOrders{tasks_of(placement, stage, passes), shape.microbatches}.all());
    count *= of_stage.back().size();
  }
  if (count > most_orders) return std::nullopt;
  Duration least = Duration::max();
  for (std::size_t i = 0; i < count; ++i) {
    ScheduleBuilder builder{"trial", shape};
    std::size_t left = i;
    for (const auto& orders : of_stage) {
      for (const Task& task : orders[left % orders.size()]) builder.add(task);
      builder.end_stage();
      left /= orders.size();
    }
    if (const auto makespan = makespan_of(found.spec, builder.build(), limit)) least = std::min(least, *makespan);
  }
  return least;
}

class Draw {
public:
  explicit Draw(std::uint32_t seed) : random_{seed} {}
  std::size_t from(std::size_t low, std::size_t high) { return low + random_() % (high - low + 1); }
  Duration ms(std::size_t low, std::size_t high) {
    return Duration{1'000'000 * static_cast<std::int64_t>(from(low, high))};
  }

private:
  std::mt19937 random_;
};

} // namespace

TEST_CASE("No order that the engine runs with one transfer at a time per link beats the bound with links as stages") {
  constexpr std::array whole{Pass::forward, Pass::backward};
  constexpr std::array split{Pass::forward, Pass::input_grad, Pass::weight_grad};
  Draw draw{20261126};
  std::size_t tried = 0, above_latency = 0, exact = 0;
  for (std::size_t i = 0; i < tries; ++i) {
    const ChunkPlacement placement = find_chunk_placement(std::array{"linear", "v", "loop:2"}[i % 3]).value();
    const bool splits = placement.vpp == 1 && draw.from(0, 1) == 0;
    RunSpec spec;
    spec.stages = placement.vpp > 1 ? 2 : draw.from(2, 3);
    spec.microbatches = placement.vpp > 1 || splits ? 2 : draw.from(2, 3);
    spec.forward = {draw.ms(1, 4)};
    spec.input_grad = {draw.ms(1, 4)};
    spec.weight_grad = {draw.ms(1, 4)};
    spec.comm.emplace(); // also transfers that take no time, but wait
    for (std::size_t boundary = 0; boundary + 1 < *spec.stages * placement.vpp; ++boundary)
      spec.comm->push_back(draw.ms(0, 9));
    if (draw.from(0, 2) == 0) spec.stages_per_node = 1;
    if (draw.from(0, 1) == 0) spec.activation_limit = draw.from(placement.vpp, 2 * placement.vpp);
    spec.transfer = TransferModel::link;
    const SynthesisRequest request{.placements = {placement}, .splits_backward = splits, .effort = 1};
    const SynthesizedOrder found = synthesize(spec, request).orders.front();
    const Shape shape{.stages = *spec.stages, .microbatches = *spec.microbatches, .vpp = placement.vpp};
    const auto least = least_of_all(found, shape, spec.activation_limit, splits ? std::span<const Pass>{split} : whole);
    if (!least) continue;
    ++tried;
    INFO("input " << i << ", " << placement.name << ", " << *spec.stages << " stages, " << *spec.microbatches
                  << " microbatches, first transfers of " << spec.comm->front().count() << " ns");
    CHECK(found.bound <= *least);
    CHECK(found.length >= *least);
    CHECK(evaluate(found.spec).report.makespan == found.length);
    CHECK(check_certificate(certificate_of(found)).holds());
    if (found.best_named) {
      RunSpec named = spec;
      named.schedule = found.best_named->name;
      const Generator& generator = find_generator(*named.schedule);
      if (!generator.takes("activation-limit")) named.activation_limit.reset();
      if (placement.name == "loop:2") named.vpp = {placement.vpp};
      CHECK(evaluate(named).report.makespan == found.best_named->length);
    }
    spec.transfer = TransferModel::latency;
    above_latency += found.bound > synthesize(spec, request).orders.front().length ? 1 : 0;
    exact += found.bound == *least && found.length == *least ? 1 : 0;
  }
  INFO(tried << " tried, " << above_latency << " bounds above the best under latency, " << exact << " exact");
  CHECK(tried * 10 > tries * 9);
  CHECK(above_latency * 4 > tried);
  CHECK(exact * 10 > tried * 9);
}

} // namespace ppsim::test::synthesize_links_test
