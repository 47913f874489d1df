#pragma once
// Reference: the same training, one task at a time; what every replay is held against.

#include "ppsim/runtime/device.hpp"
#include "ppsim/runtime/pipeline_stage.hpp"
#include "ppsim/runtime/program.hpp"
#include "ppsim/sim/measured.hpp"

#include <vector>

namespace ppsim::runtime {

/// Results of so many steps.
struct TrainingResult {
  std::vector<double> losses;                ///< mean over the microbatches, by step
  std::vector<std::vector<float>> gradients; ///< of the first step, by chunk; empty where this process has them not
};

/// Trains for `steps` steps: microbatch by microbatch through all chunks and back, every chunk once, with buffers of
/// its own. An asynchronous program by its definition: each forward uses its stage's weights as they are after all
/// updates that precede it in the stage's order, its backward the same ones.
[[nodiscard]] TrainingResult train_one_at_a_time(const Program& program, Device& device, std::size_t steps);

/// Whether every chunk's gradients are summed microbatch by microbatch, on one stage, as the reference does.
[[nodiscard]] bool sums_in_reference_order(const Program& program);

/// Holds a run's results against the reference's.
[[nodiscard]] Proof compare_results(const Program& program, const TrainingResult& run, const TrainingResult& reference,
                                    double tolerance);

} // namespace ppsim::runtime
