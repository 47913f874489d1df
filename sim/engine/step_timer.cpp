#include "ppsim/engine/step_timer.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/engine/detail/update.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/detail/dag.hpp"

#include <algorithm>
#include <memory>

namespace ppsim {
namespace {

using Turn = StepTimer::Turn;

/// Task times from the graph's costs, equal for all lanes.
struct OwnTimes {
  static constexpr std::size_t width = 1;
  Durations durations;
  [[nodiscard]] Duration operator()(std::size_t task, std::size_t /*lane*/) const { return durations[task]; }
};

/// Task times from the times alone, by lane.
struct TimesAlone {
  static constexpr std::size_t width = StepTimer::lanes;
  const Dag& dag;
  std::span<const Task> tasks;
  std::span<const Duration> alone;
  bool in_one_piece;
  [[nodiscard]] Duration operator()(std::size_t task, std::size_t lane) const {
    const Duration own = alone[task * width + lane];
    if (!in_one_piece || tasks[task].pairing == Pairing::alone) return own;
    const std::size_t other = tasks[task].pairing == Pairing::first ? task + 1 : task - 1;
    return dag.pair_time(tasks[task], own, tasks[other], alone[other * width + lane]);
  }
};

/// Concurrent steps of one order, each in a lane.
template <class Times>
class Recurrence {
public:
  static constexpr std::size_t width = Times::width;
  using Lanes = std::array<Duration, width>;

  Recurrence(const TaskGraph& graph, const Times& times)
      : graph_{graph}, dag_{graph.dag()}, tasks_{graph.schedule().tasks()}, times_{times},
        boundaries_{graph.scenario().network.latency.size()}, in_slices_{dag_.slices > 1},
        in_one_piece_{dag_.runs_pairs_in_one_piece()}, updates_{!graph.scenario().update.is_free()},
        sent_{std::make_unique_for_overwrite<Lanes[]>(graph.size() + 1)}, // NOLINT: a vector would fill it first
        free_(graph.schedule().shape().stages), gradients_(updates_ ? graph.schedule().shape().chunks() : 0) {
    sent_[graph.size()] = {};
    for (const std::vector<Duration>& row : dag_.transfer_time)
      transfer_.insert(transfer_.end(), row.begin(), row.end());
  }

  void run(std::span<const Turn> turns) {
    for (const Turn& turn : turns) {
      const Task& task = tasks_[turn.task];
      Lanes& free = free_[turn.stage];
      Lanes length;
      for (std::size_t lane = 0; lane < width; ++lane) length[lane] = times_(turn.task, lane);
      const bool has_run = in_one_piece_ && task.pairing == Pairing::second; // with the first half
      const Lanes& input = sent_[turn.input];
      const Lanes& other = sent_[turn.other];
      for (std::size_t lane = 0; lane < width && !has_run; ++lane)
        free[lane] = std::max({free[lane], input[lane], other[lane]}) + length[lane];
      if (updates_ && adds_to_weights(task.pass)) add_gradient(gradients_[task.chunk_index], free);
      if (turn.link != LinkClass::none) send(turn, task, free, length);
    }
  }

  /// By lane: the end of everything.
  [[nodiscard]] std::vector<Duration> ends(const HeldChunks& held) const {
    std::vector<Duration> ends(width);
    for (std::size_t lane = 0; lane < width; ++lane) {
      for (const Lanes& stage : free_) ends[lane] = std::max(ends[lane], stage[lane]);
      if (updates_) ends[lane] = std::max(ends[lane], update_end(lane, held));
    }
    return ends;
  }

private:
  static void add_gradient(Lanes& last, const Lanes& end) {
    for (std::size_t lane = 0; lane < width; ++lane) last[lane] = std::max(last[lane], end[lane]);
  }

  void send(const Turn& turn, const Task& task, const Lanes& end, const Lanes& length) {
    Lanes& sent = sent_[turn.task];
    const Duration transfer = transfer_[Dag::row_of(turn.link) * boundaries_ + Dag::boundary_of(task)];
    if (in_slices_ && dag_.is_sliced(task, turn.link)) {
      for (std::size_t lane = 0; lane < width; ++lane) {
        const Span span{SimTime{end[lane] - length[lane]}, SimTime{end[lane]}};
        sent[lane] = dag_.sliced_transfer(task, turn.link, span, dag_.first_slice(span)).end - SimTime{};
      }
    } else {
      for (std::size_t lane = 0; lane < width; ++lane) sent[lane] = end[lane] + transfer;
    }
  }

