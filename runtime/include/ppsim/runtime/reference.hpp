#pragma once
// Reference: the same training, one task at a time. Every replay is compared with it.

#include "ppsim/measured/measured.hpp"
#include "ppsim/runtime/device.hpp"
#include "ppsim/runtime/pipeline_stage.hpp"
#include "ppsim/runtime/program.hpp"

#include <vector>

namespace ppsim::runtime {

/// Results of training steps.
struct TrainingResult {
  std::vector<double> losses; ///< mean over the microbatches, by step
  /// Sums over the microbatches of the first step, by chunk. For an asynchronous program (an update per microbatch):
  /// the parameters after the first step.
  std::vector<std::vector<float>> gradients;
};

/// Trains for `steps` steps: each microbatch through all chunks and back, with one copy of every chunk and separate
/// buffers. An asynchronous program follows its definition: each forward uses the stage's weights after all updates
/// before it in the stage's order; its backward uses the same weights (every microbatch has a full copy); an update
/// follows each microbatch's last backward task. Buffers are filled with NaN before use.
[[nodiscard]] TrainingResult train_one_at_a_time(const Program& program, Device& device, std::size_t steps);

/// Whether every chunk's gradients are summed on one stage in microbatch order, as in the reference.
[[nodiscard]] bool sums_in_reference_order(const Program& program);

/// The relative difference that another summation order may cause in fp32 sums over this many microbatches, relative to
/// the chunk's largest gradient: 16 sqrt(n) 2^-24. Independent roundings of 2^-24 grow with the square root of their
/// number (Higham and Mary, SIAM J. Sci. Comput. 41, 2019, theorem 3.1). Measured for rising against falling order: 0.8
/// to 1.3 sqrt(n) 2^-24, for both blocks, 8 to 256 microbatches and width 16 to 128. A missing microbatch is an error
/// of about 1/n.
[[nodiscard]] double reordering_tolerance(std::size_t microbatches);

/// Compares a run's results with the reference's. A missing chunk, a chunk of another size and any NaN are infinite
/// errors. Losses are compared only until both diverge (neither is finite from then on).
[[nodiscard]] Proof compare_results(const Program& program, const TrainingResult& run, const TrainingResult& reference,
                                    double tolerance);

} // namespace ppsim::runtime
