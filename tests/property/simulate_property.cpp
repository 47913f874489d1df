// What holds for every order, every cost and every network: the simulation, its accounts and each schedule's own
// promise.

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/generators.hpp"
#include "ppsim/sim/report.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <rapidcheck.h>

using namespace ppsim;

namespace {

constexpr Duration zero{0};

std::size_t draw(std::size_t low, std::size_t high) {
  return *rc::gen::inRange<std::size_t>(low, high + 1);
}
bool one_in(std::size_t n) {
  return draw(1, n) == 1;
}
Duration draw_time(std::size_t high) {
  return Duration{static_cast<std::int64_t>(draw(0, high))};
}

// ---- Random orders, costs and networks

/// Which stage runs a chunk for a microbatch: v chunks per stage in any order; if mirrored, the second half of the
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

/// What is still to run of one chunk and microbatch, and what has run.
struct Progress {
  bool split = false;
  bool forward = false;
  bool gradient = false;
  bool weight = false;
};

/// Runs whatever could run next, drawn at random, until all has run: the rows that this leaves can not deadlock.
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
  ScheduleBuilder builder{"random", shape, 0};
  for (const std::vector<Task>& row : rows) {
    for (const Task& task : row) builder.add(task);
    builder.end_stage();
  }
  return builder.build();
}

/// Makes pairs of some neighbours, a forward and a backward.
void draw_pairs(std::vector<Task>& row) {
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    const bool fits = (row[i].pass == Pass::forward) != (row[i + 1].pass == Pass::forward) &&
                      row[i].pass != Pass::weight_grad && row[i + 1].pass != Pass::weight_grad;
    if (!fits || row[i].pairing != Pairing::alone || !one_in(2)) continue;
    row[i].pairing = Pairing::first;
    row[i + 1].pairing = Pairing::second;
  }
}

bool runs(const Schedule& schedule) {
  try {
    static_cast<void>(lower(schedule, uniform_scenario(schedule.shape(), Duration{1}, Duration{2})));
    return true;
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ExitCode::no);
    return false;
  }
}

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

/// A request that the generator takes; many shapes are refused (odd p, m below 2p, ...), so some are tried.
ScheduleRequest draw_request(const Generator& generator) {
  ScheduleRequest request;
  for (int tries = 0; tries < 30; ++tries) {
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

Schedule draw_generated() {
  const auto all = generators();
  const Generator& generator = *all[draw(0, all.size() - 1)];
  ScheduleRequest request = draw_request(generator);
  if (generator.options == "gpipe-backward") request.descending_backward = one_in(2);
  return make_schedule(generator, request);
}

/// The same order, each half of a pair on its own.
Schedule without_pairs(const Schedule& schedule) {
  std::vector<std::vector<Task>> rows;
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    const auto tasks = schedule.stage(make_id<StageId>(stage));
    rows.emplace_back(tasks.begin(), tasks.end());
    for (Task& task : rows.back()) task.pairing = Pairing::alone;
  }
  return schedule_of(schedule.shape(), rows);
}

Schedule draw_order(bool may_pair = true) {
  Schedule schedule = one_in(3) ? draw_generated() : draw_random_order(may_pair);
  if (!may_pair) schedule = without_pairs(schedule);
  return one_in(8) ? schedule.forwards() : schedule;
}

Bytes draw_bytes(Bytes low, Bytes high) {
  return Bytes{
      static_cast<std::int64_t>(draw(static_cast<std::size_t>(low.count()), static_cast<std::size_t>(high.count())))};
}

/// Activations that hold their chunk's output, their parts, and what of them is recomputed.
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

Scenario draw_scenario(const Shape& shape, TransferModel model = TransferModel::latency) {
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
  draw_memory(scenario);
  return scenario;
}

struct Outcome {
  TaskGraph graph;
  Timeline timeline;
  Report report;
};

Outcome run(const Schedule& schedule, const Scenario& scenario) {
  TaskGraph graph = lower(schedule, scenario);
  Timeline timeline = simulate(graph);
  Report report = analyse(graph, timeline);
  return {std::move(graph), std::move(timeline), std::move(report)};
}

/// Under `blocking` many orders deadlock; nothing then.
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

// ---- The naive model: a cursor per stage and a table of what is done, no graph

/// Whether the activation that `task` makes or uses is recomputed: of every w+1 forwards of its stage, w being those
/// before the first pair, the first few are not.
bool naive_recomputed(const Schedule& schedule, const Scenario& scenario, const Task& task) {
  if (!scenario.recompute.is_on() || schedule.forward_only()) return false;
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    std::vector<Task> forwards;
    std::optional<std::size_t> before_backward;
    for (const Task& other : schedule.stage(make_id<StageId>(stage)))
      if (other.pass == Pass::forward)
        forwards.push_back(other);
      else if (!before_backward)
        before_backward = forwards.size();
    const auto found = std::ranges::find_if(forwards, [&](const Task& other) {
      return other.chunk_index == task.chunk_index && other.microbatch == task.microbatch;
    });
    if (found == forwards.end()) continue;
    std::size_t warmup = before_backward.value_or(forwards.size());
    if (warmup < forwards.size()) --warmup;
    warmup = schedule.warmup_forwards(make_id<StageId>(stage)).value_or(warmup);
    const auto position = static_cast<std::size_t>(found - forwards.begin());
    return position % (warmup + 1) >= scenario.recompute.microbatches_without;
  }
  return false;
}

Duration naive_recompute_time(const Schedule& schedule, const Scenario& scenario, const Task& task) {
  return gives_gradient(task.pass) && naive_recomputed(schedule, scenario, task)
             ? scenario.recompute.time[task.chunk_index]
             : zero;
}

