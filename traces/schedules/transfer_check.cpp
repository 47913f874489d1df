#include "transfer_check.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "formats.hpp"

namespace ppsim::traces {
namespace {

/// The two ends of one transfer.
struct Ends {
  TaskId sender{};
  TaskId receiver{};
};

class TransferCheck {
public:
  TransferCheck(const Schedule& schedule, const ScheduleIndex& schedule_index, const CellPlaces& places,
                Problems& problems)
      : schedule_{schedule}, index_{schedule_index}, places_{places}, problems_{problems}, sent_(schedule.size()),
        received_(schedule.size()) {}

  /// Returns the task that sends; no_task where the cell belongs to no transfer.
  TaskId check(const TransferCell& cell);
  void check_nothing_is_missing();

private:
  [[nodiscard]] std::optional<Ends> ends(Pass direction, std::size_t sending_chunk, std::size_t microbatch) const;
  [[nodiscard]] std::optional<Ends> ends(const TransferCell& cell) const;
  [[nodiscard]] std::string name(TaskId task) const { return to_string(schedule_.task(task)); }
  [[nodiscard]] std::size_t stage(TaskId task) const { return index(schedule_.stage_of(task)); }
  void fault(const TransferCell& cell, std::string_view what, std::string_view hint);
  void check_order(const TransferCell& cell, TaskId acting);
  void missing(TaskId acting, std::string_view what, const Ends& ends);

  const Schedule& schedule_;
  const ScheduleIndex& index_;
  const CellPlaces& places_;
  Problems& problems_;
  std::vector<bool> sent_;     ///< by sender
  std::vector<bool> received_; ///< by receiver: a task receives from one other at most
};

/// The transfer of the output of `sending_chunk`, if it crosses stages.
std::optional<Ends> TransferCheck::ends(Pass direction, std::size_t sending_chunk, std::size_t microbatch) const {
  const bool forward = direction == Pass::forward;
  if (forward ? sending_chunk + 1 >= schedule_.shape().chunks() : sending_chunk == 0) return std::nullopt;
  const Ends found =
      forward ? Ends{index_.forward(sending_chunk, microbatch), index_.forward(sending_chunk + 1, microbatch)}
              : Ends{index_.backward(sending_chunk, microbatch), index_.backward(sending_chunk - 1, microbatch)};
  if (found.sender == no_task || stage(found.sender) == stage(found.receiver)) return std::nullopt;
  return found;
}

std::optional<Ends> TransferCheck::ends(const TransferCell& cell) const {
  const std::size_t chunk = index(cell.task.chunk());
  const std::size_t microbatch = index(cell.task.microbatch);
  const Shape& shape = schedule_.shape();
  if (chunk >= shape.chunks() || microbatch >= shape.microbatches) return std::nullopt;
  const bool forward = cell.task.pass == Pass::forward;
  if (cell.is_send) return ends(cell.task.pass, chunk, microbatch);
  if (forward ? chunk == 0 : chunk + 1 >= shape.chunks()) return std::nullopt;
  return ends(cell.task.pass, forward ? chunk - 1 : chunk + 1, microbatch);
}

/// `what` follows the cell.
void TransferCheck::fault(const TransferCell& cell, std::string_view what, std::string_view hint) {
  add_within_limit(problems_, [&] {
    return Problem{places_.of_cell(cell.text), fmt::format("{} {}", in_quotes(cell.text), what), std::string{hint}};
  });
}

TaskId TransferCheck::check(const TransferCell& cell) {
  const std::optional<Ends> found = ends(cell);
  if (!found) {
    fault(cell, "belongs to no transfer between two stages",
          "leave it out: a chunk sends to the next (F) or the previous (B) chunk if that is on another stage");
    return no_task;
  }
  const TaskId acting = cell.is_send ? found->sender : found->receiver;
  auto seen = (cell.is_send ? sent_ : received_)[index(acting)];
  if (stage(acting) != cell.stage) {
    fault(cell,
          fmt::format("is in the row of stage {}, but {} runs on stage {}", cell.stage, name(acting), stage(acting)),
          fmt::format("move it to the row of stage {}", stage(acting)));
  } else if (seen) {
    fault(cell, "appears twice", "leave one out");
  } else {
    seen = true;
    check_order(cell, acting);
  }
  return found->sender;
}

void TransferCheck::check_order(const TransferCell& cell, TaskId acting) {
  if (cell.is_send && cell.tasks_before <= index(acting))
    fault(cell, fmt::format("is before {}, which makes its data", name(acting)),
          fmt::format("move it after {}", name(acting)));
  if (!cell.is_send && cell.tasks_before > index(acting))
    fault(cell, fmt::format("is after {}, which needs its data", name(acting)),
          fmt::format("move it before {}", name(acting)));
}

void TransferCheck::missing(TaskId acting, std::string_view what, const Ends& ends) {
  add_within_limit(problems_, [&] {
    const Task& task = schedule_.task(acting);
    const std::string cell = fmt::format("{}{}_{}{}", task.chunk_index, what, task.pass == Pass::forward ? 'F' : 'B',
                                         index(task.microbatch));
    return Problem{
        places_.of_task(acting),
        fmt::format("{} on stage {} feeds {} on stage {}, but there is no '{}'", name(ends.sender), stage(ends.sender),
                    name(ends.receiver), stage(ends.receiver), cell),
        fmt::format("add '{}' to the row of stage {}, or leave out all send and receive cells", cell, stage(acting))};
  });
}

void TransferCheck::check_nothing_is_missing() {
  for (std::size_t id = 0; id < schedule_.size(); ++id) {
    const Task& task = schedule_.tasks()[id];
    if (task.pass == Pass::weight_grad) continue;
    const std::optional<Ends> found = ends(task.pass, task.chunk_index, index(task.microbatch));
    if (!found) continue;
    if (!sent_[index(found->sender)]) missing(found->sender, "SEND", *found);
    if (!received_[index(found->receiver)]) missing(found->receiver, "RECV", *found);
  }
}

} // namespace

CommOrder check_transfers(const Schedule& schedule, const ScheduleIndex& schedule_index,
                          const std::vector<TransferCell>& cells, const CellPlaces& places, Problems& problems) {
  TransferCheck check{schedule, schedule_index, places, problems};
  std::vector<CommOp> ops;
  std::vector<std::uint32_t> offsets{0};
  ops.reserve(cells.size());
  for (const TransferCell& cell : cells) {
    while (offsets.size() <= cell.stage) offsets.push_back(static_cast<std::uint32_t>(ops.size()));
    const std::size_t first = index(schedule.first_task(make_id<StageId>(cell.stage)));
    ops.push_back({.sender = check.check(cell),
                   .before = static_cast<std::uint32_t>(cell.tasks_before - first),
                   .is_send = cell.is_send,
                   .joins = cell.joins});
  }
  offsets.resize(schedule.shape().stages + 1, static_cast<std::uint32_t>(ops.size()));
  check.check_nothing_is_missing();
  return {std::move(ops), std::move(offsets)};
}

} // namespace ppsim::traces
