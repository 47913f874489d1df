// Checks a program and names each fault, so that errors of the compiler are found before a run hangs.

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "program_graph.hpp"

namespace ppsim::runtime {
namespace {

/// Positions and ids that all other checks use. Throws if they are invalid.
class References {
public:
  explicit References(const Program& program) : program_{program} {}

  void check() {
    const Schedule& schedule = program_.schedule;
    if (program_.stages.size() != schedule.shape().stages)
      problems_.add(program_.place,
                    fmt::format("{} stages, but the schedule has {}", program_.stages.size(), schedule.shape().stages));
    problems_.throw_if_any(ExitCode::no);
    for (const StageId stage : program_.schedule.stage_ids()) check_stage(stage);
    for (std::size_t channel = 0; channel < program_.channels.size(); ++channel) check_channel(channel);
    for (const Lane& lane : program_.lanes)
      for (const TransferRef ref : lane.transfers) check_ref(ref, "a lane");
    problems_.throw_if_any(ExitCode::no);
  }

private:
  void check_stage(StageId stage) {
    const StageProgram& mine = program_.stages[index(stage)];
    const auto tasks = program_.schedule.stage(stage);
    const std::size_t first = index(program_.schedule.first_task(stage));
    bool same = mine.tasks.size() == tasks.size();
    for (std::size_t i = 0; same && i < tasks.size(); ++i)
      same = mine.tasks[i].task == tasks[i] && index(mine.tasks[i].id) == first + i;
    if (!same)
      problems_.add(program_.place, fmt::format("stage {} does not have the tasks of the schedule", index(stage)));
    for (const ProgramTask& task : mine.tasks)
      for (const auto& ref : {task.input, task.output})
        if (ref) check_ref(*ref, to_string(task.task));
    for (const Batch& batch : mine.batches) {
      if (batch.before > mine.tasks.size())
        problems_.add(program_.place, fmt::format("stage {}: a batch before task {} of {}", index(stage), batch.before,
                                                  mine.tasks.size()));
      for (const auto* refs : {&batch.sends, &batch.receives})
        for (const TransferRef ref : *refs) check_ref(ref, fmt::format("a batch of stage {}", index(stage)));
    }
  }

  void check_ref(TransferRef ref, const std::string& who) {
    if (index(ref.channel) >= program_.channels.size() ||
        ref.position >= program_.channels[index(ref.channel)].transfers.size())
      problems_.add(program_.place, fmt::format("{} names transfer {} of channel {}, which does not exist", who,
                                                ref.position, index(ref.channel)));
  }

  void check_channel(std::size_t id) {
    const Channel& channel = program_.channels[id];
    if (index(channel.from) >= program_.stages.size() || index(channel.to) >= program_.stages.size())
      problems_.add(program_.place, fmt::format("channel {} is between stages that do not exist", id));
    if (channel.slots == 0) problems_.add(program_.place, fmt::format("channel {} has no slot", id));
    for (const Transfer& transfer : channel.transfers)
      if (index(transfer.producer) >= program_.schedule.size() || index(transfer.consumer) >= program_.schedule.size())
        problems_.add(program_.place, fmt::format("channel {} is for tasks that do not exist", id));
  }

  const Program& program_;
  Problems problems_;
};

/// Every input is produced once and used once, in the order of its channel.
class Transfers {
public:
  Transfers(const Program& program, Problems& problems) : program_{program}, problems_{problems} {}

  void check() {
    for (std::size_t stage = 0; stage < program_.stages.size(); ++stage) check_stage(stage);
    for (std::size_t id = 0; id < program_.channels.size(); ++id) check_channel(make_id<ChannelId>(id));
  }

private:
  void fault(std::string what) { problems_.add(program_.place, std::move(what)); }
  [[nodiscard]] std::string name(TaskId id) const { return to_string(program_.schedule.task(id)); }
  [[nodiscard]] std::string both_ends(const Transfer& transfer) const {
    return fmt::format("{} for {}", name(transfer.producer), name(transfer.consumer));
  }
  [[nodiscard]] bool is_last_chunk(const Task& task) const {
    return task.chunk_index + std::size_t{1} == program_.schedule.shape().chunks();
  }

