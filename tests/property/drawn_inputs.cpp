// The random orders, costs and networks of drawn_inputs.hpp.

#include "property/drawn_inputs.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/study/place.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test {

std::size_t draw(std::size_t low, std::size_t high) {
  return *rc::gen::inRange<std::size_t>(low, high + 1);
}
bool one_in(std::size_t n) {
  return draw(1, n) == 1;
}
Duration draw_time(std::size_t high) {
  return draw_time(0, high);
}
Duration draw_time(std::size_t low, std::size_t high) {
  return Duration{number(draw(low, high))};
}

namespace {

/// The stage of a chunk for a microbatch: v chunks per stage in any order; if mirrored, the second half of the
/// microbatches runs on the stages counted from the other end, as in DualPipe.
struct Placement {
  Shape shape;
  std::vector<std::size_t> stage_of_chunk;
  bool mirrored = false;
  [[nodiscard]] std::size_t stage(std::size_t chunk, std::size_t microbatch) const {
    const std::size_t stage = stage_of_chunk[chunk];
    return mirrored && 2 * microbatch >= shape.microbatches ? shape.stages - 1 - stage : stage;
  }
};

Placement draw_placement() {
  Placement placement;
  placement.shape = {.stages = draw(1, 4), .microbatches = draw(1, 5), .vpp = draw(1, 3)};
  placement.mirrored = one_in(4);
  for (std::size_t chunk = 0; chunk < placement.shape.chunks(); ++chunk)
    placement.stage_of_chunk.push_back(chunk % placement.shape.stages);
  if (one_in(2))
    for (std::size_t left = placement.shape.chunks(); left > 1; --left)
      std::swap(placement.stage_of_chunk[left - 1], placement.stage_of_chunk[draw(0, left - 1)]);
  return placement;
}

/// The remaining and the finished passes of one chunk and microbatch.
struct Progress {
  bool split = false;
  bool forward = false;
  bool gradient = false;
  bool weight = false;
};

/// Runs random ready tasks until all have run: the resulting rows cannot deadlock.
class RandomDispatch {
public:
  explicit RandomDispatch(const Placement& placement)
      : placement_{placement}, shape_{placement.shape}, progress_(shape_.chunks() * shape_.microbatches) {
    for (Progress& progress : progress_) progress.split = one_in(3);
  }

  std::vector<std::vector<Task>> rows() {
    std::vector<std::vector<Task>> rows(shape_.stages);
    for (std::vector<Task> ready = candidates(); !ready.empty(); ready = candidates()) {
      const Task task = ready[draw(0, ready.size() - 1)];
      Progress& progress = at(task.chunk_index, index(task.microbatch));
      progress.forward = true;
      progress.gradient = progress.gradient || gives_gradient(task.pass);
      progress.weight = progress.weight || frees_activation(task.pass);
      rows[placement_.stage(task.chunk_index, index(task.microbatch))].push_back(task);
    }
    return rows;
  }

private:
  Progress& at(std::size_t chunk, std::size_t microbatch) {
    return progress_[chunk * shape_.microbatches + microbatch];
  }

  std::vector<Task> candidates() {
    std::vector<Task> tasks;
    for (std::size_t chunk = 0; chunk < shape_.chunks(); ++chunk)
      for (std::size_t microbatch = 0; microbatch < shape_.microbatches; ++microbatch) {
        const Progress& own = at(chunk, microbatch);
        const bool last = chunk + 1 == shape_.chunks();
        if (!own.forward && (chunk == 0 || at(chunk - 1, microbatch).forward))
          tasks.push_back(make_task(Pass::forward, chunk, microbatch));
        else if (own.forward && !own.gradient && (last || at(chunk + 1, microbatch).gradient))
          tasks.push_back(make_task(own.split ? Pass::input_grad : Pass::backward, chunk, microbatch));
        else if (own.gradient && !own.weight)
          tasks.push_back(make_task(Pass::weight_grad, chunk, microbatch));
      }
    return tasks;
  }

  const Placement& placement_;
  Shape shape_;
  std::vector<Progress> progress_;
};

Schedule schedule_of(const Shape& shape, const std::vector<std::vector<Task>>& rows) {
  ScheduleBuilder builder{"random", shape};
  for (const std::vector<Task>& row : rows) {
    for (const Task& task : row) builder.add(task);
    builder.end_stage();
  }
  return builder.build();
}

/// Makes pairs of some adjacent forwards and backwards.
void draw_pairs(std::vector<Task>& row) {
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    const bool fits = (row[i].pass == Pass::forward) != (row[i + 1].pass == Pass::forward) &&
                      row[i].pass != Pass::weight_grad && row[i + 1].pass != Pass::weight_grad;
    if (!fits || row[i].pairing != Pairing::alone || !one_in(2)) continue;
    row[i].pairing = Pairing::first;
    row[i + 1].pairing = Pairing::second;
  }
}

} // namespace

