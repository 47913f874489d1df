#include "figures.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ppsim::viz {

std::string percent(double ratio) {
  return fmt::format("{:.{}f} %", 100 * ratio, ratio >= 0.9995 ? 0 : ratio >= 0.0995 || ratio == 0 ? 1 : 2);
}

std::string signed_percent(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  const double size = std::abs(ratio);
  const int decimals = size >= 0.9995 ? 0 : size >= 0.0995 ? 1 : 2;
  const std::string digits = fmt::format("{:.{}f} %", 100 * size, decimals);
  const bool nothing = digits.find_first_of("123456789") == std::string::npos;
  return (nothing ? "" : ratio > 0 ? "+" : "-") + digits;
}

std::string given_percent(double share) {
  std::string digits = fmt::format("{:.6f}", 100 * share);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits + " %";
}

std::string difference(Duration time, Duration reference) {
  if (time == reference || reference == Duration{0}) return "0 %";
  const double ratio = fraction(time - reference, reference);
  const double size = std::abs(ratio);
  // More digits where fewer would hide that there is a difference, none where they would say nothing.
  const int decimals = size >= 0.9995 ? 0 : size >= 0.0995 ? 1 : size >= 0.0001 ? 2 : 4;
  return fmt::format("{}{:.{}f} %", ratio > 0 ? "+" : "-", 100 * size, decimals);
}

std::vector<std::string> sampled_words(const Jitter& jitter) {
  std::vector<std::string> words{
      jitter.measured
          ? fmt::format("jitter as in {} of {}", counted(jitter.measured->steps, "step"), jitter.measured->source)
          : fmt::format("jitter {} of each task", given_percent(factor_of(jitter.ppm))),
      counted(jitter.samples, "step")};
  if (jitter.copies > 1) words.push_back(fmt::format("the slowest of {} copies", jitter.copies));
  return words;
}

std::string enumerated(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string asked(const Demands& demands) {
  std::vector<std::string> words;
  if (demands.folds)
    words.push_back(demands.chunks_per_stage == 2 ? "V" : fmt::format("waves of {}", demands.chunks_per_stage));
  else if (demands.chunks_per_stage > 1)
    words.push_back(counted(demands.chunks_per_stage, "chunk"));
  if (demands.splits_backward) words.emplace_back("split");
  if (demands.overlaps_pairs) words.emplace_back("pairs");
  if (demands.asynchronous) words.emplace_back("async");
  return words.empty() ? "-" : joined(words, ", ");
}

std::string stage_list(const std::vector<std::size_t>& stages) {
  if (stages.size() == 1) return fmt::format("stage {}", stages[0]);
  if (stages.back() - stages.front() + 1 == stages.size())
    return fmt::format("stages {}-{}", stages.front(), stages.back());
  if (stages.size() == 2) return fmt::format("stages {} and {}", stages[0], stages[1]);
  return fmt::format("stage {} and {} more", stages[0], stages.size() - 1);
}

} // namespace ppsim::viz