  [[nodiscard]] Duration update_end(std::size_t lane, const HeldChunks& held) const {
    const auto in_lane = [lane](const std::vector<Lanes>& ends) {
      std::vector<SimTime> times(ends.size());
      std::ranges::transform(ends, times.begin(), [lane](const Lanes& end) { return SimTime{end[lane]}; });
      return times;
    };
    return end_of_update(graph_, held, in_lane(free_), in_lane(gradients_)) - SimTime{};
  }

  const TaskGraph& graph_;
  const Dag& dag_;
  std::span<const Task> tasks_;
  const Times& times_;
  std::size_t boundaries_;
  bool in_slices_, in_one_piece_, updates_;
  std::vector<Duration> transfer_; ///< by class of link, then boundary
  std::unique_ptr<Lanes[]> sent_;  // NOLINT: as above; by task: when its output is where it is needed
  std::vector<Lanes> free_;        ///< by stage: when its last task ended
  std::vector<Lanes> gradients_;   ///< by chunk: the end of its last gradient
};

template <class Times>
std::vector<Duration> run_recurrence(const TaskGraph& graph, std::span<const Turn> turns, const HeldChunks& held,
                                     const Times& times) {
  Recurrence<Times> recurrence{graph, times};
  recurrence.run(turns);
  return recurrence.ends(held);
}

/// Simulates the lanes one by one.
std::vector<Duration> simulate_lanes(const TaskGraph& graph, std::span<const Duration> alone) {
  TaskGraph sampled = graph.with_costs(graph.scenario());
  std::vector<Duration> times(graph.size());
  std::vector<Duration> ends;
  for (std::size_t lane = 0; lane < StepTimer::lanes; ++lane) {
    for (std::size_t task = 0; task < times.size(); ++task) times[task] = alone[task * StepTimer::lanes + lane];
    sampled.set_times(times);
    ends.push_back(end_of(simulate(sampled)) - SimTime{});
  }
  return ends;
}

} // namespace

StepTimer::StepTimer(const TaskGraph& graph) : wiring_{graph.dag().wiring}, held_{graph.schedule()} {
  const Wiring& wiring = *wiring_;
  const auto none = static_cast<std::uint32_t>(graph.size());
  std::vector<std::uint32_t> position(graph.size());
  turns_.reserve(graph.size());
  for (const TaskId task : wiring.topological_order) {
    const auto id = static_cast<std::uint32_t>(index(task));
    position[id] = static_cast<std::uint32_t>(turns_.size());
    turns_.push_back({id, none, none, static_cast<std::uint16_t>(index(graph.schedule().stage_of(task))), {}});
  }
  for (std::uint32_t from = 0; from < none; ++from)
    for (auto [edge, end] = out_edges(from, wiring.graph); edge != end; ++edge) {
      const LinkClass link = wiring.graph[*edge].link();
      if (link == LinkClass::none) continue;
      turns_[position[from]].link = link;
      Turn& receiver = turns_[position[target(*edge, wiring.graph)]];
      (receiver.input == none ? receiver.input : receiver.other) = from;
    }
}

bool StepTimer::is_recurrence(const TaskGraph& graph) const {
  return graph.scenario().network.model == TransferModel::latency && graph.dag().wiring == wiring_;
}

Duration StepTimer::makespan(const TaskGraph& graph) const {
  PPSIM_ASSERT(graph.size() == turns_.size());
  if (!is_recurrence(graph)) return end_of(simulate(graph)) - SimTime{};
  return run_recurrence(graph, turns_, held_, OwnTimes{{graph.dag(), graph.schedule().tasks()}}).front();
}

std::vector<Duration> StepTimer::makespans(const TaskGraph& graph, std::span<const Duration> alone) const {
  PPSIM_ASSERT(graph.size() == turns_.size() && alone.size() == lanes * graph.size());
  if (!is_recurrence(graph)) return simulate_lanes(graph, alone);
  const Dag& dag = graph.dag();
  return run_recurrence(graph, turns_, held_,
                        TimesAlone{dag, graph.schedule().tasks(), alone, dag.runs_pairs_in_one_piece()});
}

} // namespace ppsim