bool runs(const Schedule& schedule) {
  try {
    static_cast<void>(lower(schedule, uniform_scenario(schedule.shape(), Duration{1}, Duration{2})));
    return true;
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ExitCode::no);
    return false;
  }
}

namespace {

Schedule draw_random_order(bool may_pair) {
  const Placement placement = draw_placement();
  std::vector<std::vector<Task>> rows = RandomDispatch{placement}.rows();
  const Schedule plain = schedule_of(placement.shape, rows);
  RC_ASSERT(runs(plain));
  if (!may_pair || !one_in(2)) return plain;
  for (std::vector<Task>& row : rows) draw_pairs(row);
  const Schedule paired = schedule_of(placement.shape, rows);
  return runs(paired) ? paired : plain; // pairs may wait for each other
}

} // namespace

ScheduleRequest draw_request(const Generator& generator) {
  ScheduleRequest request;
  for (int tries = 0; tries < 30; ++tries) { // many shapes are refused (odd p, m below 2p, ...)
    const std::size_t multiple = generator.vpp.multiple;
    request.shape = {.stages = draw(1, 6),
                     .microbatches = draw(1, 12),
                     .vpp = multiple == 0 ? generator.vpp.standard : multiple * draw(1, 3)};
    try {
      check_request(generator, request);
      return request;
    } catch (const Error&) {
    }
  }
  request.shape = {.stages = 4, .microbatches = 8, .vpp = generator.vpp.standard}; // every schedule takes it
  return request;
}

namespace {

Schedule draw_generated() {
  const auto all = generators();
  const Generator& generator = *all[draw(0, all.size() - 1)];
  ScheduleRequest request = draw_request(generator);
  if (generator.options == "gpipe-backward") request.descending_backward = one_in(2);
  return make_schedule(generator, request);
}

/// The same order without pairs.
Schedule without_pairs(const Schedule& schedule) {
  std::vector<std::vector<Task>> rows;
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    const auto tasks = schedule.stage(make_id<StageId>(stage));
    rows.emplace_back(tasks.begin(), tasks.end());
    for (Task& task : rows.back()) task.pairing = Pairing::alone;
  }
  return schedule_of(schedule.shape(), rows);
}

} // namespace

Schedule draw_order(bool may_pair) {
  Schedule schedule = one_in(3) ? draw_generated() : draw_random_order(may_pair);
  if (!may_pair) schedule = without_pairs(schedule);
  return one_in(8) ? schedule.forwards() : schedule;
}

