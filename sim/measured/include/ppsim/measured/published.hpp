#pragma once
// Published runs: step times that others measured and printed, each held against a prediction, set by set.

#include "ppsim/base/error.hpp"
#include "ppsim/base/units.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// Which half of its set a run is in: constants may be fitted to the one, and the errors of the other then say what
/// they are worth.
enum class Half : std::uint8_t { none, fit, check };
/// As tables of runs write it; empty for none.
[[nodiscard]] std::string_view to_string(Half half);

/// What is known of a run whose tasks nobody has published.
struct PublishedRun {
  std::string set; ///< runs of one source and kind; errors of different sets say nothing together
  std::string name;
  std::string source{};
  Half half = Half::none;
  Duration step{0};                     ///< measured
  std::optional<Bytes> peak{};          ///< memory of the stage that needs most, measured
  std::vector<std::string> arguments{}; ///< of the simulation that predicts it
  std::string where{};                  ///< in the file that says so
};

/// A published run, and what was predicted for it.
struct HeldPublished {
  PublishedRun run;
  std::string device{};             ///< that it is predicted for, by name; empty: none was named
  Duration step{0};                 ///< predicted
  Bytes peak{};                     ///< as above; zero where no sizes are known
  bool fits = true;                 ///< whether the memory is predicted to suffice, as it did
  std::optional<Problem> refused{}; ///< why there is no prediction
  /// (predicted - measured) / measured.
  [[nodiscard]] double error() const;
  /// The same for the peak; none where it was not both predicted and measured.
  [[nodiscard]] std::optional<double> peak_error() const;
};

/// What the errors of several runs are.
struct ErrorFigures {
  std::size_t runs = 0;  ///< that have one; where none does, the figures are zero
  double median = 0;     ///< of the absolute values
  double bias = 0;       ///< median of the errors with their signs; of two the one nearer to zero
  std::size_t worst = 0; ///< the run with the largest one
};

/// The runs of a set; or the sets of a device, whose medians are those of the medians of its sets, so that a set of
/// many runs does not speak for the others.
struct PublishedGroup {
  std::string name;
  std::size_t sets = 1;
  std::size_t refused = 0;
  ErrorFigures step{}, fit{}, check{}; ///< of step times: of all runs, and of each half
  ErrorFigures peak{};                 ///< of the peaks that are known
};

/// Published runs together. There is no figure of all: it would be that of the set with most runs.
struct PublishedErrors {
  std::vector<HeldPublished> runs;     ///< as given
  std::vector<PublishedGroup> sets;    ///< in the order of their first runs
  std::vector<PublishedGroup> devices; ///< as above; refused runs that name none are in none
  std::optional<double> tolerance;
  [[nodiscard]] std::size_t refused() const;
  /// How many are further off than the tolerance, which is given.
  [[nodiscard]] std::size_t beyond() const;
  /// No tolerance is given; or there are predictions, and each is within it. What was refused does not count.
  [[nodiscard]] bool holds() const;
};

[[nodiscard]] PublishedErrors published_errors(std::vector<HeldPublished> runs, std::optional<double> tolerance = {});

} // namespace ppsim
