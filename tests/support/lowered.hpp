#pragma once
// Orders with the sends and receives that a lowering gives them.

#include "ppsim/engine/streams.hpp"
#include "ppsim/operations/lowering.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <string>
#include <string_view>

namespace ppsim::test {

inline CommOrder operations(const TaskGraph& graph, std::string_view lowering, Overlap overlap = Overlap::none) {
  return find_lowering(lowering)->place(graph, overlap);
}

/// As PyTorch writes it, with communication cells and those for whole chunks.
inline std::string csv_with_operations(const TaskGraph& graph, std::string_view lowering = "pytorch") {
  return traces::write_schedule_csv_comms(graph.schedule(), operations(graph, lowering));
}

/// A stage's row as in a CSV, with '+' between the operations of a group: "0F0 0SEND_F0! 0F1 0SEND_F1+0RECV_B0
/// ~0SEND_F1 0B0". '!': its next task waits for it, which goes without saying where that needs it. '~': what is to run
/// waits for what was launched before.
inline std::string text_of(const TaskGraph& graph, const CommOrder& order, std::size_t stage) {
  const Schedule& schedule = graph.schedule();
  const auto id = make_id<StageId>(stage);
  const std::size_t first = index(schedule.first_task(id));
  std::string text;
  std::size_t place = 0;
  const auto run = [&] {
    for (const CommOp& op : order.stage(id))
      if (op.holds_after > 0 && op.before + op.holds_after == place) text += "~" + to_string(schedule, op) + " ";
    if (place < schedule.stage(id).size()) text += to_string(schedule.stage(id)[place]) + " ";
    ++place;
  };
  for (const CommOp& op : order.stage(id)) {
    while (place < op.before) run();
    const bool is_needed = !op.is_send && index(pair_begin(schedule, *graph.receiver(op.sender))) == first + place;
    if (op.joins) text.back() = '+';
    text += to_string(schedule, op) + (op.holds && op.holds_after == 0 && !is_needed ? "! " : " ");
  }
  while (place <= schedule.stage(id).size()) run();
  text.pop_back();
  return text;
}

} // namespace ppsim::test
