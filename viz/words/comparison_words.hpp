#pragma once
// What the views of a comparison say in the same words.

#include "ppsim/base/words.hpp"
#include "ppsim/study/comparison.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>
#include <vector>

namespace ppsim::viz {

/// The one that others are measured against: the recommended, or the first where none is; null where there is none.
[[nodiscard]] const Contender* reference_of(const Comparison& comparison);
/// How much longer `time` is: "+12.3 %", "-4.00 %", "0 %".
[[nodiscard]] std::string difference(Duration time, Duration reference);
/// "27.3 %", with more digits where it is small.
[[nodiscard]] std::string percent(double ratio);
/// Of the stage that needs most.
[[nodiscard]] Bytes peak_bytes(const RunReport& report);
/// What the order asks of the runtime, a word each; empty for one chunk per stage run forward and backward in turn.
[[nodiscard]] std::vector<std::string> demand_words(const Demands& demands);
/// "4 stages", "8 microbatches", "transfers: latency" and, where there is one, "limit 80 GiB".
[[nodiscard]] std::vector<std::string> conditions(const Comparison& comparison);

} // namespace ppsim::viz
