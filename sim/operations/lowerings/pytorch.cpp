// As placed by _add_send_recv of torch/distributed/pipelining/schedules.py: a send follows its task, and the receive is
// appended to the current row of the stage that needs it. Before that, PyTorch adds actions on whole chunks
// (chunk_actions.hpp), with FSDP or without, if the file has none: they send nothing, but each takes a turn.
// _PipelineScheduleRuntime launches each operation separately, with isend or irecv (pytorch#175712; before that with
// batch_isend_irecv): on a process group with a device_id on the communicator of the whole group, otherwise on that of
// the pair.

#include "ppsim/base/error.hpp"
#include "ppsim/operations/detail/stage_transfers.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "chunk_actions.hpp"
#include "lowering_list.hpp"

namespace ppsim::lowering::pytorch {
namespace {

/// PyTorch iterates over the stages; in each round, each stage runs its next task if all its receives are posted, and a
/// sender posts the receive in the other stage's row. Here a waiting stage is visited again only when a receive is
/// posted for it, so the work is n log p.
class SendRecvPlacer {
public:
  explicit SendRecvPlacer(const TaskGraph& graph)
      : graph_{graph}, schedule_{graph.schedule()}, actions_(schedule_.shape().stages), rows_(actions_.size()),
        turns_(rows_.size()), waits_(rows_.size()), needs_receive_(schedule_.size()) {
    for (std::size_t id = 0; id < schedule_.size(); ++id)
      if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
        needs_receive_[index(*receiver)] = true;
    const bool reduces = graph.scenario().network.streams.reduce_grad;
    for (std::size_t stage = 0; stage < rows_.size(); ++stage) {
      actions_[stage] = lowering::actions_of(schedule_, make_id<StageId>(stage), reduces);
      next_.push_back(first_of(stage));
      call_behind_actions(0, stage);
    }
  }

  [[nodiscard]] CommOrder place() {
    while (!calls_.empty()) {
      const std::uint64_t call = calls_.top();
      calls_.pop();
      visit(call >> 32U, call & 0xFFFFFFFFU);
    }
    check_finished();
    std::vector<CommOp> ops;
    std::vector<std::uint32_t> offsets{0};
    for (std::size_t stage = 0; stage < rows_.size(); ++stage) {
      take_turns_until(never, 0, stage);
      ops.insert(ops.end(), rows_[stage].begin(), rows_[stage].end());
      offsets.push_back(static_cast<std::uint32_t>(ops.size()));
      rows_[stage] = {};
    }
    return {std::move(ops), std::move(offsets), std::move(actions_)};
  }

private:
  [[nodiscard]] std::size_t first_of(std::size_t stage) const {
    return index(schedule_.first_task(make_id<StageId>(stage)));
  }
  /// After the task or pair that `stage` runs next.
  [[nodiscard]] std::size_t end_of_next(std::size_t stage) const {
    return index(pair_end(schedule_, make_id<TaskId>(next_[stage])));
  }
  [[nodiscard]] bool is_finished(std::size_t stage) const { return next_[stage] == first_of(stage + 1); }
  [[nodiscard]] bool is_ready(std::size_t stage) const {
    for (std::size_t id = next_[stage]; id < end_of_next(stage); ++id)
      if (needs_receive_[id]) return false;
    return true;
  }
  void call(std::uint64_t round, std::size_t stage) { calls_.push(round << 32U | stage); }

  /// The number of tasks of `stage` before its next one.
  [[nodiscard]] std::uint32_t before_next(std::size_t stage) const {
    return static_cast<std::uint32_t>(next_[stage] - first_of(stage));
  }
  /// From `round` on, the stage has its turns for the actions before its next task, then for the task.
  void call_behind_actions(std::uint64_t round, std::size_t stage) {
    turns_[stage].round = round;
    std::size_t end = turns_[stage].action;
    while (end < actions_[stage].size() && actions_[stage][end].before == before_next(stage)) ++end;
    call(round + end - turns_[stage].action, stage);
  }
  /// Places the actions in `row` that its stage reached before the turn of stage `acting` in `round`.
  void take_turns_until(std::uint64_t round, std::size_t acting, std::size_t row) {
    Turns& turns = turns_[row];
    std::vector<ChunkAction>& actions = actions_[row];
    for (; turns.action < actions.size() && actions[turns.action].before <= before_next(row) &&
           std::pair{turns.round, row} < std::pair{round, acting};
         ++turns.action, ++turns.round)
      actions[turns.action].behind = static_cast<std::uint32_t>(rows_[row].size());
  }

  void visit(std::uint64_t round, std::size_t stage) {
    if (is_finished(stage)) return;
    waits_[stage] = !is_ready(stage);
    if (waits_[stage]) return;
    take_turns_until(round, stage, stage);
    const std::size_t first = next_[stage];
    next_[stage] = end_of_next(stage);
    for (std::size_t id = first; id < next_[stage]; ++id)
      if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
        transfer(round, stage, make_id<TaskId>(id), *receiver);
    call_behind_actions(round + 1, stage);
  }

  void transfer(std::uint64_t round, std::size_t stage, TaskId sender, TaskId receiver) {
    const std::size_t other = index(schedule_.stage_of(receiver));
    add(stage, sender, true);
    take_turns_until(round, stage, other);
    add(other, sender, false);
    needs_receive_[index(receiver)] = false;
    if (!waits_[other] || !is_ready(other)) return;
    waits_[other] = false;
    call(other > stage ? round : round + 1, other); // a higher stage still has its turn in this round
  }

  void add(std::size_t stage, TaskId sender, bool is_send) {
    rows_[stage].push_back({.sender = sender, .before = before_next(stage), .is_send = is_send});
  }

  void check_finished() const {
    for (std::size_t stage = 0; stage < rows_.size(); ++stage)
      if (!is_finished(stage))
        throw Error{
            ExitCode::no,
            {fmt::format("schedule '{}'", schedule_.name()),
             fmt::format("no place for the sends and receives: on stage {}, {} waits forever", stage,
                         to_string(schedule_.tasks()[next_[stage]])),
             "an overlapped pair must not wait for its own result; write the order without sends and receives"}};
  }

  /// The next action of a stage, and its round.
  struct Turns {
    std::size_t action = 0;
    std::uint64_t round = 0;
  };
  static constexpr std::uint64_t never = std::uint64_t{1} << 63U;

  const TaskGraph& graph_;
  const Schedule& schedule_;
  ChunkActions actions_;
  std::vector<std::vector<CommOp>> rows_;
  std::vector<Turns> turns_;        ///< by stage
  std::vector<std::size_t> next_;   ///< by stage: id of its next task
  std::vector<bool> waits_;         ///< by stage: its next task lacks a receive
  std::vector<bool> needs_receive_; ///< by task: its input crosses stages and is not posted yet
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> calls_; ///< round, then stage
};

CommOrder place(const TaskGraph& graph, Overlap /*overlap*/) {
  return SendRecvPlacer{graph}.place();
}

} // namespace

const Lowering definition{.name = "pytorch",
                          .summary = "sends after their task, receives as soon as some order of all stages has sent",
                          .source = "PyTorch, torch.distributed.pipelining.schedules._add_send_recv",
                          .communicators = Communicators::group,
                          .place = place};

} // namespace ppsim::lowering::pytorch