Duration naive_cost(const Schedule& schedule, const Scenario& scenario, const Task& task) {
  const Costs& costs = scenario.costs;
  const std::size_t chunk = task.chunk_index;
  const Duration input = task.pass == Pass::weight_grad ? zero : costs.input_grad[chunk];
  const Duration weight = task.pass == Pass::input_grad ? zero : costs.weight_grad[chunk];
  return (task.pass == Pass::forward ? costs.forward[chunk] : input + weight) + costs.overhead +
         naive_recompute_time(schedule, scenario, task);
}

/// latency + bytes / bandwidth, rounded up, in plain arithmetic.
Duration naive_transfer(const Network& network, std::size_t boundary, std::size_t from, std::size_t to) {
  if (from == to) return zero;
  const bool apart = network.stages_per_node > 0 && from / network.stages_per_node != to / network.stages_per_node;
  const Duration latency =
      apart && network.inter_node_latency ? *network.inter_node_latency : network.latency[boundary];
  const auto bandwidth = apart && network.inter_node_bandwidth ? network.inter_node_bandwidth : network.bandwidth;
  if (!bandwidth) return latency;
  const std::int64_t scaled = network.boundary_bytes[boundary].count() * 1'000'000'000;
  return latency +
         Duration{scaled / bandwidth->bytes_per_second() + (scaled % bandwidth->bytes_per_second() != 0 ? 1 : 0)};
}

/// The result of a pass: activation (F), gradient (B, I), weight gradient (B, W).
enum class Output { activation, gradient, weight };
using Result = std::tuple<Output, std::size_t, std::size_t>;

/// What one task waited for besides its stage: its sender's end and the arrival.
struct DataWait {
  SimTime sent{};
  SimTime arrived{};
  bool from_upstream = false;
  bool transferred = false;
};

class NaiveSimulation {
public:
  NaiveSimulation(const Schedule& schedule, const Scenario& scenario) : schedule_{schedule}, scenario_{scenario} {
    spans.resize(schedule.size());
    waits.resize(schedule.size());
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage)
      for (const Task& task : schedule.stage(make_id<StageId>(stage)))
        stage_of_[{task.chunk_index, index(task.microbatch)}] = stage;
    std::vector<std::size_t> cursor(schedule.shape().stages);
    std::vector<SimTime> free(schedule.shape().stages);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t stage = 0; stage < cursor.size(); ++stage)
        while (run_slot(stage, cursor[stage], free[stage])) progress = true;
    }
  }

  std::vector<Span> spans;
  std::vector<std::optional<DataWait>> waits; ///< by task; the input from another chunk

