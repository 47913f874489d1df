// Schedules as PyTorch's pipelining CSV, without and with send and receive cells.

#include "ppsim/sim/error.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <queue>

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

/// Appends a task, or a task and its other half, with the comma that parts it from the cell before.
void append_unit(std::string& row, std::span<const Task> unit) {
  if (!row.empty() && row.back() != '\n') row += ',';
  if (unit.size() == 2) row += '(';
  for (const Task& task : unit) {
    const char pass = letter(task.pass);
    if (&task != unit.data()) row += ';';
    append_cell(row, task, {&pass, 1});
  }
  if (unit.size() == 2) row += ")OVERLAP_F_B";
}

/// The first task of `rest`, or the first two where they are an overlapped pair.
std::span<const Task> first_unit(std::span<const Task> rest) {
  return rest.first(rest.front().pairing == Pairing::first && rest.size() > 1 ? 2 : 1);
}

/// Places sends and receives where PyTorch's _add_send_recv puts them. That goes over the stages again and again; each
/// time round, each stage runs its next task if every receive it needs has been posted, and whoever sends posts the
/// receive in the other stage's row. Here a stage that has to wait is looked at again only when a receive is posted for
/// it, so that the work is n log p.
class SendRecvPlacer {
public:
  explicit SendRecvPlacer(const TaskGraph& graph);
  [[nodiscard]] std::string place();

private:
  [[nodiscard]] std::span<const Task> next_unit(std::size_t stage) const;
  [[nodiscard]] bool is_ready(std::size_t stage) const;
  void visit(std::uint64_t round, std::size_t stage);
  void transfer(std::uint64_t round, std::size_t stage, TaskId sender, TaskId receiver);
  void call(std::uint64_t round, std::size_t stage) { calls_.push(round << 32U | stage); }
  void check_finished() const;

  const TaskGraph& graph_;
  const Schedule& schedule_;
  std::vector<std::string> rows_;
  std::vector<std::size_t> next_;   ///< by stage: id of its next task
  std::vector<bool> waits_;         ///< by stage: its next task lacks a receive
  std::vector<bool> needs_receive_; ///< by task: its input crosses stages and is not posted yet
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> calls_; ///< round, then stage
};

SendRecvPlacer::SendRecvPlacer(const TaskGraph& graph)
    : graph_{graph}, schedule_{graph.schedule()}, rows_(schedule_.shape().stages), waits_(rows_.size()),
      needs_receive_(schedule_.size()) {
  for (std::size_t id = 0; id < schedule_.size(); ++id)
    if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
      needs_receive_[index(*receiver)] = true;
  for (std::size_t stage = 0; stage < rows_.size(); ++stage) {
    next_.push_back(index(schedule_.first_task(make_id<StageId>(stage))));
    call(0, stage);
  }
}

std::span<const Task> SendRecvPlacer::next_unit(std::size_t stage) const {
  const std::size_t end = index(schedule_.first_task(make_id<StageId>(stage + 1)));
  const std::span<const Task> rest = schedule_.tasks().subspan(next_[stage], end - next_[stage]);
  return rest.empty() ? rest : first_unit(rest);
}

bool SendRecvPlacer::is_ready(std::size_t stage) const {
  const std::size_t size = next_unit(stage).size();
  return !needs_receive_[next_[stage]] && (size < 2 || !needs_receive_[next_[stage] + 1]);
}

void SendRecvPlacer::visit(std::uint64_t round, std::size_t stage) {
  const std::span<const Task> unit = next_unit(stage);
  if (unit.empty()) return;
  waits_[stage] = !is_ready(stage);
  if (waits_[stage]) return;
  append_unit(rows_[stage], unit);
  const std::size_t first = next_[stage];
  next_[stage] += unit.size();
  for (std::size_t id = first; id < first + unit.size(); ++id)
    if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
      transfer(round, stage, make_id<TaskId>(id), *receiver);
  call(round + 1, stage);
}

void SendRecvPlacer::transfer(std::uint64_t round, std::size_t stage, TaskId sender, TaskId receiver) {
  const bool forward = schedule_.task(sender).pass == Pass::forward;
  const std::size_t other = index(schedule_.stage_of(receiver));
  std::string& there = rows_[other];
  rows_[stage] += ',';
  append_cell(rows_[stage], schedule_.task(sender), forward ? "SEND_F" : "SEND_B");
  if (!there.empty()) there += ',';
  append_cell(there, schedule_.task(receiver), forward ? "RECV_F" : "RECV_B");
  needs_receive_[index(receiver)] = false;
  if (!waits_[other] || !is_ready(other)) return;
  waits_[other] = false;
  call(other > stage ? round : round + 1, other); // a higher stage still has its turn in this round
}

void SendRecvPlacer::check_finished() const {
  for (std::size_t stage = 0; stage < rows_.size(); ++stage)
    if (const std::span<const Task> unit = next_unit(stage); !unit.empty())
      throw Error{ExitCode::no,
                  {fmt::format("schedule '{}'", schedule_.name()),
                   fmt::format("no place for the sends and receives: on stage {}, {} waits for ever", stage,
                               to_string(unit.front())),
                   "an overlapped pair must not wait for its own result; write the order without sends and receives"}};
}

std::string SendRecvPlacer::place() {
  while (!calls_.empty()) {
    const std::uint64_t call = calls_.top();
    calls_.pop();
    visit(call >> 32U, call & 0xFFFFFFFFU);
  }
  check_finished();
  std::string out;
  for (std::string& row : rows_) {
    out += row;
    out += '\n';
    row = {};
  }
  return out;
}

} // namespace

std::string write_schedule_csv(const Schedule& schedule) {
  std::string out;
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    std::span<const Task> rest = schedule.stage(make_id<StageId>(stage));
    while (!rest.empty()) {
      const std::span<const Task> unit = first_unit(rest);
      append_unit(out, unit);
      rest = rest.subspan(unit.size());
    }
    out += '\n';
  }
  return out;
}

std::string write_schedule_csv_comms(const TaskGraph& graph) {
  return SendRecvPlacer{graph}.place();
}

} // namespace ppsim::traces