  [[nodiscard]] bool needs_input(const Task& task) const {
    if (task.pass == Pass::forward) return task.chunk_index > 0;
    return gives_gradient(task.pass) && !is_last_chunk(task);
  }
  [[nodiscard]] bool has_output(const Task& task) const {
    if (task.pass == Pass::forward) return !is_last_chunk(task);
    return gives_gradient(task.pass) && task.chunk_index > 0;
  }
  /// Whether `after` needs the output of `before`.
  [[nodiscard]] static bool follows(const Task& before, const Task& after) {
    if (before.microbatch != after.microbatch) return false;
    if (before.pass == Pass::forward) return after.pass == Pass::forward && after.chunk_index == before.chunk_index + 1;
    return gives_gradient(before.pass) && gives_gradient(after.pass) && after.chunk_index + 1 == before.chunk_index;
  }

  void check_stage(std::size_t stage) {
    const StageProgram& mine = program_.stages[stage];
    for (const ProgramTask& task : mine.tasks) {
      check_end(task, task.input, needs_input(task.task), &Transfer::consumer, "input");
      check_end(task, task.output, has_output(task.task), &Transfer::producer, "output");
    }
    std::vector<ChannelId> in;
    std::vector<ChannelId> out;
    for (std::size_t id = 0; id < program_.channels.size(); ++id) {
      if (index(program_.channels[id].to) == stage) in.push_back(make_id<ChannelId>(id));
      if (index(program_.channels[id].from) == stage) out.push_back(make_id<ChannelId>(id));
    }
    if (mine.in != in || mine.out != out) fault(fmt::format("stage {} does not list its channels", stage));
  }

  void check_end(const ProgramTask& task, const std::optional<TransferRef>& ref, bool needed, TaskId Transfer::*end,
                 std::string_view what) {
    if (ref.has_value() != needed)
      fault(fmt::format("{} has {} {}", to_string(task.task), needed ? "no" : "an", what));
    else if (ref && program_.transfer(*ref).*end != task.id)
      fault(fmt::format("{} has the {} of {}", to_string(task.task), what, name(program_.transfer(*ref).*end)));
  }

  void check_channel(ChannelId id) {
    const Channel& channel = program_.channels[index(id)];
    const Transfer* before = nullptr;
    for (std::uint32_t position = 0; position < channel.transfers.size(); ++position) {
      const Transfer& transfer = channel.transfers[position];
      const StageId from = program_.schedule.stage_of(transfer.producer);
      const StageId to = program_.schedule.stage_of(transfer.consumer);
      if (!follows(program_.schedule.task(transfer.producer), program_.schedule.task(transfer.consumer)))
        fault(fmt::format("{} is sent to a task that does not need it", both_ends(transfer)));
      if (from != channel.from || to != channel.to)
        fault(fmt::format("{} goes from stage {} to stage {}, not from {} to {}", both_ends(transfer),
                          index(channel.from), index(channel.to), index(from), index(to)));
      else if (task_of(transfer.producer, from).output != TransferRef{id, position} ||
               task_of(transfer.consumer, to).input != TransferRef{id, position})
        fault(fmt::format("only one end knows transfer {}", both_ends(transfer)));
      // Ids rise in stage order.
      if (before != nullptr && transfer.producer <= before->producer)
        fault(fmt::format("{} is sent after {}, which is made later", both_ends(transfer), name(before->producer)));
      before = &transfer;
    }
  }

  [[nodiscard]] const ProgramTask& task_of(TaskId id, StageId stage) const {
    return program_.stages[index(stage)].tasks[index(id) - index(program_.schedule.first_task(stage))];
  }

  const Program& program_;
  Problems& problems_;
};

/// Stashes of one stage: each made once, present when used, and freed once.
class Stashes {
public:
  Stashes(const Program& program, std::size_t stage, Problems& problems)
      : program_{program}, stage_{stage}, problems_{problems},
        lives_(program.stages[stage].chunks.size() * program.schedule.shape().microbatches) {}