private:
  /// When the task's inputs are there; nothing while one has not been made.
  std::optional<SimTime> inputs(const Task& task, std::size_t id) {
    const std::size_t chunk = task.chunk_index;
    const std::size_t microbatch = index(task.microbatch);
    const auto made = [&](Output output, std::size_t of) -> std::optional<SimTime> {
      const auto found = done_.find({output, of, microbatch});
      return found == done_.end() ? std::nullopt : std::optional{found->second};
    };
    if (task.pass == Pass::weight_grad) return made(Output::gradient, chunk);
    const bool forward = task.pass == Pass::forward;
    SimTime ready{};
    if (!forward) {
      const auto own = made(Output::activation, chunk);
      if (!own) return std::nullopt;
      ready = *own;
    }
    if (forward ? chunk == 0 : chunk + 1 == schedule_.shape().chunks()) return ready;
    const std::size_t other = forward ? chunk - 1 : chunk + 1;
    const auto sent = made(forward ? Output::activation : Output::gradient, other);
    if (!sent) return std::nullopt;
    const std::size_t here = stage_of_.at({chunk, microbatch});
    const std::size_t there = stage_of_.at({other, microbatch});
    const SimTime arrived = *sent + naive_transfer(scenario_.network, std::min(chunk, other), there, here);
    waits[id] = DataWait{*sent, arrived, forward, here != there};
    return std::max(ready, arrived);
  }

  void finish(const Task& task, SimTime end) {
    const std::size_t chunk = task.chunk_index;
    const std::size_t microbatch = index(task.microbatch);
    if (task.pass == Pass::forward) done_[{Output::activation, chunk, microbatch}] = end;
    if (gives_gradient(task.pass)) done_[{Output::gradient, chunk, microbatch}] = end;
  }

  bool run_slot(std::size_t stage, std::size_t& cursor, SimTime& free) {
    const auto tasks = schedule_.stage(make_id<StageId>(stage));
    if (cursor == tasks.size()) return false;
    const std::size_t first = index(schedule_.first_task(make_id<StageId>(stage))) + cursor;
    const Task& task = tasks[cursor];
    const auto ready = inputs(task, first);
    if (!ready) return false;
    SimTime start = std::max(free, *ready);
    if (task.pairing == Pairing::alone) {
      spans[first] = {start, start + naive_cost(schedule_, scenario_, task)};
      cursor += 1;
    } else {
      const Task& other = tasks[cursor + 1];
      const auto other_ready = inputs(other, first + 1);
      if (!other_ready) return false;
      start = std::max(start, *other_ready);
      run_pair(first, start, task, other);
      finish(other, spans[first + 1].end);
      cursor += 2;
    }
    finish(task, spans[first].end);
    free = task.pairing == Pairing::alone ? spans[first].end : spans[first + 1].end;
    return true;
  }

  [[nodiscard]] Duration collective(const Task& task) const {
    const Costs& costs = scenario_.costs;
    const auto& part = task.pass == Pass::forward ? costs.forward_collective : costs.input_grad_collective;
    return part.empty() ? zero : part[task.chunk_index];
  }

  void run_pair(std::size_t first, SimTime start, const Task& one, const Task& other) {
    const Duration a = naive_cost(schedule_, scenario_, one);
    const Duration b = naive_cost(schedule_, scenario_, other);
    spans[first] = {start, start + a};
    spans[first + 1] = {start + a, start + a + b};
    if (scenario_.pair.kind == PairRule::Kind::serial) return;
    Duration length = a + b;
    if (scenario_.pair.kind == PairRule::Kind::max) length = std::max(a, b);
    if (scenario_.pair.kind == PairRule::Kind::hide) { // a device and its network, each one thing at a time
      const Duration moves = collective(one) + collective(other);
      length = std::max(std::max(a, b), std::max(moves, a + b - moves));
    }
    if (scenario_.pair.kind == PairRule::Kind::factor)
      length = Duration{(length.count() * scenario_.pair.factor_ppm + 500'000) / 1'000'000};
    spans[first] = spans[first + 1] = {start, start + length};
  }

  const Schedule& schedule_;
  const Scenario& scenario_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> stage_of_;
  std::map<Result, SimTime> done_;
};

/// `blocking` without pairs, by going round until nothing more is known: batch i of a stage holds the sends of its task
/// i-1 and the receives of its task i, and is posted when task i-1 ends.
class NaiveBlocking {
public:
  NaiveBlocking(const Schedule& schedule, const Scenario& scenario) : schedule_{schedule}, scenario_{scenario} {
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
      posted_.emplace_back(schedule.stage(make_id<StageId>(stage)).size() + 1);
      posted_.back().front() = SimTime{};
    }
    list_transfers();
    for (bool progress = true; progress;) {
      progress = run_transfers();
      for (std::size_t stage = 0; stage < posted_.size(); ++stage)
        for (std::size_t batch = 0; batch + 1 < posted_[stage].size(); ++batch)
          progress = run_task(stage, batch) || progress;
    }
  }

  /// The task's end, where it came to run. All tasks and transfers did unless the order deadlocks.
  [[nodiscard]] std::optional<SimTime> end(std::size_t stage, std::size_t task) const {
    return posted_[stage][task + 1];
  }
  [[nodiscard]] bool deadlocks() const {
    return std::ranges::any_of(transfers_, [](const Transfer& transfer) { return !transfer.end; }) ||
           std::ranges::any_of(posted_, [](const auto& batches) { return !batches.back(); });
  }

private:
  struct Place {
    std::size_t stage = 0;
    std::size_t batch = 0;
    bool operator==(const Place&) const = default;
  };
  struct Transfer {
    Place sent, received;
    Duration length{};
    std::optional<SimTime> end;
  };

  void list_transfers() {
    std::map<Result, std::pair<Place, std::size_t>> made; // by what is received: where it is sent, over which boundary
    const auto each_task = [&](auto visit) {
      for (std::size_t stage = 0; stage < posted_.size(); ++stage) {
        std::size_t position = 0;
        for (const Task& task : schedule_.stage(make_id<StageId>(stage))) visit(task, Place{stage, position++});
      }
    };
    each_task([&](const Task& task, Place place) {
      const std::size_t chunk = task.chunk_index;
      const Place sent{place.stage, place.batch + 1};
      if (task.pass == Pass::forward) made[{Output::activation, chunk + 1, index(task.microbatch)}] = {sent, chunk};
      if (gives_gradient(task.pass) && chunk > 0)
        made[{Output::gradient, chunk - 1, index(task.microbatch)}] = {sent, chunk - 1};
    });
    each_task([&](const Task& task, Place place) {
      if (task.pass == Pass::weight_grad) return;
      const Output output = task.pass == Pass::forward ? Output::activation : Output::gradient;
      const auto found = made.find({output, task.chunk_index, index(task.microbatch)});
      if (found == made.end() || found->second.first.stage == place.stage) return;
      const auto [sent, boundary] = found->second;
      transfers_.push_back({sent, place, naive_transfer(scenario_.network, boundary, sent.stage, place.stage), {}});
    });
  }

  bool run_transfers() {
    bool progress = false;
    for (Transfer& transfer : transfers_) {
      const auto sent = posted_[transfer.sent.stage][transfer.sent.batch];
      const auto received = posted_[transfer.received.stage][transfer.received.batch];
      if (transfer.end || !sent || !received) continue;
      transfer.end = std::max(*sent, *received) + transfer.length;
      progress = true;
    }
    return progress;
  }

  bool run_task(std::size_t stage, std::size_t batch) {
    if (!posted_[stage][batch] || posted_[stage][batch + 1]) return false;
    SimTime start = *posted_[stage][batch];
    for (const Transfer& transfer : transfers_) {
      if (transfer.sent != Place{stage, batch} && transfer.received != Place{stage, batch}) continue;
      if (!transfer.end) return false;
      start = std::max(start, *transfer.end);
    }
    posted_[stage][batch + 1] =
        start + naive_cost(schedule_, scenario_, schedule_.stage(make_id<StageId>(stage))[batch]);
    return true;
  }

  const Schedule& schedule_;
  const Scenario& scenario_;
  std::vector<std::vector<std::optional<SimTime>>> posted_; ///< by stage and batch; also the end of the task before
  std::vector<Transfer> transfers_;
};

// ---- What the properties look at

Duration sum(const std::vector<Duration>& values) {
  return std::accumulate(values.begin(), values.end(), zero);
}

/// The directed link, or the node's uplink, that a sender's transfer takes.
std::pair<std::size_t, std::size_t> link_of(const TaskGraph& graph, TaskId sender) {
  const Network& network = graph.scenario().network;
  const std::size_t from = index(graph.schedule().stage_of(sender));
  const std::size_t to = index(graph.schedule().stage_of(*graph.receiver(sender)));
  if (network.stages_per_node == 0 || from / network.stages_per_node == to / network.stages_per_node) return {from, to};
  return {1'000'000 + from / network.stages_per_node, 0};
}

/// Whether, under `latency`, some transfer would start while another is on the same link.
bool transfers_meet(const Outcome& outcome) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::pair<SimTime, SimTime>>> links;
  for (std::size_t id = 0; id < outcome.graph.size(); ++id) {
    const TaskId sender = make_id<TaskId>(id);
    if (!outcome.graph.receiver(sender)) continue;
    const Span span = outcome.timeline.transfers[id];
    links[link_of(outcome.graph, sender)].emplace_back(span.start, span.end);
  }
  for (auto& [link, spans] : links) {
    // By start; equal starts keep the order of ids, in which the link serves them.
    std::ranges::stable_sort(spans, {}, [](const auto& span) { return span.first; });
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (spans[i].first < spans[i - 1].second) return true;
  }
  return false;
}

