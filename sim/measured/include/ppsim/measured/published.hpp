#pragma once
// Published runs: step times that others measured and published, each compared with a prediction, set by set.

#include "ppsim/base/error.hpp"
#include "ppsim/base/units.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// Which half of its set a run belongs to. Constants may be fitted to one half; the errors of the other half then show
/// their quality.
enum class Half : std::uint8_t { none, fit, check };
/// As written in tables of runs; empty for none.
[[nodiscard]] std::string_view to_string(Half half);

/// The known facts of a run whose single tasks are not published.
struct PublishedRun {
  std::string set; ///< runs of one source and kind; errors of different sets are not comparable
  std::string name;
  std::string source{};
  Half half = Half::none;
  Duration step{0};                     ///< measured
  std::optional<Bytes> peak{};          ///< measured memory of the stage that needs most
  std::vector<std::string> arguments{}; ///< of the simulation that predicts it
  std::string where{};                  ///< its place in the file
};

/// A published run with its prediction.
struct PublishedPrediction {
  PublishedRun run;
  std::string device{};             ///< the device of the prediction, by name; empty: none was named
  Duration step{0};                 ///< predicted
  Bytes peak{};                     ///< as above; zero if sizes are unknown
  bool fits = true;                 ///< whether the memory is predicted to suffice, as it did in the run
  std::optional<Problem> refused{}; ///< why there is no prediction
  /// (predicted - measured) / measured.
  [[nodiscard]] double error() const;
  /// The same for the peak; none unless it was both predicted and measured.
  [[nodiscard]] std::optional<double> peak_error() const;
};

/// Statistics of the errors of several runs.
struct ErrorFigures {
  std::size_t runs = 0;  ///< that have an error; if none, the figures are zero
  double median = 0;     ///< of the absolute values
  double bias = 0;       ///< median of the signed errors; of two middle ones the nearer to zero
  std::size_t worst = 0; ///< the run with the largest one
};

/// The runs of a set, or the sets of a device. A device's medians are over the medians of its sets, so that a set with
/// many runs does not dominate.
struct PublishedGroup {
  std::string name;
  std::size_t sets = 1;
  std::size_t refused = 0;
  ErrorFigures step{}, fit{}, check{}; ///< of step times: of all runs, and of each half
  ErrorFigures peak{};                 ///< of the known peaks
};

/// Published runs together. There is no figure over all of them: the set with the most runs would dominate it.
struct PublishedErrors {
  std::vector<PublishedPrediction> runs; ///< as given
  std::vector<PublishedGroup> sets;      ///< in the order of their first runs
  std::vector<PublishedGroup> devices;   ///< as above; without refused runs that name no device
  std::optional<double> tolerance;
  [[nodiscard]] std::size_t refused() const;
  /// The number of runs whose error exceeds the tolerance, which must be given.
  [[nodiscard]] std::size_t beyond() const;
  /// Whether no tolerance is given, or there are predictions and each is within it. Refused runs do not count.
  [[nodiscard]] bool holds() const;
};

[[nodiscard]] PublishedErrors published_errors(std::vector<PublishedPrediction> runs,
                                               std::optional<double> tolerance = {});

} // namespace ppsim
