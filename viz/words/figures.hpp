#pragma once
// Figures and lists of words, formatted for texts and pictures.

#include "ppsim/study/comparison.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>
#include <vector>

namespace ppsim::viz {

/// "27.3 %", with more digits if it is small.
[[nodiscard]] std::string percent(double ratio);
/// "-1.23 %"; "-" if unbounded.
[[nodiscard]] std::string signed_percent(double ratio);
/// "5 %", "1000 %", "0.125 %": a share as given by the user.
[[nodiscard]] std::string given_percent(double share);
/// Relative increase of `time`: "+12.3 %", "-4.00 %", "0 %".
[[nodiscard]] std::string difference(Duration time, Duration reference);
/// "jitter 5 % of each task", "1000 steps", "the slowest of 64 copies".
[[nodiscard]] std::vector<std::string> sampled_words(const Jitter& jitter);
/// Runtime features that an order needs, briefly: "2 chunks, split, pairs", "V, split", "-".
[[nodiscard]] std::string asked(const Demands& demands);
/// "stage 0", "stages 0-3", "stages 0 and 2", "stage 0 and 5 more".
[[nodiscard]] std::string stage_list(const std::vector<std::size_t>& stages);
/// "a", "a and b", "a, b and c".
[[nodiscard]] std::string enumerated(const std::vector<std::string>& parts);

} // namespace ppsim::viz
