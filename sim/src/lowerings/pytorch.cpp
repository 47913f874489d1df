// As _add_send_recv of torch/distributed/pipelining/schedules.py places them: behind a task comes its send, and in the
// row of the stage that needs the result, at its present end, the receive. _PipelineScheduleRuntime launches each by
// itself with batch_isend_irecv, which takes the communicator of the whole group. (A later change, pytorch#175712,
// launches them with isend and irecv, whose communicators are those of pairs.) Before that, PyTorch (2.10) puts a
// REDUCE_GRAD behind the last backward of a chunk (_add_reduce_grad), and UNSHARD and RESHARD where FSDP would gather
// and drop parameters (_add_unshard_reshard), with FSDP or without. They send nothing, but each takes a turn.

#include "ppsim/sim/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "crossings.hpp"
#include "lowering_list.hpp"

namespace ppsim::lowering::pytorch {
namespace {

/// The chunks that a stage runs from some place on, the next ones first. PyTorch keeps the parameters of three of them.
class ChunksAhead {
public:
  /// Goes back to an action of these chunks. Returns how many chunks are gathered or dropped behind it.
  std::size_t go_back_to(std::initializer_list<std::uint16_t> chunks) {
    const std::vector<std::uint16_t> behind = kept();
    for (const std::uint16_t chunk : chunks) {
      std::erase(chunks_, chunk);
      chunks_.insert(chunks_.begin(), chunk);
    }
    const std::vector<std::uint16_t> here = kept();
    const auto stay = std::count_if(here.begin(), here.end(), [&](std::uint16_t chunk) {
      return std::find(behind.begin(), behind.end(), chunk) != behind.end();
    });
    return here.size() + behind.size() - 2 * static_cast<std::size_t>(stay);
  }
  [[nodiscard]] std::vector<std::uint16_t> kept() const {
    constexpr std::size_t most = 3; // max_active_stages
    return {chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(std::min(most, chunks_.size()))};
  }

private:
  std::vector<std::uint16_t> chunks_;
};

/// By task that stands alone or first in a pair: how many UNSHARD, RESHARD and REDUCE_GRAD stand right before it. Goes
/// from back to front, so that what comes next is known without looking for it.
std::vector<std::size_t> turns_before(const Schedule& schedule) {
  std::vector<std::size_t> turns(schedule.size() + 1); // and one behind them all, which nobody reads
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    ChunksAhead ahead;
    std::set<std::uint16_t> reduced;
    const std::size_t first = index(schedule.first_task(make_id<StageId>(stage)));
    std::size_t behind = index(schedule.first_task(make_id<StageId>(stage + 1)));
    while (behind > first) {
      const std::size_t begin = index(pair_begin(schedule, make_id<TaskId>(behind - 1)));
      for (std::size_t id = behind; id-- > begin;) {
        const Task& task = schedule.tasks()[id];
        if (frees_activation(task.pass) && reduced.insert(task.chunk_index).second)
          turns[behind] += 1 + ahead.go_back_to({task.chunk_index});
      }
      turns[behind] +=
          ahead.go_back_to({schedule.tasks()[behind - 1].chunk_index, schedule.tasks()[begin].chunk_index});
      behind = begin;
    }
    turns[first] = ahead.kept().size();
  }
  return turns;
}

/// PyTorch goes over the stages again and again; each time round, each stage runs its next task if every receive it
/// needs has been posted, and whoever sends posts the receive in the other stage's row. Here a stage that has to wait
/// is looked at again only when a receive is posted for it, so that the work is n log p.
class SendRecvPlacer {
public:
  explicit SendRecvPlacer(const TaskGraph& graph)
      : graph_{graph}, schedule_{graph.schedule()}, turns_{turns_before(schedule_)}, rows_(schedule_.shape().stages),
        waits_(rows_.size()), needs_receive_(schedule_.size()) {
    for (std::size_t id = 0; id < schedule_.size(); ++id)
      if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
        needs_receive_[index(*receiver)] = true;
    for (std::size_t stage = 0; stage < rows_.size(); ++stage) {
      next_.push_back(first_of(stage));
      call(turns_[next_[stage]], stage);
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
    for (std::vector<CommOp>& row : rows_) {
      ops.insert(ops.end(), row.begin(), row.end());
      offsets.push_back(static_cast<std::uint32_t>(ops.size()));
      row = {};
    }
    return {std::move(ops), std::move(offsets)};
  }

private:
  [[nodiscard]] std::size_t first_of(std::size_t stage) const {
    return index(schedule_.first_task(make_id<StageId>(stage)));
  }
  /// Behind the task, or the pair, that `stage` runs next.
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

  void visit(std::uint64_t round, std::size_t stage) {
    if (is_finished(stage)) return;
    waits_[stage] = !is_ready(stage);
    if (waits_[stage]) return;
    const std::size_t first = next_[stage];
    next_[stage] = end_of_next(stage);
    for (std::size_t id = first; id < next_[stage]; ++id)
      if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
        transfer(round, stage, make_id<TaskId>(id), *receiver);
    call(round + 1 + turns_[next_[stage]], stage);
  }

  void transfer(std::uint64_t round, std::size_t stage, TaskId sender, TaskId receiver) {
    const std::size_t other = index(schedule_.stage_of(receiver));
    add(stage, sender, true);
    add(other, sender, false);
    needs_receive_[index(receiver)] = false;
    if (!waits_[other] || !is_ready(other)) return;
    waits_[other] = false;
    call(other > stage ? round : round + 1, other); // a higher stage still has its turn in this round
  }

  void add(std::size_t stage, TaskId sender, bool is_send) {
    const auto before = static_cast<std::uint32_t>(next_[stage] - first_of(stage));
    rows_[stage].push_back({.sender = sender, .before = before, .is_send = is_send});
  }

  void check_finished() const {
    for (std::size_t stage = 0; stage < rows_.size(); ++stage)
      if (!is_finished(stage))
        throw Error{
            ExitCode::no,
            {fmt::format("schedule '{}'", schedule_.name()),
             fmt::format("no place for the sends and receives: on stage {}, {} waits for ever", stage,
                         to_string(schedule_.tasks()[next_[stage]])),
             "an overlapped pair must not wait for its own result; write the order without sends and receives"}};
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  std::vector<std::size_t> turns_; ///< by task, see turns_before()
  std::vector<std::vector<CommOp>> rows_;
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
                          .summary = "sends behind their task, receives as soon as some order of all stages has sent",
                          .source = "PyTorch, torch.distributed.pipelining.schedules._add_send_recv",
                          .communicators = Communicators::group,
                          .place = place};

} // namespace ppsim::lowering::pytorch
