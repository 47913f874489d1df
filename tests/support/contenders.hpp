#pragma once
// Comparisons made up of a few contenders.

#include "ppsim/study/comparison.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ppsim::test {

inline constexpr std::int64_t gib = std::int64_t{1} << 30;

/// A contender with this step time and this memory (GiB) on its single stage.
inline Contender contender(std::string name, Duration time, std::int64_t size = 0, Demands demands = {}) {
  Contender made;
  made.name = std::move(name);
  made.demands = demands;
  made.report.step_time = time;
  made.report.stages.resize(1);
  made.report.stages[0].static_bytes = Bytes{size * gib};
  return made;
}

/// The same; 95 % of its steps take at most `p95`.
inline Contender with_p95(Contender contender, Duration p95) {
  contender.report.spread = StepSpread{.of = {}, .p95 = p95};
  return contender;
}

/// Ranks them, on devices with this memory in GiB (0: no known limit).
inline Comparison ranked(std::vector<Contender> contenders, std::int64_t limit = 0,
                         StepFigure by = StepFigure::step_time) {
  Comparison comparison;
  comparison.ranked_by = by;
  for (const Contender& each : contenders) comparison.knows_memory |= each.report.peak_bytes() > Bytes{0};
  if (limit > 0) {
    comparison.memory_limit = Bytes{limit * gib};
    for (Contender& each : contenders)
      if (each.report.peak_bytes() > *comparison.memory_limit && !each.report.overflow)
        each.report.overflow = Overflow{.task = make_id<TaskId>(0)};
  }
  comparison.contenders = std::move(contenders);
  rank(comparison);
  return comparison;
}

inline const Demands two_chunks{.chunks_per_stage = 2};
inline const Demands folded{.chunks_per_stage = 2, .splits_backward = true, .folds = true};
inline const Demands asynchronous{.parameter_copies = 4, .asynchronous = true};

} // namespace ppsim::test
