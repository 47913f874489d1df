#include "ppsim/graph/task_graph.hpp"

#include "ppsim/base/call.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/schedule/detail/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace ppsim {
namespace {

/// The edges of a schedule by source, generated one at a time: a complete list would double the memory of lower().
class EdgeStream {
public:
  EdgeStream(const Schedule& schedule, const Network& network, const ScheduleIndex& where, bool has_pairs)
      : schedule_{schedule}, tasks_{schedule.tasks()}, network_{network}, where_{where}, has_pairs_{has_pairs} {
    enter_stage(StageId{0});
    fill();
  }

  [[nodiscard]] bool done() const { return at_ == count_; }
  [[nodiscard]] const std::pair<std::uint32_t, std::uint32_t>& ends() const { return ends_[at_]; }
  [[nodiscard]] const EdgeTag& tag() const { return tags_[at_]; }
  void advance() {
    if (++at_ == count_) {
      ++source_;
      fill();
    }
  }

private:
  void enter_stage(StageId stage) {
    stage_ = stage;
    begin_ = static_cast<std::uint32_t>(schedule_.first_task(stage));
    end_ = static_cast<std::uint32_t>(schedule_.end_task(stage));
  }

  /// The edges of the first task from source_ that has any.
  void fill() {
    at_ = count_ = 0;
    for (; source_ < tasks_.size(); ++source_) {
      while (source_ >= end_) enter_stage(make_id<StageId>(index(stage_) + 1));
      add_edges_of(tasks_[source_]);
      if (count_ > 0) return;
    }
  }

  void add_edges_of(const Task& task) {
    if (source_ + 1 < end_) add(source_ + 1, EdgeTag{task.pairing == Pairing::first ? Cause::pair : Cause::order});
    const std::size_t chunk = task.chunk_index;
    const std::size_t microbatch = index(task.microbatch);
    if (task.pass == Pass::forward) {
      if (chunk + 1 < schedule_.shape().chunks()) add_data(where_.forward(chunk + 1, microbatch), Cause::activation);
      if (!schedule_.forward_only()) add_on_stage(where_.backward(chunk, microbatch), Cause::own_forward);
    } else if (gives_gradient(task.pass)) {
      if (chunk > 0) add_data(where_.backward(chunk - 1, microbatch), Cause::gradient);
      if (task.pass == Pass::input_grad) add_on_stage(where_.weight_grad(chunk, microbatch), Cause::own_input_grad);
    }
  }

  /// The task that waits for the inputs of `target`: the first half of its pair.
  [[nodiscard]] std::uint32_t head(TaskId target) const {
    const auto id = static_cast<std::uint32_t>(index(target));
    return has_pairs_ && tasks_[id].pairing == Pairing::second ? id - 1 : id;
  }

  /// On its own stage a later task waits anyway, by order: only a backward edge (a cycle) is kept.
  void add_on_stage(TaskId target, Cause cause) {
    const std::uint32_t to = head(target);
    if (to <= source_) add(to, EdgeTag{cause});
  }

  void add_data(TaskId target, Cause cause) {
    const auto id = static_cast<std::uint32_t>(index(target));
    if (id >= begin_ && id < end_) return add_on_stage(target, cause);
    add(head(target), EdgeTag{link_to(id)});
  }

  [[nodiscard]] LinkClass link_to(std::uint32_t target) const {
    if (network_.stages_per_node == 0 && network_.unusual_links.empty()) return LinkClass::same_node;
    const StageId other = schedule_.stage_of(make_id<TaskId>(target));
    const bool same_node = network_.same_node(stage_, other);
    for (std::size_t at = 0; at < network_.unusual_links.size(); ++at)
      if (network_.unusual_links[at].joins(stage_, other)) return unusual(at, same_node);
    return same_node ? LinkClass::same_node : LinkClass::inter_node;
  }

  void add(std::uint32_t target, EdgeTag tag) {
    ends_[count_] = {source_, target};
    tags_[count_++] = tag;
  }

