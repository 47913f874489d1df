#pragma once
// What the views of a variation say in the same words.

#include "ppsim/study/variation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::viz {

/// What an option gives, for titles: "transfer time" for comm; others as they are called, with spaces.
[[nodiscard]] std::string quantity_name(std::string_view option);
/// What is compared: "step time", "p95 step time"; per microbatch where that is shown.
[[nodiscard]] std::string compared_name(const Variation& variation);
/// "4 stages", "8 microbatches", without what varies.
[[nodiscard]] std::vector<std::string> shape_words(const Variation& variation);
/// The best schedule of a stretch, or why there is none.
[[nodiscard]] std::string best_name(const Variation& variation, const BestStretch& stretch);
/// What the points cannot show; empty where they show all there is.
[[nodiscard]] std::string unseen_words(const Variation& variation);

} // namespace ppsim::viz
