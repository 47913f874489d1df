#pragma once
// Sentences shared by the views of a variation.

#include "ppsim/study/variation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::viz {

/// The quantity set by an option, for titles: "transfer time" for comm; other options by their names, with spaces.
[[nodiscard]] std::string quantity_name(std::string_view option);
/// The compared quantity: "step time", "p95 step time"; per microbatch if shown so.
[[nodiscard]] std::string compared_name(const Variation& variation);
/// "4 stages", "8 microbatches", without the varied quantity.
[[nodiscard]] std::vector<std::string> shape_words(const Variation& variation);
/// The best schedule of an interval, or why there is none.
[[nodiscard]] std::string best_name(const Variation& variation, const BestStretch& stretch);
/// Limits of the points shown; empty if they are complete.
[[nodiscard]] std::string unseen_words(const Variation& variation);

} // namespace ppsim::viz