  const Schedule& schedule_;
  std::span<const Task> tasks_;
  const Network& network_;
  const ScheduleIndex& where_;
  bool has_pairs_;
  StageId stage_{};
  std::uint32_t begin_ = 0, end_ = 0, source_ = 0;
  std::array<std::pair<std::uint32_t, std::uint32_t>, 4> ends_{};
  std::array<EdgeTag, 4> tags_{};
  std::size_t at_ = 0, count_ = 0;
};

/// Walks an EdgeStream for Boost: an input iterator over (source, target).
class EdgeIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = std::pair<std::uint32_t, std::uint32_t>;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = const value_type&;

  explicit EdgeIterator(EdgeStream* stream = nullptr) : stream_{stream} {}
  reference operator*() const { return stream_->ends(); }
  pointer operator->() const { return &stream_->ends(); }
  EdgeIterator& operator++() {
    stream_->advance();
    return *this;
  }
  bool operator==(const EdgeIterator& /*end*/) const { return stream_->done(); }

private:
  EdgeStream* stream_;
};

/// The tags of the same stream; EdgeIterator advances it.
class TagIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = EdgeTag;
  using difference_type = std::ptrdiff_t;
  using pointer = const EdgeTag*;
  using reference = const EdgeTag&;

  explicit TagIterator(EdgeStream* stream) : stream_{stream} {}
  reference operator*() const { return stream_->tag(); }
  TagIterator& operator++() { return *this; }

private:
  EdgeStream* stream_;
};

/// Number of transfers by boundary.
std::vector<std::size_t> count_transfers(const Schedule& schedule, const Wiring::Graph& graph) {
  std::vector<std::size_t> transfers(schedule.shape().chunks());
  for (std::uint32_t from = 0; from < schedule.size(); ++from)
    for (auto [edge, end] = out_edges(from, graph); edge != end; ++edge)
      if (graph[*edge].link() != LinkClass::none) ++transfers[Dag::boundary_of(schedule.task(TaskId{from}))];
  return transfers;
}

/// Kahn's algorithm. Follows a stage as far as possible before it changes to the next, so that engines walk memory
/// mostly forward. Leaves in `waiting` how many inputs of each task are missing.
std::vector<TaskId> sort_topologically(const Wiring::Graph& graph, std::vector<std::uint8_t>& waiting) {
  std::vector<TaskId> order;
  order.reserve(waiting.size());
  std::vector<std::uint32_t> ready;
  for (auto id = static_cast<std::uint32_t>(waiting.size()); id-- > 0;)
    if (waiting[id] == 0) ready.push_back(id);
  while (!ready.empty()) {
    std::uint32_t id = ready.back();
    ready.pop_back();
    for (bool follow = true; follow;) {
      order.push_back(TaskId{id});
      follow = false;
      std::uint32_t next = 0;
      for (auto [edge, end] = out_edges(id, graph); edge != end; ++edge) {
        const std::uint32_t to = target(*edge, graph);
        if (--waiting[to] != 0) continue;
        if (follow)
          ready.push_back(to);
        else
          next = to;
        follow = true;
      }
      id = next;
    }
  }
  return order;
}

/// See Dag::task_cost.
std::vector<Duration> cost_table(const Costs& costs, const Recompute& recompute) {
  const std::size_t chunks = costs.forward.size();
  std::vector<Duration> table(2 * Dag::pass_count * chunks);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const Duration again = recompute.is_on() ? recompute.time[chunk] : Duration{0};
    const auto set = [&](Pass pass, Duration cost) {
      const auto row = static_cast<std::size_t>(pass);
      table[row * chunks + chunk] = cost + costs.overhead;
      table[(row + Dag::pass_count) * chunks + chunk] =
          cost + costs.overhead + (gives_gradient(pass) ? again : Duration{0});
    };
    set(Pass::forward, costs.forward[chunk]);
    set(Pass::backward, costs.input_grad[chunk] + costs.weight_grad[chunk]);
    set(Pass::input_grad, costs.input_grad[chunk]);
    set(Pass::weight_grad, costs.weight_grad[chunk]);
  }
  return table;
}

