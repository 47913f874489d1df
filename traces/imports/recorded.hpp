#pragma once
// Recorded: the results of the readers of measured formats, before assembly. Readers fill it; assemble() does the
// common work: shape, order, steps, clocks, transfers, and dropping what is incomplete.
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

/// One observed pass of one chunk on one microbatch. Times in nanoseconds of its stage's clock.
struct TaskEvent {
  std::uint32_t replica = 0; ///< data-parallel rank
  std::uint32_t stage = 0;
  std::int64_t step = 0; ///< any number; equal numbers on all stages belong together
  Task task{};
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::size_t place = 0; ///< tasks of a stage that begin and end together ran by rising place
};

/// One side of a transfer: a send or a receive, including its wait for the peer.
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

/// Work of a stage after its tasks.
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

/// Reasons for dropping, with counts.
using DropCounts = std::map<std::string, std::size_t>;

/// The content of all files.
struct Recorded {
  std::vector<TaskEvent> tasks;
  std::vector<TransferEvent> transfers;
  std::vector<UpdateEvent> updates;
  DropCounts dropped;
  std::vector<std::string> notes;
  RunFacts facts;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> peak_bytes; ///< by replica and stage, where known
  bool one_clock = false;      ///< false: every (replica, stage) has its own, aligned by matched transfers
  std::int64_t time_error = 0; ///< error of times in nanoseconds (float32 seconds): tasks of a stage that overlap by at
                               ///< most this are moved apart
};

/// The readers. They throw Error (bad_input) with file, place and remedy.
[[nodiscard]] Recorded read_kineto(std::span<const ImportFile> files, const ImportOptions& options);
[[nodiscard]] Recorded read_nsys(std::span<const ImportFile> files, const ImportOptions& options);
[[nodiscard]] Recorded read_op_trace(std::span<const ImportFile> files, const ImportOptions& options);

/// Assembles one run per replica, from the steps that are complete and have the same order. `where` names the files in
/// errors. Throws Error (bad_input) if nothing complete is left, with what was missing.
[[nodiscard]] Imported assemble(Recorded recorded, const ImportOptions& options, std::string_view where);

} // namespace ppsim::traces
