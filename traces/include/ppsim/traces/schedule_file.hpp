#pragma once
// Schedule files: PyTorch pipelining CSV and InfiniTrain task lists, read and written.

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/schedule/schedule.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::traces {

/// A schedule with its reader's notes.
struct ScheduleFile {
  Schedule schedule;
  std::vector<std::string> notes; ///< for users, e.g. "4 B cells read as I: ..."
};

/// Reads a schedule. `name` names the file in errors and selects the format: "*.tasks.csv" is an InfiniTrain task list,
/// anything else a PyTorch CSV. The shape comes from the file. Throws Error (bad_input) with every fault, each as
/// "name:line:column". With `forward_only` the file may contain only forwards, and only its forwards are returned.
[[nodiscard]] ScheduleFile read_schedule(std::string_view text, std::string_view name, bool forward_only = false);

/// PyTorch pipelining CSV, compute cells only: one row per stage, no idle cells.
[[nodiscard]] std::string write_schedule_csv(const Schedule& schedule);
/// The same with a cell for each send and receive of `order`, those of one group as "(2SEND_F0;2RECV_F1)BATCH_P2P", and
/// for each of its actions on whole chunks. PyTorch reads it as "compute_comms" if no operations are in groups.
[[nodiscard]] std::string write_schedule_csv_comms(const Schedule& schedule, const CommOrder& order);
/// InfiniTrain task list, with its header line, sorted by step, then microbatch. Throws Error if a task is not F or B.
[[nodiscard]] std::string write_task_list(const TaskGraph& graph);

/// The order of `graph` in the format that read_schedule() selects for that file name.
[[nodiscard]] std::string write_schedule(const TaskGraph& graph, std::string_view name);

} // namespace ppsim::traces