/// Sets the forwards' handling, stage by stage.
void decide_forwards(const Schedule& schedule, const Scenario& scenario, const ScheduleIndex& where,
                     std::vector<ActivationHandling>& handling) {
  const bool recompute = scenario.recompute.is_on() && !schedule.forward_only();
  for (const StageId stage : schedule.stage_ids()) {
    const std::size_t window = count_phases(schedule, stage).warmup_forwards + 1;
    std::size_t forwards = 0;
    const IdRange<TaskId> ids = schedule.task_ids(stage);
    for (const TaskId id : ids) {
      const Task& task = schedule.task(id);
      if (task.pass != Pass::forward) continue;
      handling[index(id)].recomputed = recompute && forwards % window >= scenario.recompute.microbatches_without;
      ++forwards;
      if (!scenario.memory.release_outputs || task.chunk_index + std::size_t{1} == schedule.shape().chunks()) continue;
      const TaskId receiver = where.forward(task.chunk_index + std::size_t{1}, index(task.microbatch));
      handling[index(id)].output_released = !ids.contains(receiver);
    }
  }
}

/// The handling of each task's activation; empty if all are kept whole.
std::vector<ActivationHandling> decide_handling(const Schedule& schedule, const Scenario& scenario,
                                                const ScheduleIndex& where) {
  if (!scenario.recompute.is_on() && !scenario.memory.release_outputs) return {};
  std::vector<ActivationHandling> handling(schedule.size());
  decide_forwards(schedule, scenario, where, handling);
  for (std::size_t id = 0; id < handling.size(); ++id) {
    const Task& task = schedule.tasks()[id];
    if (task.pass != Pass::forward)
      handling[id] = handling[index(where.forward(task.chunk_index, index(task.microbatch)))];
  }
  return handling;
}

/// As cost_table(); a full backward's collective is that of its input gradient. Empty if there are none.
std::vector<Duration> collective_table(const Costs& costs) {
  if (costs.forward_collective.empty() && costs.input_grad_collective.empty()) return {};
  const std::size_t chunks = costs.forward.size();
  std::vector<Duration> table(4 * chunks);
  const auto set = [&](Pass pass, const std::vector<Duration>& values) {
    std::ranges::copy(values, table.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(pass) * chunks));
  };
  set(Pass::forward, costs.forward_collective);
  set(Pass::backward, costs.input_grad_collective);
  set(Pass::input_grad, costs.input_grad_collective);
  return table;
}

/// The times of a task's passes in Costs, for each microbatch.
class PassCosts {
public:
  explicit PassCosts(const Scenario& scenario) : costs_{scenario.costs}, microbatches_{scenario.shape.microbatches} {}
  [[nodiscard]] Duration of(const Task& task) const {
    switch (task.pass) {
    case Pass::forward:
      return time(task, costs_.forward, costs_.forward_by_microbatch);
    case Pass::backward:
      return time(task, costs_.input_grad, costs_.input_grad_by_microbatch) +
             time(task, costs_.weight_grad, costs_.weight_grad_by_microbatch);
    case Pass::input_grad:
      return time(task, costs_.input_grad, costs_.input_grad_by_microbatch);
    case Pass::weight_grad:
      return time(task, costs_.weight_grad, costs_.weight_grad_by_microbatch);
    }
    return Duration{0};
  }

private:
  [[nodiscard]] Duration time(const Task& task, const std::vector<Duration>& by_chunk,
                              const std::vector<Duration>& by_microbatch) const {
    return by_microbatch.empty() ? by_chunk[task.chunk_index]
                                 : by_microbatch[task.chunk_index * microbatches_ + index(task.microbatch)];
  }

  const Costs& costs_;
  std::size_t microbatches_;
};

