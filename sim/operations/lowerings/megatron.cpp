// As in Megatron-LM (megatron/core/pipeline_parallel/schedules.py and p2p_communication.py). Without interleaving:
// receive, forward, send during warm-up; then send-forward-receive-backward after a forward and
// send-backward-receive-forward after a backward; receive, backward, send during cool-down. Interleaved: after each
// step (a forward, a pair of both, a backward), its output is sent and the next step's input is received. Every
// exchange is one batch_isend_irecv on the group's communicator, and the stage waits for all of it.
//
// With overlap_p2p_comm, only for the interleaved schedule and its default, operations are launched one by one with
// isend and irecv. Their communicators are those of pairs; with two stages, one direction uses those of another group.
// During 1F1B each direction is launched right after its pass, and the next pass of its kind waits for the receive. A
// forward's send is waited for at once, because training then frees the output (deallocate_pipeline_outputs). A
// backward's send is waited for after the next backward. With overlap_p2p_comm_warmup_flush the same applies in warm-up
// and cool-down, where receives are launched one pass ahead.
//
// An order that is not Megatron-LM's is processed step by step, each task or pair being a step.

#include "ppsim/base/error.hpp"
#include "ppsim/operations/detail/stage_transfers.hpp"
#include "ppsim/schedule/detail/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "lowering_list.hpp"

namespace ppsim::lowering::megatron {
namespace {

constexpr std::uint32_t none = 0xFFFFFFFFU;

/// The passes of a stage in Megatron-LM's order.
struct Steps {
  std::vector<TaskId> forwards;
  std::vector<TaskId> backwards; ///< B or I
  std::size_t warmup = 0;        ///< forwards before the first pair
  std::size_t pairs = 0;         ///< of a forward and a backward
  bool follows = false;          ///< the stage runs only warm-up, pairs, then backwards
};

Steps steps_of(const Schedule& schedule, StageId stage) {
  Steps steps;
  const std::span<const Task> tasks = schedule.stage(stage);
  const std::size_t first = index(schedule.first_task(stage));
  bool plain = true;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].pass == Pass::forward) steps.forwards.push_back(make_id<TaskId>(first + i));
    if (gives_gradient(tasks[i].pass)) steps.backwards.push_back(make_id<TaskId>(first + i));
    plain = plain && tasks[i].pairing == Pairing::alone &&
            (tasks[i].pass == Pass::forward || tasks[i].pass == Pass::backward);
  }
  const Phases phases = count_phases(schedule, stage);
  steps.warmup = phases.warmup_forwards;
  steps.pairs = phases.steady_pairs;
  if (!plain || steps.pairs > steps.backwards.size()) return steps;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const bool in_pairs = i >= steps.warmup && i < steps.warmup + 2 * steps.pairs;
    const bool forward = in_pairs ? (i - steps.warmup) % 2 == 0 : i < steps.warmup;
    if ((tasks[i].pass == Pass::forward) != forward) return steps;
  }
  steps.follows = true;
  return steps;
}

/// An operation of an exchange.
struct Side {
  std::uint32_t transfer = none;
  bool is_send = false;
  bool waits = false; ///< the stage waits for it before its next task
};

Side waited(Side side) {
  side.waits = true;
  return side;
}

class MegatronPlacer {
public:
  MegatronPlacer(const TaskGraph& graph, Overlap overlap)
      : schedule_{graph.schedule()}, transfers_{graph}, send_of_(graph.size(), none), receive_of_(graph.size(), none),
        received_(transfers_.all().size()), overlap_{schedule_.shape().vpp > 1 ? overlap : Overlap::none} {
    for (std::size_t i = 0; i < transfers_.all().size(); ++i) {
      send_of_[index(transfers_.all()[i].sender)] = static_cast<std::uint32_t>(i);
      receive_of_[index(transfers_.all()[i].receiver)] = static_cast<std::uint32_t>(i);
    }
    for (const StageId stage : schedule_.stage_ids()) steps_.push_back(steps_of(schedule_, stage));
  }

