#include "comparison_words.hpp"

#include "ppsim/study/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ppsim::viz {

const Contender* reference_of(const Comparison& comparison) {
  if (comparison.contenders.empty()) return nullptr;
  return &comparison.contenders[comparison.recommendation ? comparison.recommendation->best : 0];
}

std::string difference(Duration time, Duration reference) {
  if (time == reference || reference == Duration{0}) return "0 %";
  const double ratio = static_cast<double>((time - reference).count()) / static_cast<double>(reference.count());
  const double size = std::abs(ratio);
  // More digits where fewer would hide that there is a difference, none where they would say nothing.
  const int decimals = size >= 0.9995 ? 0 : size >= 0.0995 ? 1 : size >= 0.0001 ? 2 : 4;
  return fmt::format("{}{:.{}f} %", ratio > 0 ? "+" : "-", 100 * size, decimals);
}

std::string percent(double ratio) {
  return fmt::format("{:.{}f} %", 100 * ratio, ratio >= 0.9995 ? 0 : ratio >= 0.0995 || ratio == 0 ? 1 : 2);
}

Bytes peak_bytes(const RunReport& report) {
  Bytes most;
  for (const StageReport& stage : report.stages) most = std::max(most, stage.peak_bytes());
  return most;
}

std::vector<std::string> demand_words(const Demands& demands) {
  std::vector<std::string> words;
  if (demands.folds)
    words.push_back(demands.chunks_per_stage == 2 ? "V" : fmt::format("waves of {}", demands.chunks_per_stage));
  else if (demands.chunks_per_stage > 1)
    words.push_back(counted(demands.chunks_per_stage, "chunk"));
  if (demands.splits_backward) words.emplace_back("split");
  if (demands.overlaps_pairs) words.emplace_back("pairs");
  if (demands.asynchronous) words.emplace_back("async");
  return words;
}

std::vector<std::string> conditions(const Comparison& comparison) {
  std::vector<std::string> parts{counted(comparison.stages, "stage"),
                                 counted(comparison.microbatches, "microbatch", "es"),
                                 fmt::format("transfers: {}", to_string(comparison.transfer_model))};
  if (comparison.memory_limit) parts.push_back(fmt::format("limit {}", format_bytes(*comparison.memory_limit)));
  return parts;
}

} // namespace ppsim::viz