/// See Dag::own_cost. `dag` has the other inputs of a task's cost.
std::vector<Duration> own_costs(const Schedule& schedule, const Scenario& scenario, const Dag& dag) {
  if (scenario.costs.stage_ppm.empty() && !scenario.costs.differ_by_microbatch()) return {};
  const PassCosts passes{scenario};
  std::vector<Duration> costs(schedule.size());
  for (const StageId stage : schedule.stage_ids()) {
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      const bool again = !dag.handling.empty() && dag.handling[index(id)].recomputed && gives_gradient(task.pass);
      const Duration recompute = again ? scenario.recompute.time[task.chunk_index] : Duration{0};
      const Duration collective = dag.collective_of(task);
      costs[index(id)] = scenario.costs.task_time(stage, passes.of(task), collective, recompute);
    }
  }
  return costs;
}

/// The times of transfers by class of link: `time_of` a boundary, on one node or not.
template <class TimeOf>
std::vector<std::vector<Duration>> transfer_times(const Network& network, TimeOf time_of) {
  std::vector<std::vector<Duration>> rows;
  const auto add = [&](std::int64_t ppm) {
    for (const bool same_node : {true, false}) {
      std::vector<Duration>& row = rows.emplace_back();
      for (std::size_t boundary = 0; boundary < network.latency.size(); ++boundary)
        row.emplace_back(scale_rounded(time_of(boundary, same_node).count(), ppm, unchanged_ppm));
    }
  };
  add(unchanged_ppm);
  for (const UnusualLink& link : network.unusual_links) add(link.ppm);
  return rows;
}

bool has_pairs(const Schedule& schedule) {
  return std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pairing != Pairing::alone; });
}

/// Fills the lookup tables for times of tasks and transfers.
void fill_tables(const Scenario& scenario, Dag& dag) {
  dag.cost = cost_table(scenario.costs, scenario.recompute);
  dag.collective = collective_table(scenario.costs);
  const Network& network = scenario.network;
  dag.transfer_time = transfer_times(
      network, [&](std::size_t boundary, bool same_node) { return network.transfer_time(boundary, same_node); });
  if (network.slices > 1)
    dag.slice_time = transfer_times(
        network, [&](std::size_t boundary, bool same_node) { return network.slice_time(boundary, same_node); });
  dag.slices = static_cast<std::int64_t>(network.slices);
  dag.chunks = scenario.shape.chunks();
  dag.pair = scenario.pair;
}

/// Whether each transfer uses the same class of link in both.
bool joins_alike(const Network& a, const Network& b) {
  const auto same_stages = [](const UnusualLink& x, const UnusualLink& y) {
    return x.stage == y.stage && x.other == y.other;
  };
  return a.stages_per_node == b.stages_per_node && std::ranges::equal(a.unusual_links, b.unusual_links, same_stages);
}

/// Whether activations are handled equally.
bool has_same_fates(const Scenario& a, const Scenario& b) {
  return a.recompute.is_on() == b.recompute.is_on() &&
         a.recompute.microbatches_without == b.recompute.microbatches_without &&
         a.memory.release_outputs == b.memory.release_outputs;
}

/// The number of edges if all are needed: one order edge per task and one per transfer between chunks.
std::size_t expected_edges(const Shape& shape, std::size_t tasks) {
  return tasks + 2 * (shape.chunks() - 1) * shape.microbatches;
}

} // namespace

std::vector<std::uint8_t> count_inputs(const Wiring::Graph& graph) {
  std::vector<std::uint8_t> inputs(num_vertices(graph));
  for (std::uint32_t from = 0; from < inputs.size(); ++from)
    for (auto [edge, end] = out_edges(from, graph); edge != end; ++edge) ++inputs[target(*edge, graph)];
  return inputs;
}

std::string_view to_string(Cause cause) {
  switch (cause) {
  case Cause::none:
    return "none";
  case Cause::order:
    return "order";
  case Cause::pair:
    return "pair";
  case Cause::activation:
    return "activation";
  case Cause::gradient:
    return "gradient";
  case Cause::own_forward:
    return "own_forward";
  case Cause::own_input_grad:
    return "own_input_grad";
  case Cause::send_activation:
    return "send_activation";
  case Cause::send_gradient:
    return "send_gradient";
  }
  return "?";
}

