#pragma once
// Calibration: measured times of tasks and transfers on a backend, as a scenario that the simulator reads.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/scenario/document.hpp"
#include "ppsim/scenario/scenario.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ppsim::runtime {

/// A measured duration over all its runs.
struct Spread {
  Duration median{0};
  Duration p5{0};
  Duration p95{0};
  std::size_t runs = 0;
};
/// Lower median and nearest-rank percentiles; all zero without values.
[[nodiscard]] Spread spread_of(std::vector<Duration> values);

struct ChunkTimes {
  Spread forward, input_grad, weight_grad;
};

/// Latency and bandwidth of one directed edge: time = latency + bytes / bandwidth.
struct TransferFit {
  StageId from{}, to{};
  Duration latency{0};
  std::optional<Bandwidth> bandwidth; ///< none: time does not grow with size
  std::vector<TransferSample> samples;
  double largest_residual = 0; ///< |fitted - measured| / measured, over the samples
};
/// As fit_link(). `samples` are of one edge and not empty.
[[nodiscard]] TransferFit fit_transfers(std::span<const TransferSample> samples);

/// Time to transfer one output of `bytes` over each boundary between chunks, in the slower of the two directions. Zero
/// if neither was measured, for example between chunks of one stage. `placement`: the stage of each chunk.
[[nodiscard]] std::vector<Duration> boundary_times(std::span<const TransferFit> edges,
                                                   std::span<const StageId> placement, Bytes bytes);

/// The results of a calibration.
struct Calibration {
  Shape shape; ///< with the microbatches of the busy run
  Workload workload;
  RunFacts facts;
  ChunkSizes sizes;
  std::vector<StageId> placement; ///< of the chunks
  std::vector<ChunkTimes> busy;   ///< by chunk, all stages at work
  std::vector<ChunkTimes> alone;  ///< by chunk, one stage at work at a time. The backward was measured whole and is
                                  ///< split in the proportion of the busy one
  std::vector<Spread> optimizer;  ///< by stage
  Spread overhead; ///< between the end of a task and the start of the next one, if that waits for nothing else
  std::vector<TransferFit> edges;   ///< by sending, then receiving stage
  std::optional<double> core_share; ///< of the busy run, see measured.hpp
  bool contended = false;
};

/// The order of `schedule` with every backward split (I directly before W) and no overlapped pairs.
[[nodiscard]] Schedule split_backwards(const Schedule& schedule);
/// Durations of the tasks of `run`, by chunk. Counts the tasks between the start of the last stage and the end of the
/// first one to end, so that all stages are at work. A chunk without tasks in that interval counts all its tasks.
[[nodiscard]] std::vector<ChunkTimes> chunk_times(const MeasuredRun& run);

/// Measures tasks with all stages at work (`schedule` with split backwards), then one stage at a time, then transfers.
/// `schedule` sets shape and placement and must not be asynchronous. Only the leader gets the result. Throws Error as
/// Backend::run().
[[nodiscard]] std::optional<Calibration> calibrate(Backend& backend, const Schedule& schedule,
                                                   const RunOptions& options);

/// The scenario keys for the memory of a stage with `vpp` such chunks and for the size of transfers, with their values
/// as TOML.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> memory_keys(const ChunkSizes& sizes, std::size_t vpp);
/// The stage of each chunk, as TOML.
[[nodiscard]] std::string toml_placement(std::span<const StageId> placement);
/// A table for `edge` without its samples: latency and bandwidth, to compute transfer times of other sizes.
void add_edge_table(std::string name, const TransferFit& edge, ScenarioDocument& document);

/// The scenario file: the busy medians as costs, and everything else in its [calibration] table.
[[nodiscard]] std::string calibration_toml(const Calibration& calibration);

} // namespace ppsim::runtime
