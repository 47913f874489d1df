// The naive model of naive_model.hpp.

#include "property/naive_model.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ppsim::test {

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

namespace {

/// `ppm` millionths of `time`, half rounded up.
Duration naive_scaled(Duration time, std::int64_t ppm) {
  return Duration{(time.count() * ppm + 500'000) / 1'000'000};
}
Duration naive_on_stage(const Costs& costs, std::size_t stage, Duration time) {
  return costs.stage_ppm.empty() ? time : naive_scaled(time, costs.stage_ppm[stage]);
}

Duration naive_collective(const Costs& costs, const Task& task) {
  if (task.pass == Pass::weight_grad) return Duration{0};
  const auto& part = task.pass == Pass::forward ? costs.forward_collective : costs.input_grad_collective;
  return part.empty() ? Duration{0} : part[task.chunk_index];
}

/// On a stage with the factor 1.
Duration naive_recompute_time(const Schedule& schedule, const Scenario& scenario, const Task& task) {
  return gives_gradient(task.pass) && naive_recomputed(schedule, scenario, task)
             ? scenario.recompute.time[task.chunk_index]
             : Duration{0};
}

/// Overhead and collectives take no longer on a slower stage.
Duration naive_cost(const Schedule& schedule, const Scenario& scenario, std::size_t stage, const Task& task) {
  const Costs& costs = scenario.costs;
  const auto of = [&](const std::vector<Duration>& by_chunk, const std::vector<Duration>& by_microbatch) {
    const std::size_t chunk = task.chunk_index;
    return by_microbatch.empty() ? by_chunk[chunk]
                                 : by_microbatch[chunk * schedule.shape().microbatches + index(task.microbatch)];
  };
  Duration work = naive_recompute_time(schedule, scenario, task);
  if (task.pass == Pass::forward) work += of(costs.forward, costs.forward_by_microbatch);
  if (gives_gradient(task.pass)) work += of(costs.input_grad, costs.input_grad_by_microbatch);
  if (frees_activation(task.pass)) work += of(costs.weight_grad, costs.weight_grad_by_microbatch);
  const Duration collective = naive_collective(costs, task);
  return costs.overhead + collective + naive_on_stage(costs, stage, work - collective);
}

bool in_one_node(const Network& network, std::size_t a, std::size_t b) {
  return network.stages_per_node == 0 || a / network.stages_per_node == b / network.stages_per_node;
}

/// latency + bytes / bandwidth, rounded up, in plain arithmetic.
Duration naive_usual_transfer(const Network& network, std::size_t boundary, bool apart) {
  const Duration latency =
      apart && network.inter_node_latency ? *network.inter_node_latency : network.latency[boundary];
  const auto bandwidth = apart && network.inter_node_bandwidth ? network.inter_node_bandwidth : network.bandwidth;
  if (!bandwidth) return latency;
  const std::int64_t scaled = network.boundary_bytes[boundary].count() * 1'000'000'000;
  return latency +
         Duration{scaled / bandwidth->bytes_per_second() + (scaled % bandwidth->bytes_per_second() != 0 ? 1 : 0)};
}

Duration naive_transfer(const Network& network, std::size_t boundary, std::size_t from, std::size_t to) {
  if (from == to) return Duration{0};
  const Duration usual = naive_usual_transfer(network, boundary, !in_one_node(network, from, to));
  for (const auto& [stage, other, ppm] : network.unusual_links)
    if (std::minmax(from, to) == std::minmax(index(stage), index(other))) return naive_scaled(usual, ppm);
  return usual;
}

/// The result of a pass: activation (F), gradient (B, I), weight gradient (B, W).
enum class Output { activation, gradient, weight };
using Result = std::tuple<Output, std::size_t, std::size_t>;

/// `latency` and `link`: starts the next slot of any stage that can start, then ends the first of the running tasks, of
/// equal ones the lowest id; until none is left.
class NaiveSimulation {
public:
  NaiveSimulation(const Schedule& schedule, const Scenario& scenario, bool links)
      : schedule_{schedule}, scenario_{scenario}, links_{links} {
    result_.spans.resize(schedule.size());
    result_.transfers.resize(schedule.size());
    result_.waits.resize(schedule.size());
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage)
      for (const Task& task : schedule.stage(make_id<StageId>(stage)))
        stage_of_[{task.chunk_index, index(task.microbatch)}] = stage;
    std::vector<std::size_t> cursor(schedule.shape().stages);
    std::vector<SimTime> free(schedule.shape().stages);
    do {
      for (std::size_t stage = 0; stage < cursor.size(); ++stage)
        while (begin_slot(stage, cursor[stage], free[stage])) {
        }
    } while (end_first());
  }

  [[nodiscard]] const NaiveRun& result() const { return result_; }

private:
  /// When an output was made, and when it arrives.
  struct OutputTimes {
    SimTime at{};
    SimTime arrived{};
  };

  /// When the task's inputs are ready; none if one has not been made.
  std::optional<SimTime> inputs(const Task& task, std::size_t id) {
    const std::size_t chunk = task.chunk_index;
    const std::size_t microbatch = index(task.microbatch);
    const auto made = [&](Output output, std::size_t of) -> std::optional<OutputTimes> {
      const auto found = made_.find({output, of, microbatch});
      return found == made_.end() ? std::nullopt : std::optional{found->second};
    };
    const bool forward = task.pass == Pass::forward;
    SimTime ready{};
    if (!forward) {
      const auto own = made(task.pass == Pass::weight_grad ? Output::gradient : Output::activation, chunk);
      if (!own) return std::nullopt;
      ready = own->at;
    }
    if (task.pass == Pass::weight_grad) return ready;
    if (forward ? chunk == 0 : chunk + 1 == schedule_.shape().chunks()) return ready;
    const std::size_t other = forward ? chunk - 1 : chunk + 1;
    const auto sent = made(forward ? Output::activation : Output::gradient, other);
    if (!sent) return std::nullopt;
    const bool transferred = stage_of_.at({chunk, microbatch}) != stage_of_.at({other, microbatch});
    result_.waits[id] = DataWait{sent->at, sent->arrived, forward, transferred};
    return std::max(ready, sent->arrived);
  }

  bool begin_slot(std::size_t stage, std::size_t& cursor, SimTime& free) {
    const auto tasks = schedule_.stage(make_id<StageId>(stage));
    if (cursor == tasks.size()) return false;
    const std::size_t first = index(schedule_.first_task(make_id<StageId>(stage))) + cursor;
    const std::size_t halves = tasks[cursor].pairing == Pairing::alone ? 1 : 2;
    SimTime start = free;
    for (std::size_t half = 0; half < halves; ++half) {
      const auto ready = inputs(tasks[cursor + half], first + half);
      if (!ready) return false;
      start = std::max(start, *ready);
    }
    if (halves == 1)
      result_.spans[first] = {start, start + naive_cost(schedule_, scenario_, stage, tasks[cursor])};
    else
      run_pair(stage, first, start, tasks[cursor], tasks[cursor + 1]);
    for (std::size_t half = 0; half < halves; ++half) running_.push_back(first + half);
    cursor += halves;
    free = result_.spans[first + halves - 1].end;
    return true;
  }

  void run_pair(std::size_t stage, std::size_t first, SimTime start, const Task& one, const Task& other) {
    const Duration a = naive_cost(schedule_, scenario_, stage, one);
    const Duration b = naive_cost(schedule_, scenario_, stage, other);
    result_.spans[first] = {start, start + a};
    result_.spans[first + 1] = {start + a, start + a + b};
    if (scenario_.pair.kind == PairRule::Kind::serial) return;
    Duration length = a + b;
    if (scenario_.pair.kind == PairRule::Kind::max) length = std::max(a, b);
    if (scenario_.pair.kind == PairRule::Kind::hide) { // a device and its network, each doing one thing at a time
      const Duration moves = naive_collective(scenario_.costs, one) + naive_collective(scenario_.costs, other);
      length = std::max(std::max(a, b), std::max(moves, a + b - moves));
    }
    if (scenario_.pair.kind == PairRule::Kind::factor) length = naive_scaled(length, scenario_.pair.factor_ppm);
    result_.spans[first] = result_.spans[first + 1] = {start, start + length};
  }

  /// False if nothing runs.
  bool end_first() {
    const auto first = std::ranges::min_element(running_, {}, [&](std::size_t id) {
      return std::pair{result_.spans[id].end, id};
    });
    if (first == running_.end()) return false;
    finish(*first);
    running_.erase(first);
    return true;
  }

  void finish(std::size_t id) {
    const Task& task = schedule_.tasks()[id];
    if (task.pass == Pass::weight_grad) return;
    const bool forward = task.pass == Pass::forward;
    const std::size_t chunk = task.chunk_index;
    const std::size_t microbatch = index(task.microbatch);
    OutputTimes& made = made_[{forward ? Output::activation : Output::gradient, chunk, microbatch}];
    made = {result_.spans[id].end, result_.spans[id].end};
    if (forward ? chunk + 1 == schedule_.shape().chunks() : chunk == 0) return;
    const std::size_t other = forward ? chunk + 1 : chunk - 1;
    const std::size_t from = stage_of_.at({chunk, microbatch});
    const std::size_t to = stage_of_.at({other, microbatch});
    if (from == to) return;
    result_.transfers[id] = transfer(made.at, std::min(chunk, other), from, to);
    made.arrived = result_.transfers[id].end;
  }

  /// Starts at `asked`, or when its link is free.
  Span transfer(SimTime asked, std::size_t boundary, std::size_t from, std::size_t to) {
    const Network& network = scenario_.network;
    const Duration length = naive_transfer(network, boundary, from, to);
    if (!links_) return {asked, asked + length};
    const bool pair = in_one_node(network, from, to); // otherwise everything that leaves the node shares its uplink
    SimTime& free =
        pair ? link_free_[{from, to}] : uplink_free_[from / std::max<std::size_t>(network.stages_per_node, 1)];
    const SimTime begin = std::max(asked, free);
    free = begin + length;
    return {begin, free};
  }

  const Schedule& schedule_;
  const Scenario& scenario_;
  bool links_; ///< links carry one transfer at a time
  NaiveRun result_;
  std::vector<std::size_t> running_; ///< running tasks
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> stage_of_;
  std::map<Result, OutputTimes> made_;
  std::map<std::pair<std::size_t, std::size_t>, SimTime> link_free_; ///< from one stage to one other
  std::map<std::size_t, SimTime> uplink_free_;                       ///< by node
};

/// `blocking` without pairs, by iteration to a fixed point: batch i of a stage has the sends of its task i-1 and the
/// receives of its task i, and is posted when task i-1 ends.
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

  /// The task's end, if it ran. All tasks and transfers run unless the order deadlocks.
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
    std::map<Result, std::pair<Place, std::size_t>>
        made; // by received result: where it is sent, and over which boundary
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
        start + naive_cost(schedule_, scenario_, stage, schedule_.stage(make_id<StageId>(stage))[batch]);
    return true;
  }