Duration Dag::pair_time(const Task& half, Duration alone, const Task& other, Duration other_alone) const {
  const Duration sum = alone + other_alone;
  const Duration longer = std::max(alone, other_alone);
  switch (pair.kind) {
  case PairRule::Kind::sum:
  case PairRule::Kind::serial:
    return sum;
  case PairRule::Kind::max:
    return longer;
  case PairRule::Kind::hide: { // one device, one network: each serves one half at a time
    const Duration collectives = collective_of(half) + collective_of(other);
    return std::max({sum - collectives, collectives, longer});
  }
  case PairRule::Kind::factor:
    break;
  }
  constexpr std::int64_t whole = 1'000'000;
  return Duration{scale_rounded(sum.count(), pair.factor_ppm, whole)};
}

Duration Durations::not_plain(std::size_t id) const {
  const Pairing pairing = tasks_[id].pairing;
  if (!in_one_piece_ || pairing == Pairing::alone) return alone(id);
  const std::size_t other = pairing == Pairing::first ? id + 1 : id - 1;
  return dag_.pair_time(tasks_[id], alone(id), tasks_[other], alone(other));
}

TaskGraph::TaskGraph(std::shared_ptr<const Schedule> schedule, Scenario scenario, std::unique_ptr<Dag> dag,
                     std::string place)
    : schedule_{std::move(schedule)}, scenario_{std::move(scenario)}, dag_{std::move(dag)}, place_{std::move(place)} {}
TaskGraph::TaskGraph(TaskGraph&&) noexcept = default;
TaskGraph& TaskGraph::operator=(TaskGraph&&) noexcept = default;
TaskGraph::~TaskGraph() = default;

std::string TaskGraph::headline() const {
  return schedule_->name() == "file" ? place_.substr(place_.rfind('/') + 1) : schedule_->name();
}

std::size_t TaskGraph::edge_count() const {
  return num_edges(dag_->wiring->graph);
}
std::size_t TaskGraph::transfer_count() const {
  return std::accumulate(dag_->wiring->transfers.begin(), dag_->wiring->transfers.end(), std::size_t{0});
}
Bytes TaskGraph::transfer_volume() const {
  const std::vector<Bytes>& bytes = scenario_.network.boundary_bytes;
  Bytes volume;
  for (std::size_t boundary = 0; boundary < bytes.size(); ++boundary)
    volume += Bytes{bytes[boundary].count() * static_cast<std::int64_t>(dag_->wiring->transfers[boundary])};
  return volume;
}

Duration TaskGraph::duration(TaskId id) const {
  return Durations{*dag_, schedule_->tasks()}[index(id)];
}

Duration TaskGraph::time_alone(TaskId id) const {
  return Durations{*dag_, schedule_->tasks()}.alone(index(id));
}

void TaskGraph::set_times(const std::vector<Duration>& alone) {
  PPSIM_ASSERT(alone.size() == size());
  dag_->own_cost = alone;
}

bool TaskGraph::is_recomputed(TaskId id) const {
  return !dag_->handling.empty() && dag_->handling[index(id)].recomputed;
}

Duration TaskGraph::recompute_time(TaskId id) const {
  const Task& task = schedule_->task(id);
  if (!is_recomputed(id) || !gives_gradient(task.pass)) return Duration{0};
  const Duration time = scenario_.recompute.time[task.chunk_index];
  return scenario_.costs.stage_ppm.empty() ? time : scenario_.costs.on_stage(schedule_->stage_of(id), time);
}

bool TaskGraph::releases_output(TaskId id) const {
  return !dag_->handling.empty() && dag_->handling[index(id)].output_released;
}

std::vector<Edge> TaskGraph::successors(TaskId id) const {
  std::vector<Edge> edges;
  for (auto [edge, end] = out_edges(static_cast<std::uint32_t>(index(id)), dag_->wiring->graph); edge != end; ++edge)
    edges.push_back({id, make_id<TaskId>(target(*edge, dag_->wiring->graph)),
                     dag_->wiring->graph[*edge].cause(schedule_->task(id))});
  return edges;
}

