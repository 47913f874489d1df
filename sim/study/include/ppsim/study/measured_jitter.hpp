#pragma once
// Measured jitter: how the tasks of a run varied around their means, to draw task times of other runs with the same
// variation (docs/uneven.md).

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/measured/measured.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ppsim {

/// How tasks varied around the means of their stage, chunk and pass. The time of a task is its mean times four factors
/// with mean 1: of the step, of its stage in the step, of its microbatch in the step, and its own. The first three keep
/// only the variation that exceeds chance, given the own factors (method of moments); if the run does not show any,
/// they are all 1.
struct MeasuredJitter {
  static constexpr std::size_t passes = 4; ///< as in Pass

  std::string source; ///< the run's name, for users
  std::size_t stages = 0, steps = 0;
  bool forward_only = false;
  /// Microbatches are drawn one by one, because steps vary as means of independent microbatches; needs 17 steps.
  /// Microbatch factors are then not relative to their step, and steps have no factors.
  bool apart = false;
  std::vector<double> step;                    ///< by measured step
  std::vector<std::vector<double>> stage;      ///< by measured step and stage; the mean over its work is 1
  std::vector<std::vector<double>> microbatch; ///< by measured step and microbatch; as above
  /// By stage and pass: the factors of all its tasks. If the run's backwards were whole, I and W have those of B; if
  /// they were split, B has those of I.
  std::vector<std::array<std::vector<double>, passes>> own;
  /// Standard deviations of the factors; `of_task` over all tasks.
  double of_step = 0, of_stage = 0, of_microbatch = 0, of_task = 0;
};

/// The variation of a run that passed check_run(). Throws Error, with `source` in its places, if the run has one step,
/// a task took no time, or a stage's mean of a pass is dominated by few tasks: it would fall by more than a fifth
/// without the longest twentieth (at least one and at most five tasks, each above twice the median).
[[nodiscard]] MeasuredJitter measured_jitter(const MeasuredRun& run, std::string source);

/// Draws task times of a step: factors of step and stages from one measured step; those of microbatches from another
/// one, from a random microbatch on (if `apart`, each from a random one); own factors from random tasks of the same
/// stage and pass. Equal seeds give equal results on every platform. `usual` and `times` are by task; `graph` must have
/// `jitter.stages` stages.
void draw_measured(const MeasuredJitter& jitter, const TaskGraph& graph, const std::vector<Duration>& usual,
                   std::uint64_t seed, std::vector<Duration>& times);

} // namespace ppsim