  [[nodiscard]] CommOrder place() {
    const Shape& shape = schedule_.shape();
    const bool follows = std::ranges::all_of(steps_, &Steps::follows);
    const bool loop =
        std::ranges::all_of(transfers_.all(), [&](const StageTransfer& transfer) { return follows_loop(transfer); });
    std::vector<std::uint32_t> offsets{0};
    for (const StageId stage : shape.stage_ids()) {
      stage_ = stage;
      at_ = 0;
      backward_send_.reset();
      if (follows && shape.vpp == 1)
        place_plain();
      else if (follows && loop)
        overlap_ == Overlap::none ? place_interleaved() : place_interleaved_overlapped();
      else
        overlap_ == Overlap::none ? place_steps() : place_steps_overlapped();
      offsets.push_back(static_cast<std::uint32_t>(ops_.size()));
    }
    return {std::move(ops_), std::move(offsets)};
  }

private:
  /// Whether a forward sends to the next stage, a backward to the previous one; the last stage to the first.
  [[nodiscard]] bool follows_loop(const StageTransfer& transfer) const {
    const bool forward = schedule_.task(transfer.sender).pass == Pass::forward;
    const std::size_t next = (index(forward ? transfer.from : transfer.to) + 1) % schedule_.shape().stages;
    return next == index(forward ? transfer.to : transfer.from);
  }

  [[nodiscard]] const Steps& steps() const { return steps_[index(stage_)]; }
  [[nodiscard]] Side send(TaskId task) const { return {send_of_[index(task)], true}; }
  [[nodiscard]] Side receive(std::span<const TaskId> tasks, std::size_t i) const {
    return {i < tasks.size() ? receive_of_[index(tasks[i])] : none, false};
  }

  /// Launches the operations as one group, which the stage waits for.
  void exchange(std::vector<Side> sides) {
    // A group matches operations between the same two stages in order.
    std::ranges::sort(sides, {}, [&](const Side& side) {
      if (side.transfer == none) return std::tuple{StageId{}, StageId{}, none};
      const StageTransfer& transfer = transfers_.all()[side.transfer];
      return std::tuple{transfer.from, transfer.to, side.transfer};
    });
    bool joins = false;
    for (const Side& side : sides) joins |= launch(waited(side), joins);
  }

  /// Launches the operations one by one. In each direction, stages of even number launch the send first and the others
  /// the receive, so that they meet.
  void exchange_singly(std::vector<Side> sides) {
    const bool even = index(stage_) % 2 == 0;
    std::ranges::sort(sides, {}, [&](const Side& side) {
      if (side.transfer == none) return std::tuple{0, false, none};
      const bool forward = schedule_.task(transfers_.all()[side.transfer].sender).pass == Pass::forward;
      return std::tuple{forward ? 1 : 2, side.is_send != even, side.transfer};
    });
    for (const Side& side : sides) launch(side, false);
  }

  /// False if there is nothing to launch.
  bool launch(const Side& side, bool joins) {
    if (side.transfer == none || (!side.is_send && received_[side.transfer])) return false;
    if (!side.is_send) received_[side.transfer] = true;
    const TaskId sender = transfers_.all()[side.transfer].sender;
    const bool forward = schedule_.task(sender).pass == Pass::forward;
    if (!side.waits && !forward && side.is_send) backward_send_ = ops_.size();
    ops_.push_back({.sender = sender, .before = at_, .is_send = side.is_send, .joins = joins, .holds = side.waits});
    return true;
  }

  /// The next task of the stage waits for `operation`, a position in ops_.
  void wait_for(std::size_t operation) {
    ops_[operation].holds = true;
    ops_[operation].holds_after = at_ - ops_[operation].before;
  }

  /// Runs the next `count` tasks of the stage. Inputs that no exchange has received get separate receives.
  void run(std::size_t count = 1) {
    const std::size_t first = index(schedule_.first_task(stage_)) + at_;
    for (std::size_t id = first; id < first + count; ++id) exchange({{receive_of_[id], false}});
    at_ += static_cast<std::uint32_t>(count);
  }