std::optional<TaskId> TaskGraph::receiver(TaskId sender) const {
  const auto& graph = dag_->wiring->graph;
  for (auto [edge, end] = out_edges(static_cast<std::uint32_t>(index(sender)), graph); edge != end; ++edge) {
    if (graph[*edge].link() == LinkClass::none) continue;
    const auto head = make_id<TaskId>(target(*edge, graph));
    const bool forward = schedule_->task(sender).pass == Pass::forward;
    const bool is_head = (schedule_->task(head).pass == Pass::forward) == forward;
    return is_head ? head : make_id<TaskId>(index(head) + 1);
  }
  return std::nullopt;
}

Duration TaskGraph::transfer_time(TaskId sender) const {
  const auto& graph = dag_->wiring->graph;
  for (auto [edge, end] = out_edges(static_cast<std::uint32_t>(index(sender)), graph); edge != end; ++edge)
    if (graph[*edge].link() != LinkClass::none) return dag_->transfer_of(schedule_->task(sender), graph[*edge].link());
  return Duration{0};
}

Bytes TaskGraph::transfer_bytes(TaskId sender) const {
  if (!receiver(sender)) return Bytes{};
  return scenario_.network.boundary_bytes[Dag::boundary_of(schedule_->task(sender))];
}

TaskGraph lower(Schedule schedule, Scenario scenario, std::string_view where) {
  validate(scenario);
  return lower_validated(std::move(schedule), std::move(scenario), where);
}

TaskGraph lower_validated(Schedule schedule, Scenario scenario, std::string_view where) {
  check_stop();
  PPSIM_ASSERT(schedule.shape() == scenario.shape);
  auto dag = std::make_unique<Dag>();
  auto wiring = std::make_shared<Wiring>();
  wiring->has_pairs = has_pairs(schedule);
  fill_tables(scenario, *dag);
  {
    const ScheduleIndex positions{schedule, where};
    check_stop();
    dag->handling = decide_handling(schedule, scenario, positions);
    dag->own_cost = own_costs(schedule, scenario, *dag);
    check_stop();
    EdgeStream stream{schedule, scenario.network, positions, wiring->has_pairs};
    wiring->graph = Wiring::Graph{boost::edges_are_sorted,
                                  EdgeIterator{&stream},
                                  EdgeIterator{},
                                  TagIterator{&stream},
                                  static_cast<std::uint32_t>(schedule.size()),
                                  static_cast<std::uint32_t>(expected_edges(scenario.shape, schedule.size()))};
  }
  check_stop();
  wiring->transfers = count_transfers(schedule, wiring->graph);
  std::vector<std::uint8_t> waiting = count_inputs(wiring->graph);
  check_stop();
  wiring->topological_order = sort_topologically(wiring->graph, waiting);
  if (wiring->topological_order.size() < schedule.size()) report_cycle(schedule, wiring->graph, waiting, where);
  dag->wiring = std::move(wiring);
  return {std::make_shared<const Schedule>(std::move(schedule)), std::move(scenario), std::move(dag),
          std::string{where}};
}

TaskGraph TaskGraph::with_costs(Scenario scenario) const {
  if (!joins_alike(scenario.network, scenario_.network))
    return lower_validated(*schedule_, std::move(scenario), place_);
  PPSIM_ASSERT(schedule_->shape() == scenario.shape);
  auto dag = std::make_unique<Dag>();
  dag->wiring = dag_->wiring;
  fill_tables(scenario, *dag);
  dag->handling = has_same_fates(scenario, scenario_)
                      ? dag_->handling
                      : decide_handling(*schedule_, scenario, ScheduleIndex{*schedule_, place_});
  dag->own_cost = own_costs(*schedule_, scenario, *dag);
  return {schedule_, std::move(scenario), std::move(dag), place_};
}

} // namespace ppsim
