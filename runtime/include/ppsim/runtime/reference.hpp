#pragma once
// Reference: the same training, one task at a time; what every replay is held against.

#include "ppsim/measured/measured.hpp"
#include "ppsim/runtime/device.hpp"
#include "ppsim/runtime/pipeline_stage.hpp"
#include "ppsim/runtime/program.hpp"

#include <vector>

namespace ppsim::runtime {

/// Results of so many steps.
struct TrainingResult {
  std::vector<double> losses; ///< mean over the microbatches, by step
  /// Sums over the microbatches of the first step, by chunk. Of an asynchronous program, where every microbatch has an
  /// update of its own, the parameters after the first step instead.
  std::vector<std::vector<float>> gradients;
};

/// Trains for `steps` steps: microbatch by microbatch through all chunks and back, every chunk once, with buffers of
/// its own. An asynchronous program by its definition: each forward uses its stage's weights as they are after all
/// updates that precede it in the stage's order, its backward the same ones (every microbatch has a full copy), and an
/// update follows each microbatch's last backward task. Buffers are filled with NaN before they are used.
[[nodiscard]] TrainingResult train_one_at_a_time(const Program& program, Device& device, std::size_t steps);

/// Whether every chunk's gradients are summed microbatch by microbatch, on one stage, as the reference does.
[[nodiscard]] bool sums_in_reference_order(const Program& program);

/// How far fp32 sums over so many microbatches may differ because of their order, relative to the chunk's largest
/// gradient: 16 sqrt(n) 2^-24. Roundings of 2^-24 that are independent add up with the root of their number (Higham and
/// Mary, SIAM J. Sci. Comput. 41, 2019, theorem 3.1); 0.8 to 1.3 sqrt(n) 2^-24 was found for rising against falling
/// order, for both blocks, 8 to 256 microbatches and width 16 to 128. A microbatch that is missing is an error of about
/// 1/n.
[[nodiscard]] double reordering_tolerance(std::size_t microbatches);

/// Holds a run's results against the reference's. A chunk that the run lacks, or has with another size, is an infinite
/// error, and so is any NaN; but losses are compared up to the step from which on neither has any, as training
/// diverged.
[[nodiscard]] Proof compare_results(const Program& program, const TrainingResult& run, const TrainingResult& reference,
                                    double tolerance);

} // namespace ppsim::runtime