namespace {

Bytes draw_bytes(Bytes low, Bytes high) {
  return Bytes{
      static_cast<std::int64_t>(draw(static_cast<std::size_t>(low.count()), static_cast<std::size_t>(high.count())))};
}

/// Activations that include their chunk's output, their parts, and the recomputed part.
void draw_memory(Scenario& scenario) {
  Memory& memory = scenario.memory;
  memory.release_outputs = one_in(3);
  if (one_in(3)) {
    scenario.recompute.kind = one_in(2) ? RecomputeKind::full : RecomputeKind::selective;
    scenario.recompute.microbatches_without = draw(0, 3);
  }
  for (std::size_t chunk = 0; chunk < scenario.shape.chunks(); ++chunk) {
    const bool last = chunk + 1 == scenario.shape.chunks();
    const Bytes output = last ? Bytes{} : scenario.network.boundary_bytes[chunk];
    memory.activation[chunk] = draw_bytes(output, output + Bytes{9});
    memory.activation_for_weight[chunk] = draw_bytes(Bytes{}, memory.activation[chunk]);
    if (!scenario.recompute.is_on()) continue;
    scenario.recompute.time.push_back(draw_time(20));
    scenario.recompute.checkpoint.push_back(draw_bytes(output, memory.activation[chunk]));
  }
}

/// Times per task, none below its collective; mostly empty, because all are equal.
std::vector<Duration> draw_by_microbatch(const Shape& shape, const std::vector<Duration>& collective) {
  std::vector<Duration> times;
  if (!one_in(3)) return times;
  for (std::size_t chunk = 0; chunk < shape.chunks(); ++chunk)
    for (std::size_t microbatch = 0; microbatch < shape.microbatches; ++microbatch)
      times.push_back((collective.empty() ? zero : collective[chunk]) + draw_time(20));
  return times;
}

/// Different microbatches, stages and one link. Times above zero stay above zero.
void draw_uneven(Scenario& scenario) {
  const Shape& shape = scenario.shape;
  Costs& costs = scenario.costs;
  costs.forward_by_microbatch = draw_by_microbatch(shape, costs.forward_collective);
  costs.input_grad_by_microbatch = draw_by_microbatch(shape, costs.input_grad_collective);
  costs.weight_grad_by_microbatch = draw_by_microbatch(shape, {});
  if (one_in(2))
    for (std::size_t stage = 0; stage < shape.stages; ++stage)
      costs.stage_ppm.push_back(number(draw(500'000, 3'000'000)));
  if (shape.stages == 1 || one_in(2)) return;
  for (std::size_t links = draw(1, 3); links > 0; --links) {
    const std::size_t stage = draw(0, shape.stages - 1);
    const std::size_t other = (stage + draw(1, shape.stages - 1)) % shape.stages;
    scenario.network.slow_link(make_id<StageId>(stage), make_id<StageId>(other), number(draw(500'000, 3'000'000)));
  }
}

} // namespace

Scenario draw_unequal(const Shape& shape) {
  Scenario scenario = uniform_scenario(shape, Duration{1}, Duration{2});
  for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
    for (Duration& cost : *costs) cost = Duration{number(draw(0, 20))};
  for (Duration& latency : scenario.network.latency) latency = Duration{number(draw(0, 8))};
  return scenario;
}

Update draw_update(const Shape& shape) {
  Update update;
  if (one_in(2)) {
    update.reduce.resize(shape.chunks());
    for (Duration& time : update.reduce) time = draw_time(40);
  }
  if (one_in(2)) {
    update.optimizer.resize(shape.chunks());
    for (Duration& time : update.optimizer) time = draw_time(10);
  }
  if (one_in(2)) update.tied_embedding_reduce = draw_time(20);
  update.step = one_in(2) ? OptimizerStep::synchronous : OptimizerStep::per_stage;
  return update;
}

void lengthen_tasks(Scenario& scenario) {
  Costs& costs = scenario.costs;
  for (auto* times : {&costs.forward, &costs.input_grad, &costs.weight_grad, &costs.forward_by_microbatch,
                      &costs.input_grad_by_microbatch, &costs.weight_grad_by_microbatch})
    for (Duration& time : *times) time += Duration{1};
}

Scenario draw_scenario(const Shape& shape, TransferModel model) {
  Scenario scenario = uniform_scenario(shape, zero, zero);
  for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
    for (Duration& cost : *costs) cost = draw_time(20);
  if (one_in(4)) scenario.costs.overhead = draw_time(5);
  Network& network = scenario.network;
  network.model = model;
  for (Duration& latency : network.latency) latency = draw_time(10);
  if (one_in(2)) {
    network.bandwidth = Bandwidth{static_cast<std::int64_t>(draw(1, 10)) * 1'000'000'000};
    for (Bytes& bytes : network.boundary_bytes) bytes = Bytes{static_cast<std::int64_t>(draw(0, 60))};
  }
  if (one_in(2)) {
    network.stages_per_node = draw(1, 3);
    if (one_in(2)) network.inter_node_latency = draw_time(20);
    if (network.bandwidth && one_in(2)) network.inter_node_bandwidth = Bandwidth{1'500'000'000};
  }
  const std::size_t rule = draw(0, 4);
  if (one_in(2))
    for (auto [part, whole] : {std::pair{&scenario.costs.forward_collective, &scenario.costs.forward},
                               std::pair{&scenario.costs.input_grad_collective, &scenario.costs.input_grad}})
      for (const Duration& cost : *whole) part->push_back(draw_time(static_cast<std::size_t>(cost.count())));
  scenario.pair.kind = static_cast<PairRule::Kind>(rule);
  if (scenario.pair.kind == PairRule::Kind::factor)
    scenario.pair.factor_ppm = static_cast<std::int64_t>(draw(1, 2'000'000));
  if (one_in(2)) draw_uneven(scenario);
  draw_memory(scenario);
  return scenario;
}

std::optional<Outcome> try_run(const Schedule& schedule, const Scenario& scenario) {
  try {
    return run(schedule, scenario);
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ExitCode::no);
    RC_ASSERT(scenario.network.model == TransferModel::blocking);
    return std::nullopt;
  }
}

TransferModel draw_model() {
  return static_cast<TransferModel>(draw(0, 2));
}

} // namespace ppsim::test
