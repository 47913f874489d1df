#pragma once
// Measured jitter: how the tasks of a run varied around their means, to draw the tasks of other runs alike
// (docs/uneven.md).

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/measured/measured.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ppsim {

/// How tasks varied around the means of their stage, chunk and pass. A task of a step takes its mean by four factors
/// that are 1 on average: of the step, of its stage in the step, of its microbatch in the step, and its own. Of the
/// first three only the share is kept that is more than what the own ones of so many tasks give by chance (method of
/// moments): where the run does not show that they are there, they are all 1.
struct MeasuredJitter {
  static constexpr std::size_t passes = 4; ///< as Pass counts them

  std::string source; ///< the run's name, for people
  std::size_t stages = 0, steps = 0;
  bool forward_only = false;
  /// Microbatches are drawn one by one: steps vary as means of independent ones do, which takes 17 steps to tell. Their
  /// factors are then not those within a step, of which the mean is 1, and steps have none.
  bool apart = false;
  std::vector<double> step;                    ///< by measured step
  std::vector<std::vector<double>> stage;      ///< by measured step and stage; the mean over its work is 1
  std::vector<std::vector<double>> microbatch; ///< by measured step and microbatch; as above
  /// By stage and pass: those of all its tasks. Of a run whose backwards were whole, halves have theirs, and the other
  /// way round those of the input gradients.
  std::vector<std::array<std::vector<double>, passes>> own;
  /// Standard deviations: of the factors above, own ones over all tasks.
  double of_step = 0, of_stage = 0, of_microbatch = 0, of_task = 0;
};

/// Of a run that check_run() has passed. Throws Error, with places after `source`, where it has one step, a task took
/// no time, or a stage's mean of a pass rests on a handful of tasks: without the longest twentieth of them, one at
/// least and five at most, and each above twice the median, it would be more than a fifth lower.
[[nodiscard]] MeasuredJitter measured_jitter(const MeasuredRun& run, std::string source);

/// What the tasks of a step take: those of step and stages are of one measured step, those of microbatches of another
/// one, from any of its microbatches on (where they are apart, each of any one), and own ones each of any task of its
/// stage and pass. The same everywhere for
/// the same seed. `usual` and `times` are by task; the stages of `graph` are as many as `jitter` has.
void draw_measured(const MeasuredJitter& jitter, const TaskGraph& graph, const std::vector<Duration>& usual,
                   std::uint64_t seed, std::vector<Duration>& times);

} // namespace ppsim