bool tasks_equal(const Timeline& a, const Timeline& b) {
  return a.tasks == b.tasks && a.transfers == b.transfers && a.released_by == b.released_by && a.cause == b.cause &&
         a.transfer_released_by == b.transfer_released_by;
}

bool none_earlier(const Timeline& timeline, const Timeline& reference) {
  for (std::size_t id = 0; id < timeline.tasks.size(); ++id)
    if (timeline.tasks[id].start < reference.tasks[id].start) return false;
  return true;
}

/// No task of `stage` starts before the one before it has ended, halves of a pair aside.
void check_one_at_a_time(const Outcome& outcome, std::size_t stage) {
  const auto tasks = outcome.graph.schedule().stage(make_id<StageId>(stage));
  const std::size_t first = index(outcome.graph.schedule().first_task(make_id<StageId>(stage)));
  const bool in_one_piece = outcome.graph.scenario().pair.kind != PairRule::Kind::serial;
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    const Span before = outcome.timeline.tasks[first + i - 1];
    const Span here = outcome.timeline.tasks[first + i];
    if (tasks[i].pairing == Pairing::second && in_one_piece)
      RC_ASSERT(here == before);
    else
      RC_ASSERT(here.start >= before.end);
  }
}

void check_account(const Outcome& outcome, std::size_t stage) {
  std::array<Duration, label_count> time{};
  SimTime now{};
  for (const LabelledSpan& span :
       account(outcome.graph, outcome.timeline, make_id<StageId>(stage), SimTime{outcome.report.makespan})) {
    RC_ASSERT(span.span.start == now);
    RC_ASSERT(span.span.end >= now);
    now = span.span.end;
    time[static_cast<std::size_t>(span.label)] += span.span.length();
  }
  const StageReport& report = outcome.report.stages[stage];
  RC_ASSERT(now == SimTime{outcome.report.makespan});
  RC_ASSERT(time == report.time);
  RC_ASSERT(report.busy + report.idle == outcome.report.makespan);
}

/// How one stage's time divides under `latency` when nothing is paired, found from the naive model.
std::array<Duration, label_count> naive_labels(const Schedule& schedule, const Scenario& scenario,
                                               const NaiveSimulation& naive, std::size_t stage, Duration makespan) {
  std::array<Duration, label_count> time{};
  const auto add = [&](Label label, Duration length) { time[static_cast<std::size_t>(label)] += length; };
  const auto tasks = schedule.stage(make_id<StageId>(stage));
  const std::size_t first = index(schedule.first_task(make_id<StageId>(stage)));
  SimTime now{};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Span span = naive.spans[first + i];
    constexpr Label busy[] = {Label::forward, Label::backward, Label::input_grad, Label::weight_grad};
    if (i == 0)
      add(Label::warmup, span.start - now);
    else if (span.start > now) {
      const DataWait& wait = naive.waits[first + i].value();
      const SimTime sent = std::max(wait.sent, now);
      add(wait.from_upstream ? Label::upstream : Label::downstream, sent - now);
      add(Label::transfer, span.start - sent);
    }
    const Duration again = naive_recompute_time(schedule, scenario, tasks[i]);
    add(Label::recompute, again);
    add(busy[static_cast<std::size_t>(tasks[i].pass)], span.length() - again);
    now = span.end;
  }
  add(tasks.empty() ? Label::warmup : Label::drain, SimTime{makespan} - now);
  return time;
}

/// The most activations that live at the start of some forward of `stage`.
std::size_t naive_peak(const Schedule& schedule, const Timeline& timeline, std::size_t stage) {
  const std::size_t first = index(schedule.first_task(make_id<StageId>(stage)));
  const auto tasks = schedule.stage(make_id<StageId>(stage));
  std::map<std::pair<std::size_t, std::size_t>, Span> lives;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Span& life = lives[{tasks[i].chunk_index, index(tasks[i].microbatch)}];
    if (tasks[i].pass == Pass::forward) life.start = timeline.tasks[first + i].start;
    if (frees_activation(tasks[i].pass) || schedule.forward_only()) life.end = timeline.tasks[first + i].end;
  }
  std::ptrdiff_t peak = 0;
  for (const auto& [key, at] : lives)
    peak = std::max(peak, std::ranges::count_if(lives, [&](const auto& other) {
                      return other.second.start <= at.start && at.start < other.second.end;
                    }));
  return static_cast<std::size_t>(peak);
}

/// The passes of one activation, as they ran.
struct Life {
  Task forward;
  Span made, backward, weight;
  SimTime sent = SimTime::max(); ///< when its output had reached another stage
  bool split = false;
};

std::vector<Life> lives_on(const Outcome& outcome, std::size_t stage) {
  std::map<std::pair<std::size_t, std::size_t>, Life> lives;
  const std::size_t first = index(outcome.graph.schedule().first_task(make_id<StageId>(stage)));
  std::size_t id = first;
  for (const Task& task : outcome.graph.schedule().stage(make_id<StageId>(stage))) {
    Life& life = lives[{task.chunk_index, index(task.microbatch)}];
    const Span span = outcome.timeline.tasks[id];
    if (task.pass == Pass::forward) {
      life.forward = task;
      life.made = span;
      if (outcome.graph.receiver(make_id<TaskId>(id))) life.sent = outcome.timeline.transfers[id].end;
    } else {
      (task.pass == Pass::weight_grad ? life.weight : life.backward) = span;
      life.split = life.split || task.pass == Pass::weight_grad;
    }
    ++id;
  }
  std::vector<Life> list;
  for (const auto& [key, life] : lives) list.push_back(life);
  return list;
}

