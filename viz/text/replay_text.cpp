// How it reads (ppsim replay --stages 4 --mb 8 --forward 2ms --backward 4ms --compute timed):
//
//   replay
//     steps       2 to warm up, 5 that count: 68.45 ms (median; 68.29 ms to 71.02 ms)
//     predicted   66 ms, 3.6 % less than measured
//     results     gradients bit-equal with a run that does one task at a time; loss 0.7895 in the first
//                 step, 0.2983 in the last of 7
//     memory      as predicted on every stage, at most 9.062 KiB (stage 0); transfers and scratch space
//                 take 1.25 KiB besides
//     cores       tasks sleep, so that stages can share them

#include "ppsim/viz/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text_blocks.hpp"
#include "words/validation_words.hpp"

namespace ppsim::viz {
namespace {

std::string steps(const Validation& validation, const ReplayFacts& facts, bool asynchronous) {
  const auto [least, most] = std::ranges::minmax(validation.steps);
  std::string text = fmt::format("{} to warm up, {} that count: {}", facts.warmup, validation.steps.size(),
                                 format_duration(validation.step.measured));
  if (validation.steps.size() > 1)
    text += fmt::format(" (median; {} to {})", format_duration(least), format_duration(most));
  if (asynchronous) text += ", each step alone";
  return text;
}

std::string predicted(const Validation& validation, const ReplayFacts& facts) {
  if (!facts.predicts) return "nothing: no costs given; 'ppsim calibrate' measures them";
  const double error = validation.step.error();
  if (error == 0) return fmt::format("{}, as measured", format_duration(validation.step.predicted));
  return fmt::format("{}, {:.1f} % {} than measured", format_duration(validation.step.predicted), 100 * std::abs(error),
                     error < 0 ? "less" : "more");
}

/// Steps whose tasks lasted as they were drawn, beside what each is predicted to take with the same draws.
std::string drawn(const Validation& validation, const ReplayFacts& facts) {
  const auto mean = [](const std::vector<Duration>& steps) {
    std::int64_t sum = 0;
    for (const Duration step : steps) sum += step.count() / static_cast<std::int64_t>(steps.size());
    return Duration{sum};
  };
  double furthest = 0;
  for (std::size_t step = 0; step < validation.steps.size(); ++step)
    furthest = std::max(furthest,
                        std::abs(fraction(facts.drawn_steps[step] - validation.steps[step], validation.steps[step])));
  return fmt::format("{} on average, {} predicted with the same draws; the longest {}, predicted {}; each step within "
                     "{:.1f} %",
                     format_duration(mean(validation.steps)), format_duration(mean(facts.drawn_steps)),
                     format_duration(std::ranges::max(validation.steps)),
                     format_duration(std::ranges::max(facts.drawn_steps)), 100 * furthest);
}

} // namespace

std::string replay_text(const MeasuredRun& run, const Validation& validation, const ReplayFacts& facts,
                        const TextOptions& options) {
  std::string out = in_colour("replay", "1", options.colour) + '\n';
  out += answer_lines("steps", steps(validation, facts, run.schedule.asynchronous()), options.width);
  out += answer_lines("predicted", predicted(validation, facts), options.width);
  if (!facts.drawn_steps.empty()) out += answer_lines("jitter", drawn(validation, facts), options.width);
  if (facts.predicts) out += unpredicted_line(validation, options.width);
  return out + trust_lines(run, validation, options.width);
}

} // namespace ppsim::viz