  const Schedule& schedule_;
  const Scenario& scenario_;
  std::vector<std::vector<std::optional<SimTime>>> posted_; ///< by stage and batch; equals the end of the task before
  std::vector<Transfer> transfers_;
};

} // namespace

NaiveRun naive_latency(const Schedule& schedule, const Scenario& scenario) {
  return NaiveSimulation{schedule, scenario, false}.result();
}

NaiveRun naive_link(const Schedule& schedule, const Scenario& scenario) {
  return NaiveSimulation{schedule, scenario, true}.result();
}

std::optional<std::vector<SimTime>> naive_blocking(const Schedule& schedule, const Scenario& scenario) {
  const NaiveBlocking naive{schedule, scenario};
  if (naive.deadlocks()) return std::nullopt;
  std::vector<SimTime> ends;
  for (std::size_t id = 0; id < schedule.size(); ++id) {
    const StageId stage = schedule.stage_of(make_id<TaskId>(id));
    ends.push_back(naive.end(index(stage), id - index(schedule.first_task(stage))).value());
  }
  return ends;
}

std::array<Duration, label_count> naive_labels(const Schedule& schedule, const Scenario& scenario,
                                               const NaiveRun& naive, std::size_t stage, Duration makespan) {
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
    const Duration again = naive_on_stage(scenario.costs, stage, naive_recompute_time(schedule, scenario, tasks[i]));
    add(Label::recompute, again);
    add(busy[static_cast<std::size_t>(tasks[i].pass)], span.length() - again);
    now = span.end;
  }
  add(tasks.empty() ? Label::warmup : Label::drain, SimTime{makespan} - now);
  return time;
}

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

std::vector<ActivationLifetime> lifetimes_on(const Outcome& outcome, std::size_t stage) {
  std::map<std::pair<std::size_t, std::size_t>, ActivationLifetime> lives;
  const std::size_t first = index(outcome.graph.schedule().first_task(make_id<StageId>(stage)));
  std::size_t id = first;
  for (const Task& task : outcome.graph.schedule().stage(make_id<StageId>(stage))) {
    ActivationLifetime& life = lives[{task.chunk_index, index(task.microbatch)}];
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
  std::vector<ActivationLifetime> list;
  for (const auto& [key, life] : lives) list.push_back(life);
  return list;
}

Bytes naive_bytes(const Outcome& outcome, const ActivationLifetime& life, SimTime at) {
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

} // namespace ppsim::test
