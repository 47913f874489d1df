#pragma once
// Recorded: what the readers of measured formats find, before it is put together. They fill it; assemble() does all
// that is common: shape, order, steps, clocks, transfers, and what has to be dropped.
//
//   files --read_kineto()--> Recorded --assemble()--> Imported, a MeasuredRun per replica
//   MeasuredRun --cost_model()--> CostModel --cost_lines()--> ScenarioDocument

#include "ppsim/traces/import.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::traces {

/// One pass of one chunk on one microbatch, as it was seen to run. Times in nanoseconds, of the clock of its stage.
struct TaskEvent {
  std::uint32_t replica = 0; ///< data-parallel rank
  std::uint32_t stage = 0;
  std::int64_t step = 0; ///< any number; steps of all stages with the same one belong together
  Task task{};
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::size_t place = 0; ///< tasks of a stage that begin and end together ran by rising places
};

/// One side of a transfer: a send or a receive, with the time that it waited for its peer.
struct TransferEvent {
  std::uint32_t replica = 0;
  std::uint32_t stage = 0; ///< the acting side's
  std::int64_t step = 0;
  Task task{}; ///< of the acting side: its chunk, its microbatch, `forward` for an activation or `backward` for a
               ///< gradient. As in PyTorch's notation: 0SEND_F0 pairs with 1RECV_F0
  bool is_send = false;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// What a stage does after its tasks.
struct UpdateEvent {
  enum class Kind : std::uint8_t { reduction, tied_reduction, optimizer }; ///< tied: see Reduction
  std::uint32_t replica = 0;
  std::uint32_t stage = 0;
  std::int64_t step = 0;
  Kind kind{};
  std::uint32_t chunk = 0; ///< of a reduction, tied or not
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// Why something is left out, and how often.
using DropCounts = std::map<std::string, std::size_t>;

/// Everything that files said.
struct Recorded {
  std::vector<TaskEvent> tasks;
  std::vector<TransferEvent> transfers;
  std::vector<UpdateEvent> updates;
  DropCounts dropped;
  std::vector<std::string> notes;
  RunFacts facts;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> peak_bytes; ///< by replica and stage, where known
  bool one_clock = false;      ///< false: every (replica, stage) has its own, to be aligned by matched transfers
  std::int64_t time_error = 0; ///< nanoseconds by which times may be off (float32 seconds): tasks of a stage that
                               ///< overlap by no more are moved apart
};

/// The readers that fill it. They throw Error (bad_input) with file, place and remedy.
[[nodiscard]] Recorded read_kineto(std::span<const ImportFile> files, const ImportOptions& options);
[[nodiscard]] Recorded read_nsys(std::span<const ImportFile> files, const ImportOptions& options);
[[nodiscard]] Recorded read_op_trace(std::span<const ImportFile> files, const ImportOptions& options);

/// Puts it together: one run per replica, of the steps that are complete and have the same order. `where` names the
/// files in errors. Throws Error (bad_input) where nothing whole is left, with what was missing.
[[nodiscard]] Imported assemble(Recorded recorded, const ImportOptions& options, std::string_view where);

} // namespace ppsim::traces
