#pragma once
// Calibration: what tasks and transfers take on a backend, measured, as a scenario that the simulator reads.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/sim/scenario.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::runtime {

/// Durations of one kind of task: of all its runs in the timed steps.
struct Spread {
  Duration median{0};
  Duration p5{0};
  Duration p95{0};
  std::size_t runs = 0;
};

struct ChunkTimes {
  Spread forward, input_grad, weight_grad;
};

/// Latency and bandwidth of one directed edge, fitted to samples: time = latency + bytes / bandwidth (least squares of
/// relative errors).
struct TransferFit {
  StageId from{}, to{};
  Duration latency{0};
  std::optional<Bandwidth> bandwidth; ///< none: time does not grow with size
  std::vector<TransferSample> samples;
  double largest_residual = 0; ///< |fitted - measured| / measured
};
[[nodiscard]] TransferFit fit_transfers(const std::vector<TransferSample>& samples);

/// What was measured.
struct Calibration {
  Shape shape;
  Workload workload;
  RunFacts facts;
  ChunkSizes sizes;
  std::vector<ChunkTimes> alone; ///< by chunk; one stage busy at a time
  std::vector<ChunkTimes> busy;  ///< by chunk; all stages at work
  Spread optimizer;
  std::vector<TransferFit> edges;
  std::optional<double> core_share; ///< of the busy run
  bool contended = false;
};

struct CalibrationOptions {
  Shape shape;
  std::string schedule; ///< whose placement of chunks is used; empty: 1f1b, with more chunks interleaved
  RunOptions run;
  Duration time{std::chrono::seconds{5}}; ///< that it may take, about
};

/// Measures: sequentially (alone), then with all stages at work (busy), then transfers. Only the leader gets the
/// result.
[[nodiscard]] std::optional<Calibration> calibrate(Backend& backend, const CalibrationOptions& options);

/// The scenario file: the busy medians as costs, with everything else that was measured in its [calibration] table.
[[nodiscard]] std::string calibration_toml(const Calibration& calibration);

} // namespace ppsim::runtime
