#include "variation_words.hpp"

#include "ppsim/base/words.hpp"
#include "ppsim/study/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ppsim::viz {

namespace {

struct Quantity {
  std::string_view option;
  std::string_view name;
};
// Schedules whose option does not contain the words.
constexpr std::array quantities{
    Quantity{"comm", "transfer time"},
    Quantity{"mb", "microbatches"},
    Quantity{"vpp", "chunks per stage"},
    Quantity{"forward", "time of a forward"},
    Quantity{"backward", "time of a backward"},
    Quantity{"input-grad", "time of an input gradient"},
    Quantity{"weight-grad", "time of a weight gradient"},
    Quantity{"boundary-bytes", "bytes sent between stages"},
    Quantity{"pair", "length of an overlapped pair / sum of its passes"},
};

} // namespace

std::string quantity_name(std::string_view option) {
  const auto* const known = std::ranges::find(quantities, option, &Quantity::option);
  std::string name{known == quantities.end() ? option : known->name};
  std::replace(name.begin(), name.end(), '-', ' ');
  return name;
}

std::string compared_name(const Variation& variation) {
  return fmt::format("{}{}", find_metric(metric_tag(variation.figure)).name,
                     variation.per_microbatch ? " per microbatch" : "");
}

std::vector<std::string> shape_words(const Variation& variation) {
  std::vector<std::string> words;
  if (variation.stages > 0) words.push_back(counted(variation.stages, "stage"));
  if (variation.microbatches > 0) words.push_back(counted(variation.microbatches, "microbatch", "es"));
  return words;
}

std::string best_name(const Variation& variation, const BestStretch& stretch) {
  if (stretch.line) return variation.lines[*stretch.line].name;
  return stretch.none_because == NoneBecause::none_applies ? "none that applies" : "none that fits";
}

std::string unseen_words(const Variation& variation) {
  const std::int64_t distance = variation.skipped_distance();
  if (distance == 0) return {};
  return fmt::format("points are up to {} apart: changes between two of them that cancel out are not found",
                     variation.axis.format(distance));
}

} // namespace ppsim::viz