  void check() {
    const StageProgram& mine = program_.stages[stage_];
    for (const ProgramTask& task : mine.tasks) {
      const auto chunk = std::ranges::find(mine.chunks, task.task.chunk_index);
      if (chunk == mine.chunks.end()) {
        fault(fmt::format("{} is of a chunk that the stage does not hold", to_string(task.task)));
        continue;
      }
      const auto local = static_cast<std::size_t>(chunk - mine.chunks.begin());
      run(task, lives_[local * program_.schedule.shape().microbatches + index(task.task.microbatch)]);
    }
    if (std::ranges::any_of(lives_, [](const StashState& life) { return life.is_there(); }))
      fault("a stash is never freed");
    if (most_ != mine.peak_stashes)
      fault(fmt::format("{} stashes at once, but {} are predicted", most_, mine.peak_stashes));
  }

private:
  struct StashState {
    bool made : 1 = false;
    bool for_input : 1 = false;
    bool for_weight : 1 = false;
    [[nodiscard]] bool is_there() const { return for_input || for_weight; }
  };

  void fault(std::string what) { problems_.add(program_.place, fmt::format("stage {}: {}", stage_, std::move(what))); }

  void run(const ProgramTask& task, StashState& life) {
    const auto fault_of = [&](std::string_view what) { fault(fmt::format("{} {}", to_string(task.task), what)); };
    if (task.allocates != (task.task.pass == Pass::forward))
      fault_of(task.allocates ? "makes a stash" : "makes no stash");
    if (task.allocates) {
      if (life.made) fault_of("makes its stash again");
      if (!life.is_there()) most_ = std::max(most_, ++alive_);
      life = {true, true, true};
    } else if (task.task.pass == Pass::weight_grad ? !life.for_weight : !life.for_input || !life.for_weight) {
      fault_of("uses a stash that does not exist");
    }
    if ((task.frees_for_input && !life.for_input) || (task.frees_for_weight && !life.for_weight))
      fault_of("frees a stash that does not exist");
    const bool was_there = life.is_there();
    life.for_input = life.for_input && !task.frees_for_input;
    life.for_weight = life.for_weight && !task.frees_for_weight;
    if (was_there && !life.is_there()) --alive_;
  }

  const Program& program_;
  std::size_t stage_;
  Problems& problems_;
  std::vector<StashState> lives_;
  std::size_t alive_ = 0;
  std::size_t most_ = 0;
};

/// Every transfer between stages is launched once at each end, in the communicators' order.
class Launches {
public:
  Launches(const Program& program, Problems& problems) : program_{program}, problems_{problems} {}

  void check() {
    if (program_.p2p == P2p::batched)
      check_batches();
    else
      check_lanes();
  }

private:
  using Next = std::vector<std::uint32_t>; ///< by channel: position of the next transfer
  void fault(std::string what) { problems_.add(program_.place, std::move(what)); }

  /// Counts `ref`, which must be the next of its channel.
  void take(TransferRef ref, Next& next, std::string_view what) {
    if (ref.position != next[index(ref.channel)])
      fault(fmt::format("{} out of order: transfer {} of channel {}, but {} is next", what, ref.position,
                        index(ref.channel), next[index(ref.channel)]));
    next[index(ref.channel)] = ref.position + 1;
  }

  void check_taken(const Next& next, std::string_view what) {
    for (std::size_t id = 0; id < next.size(); ++id) {
      const Channel& channel = program_.channels[id];
      if (next[id] != (channel.is_local() ? 0 : channel.transfers.size()))
        fault(fmt::format("{} of channel {} are {}, but it has {}", what, id, next[id], channel.transfers.size()));
    }
  }

