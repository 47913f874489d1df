#pragma once
// Compares the send and receive cells of a PyTorch CSV with the transfers that its tasks need.

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/schedule.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::traces {

/// A send or receive cell of a file.
struct TransferCell {
  std::string_view text;      ///< as the file has it
  std::uint32_t tasks_before; ///< how many tasks, of all stages, stand before it
  std::uint32_t stage;        ///< whose row it is in
  Task task; ///< the acting side: its chunk, its microbatch, and `forward` or `backward` for the direction
  bool is_send;
  bool joins; ///< in one BATCH_P2P group with the cell before it
};

/// Places for the errors of the check.
struct CellPlaces {
  std::function<std::string(std::string_view)> of_cell;
  std::function<std::string(TaskId)> of_task;
};

/// Adds a problem for each transfer between two stages without a send or receive, and for each cell that belongs to no
/// transfer, repeats one, is in the wrong row, or is on the wrong side of its task. Returns the cells as operations,
/// for schedules without problems.
[[nodiscard]] CommOrder check_transfers(const Schedule& schedule, const ScheduleIndex& schedule_index,
                                        const std::vector<TransferCell>& cells, const CellPlaces& places,
                                        Problems& problems);

} // namespace ppsim::traces
