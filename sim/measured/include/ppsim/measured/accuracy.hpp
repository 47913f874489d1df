#pragma once
// Accuracy: the errors of predictions over many runs, each compared with its prediction.

#include "ppsim/measured/validation.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ppsim {

/// One of several runs, with the errors of its prediction.
struct ValidatedRun {
  std::string name;     ///< of its file
  std::string group;    ///< runs of one group share the machine and the links
  std::string schedule; ///< its name
  Shape shape{};        ///< of the order
  std::string work;     ///< the work of a stage: only runs with equal work are ranked
  Validation validation;
};

/// Two runs of the same work in the wrong order: the first was predicted to be shorter but took longer.
struct Inversion {
  std::size_t first = 0, second = 0; ///< positions in Accuracy::runs
  double predicted_gap = 0;          ///< (second - first) / first, predicted
  double measured_gap = 0;           ///< (first - second) / second, measured
};

/// The errors of a group, or of all runs. Errors are of step times, (predicted - measured) / measured. Runs that are
/// not a validation (contended, unaligned) do not count.
struct ErrorSummary {
  std::string group;             ///< empty: all runs
  std::size_t runs = 0;          ///< that count; if none, all figures below are zero
  std::size_t not_counted = 0;   ///< the others
  double median_error = 0;       ///< of the absolute values
  std::size_t worst = 0;         ///< the run with the largest one
  std::size_t own = 0;           ///< runs with Validation::own_times
  double median_own_error = 0;   ///< of those: of the absolute values
  double worst_own_error = 0;    ///< the largest of these
  double median_start_error = 0; ///< of start_error_p95
  std::size_t worst_start = 0;   ///< the run with the largest one
  std::size_t pairs =
      0; ///< of runs with the same group, work and microbatches but different schedules, with different predictions
  std::size_t inverted = 0; ///< pairs whose measured order differs from the predicted one
};

/// The accuracy of the predictions of several runs.
struct Accuracy {
  std::vector<ValidatedRun> runs; ///< as given
  ErrorSummary all;
  std::vector<ErrorSummary> groups;  ///< in the order of their first runs
  std::vector<Inversion> inversions; ///< largest measured gap first
  [[nodiscard]] bool holds() const;  ///< whether every run holds
};

/// Summarises `runs`, at least one.
[[nodiscard]] Accuracy accuracy_of(std::vector<ValidatedRun> runs);

} // namespace ppsim