  void check_lanes() {
    Next next(program_.channels.size(), 0);
    std::set<std::pair<StageId, StageId>> seen;
    for (const Lane& lane : program_.lanes) {
      if (!seen.emplace(lane.first, lane.second).second || (program_.p2p == P2p::pair && lane.first > lane.second))
        fault(fmt::format("stages {} and {} have one lane too many", index(lane.first), index(lane.second)));
      for (const TransferRef ref : lane.transfers) {
        const Channel& channel = program_.channel(ref);
        const bool fits = (channel.from == lane.first && channel.to == lane.second) ||
                          (program_.p2p == P2p::pair && channel.from == lane.second && channel.to == lane.first);
        if (!fits)
          fault(fmt::format("the lane of stages {} and {} has a transfer from stage {} to stage {}", index(lane.first),
                            index(lane.second), index(channel.from), index(channel.to)));
        take(ref, next, "a lane is");
      }
    }
    check_taken(next, "transfers on lanes");
  }

  void check_batches() {
    Next sent(program_.channels.size(), 0);
    for (std::size_t stage = 0; stage < program_.stages.size(); ++stage) {
      const StageProgram& mine = program_.stages[stage];
      for (const Batch& batch : mine.batches)
        for (const TransferRef ref : batch.sends) {
          take(ref, sent, "sends are");
          const std::size_t first = index(program_.schedule.first_task(make_id<StageId>(stage)));
          const std::size_t made = index(program_.transfer(ref).producer);
          if (made < first || made >= first + batch.before)
            fault(fmt::format("a batch of stage {} sends data that is not made yet", stage));
        }
    }
    check_taken(sent, "sends");
    check_receives();
  }

  /// Receives need no order here: one that differs from that of the sends is a deadlock.
  void check_receives() {
    std::set<std::pair<ChannelId, std::uint32_t>> received;
    std::vector<std::uint32_t> counts(program_.channels.size(), 0);
    for (std::size_t stage = 0; stage < program_.stages.size(); ++stage)
      for (const Batch& batch : program_.stages[stage].batches)
        for (const TransferRef ref : batch.receives) {
          if (received.emplace(ref.channel, ref.position).second) ++counts[index(ref.channel)];
          const std::size_t first = index(program_.schedule.first_task(make_id<StageId>(stage)));
          const std::size_t used = index(program_.transfer(ref).consumer);
          if (used < first + batch.before || used >= first + program_.stages[stage].tasks.size())
            fault(fmt::format("a batch of stage {} receives data that was needed earlier", stage));
        }
    check_taken(counts, "receives");
  }

  const Program& program_;
  Problems& problems_;
};

/// Whether one thread can issue all tasks in `issue_order`: each follows all that it waits for.
void check_issue_order(const Program& program, Problems& problems) {
  constexpr auto nowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> place(program.schedule.size(), nowhere);
  for (std::size_t i = 0; i < program.issue_order.size(); ++i)
    if (index(program.issue_order[i]) < place.size()) place[index(program.issue_order[i])] = i;
  if (program.issue_order.size() != place.size() || std::ranges::find(place, nowhere) != place.end())
    return problems.add(program.place, "the order of issue does not have every task once");
  const auto check = [&](TaskId before, TaskId after) {
    if (place[index(before)] > place[index(after)])
      problems.add(program.place,
                   fmt::format("{} is issued before {}, which it waits for", to_string(program.schedule.task(after)),
                               to_string(program.schedule.task(before))));
  };
  const ProgramGraph graph{program};
  for (ProgramGraph::Node node = 0; node < graph.waits().size(); ++node)
    for (const ProgramGraph::Arc& arc : graph.waits().waiting_for(node))
      if (graph.is_task(node) && graph.is_task(arc.to))
        check(ProgramGraph::task(node), ProgramGraph::task(arc.to));
      else if (static_cast<WaitReason>(arc.why) == WaitReason::input)
        check(program.transfer(graph.transfer(node)).producer, ProgramGraph::task(arc.to));
}

} // namespace

void verify(const Program& program) {
  References{program}.check();
  Problems problems;
  Transfers{program, problems}.check();
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage) Stashes{program, stage, problems}.check();
  Launches{program, problems}.check();
  problems.throw_if_any(ExitCode::no);
  refuse_deadlock(program);
  check_issue_order(program, problems);
  problems.throw_if_any(ExitCode::no);
}

} // namespace ppsim::runtime