/// What one activation takes at one moment, by the definition in docs/model.md.
Bytes naive_bytes(const Outcome& outcome, const Life& life, SimTime at) {
  const Schedule& schedule = outcome.graph.schedule();
  const Scenario& scenario = outcome.graph.scenario();
  const std::size_t chunk = life.forward.chunk_index;
  const bool recomputed = naive_recomputed(schedule, scenario, life.forward);
  const bool has_output = !recomputed || scenario.recompute.kind == RecomputeKind::selective;
  const Bytes whole = scenario.memory.activation[chunk];
  const bool sent = scenario.memory.release_outputs && has_output && at >= life.sent;
  const Bytes output = sent ? scenario.network.boundary_bytes[chunk] : Bytes{};
  if (at < life.made.start) return Bytes{};
  if (schedule.forward_only()) {
    const bool leaves = scenario.memory.release_outputs && life.sent != SimTime::max();
    if (at < life.made.end) return whole;
    return leaves && !sent ? scenario.network.boundary_bytes[chunk] : Bytes{};
  }
  if (at >= (life.split ? life.weight.end : life.backward.end)) return Bytes{};
  if (at < life.backward.start) return (recomputed ? scenario.recompute.checkpoint[chunk] : whole) - output;
  if (at < life.backward.end) return whole - output;
  return std::min(scenario.memory.activation_for_weight[chunk], whole - output);
}

void check_critical_path(const Outcome& outcome) {
  SimTime now{};
  for (const PathStep& step : outcome.report.critical_path) {
    const Span span = span_of(outcome.timeline, step);
    RC_ASSERT(span.start == now);
    now = span.end;
  }
  RC_ASSERT(now == SimTime{outcome.report.makespan});
}

/// Uniform costs of a chunk, a transfer time and a shape.
struct Uniform {
  Shape shape;
  Duration forward{}, backward{}, comm{};
  [[nodiscard]] Scenario scenario() const {
    const auto v = static_cast<std::int64_t>(shape.vpp);
    return uniform_scenario(shape, v * forward, v * backward, comm);
  }
};

Uniform draw_uniform(std::size_t highest_vpp) {
  return {{.stages = draw(1, 8), .microbatches = draw(1, 20), .vpp = draw(1, highest_vpp)},
          draw_time(20),
          draw_time(40) + Duration{1},
          draw_time(9)};
}

Report run_uniform(std::string_view name, const Uniform& inputs, std::optional<std::size_t> group = {},
                   std::optional<bool> descending = {}) {
  return run(make_schedule(find_generator(name), {inputs.shape, group, descending}), inputs.scenario()).report;
}

std::int64_t number(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

/// The rule of SPEC section 5 for microbatch groups.
bool group_is_allowed(const Shape& shape, std::size_t group) {
  if (group < std::min(shape.stages, shape.microbatches) || group > shape.microbatches) return false;
  const std::size_t rest = shape.microbatches % group;
  return rest == 0 || rest >= shape.stages || shape.vpp == 1;
}

} // namespace

TEST_CASE("Under latency every task starts when a bare recurrence over the stages says") {
  rc::prop("any order, any costs", [] {
    const Schedule schedule = draw_order();
    const Scenario scenario = draw_scenario(schedule.shape());
    RC_ASSERT(run(schedule, scenario).timeline.tasks == (NaiveSimulation{schedule, scenario}.spans));
  });
}

TEST_CASE("Under latency every wait has the label that a bare recurrence gives it") {
  rc::prop("any order without pairs, any costs", [] {
    const Schedule schedule = draw_order(false);
    const Scenario scenario = draw_scenario(schedule.shape());
    const Outcome outcome = run(schedule, scenario);
    const NaiveSimulation naive{schedule, scenario};
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage)
      RC_ASSERT(outcome.report.stages[stage].time ==
                naive_labels(schedule, scenario, naive, stage, outcome.report.makespan));
  });
}

TEST_CASE(
    "Under blocking every task ends when a bare round of posting and waiting says, and deadlocks when it sticks") {
  rc::prop("any order without pairs, any costs", [] {
    const Schedule schedule = draw_order(false);
    const Scenario scenario = draw_scenario(schedule.shape(), TransferModel::blocking);
    const NaiveBlocking naive{schedule, scenario};
    const auto outcome = try_run(schedule, scenario);
    RC_ASSERT(outcome.has_value() != naive.deadlocks());
    for (std::size_t id = 0; outcome && id < schedule.size(); ++id) {
      const std::size_t stage = index(schedule.stage_of(make_id<TaskId>(id)));
      RC_ASSERT(outcome->timeline.tasks[id].end ==
                naive.end(stage, id - index(schedule.first_task(make_id<StageId>(stage)))).value());
    }
  });
}

TEST_CASE("No task starts before its inputs have arrived") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    if (!outcome) return;
    const auto& [graph, timeline, report] = *outcome;
    for (std::size_t id = 0; id < graph.size(); ++id) {
      const TaskId from = make_id<TaskId>(id);
      const auto receiver = graph.receiver(from);
      if (receiver) {
        RC_ASSERT(timeline.transfers[id].start >= timeline.tasks[id].end);
        RC_ASSERT(timeline.transfers[id].length() == graph.transfer_time(from));
        RC_ASSERT(timeline.tasks[index(*receiver)].start >= timeline.transfers[id].end);
      }
      for (const Edge& edge : graph.successors(from))
        if (edge.cause != Cause::pair) RC_ASSERT(timeline.tasks[index(edge.to)].start >= timeline.tasks[id].end);
      RC_ASSERT(timeline.tasks[id].length() == graph.duration(from));
    }
  });
}

TEST_CASE("A stage runs one task, or one pair, at a time") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    for (std::size_t stage = 0; outcome && stage < schedule.shape().stages; ++stage)
      check_one_at_a_time(*outcome, stage);
  });
}

