// Schedules as PyTorch's pipelining CSV, without and with send and receive cells.

#include "ppsim/base/error.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "formats.hpp"

namespace ppsim::traces {
namespace {

void append_number(std::string& out, std::size_t number) {
  const fmt::format_int digits{number};
  out.append(digits.data(), digits.size());
}

/// Appends "3B12"; `pass` may also be a word such as "SEND_F".
void append_cell(std::string& out, const Task& task, std::string_view pass) {
  append_number(out, task.chunk_index);
  out += pass;
  append_number(out, index(task.microbatch));
}

/// Appends the comma that separates a cell from the one before.
void append_comma(std::string& row) {
  if (!row.empty() && row.back() != '\n') row += ',';
}

/// Appends a task, or a pair.
void append_unit(std::string& row, std::span<const Task> unit) {
  append_comma(row);
  if (unit.size() == 2) row += '(';
  for (const Task& task : unit) {
    const char pass = letter(task.pass);
    if (&task != unit.data()) row += ';';
    append_cell(row, task, {&pass, 1});
  }
  if (unit.size() == 2) row += ")OVERLAP_F_B";
}

/// The first task of `rest`, or the first two if they are an overlapped pair.
std::span<const Task> first_unit(std::span<const Task> rest) {
  return rest.first(rest.front().pairing == Pairing::first && rest.size() > 1 ? 2 : 1);
}

/// Appends a send or a receive, in the acting stage's notation.
void append_op(std::string& out, const Task& sender, bool is_send) {
  const bool forward = sender.pass == Pass::forward;
  Task acting = sender;
  if (!is_send)
    acting.chunk_index = static_cast<std::uint16_t>(forward ? sender.chunk_index + 1 : sender.chunk_index - 1);
  if (is_send)
    append_cell(out, acting, forward ? "SEND_F" : "SEND_B");
  else
    append_cell(out, acting, forward ? "RECV_F" : "RECV_B");
}

/// The remaining operations and actions of a stage, in order.
struct Between {
  std::span<const CommOp> ops;
  std::span<const ChunkAction> actions;
  std::uint32_t ops_written = 0;
};

/// Appends the next operation with its group.
void append_group(std::string& row, const Schedule& schedule, Between& rest) {
  const std::span<const CommOp> ops = rest.ops;
  std::size_t count = 1;
  while (count < ops.size() && ops[count].joins) ++count;
  append_comma(row);
  if (count > 1) row += '(';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) row += ';';
    append_op(row, schedule.task(ops[i].sender), ops[i].is_send);
  }
  if (count > 1) row += ")BATCH_P2P";
  rest.ops = ops.subspan(count);
  rest.ops_written += static_cast<std::uint32_t>(count);
}

/// Appends everything before the task at `place`.
void append_between(std::string& row, const Schedule& schedule, Between& rest, std::size_t place) {
  while (true) {
    const bool has_op = !rest.ops.empty() && rest.ops.front().before <= place;
    const bool has_action = !rest.actions.empty() && rest.actions.front().before <= place;
    if (has_op && (!has_action || rest.actions.front().behind > rest.ops_written)) {
      append_group(row, schedule, rest);
    } else if (has_action) {
      append_comma(row);
      append_number(row, rest.actions.front().chunk_index);
      row += chunk_action_words[static_cast<std::size_t>(rest.actions.front().kind)];
      rest.actions = rest.actions.subspan(1);
    } else {
      return;
    }
  }
}

/// A row per stage; `order` may be null.
std::string write_rows(const Schedule& schedule, const CommOrder* order) {
  std::string out;
  for (const StageId stage : schedule.stage_ids()) {
    const std::span<const Task> tasks = schedule.stage(stage);
    Between rest;
    if (order != nullptr) rest.ops = order->stage(stage);
    if (order != nullptr && !order->actions().empty()) rest.actions = order->actions()[index(stage)];
    for (std::size_t place = 0; place < tasks.size();) {
      append_between(out, schedule, rest, place);
      const std::span<const Task> unit = first_unit(tasks.subspan(place));
      append_unit(out, unit);
      place += unit.size();
    }
    append_between(out, schedule, rest, tasks.size());
    out += '\n';
  }
  return out;
}

} // namespace

std::string write_schedule_csv(const Schedule& schedule) {
  return write_rows(schedule, nullptr);
}

std::string write_schedule_csv_comms(const Schedule& schedule, const CommOrder& order) {
  PPSIM_ASSERT(order.stages() == schedule.shape().stages);
  return write_rows(schedule, &order);
}

} // namespace ppsim::traces