  void place_plain() {
    const Steps& own = steps();
    for (std::size_t i = 0; i < own.warmup; ++i) {
      run();
      exchange({send(own.forwards[i])});
    }
    for (std::size_t i = 0; i < own.pairs; ++i) {
      run();
      exchange({send(own.forwards[own.warmup + i]), receive(own.backwards, i)});
      run();
      exchange({send(own.backwards[i]), receive(own.forwards, own.warmup + i + 1)});
    }
    for (std::size_t i = own.pairs; i < own.backwards.size(); ++i) {
      run();
      exchange({send(own.backwards[i])});
    }
  }

  /// The receive after a stage's k-th forward: the input of the next one. The first stage gets its inputs from the last
  /// one p-1 steps later, so it receives what the last stage sends then.
  [[nodiscard]] Side next_forward(std::size_t k) const {
    return stage_ == StageId{0} ? wrapped(steps_.back().forwards, k) : receive(steps().forwards, k + 1);
  }
  /// The same after the k-th backward, with the last stage in the role of the first.
  [[nodiscard]] Side next_backward(std::size_t k) const {
    const bool leads = index(stage_) + 1 == schedule_.shape().stages;
    return leads ? wrapped(steps_.front().backwards, k) : receive(steps().backwards, k + 1);
  }
  [[nodiscard]] Side wrapped(std::span<const TaskId> senders, std::size_t k) const {
    const std::size_t distance = schedule_.shape().stages - 1;
    if (k < distance || k - distance >= senders.size()) return {};
    return {send_of_[index(senders[k - distance])], false};
  }

  void place_interleaved() {
    const Steps& own = steps();
    for (std::size_t k = 0; k < own.warmup; ++k) {
      run();
      const bool last = k + 1 == own.warmup && own.pairs > 0;
      exchange({send(own.forwards[k]), next_forward(k), last ? receive(own.backwards, 0) : Side{}});
    }
    for (std::size_t k = 0; k < own.pairs; ++k) {
      run(2);
      exchange(
          {send(own.forwards[own.warmup + k]), send(own.backwards[k]), next_forward(own.warmup + k), next_backward(k)});
    }
    for (std::size_t k = own.pairs; k < own.backwards.size(); ++k) {
      run();
      exchange({send(own.backwards[k]), next_backward(k)});
    }
  }

  void place_interleaved_overlapped() {
    const Steps& own = steps();
    exchange({receive(own.forwards, 0)});
    for (std::size_t k = 0; k < own.warmup; ++k) warm_up(k);
    if (own.pairs > 0) exchange_singly({receive(own.backwards, 0)});
    for (std::size_t k = 0; k < own.pairs; ++k) {
      const std::size_t forward = own.warmup + k;
      run();
      exchange_singly({waited(send(own.forwards[forward])), next_forward(forward)});
      run();
      exchange_behind_backward(k);
    }
    if (own.pairs == 0) exchange({receive(own.backwards, 0)});
    for (std::size_t k = own.pairs; k < own.backwards.size(); ++k) cool_down(k);
    if (backward_send_) wait_for(*backward_send_);
  }

  /// A stage receives its neighbour's output before its task, and the output from the other end of the pipeline after
  /// it.
  void warm_up(std::size_t k) {
    const bool ahead = overlap_ == Overlap::all;
    if (ahead && stage_ != StageId{0}) exchange_singly({next_forward(k)});
    run();
    exchange_singly({waited(send(steps().forwards[k])), ahead ? next_forward(k) : waited(next_forward(k))});
  }
  void cool_down(std::size_t k) {
    const bool ahead = overlap_ == Overlap::all;
    if (ahead && index(stage_) + 1 < schedule_.shape().stages) exchange_singly({next_backward(k)});
    run();
    if (ahead) return exchange_behind_backward(k);
    exchange_singly({waited(send(steps().backwards[k])), waited(next_backward(k))});
  }