TEST_CASE("What releases a task ends when the task starts, and where the task before does, it is named") {
  rc::prop("under latency and link", [] {
    const Schedule schedule = draw_order(false);
    const auto [graph, timeline, report] =
        run(schedule, draw_scenario(schedule.shape(), one_in(2) ? TransferModel::latency : TransferModel::link));
    for (std::size_t id = 0; id < graph.size(); ++id) {
      const SimTime start = timeline.tasks[id].start;
      const bool first =
          graph.schedule().first_task(graph.schedule().stage_of(make_id<TaskId>(id))) == make_id<TaskId>(id);
      if (!first && timeline.tasks[id - 1].end == start) {
        RC_ASSERT(timeline.cause[id] == Cause::order);
        RC_ASSERT(timeline.released_by[id] == make_id<TaskId>(id - 1));
      } else if (timeline.cause[id] == Cause::activation || timeline.cause[id] == Cause::gradient) {
        RC_ASSERT(timeline.transfers[index(timeline.released_by[id])].end == start);
      } else {
        RC_ASSERT(timeline.cause[id] == Cause::none);
        RC_ASSERT(start == SimTime{});
      }
    }
  });
}

TEST_CASE("A link carries one transfer at a time") {
  rc::prop("under link", [] {
    const Schedule schedule = draw_order();
    RC_ASSERT(!transfers_meet(run(schedule, draw_scenario(schedule.shape(), TransferModel::link))));
  });
}

TEST_CASE("Every nanosecond of every stage has one label, and they add up to p x makespan") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    if (!outcome) return;
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) check_account(*outcome, stage);
    const auto by_label = outcome->report.time_by_label();
    RC_ASSERT(sum({by_label.begin(), by_label.end()}) == number(schedule.shape().stages) * outcome->report.makespan);
  });
}

TEST_CASE(
    "The makespan is no shorter than the busiest stage, and the critical path leads without a gap from zero to it") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    if (!outcome) return;
    RC_ASSERT(outcome->report.makespan >= outcome->report.ideal);
    check_critical_path(*outcome);
  });
}

TEST_CASE("Peaks are what memory over time reaches, and all memory is given back") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    for (std::size_t stage = 0; outcome && stage < schedule.shape().stages; ++stage) {
      std::size_t live = 0;
      Bytes bytes;
      const auto points = memory_over_time(outcome->graph, outcome->timeline, make_id<StageId>(stage));
      for (std::size_t i = 0; i < points.size(); ++i) {
        live = std::max(live, points[i].live);
        bytes = std::max(bytes, points[i].bytes);
        if (i > 0) RC_ASSERT(points[i].at >= points[i - 1].at);
      }
      const StageReport& report = outcome->report.stages[stage];
      RC_ASSERT(points.back().live == 0U);
      RC_ASSERT(points.back().bytes == points.front().bytes);
      // Tasks of no length begin and end a life at one moment, which the points do not show.
      RC_ASSERT(report.peak_live_activations >= live);
      RC_ASSERT(report.peak_bytes() >= bytes);
    }
  });
}

TEST_CASE("The peak counts what lives at some moment from the start of its F to the end of its B or W") {
  rc::prop("under any model, no task without length", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
      for (Duration& cost : *costs) cost += Duration{1};
    if (scenario.pair.kind == PairRule::Kind::factor) scenario.pair.kind = PairRule::Kind::max;
    const auto outcome = try_run(schedule, scenario);
    for (std::size_t stage = 0; outcome && stage < schedule.shape().stages; ++stage)
      RC_ASSERT(outcome->report.stages[stage].peak_live_activations == naive_peak(schedule, outcome->timeline, stage));
  });
}

TEST_CASE(
    "At every moment a stage holds what the definition of each activation's life says, and its peak is the most") {
  rc::prop("under any model, no task without length", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
      for (Duration& cost : *costs) cost += Duration{1};
    if (scenario.pair.kind == PairRule::Kind::factor) scenario.pair.kind = PairRule::Kind::max;
    const auto outcome = try_run(schedule, scenario);
    for (std::size_t stage = 0; outcome && stage < schedule.shape().stages; ++stage) {
      const std::vector<Life> lives = lives_on(*outcome, stage);
      Bytes most;
      for (const MemoryPoint& point : memory_over_time(outcome->graph, outcome->timeline, make_id<StageId>(stage))) {
        if (point.live == 0 && point.bytes == Bytes{} && point.at == SimTime{}) continue; // before the first change
        Bytes held;
        for (const Life& life : lives) held += naive_bytes(*outcome, life, point.at);
        RC_ASSERT(point.bytes == held);
        most = std::max(most, held);
      }
      RC_ASSERT(outcome->report.stages[stage].peak_activation_bytes == most);
    }
  });
}

TEST_CASE("No peak is higher for parts that go earlier") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    if (schedule.forward_only()) return; // there an output outlives its forward
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    const auto parts = try_run(schedule, scenario);
    scenario.memory.activation_for_weight = scenario.memory.activation;
    scenario.memory.release_outputs = false;
    const auto whole = try_run(schedule, scenario);
    for (std::size_t stage = 0; parts && stage < schedule.shape().stages; ++stage)
      RC_ASSERT(parts->report.stages[stage].peak_activation_bytes <= whole->report.stages[stage].peak_activation_bytes);
  });
}

TEST_CASE("Link equals latency when no two transfers meet, and lets nothing start earlier when they do") {
  rc::prop("any order, any network", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    const Outcome latency = run(schedule, scenario);
    scenario.network.model = TransferModel::link;
    const Outcome link = run(schedule, scenario);
    const bool meet = transfers_meet(latency);
    RC_CLASSIFY(meet, "transfers meet");
    RC_ASSERT(none_earlier(link.timeline, latency.timeline));
    if (meet) return;
    RC_ASSERT(link.timeline.tasks == latency.timeline.tasks);
    RC_ASSERT(link.timeline.transfers == latency.timeline.transfers);
    RC_ASSERT(link.timeline.released_by == latency.timeline.released_by);
    RC_ASSERT(link.timeline.cause == latency.timeline.cause);
  });
}

