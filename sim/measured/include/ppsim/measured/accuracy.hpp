#pragma once
// Accuracy: how good predictions are, from many runs that were each held against one.

#include "ppsim/measured/validation.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ppsim {

/// One of several runs, and how far its prediction was off.
struct HeldRun {
  std::string name;     ///< of its file
  std::string group;    ///< runs of one group were made on one machine, over the same links
  std::string schedule; ///< its name
  Shape shape{};        ///< of the order
  std::string work;     ///< what a stage computes: only runs of the same work are ranked
  Validation validation;
};

/// Two runs of the same work: the first was predicted to be the shorter one, and took longer.
struct Inversion {
  std::size_t first = 0, second = 0; ///< positions in Accuracy::runs
  double predicted_gap = 0;          ///< (second - first) / first, predicted
  double measured_gap = 0;           ///< (first - second) / second, measured
};

/// What the runs of a group, or all runs, say together. Errors are those of step times, (predicted - measured) /
/// measured. Runs that are no validation (contended, unaligned) do not count.
struct ErrorSummary {
  std::string group;             ///< empty: of all
  std::size_t runs = 0;          ///< that count; where none does, all figures below are zero
  std::size_t not_counted = 0;   ///< the others
  double median_error = 0;       ///< of the absolute values
  std::size_t worst = 0;         ///< the run with the largest one
  std::size_t own = 0;           ///< runs with Validation::own_times
  double median_own_error = 0;   ///< of those: of the absolute values of its errors
  double worst_own_error = 0;    ///< the largest of these
  double median_start_error = 0; ///< of start_error_p95
  std::size_t worst_start = 0;   ///< the run with the largest one
  std::size_t pairs = 0;         ///< runs of the same group, work and microbatches, of other schedules, and not
                                 ///< predicted to take equally long
  std::size_t inverted = 0;      ///< of them, those that measured in another order than predicted
};

/// How good the predictions of several runs are.
struct Accuracy {
  std::vector<HeldRun> runs; ///< as given
  ErrorSummary all;
  std::vector<ErrorSummary> groups;  ///< in the order of their first runs
  std::vector<Inversion> inversions; ///< largest measured gap first
  [[nodiscard]] bool holds() const;  ///< every single one does
};

/// Sums up `runs`, of which there is at least one.
[[nodiscard]] Accuracy accuracy_of(std::vector<HeldRun> runs);

} // namespace ppsim