  /// Sends the output of the k-th backward; waits for the send before it.
  void exchange_behind_backward(std::size_t k) {
    const std::optional<std::size_t> before = std::exchange(backward_send_, std::nullopt);
    exchange_singly({send(steps().backwards[k]), next_backward(k)});
    if (before) wait_for(*before);
  }

  /// Calls `visit` with the range of tasks of each step of the stage.
  template <class Visit>
  void for_steps(Visit visit) const {
    const std::size_t end = index(schedule_.end_task(stage_));
    for (std::size_t id = index(schedule_.first_task(stage_)); id < end;) {
      const std::size_t next = index(pair_end(schedule_, make_id<TaskId>(id)));
      visit(id, next);
      id = next;
    }
  }

  /// Between two steps, sends the outputs of one and receives the inputs of the other.
  void place_steps() {
    std::vector<Side> sides;
    for_steps([&](std::size_t first, std::size_t end) {
      for (std::size_t id = first; id < end; ++id) sides.push_back({receive_of_[id], false});
      exchange(std::exchange(sides, {}));
      run(end - first);
      for (std::size_t id = first; id < end; ++id) sides.push_back({send_of_[id], true});
    });
    exchange(sides);
  }

  /// After a pass, sends its output and receives the input of the next pass of its kind.
  void place_steps_overlapped() {
    const Steps& own = steps();
    std::size_t forward = 0;
    std::size_t backward = 0;
    for_steps([&](std::size_t first, std::size_t end) {
      const bool is_next = !own.backwards.empty() && index(pair_begin(schedule_, own.backwards.front())) == end;
      if (is_next) exchange_singly({receive(own.backwards, 0)});
      run(end - first);
      std::vector<Side> sides;
      for (std::size_t id = first; id < end; ++id) {
        const Task& task = schedule_.tasks()[id];
        if (task.pass == Pass::forward) sides.push_back(receive(own.forwards, ++forward));
        if (gives_gradient(task.pass)) sides.push_back(receive(own.backwards, ++backward));
        sides.push_back({send_of_[id], true, task.pass == Pass::forward});
      }
      exchange_singly(std::move(sides));
    });
  }

  const Schedule& schedule_;
  StageTransfers transfers_;
  std::vector<std::uint32_t> send_of_, receive_of_; ///< by task: its transfer
  std::vector<bool> received_;                      ///< by transfer
  std::vector<Steps> steps_;                        ///< by stage
  Overlap overlap_;
  StageId stage_{};      ///< being placed
  std::uint32_t at_ = 0; ///< number of its tasks that have run
  std::vector<CommOp> ops_;
  std::optional<std::size_t> backward_send_; ///< position in ops_ of a send of the stage that is not waited for yet
};

/// As asserted in arguments.py.
void refuse_two_stages(const TaskGraph& graph, Overlap overlap) {
  const Shape& shape = graph.schedule().shape();
  if (shape.stages != 2 || shape.vpp == 1 || overlap != Overlap::none) return;
  throw Error{ExitCode::bad_input,
              Problem{"lowering megatron",
                      fmt::format("2 stages with {} chunks each in batches: Megatron-LM rejects this, as a batch would "
                                  "hold several sends and receives between the same two ranks",
                                  shape.vpp),
                      "leave out `p2p` batched and `overlap-p2p` none, or use 3 stages or more"}};
}

CommOrder place(const TaskGraph& graph, Overlap overlap) {
  refuse_two_stages(graph, overlap);
  return MegatronPlacer{graph, overlap}.place();
}

} // namespace

const Lowering definition{
    .name = "megatron",
    .summary = "exchanges between tasks, which the stage waits for; with several chunks the stage continues meanwhile",
    .source = "Megatron-LM, forward_backward_pipelining_with_interleaving and without",
    .communicators = Communicators::group,
    .overlapped = Communicators::pair,
    .overlapped_by_two = Communicators::edge,
    .takes_overlap = true,
    .place = place};

} // namespace ppsim::lowering::megatron