TEST_CASE("Blocking lets nothing start earlier than latency does") {
  rc::prop("any order that does not deadlock", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    const Outcome latency = run(schedule, scenario);
    scenario.network.model = TransferModel::blocking;
    const auto blocking = try_run(schedule, scenario);
    RC_CLASSIFY(!blocking.has_value(), "deadlock");
    if (blocking) RC_ASSERT(none_earlier(blocking->timeline, latency.timeline));
  });
}

TEST_CASE("GPipe and 1F1B never deadlock under blocking") {
  rc::prop("any shape, any costs", [] {
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 12), .vpp = 1};
    const Schedule schedule = make_schedule(find_generator(one_in(2) ? "gpipe" : "1f1b"), {.shape = shape});
    RC_ASSERT(try_run(schedule, draw_scenario(shape, TransferModel::blocking)).has_value());
  });
}

TEST_CASE("Under latency a faster network never makes the makespan longer") {
  rc::prop("less latency, more bandwidth", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    const Duration before = run(schedule, scenario).report.makespan;
    Network& network = scenario.network;
    for (Duration& latency : network.latency) latency -= std::min(latency, draw_time(3));
    if (network.bandwidth)
      network.bandwidth = Bandwidth{network.bandwidth->bytes_per_second() + number(draw(0, 3)) * 1'000'000'000};
    RC_ASSERT(run(schedule, scenario).report.makespan <= before);
  });
}

TEST_CASE("Equal inputs give equal timelines") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    const auto first = try_run(schedule, scenario);
    const auto second = try_run(schedule, scenario);
    RC_ASSERT(first.has_value() == second.has_value());
    if (first) RC_ASSERT(tasks_equal(first->timeline, second->timeline));
  });
}

TEST_CASE("Sequential keeps its promise: one stage busy at any time") {
  rc::prop("any shape", [] {
    const Uniform inputs = draw_uniform(4);
    const Outcome outcome =
        run(make_schedule(find_generator("sequential"), {.shape = inputs.shape}), inputs.scenario());
    std::vector<Span> spans = outcome.timeline.tasks;
    std::ranges::sort(spans, {}, [](const Span& span) { return std::pair{span.start, span.end}; });
    for (std::size_t i = 1; i < spans.size(); ++i) RC_ASSERT(spans[i].start >= spans[i - 1].end);
    const Duration crossings = inputs.shape.stages == 1 ? zero : 2 * number(inputs.shape.chunks() - 1) * inputs.comm;
    const Duration one = number(inputs.shape.chunks()) * (inputs.forward + inputs.backward) + crossings;
    RC_ASSERT(outcome.report.makespan == number(inputs.shape.microbatches) * one);
    RC_ASSERT(outcome.report.stages[0].peak_live_activations == inputs.shape.vpp);
  });
}

TEST_CASE("GPipe keeps its promise: (m+p-1)(F+B) + 2(p-1)c, and m live activations") {
  rc::prop("any shape, either order of backwards", [] {
    const Uniform inputs = draw_uniform(1);
    const Report report = run_uniform("gpipe", inputs, {}, one_in(2));
    const auto [p, m, v, shared] = inputs.shape;
    RC_ASSERT(report.makespan ==
              number(m + p - 1) * (inputs.forward + inputs.backward) + 2 * number(p - 1) * inputs.comm);
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations == m);
  });
}

TEST_CASE("1F1B keeps its promise: a bubble of (p-1)(F+B), and min(m, p-s) live activations on stage s") {
  rc::prop("any shape", [] {
    Uniform inputs = draw_uniform(1);
    const auto [p, m, v, shared] = inputs.shape;
    for (const Duration comm : {zero, inputs.comm}) {
      inputs.comm = comm;
      const Report report = run_uniform("1f1b", inputs);
      if (comm == zero) RC_ASSERT(report.makespan - report.ideal == number(p - 1) * (inputs.forward + inputs.backward));
      for (std::size_t stage = 0; stage < p; ++stage)
        RC_ASSERT(report.stages[stage].peak_live_activations == std::min(m, p - stage));
    }
  });
}

TEST_CASE(
    "Interleaved keeps its promise: a bubble of (p-1)(F+B)/v, and at most 2(p-1) + (v-1)g + 1 live chunks on stage 0") {
  rc::prop("any shape and group that is allowed", [] {
    Uniform inputs = draw_uniform(4);
    inputs.comm = zero;
    const auto [p, m, v, shared] = inputs.shape;
    const std::size_t group = draw(std::min(p, m), m);
    RC_PRE(group_is_allowed(inputs.shape, group));
    const Report report = run_uniform("interleaved", inputs, group);
    if (m >= p)
      RC_ASSERT(report.makespan - report.ideal == number(p - 1) * (inputs.forward + inputs.backward)); // of a chunk
    const std::size_t bound = v == 1 ? p : 2 * (p - 1) + (v - 1) * group + 1;
    RC_ASSERT(report.stages[0].peak_live_activations == std::min(bound, m * v));
  });
}

TEST_CASE("Interleaved refuses every group that its rule does not allow, and takes every other") {
  rc::prop("any shape, any group", [] {
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 14), .vpp = draw(1, 3)};
    const std::size_t group = draw(1, 15);
    try {
      const Schedule schedule = make_schedule(find_generator("interleaved"), {shape, group, {}});
      RC_ASSERT(group_is_allowed(shape, group));
      RC_ASSERT(runs(schedule));
    } catch (const Error& error) {
      RC_ASSERT(!group_is_allowed(shape, group));
      RC_ASSERT(error.code() == ExitCode::bad_input);
      RC_ASSERT(!error.problems().front().hint.empty());
    }
  });
}

TEST_CASE("Interleaved without a group takes multiples of p and m < p, and names the nearest two to any other") {
  rc::prop("any shape", [] {
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 20), .vpp = draw(2, 3)};
    const bool allowed = shape.microbatches % shape.stages == 0 || shape.microbatches < shape.stages;
    try {
      RC_ASSERT(runs(make_schedule(find_generator("interleaved"), {.shape = shape})));
      RC_ASSERT(allowed);
    } catch (const Error& error) {
      RC_ASSERT(!allowed);
      const std::size_t below = shape.microbatches - shape.microbatches % shape.stages;
      const std::string nearest =
          std::to_string(below) + " and " + std::to_string(below + shape.stages) + " are the nearest";
      RC_ASSERT(error.problems().front().hint.find(nearest) != std::string::npos);
      for (const std::size_t microbatches : {below, below + shape.stages})
        RC_ASSERT(
            runs(make_schedule(find_generator("interleaved"), {.shape = {shape.stages, microbatches, shape.vpp}})));
    }
  });
}

TEST_CASE("A closed form, where one is given, is what the simulation says") {
  for (const Generator* generator : generators())
    rc::prop(std::string{generator->name} + ", any shape", [generator] {
      Uniform inputs = draw_uniform(3);
      if (one_in(2)) inputs.comm = one_in(2) ? zero : draw_time(60);
      if (one_in(3)) inputs.backward = 2 * inputs.forward; // F = I = W
      const ScheduleRequest request = draw_request(*generator);
      inputs.shape = request.shape;
      const Scenario scenario = inputs.scenario();
      const Report report = run(make_schedule(*generator, request), scenario).report;
      const auto form = closed_form(*generator, request, scenario);
      RC_CLASSIFY(form.has_value(), "has a closed form");
      if (form) RC_ASSERT(std::abs(form->value - find_metric(form->metric).ratio(report)) < 1e-9);
    });
}

// ---- What follows the tasks

namespace {

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

} // namespace

TEST_CASE("With reductions and optimizer steps the accounts add up, and the critical path leads to the makespan") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    const auto bare = try_run(schedule, scenario);
    scenario.update = draw_update(schedule.shape());
    const auto outcome = try_run(schedule, scenario);
    if (!outcome) return;
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) check_account(*outcome, stage);
    check_critical_path(*outcome);
    RC_ASSERT(outcome->timeline.tasks == bare->timeline.tasks); // they run beside the tasks, or after them
    RC_ASSERT(outcome->report.makespan >= bare->report.makespan);
  });
}

TEST_CASE("A reduction follows every task that adds to its chunk's weights, one at a time on a stage") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    scenario.update = draw_update(schedule.shape());
    const auto outcome = try_run(schedule, scenario);
    if (!outcome) return;
    const Timeline& timeline = outcome->timeline;
    for (std::size_t i = 0; i < timeline.reductions.size(); ++i) {
      const Reduction& reduction = timeline.reductions[i];
      for (std::size_t id = 0; id < schedule.size(); ++id) {
        const Task& task = schedule.tasks()[id];
        if (task.chunk() == reduction.chunk && frees_activation(task.pass))
          RC_ASSERT(reduction.span.start >= timeline.tasks[id].end);
      }
      if (i > 0 && !reduction.tied && timeline.reductions[i - 1].stage == reduction.stage)
        RC_ASSERT(reduction.span.start >= timeline.reductions[i - 1].span.end);
      const SimTime step = timeline.optimizer[index(reduction.stage)].span.start;
      RC_ASSERT(step >= reduction.span.end);
    }
  });
}

TEST_CASE("A pair that hides collectives lasts at most the sum and at least the longer half") {
  rc::prop("any order and costs, under latency", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    scenario.pair.kind = PairRule::Kind::hide;
    const TaskGraph hidden = lower(schedule, scenario);
    scenario.pair.kind = PairRule::Kind::sum;
    const TaskGraph sum = lower(schedule, scenario);
    scenario.pair.kind = PairRule::Kind::max;
    const TaskGraph max = lower(schedule, scenario);
    for (std::size_t id = 0; id < schedule.size(); ++id) {
      const TaskId task = make_id<TaskId>(id);
      RC_ASSERT(hidden.duration(task) <= sum.duration(task));
      RC_ASSERT(hidden.duration(task) >= max.duration(task));
    }
  });
}

TEST_CASE("In slices no task starts later than with whole transfers, and with more slices none does either") {
  rc::prop("any order under latency", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    const Timeline whole = run(schedule, scenario).timeline;
    scenario.network.slices = draw(2, 6);
    const Outcome few = run(schedule, scenario);
    scenario.network.slices += draw(1, 6);
    RC_ASSERT(none_earlier(whole, few.timeline));
    RC_ASSERT(none_earlier(few.timeline, run(schedule, scenario).timeline));
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) check_account(few, stage);
  });
}

TEST_CASE("In slices the accounts add up, the critical path has no gap, and a link carries one transfer at a time") {
  rc::prop("under latency and link", [] {
    const Schedule schedule = draw_order();
    const bool link = one_in(2);
    Scenario scenario = draw_scenario(schedule.shape(), link ? TransferModel::link : TransferModel::latency);
    scenario.network.slices = draw(2, 6);
    const Outcome outcome = run(schedule, scenario);
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) check_account(outcome, stage);
    check_critical_path(outcome);
    if (link) RC_ASSERT(!transfers_meet(outcome));
    for (std::size_t id = 0; id < schedule.size(); ++id)
      if (const auto receiver = outcome.graph.receiver(make_id<TaskId>(id))) {
        RC_ASSERT(outcome.timeline.tasks[index(*receiver)].start >= outcome.timeline.transfers[id].end);
        RC_ASSERT(outcome.timeline.transfers[id].length() >= outcome.graph.transfer_time(make_id<TaskId>(id)));
      }
  });
}
