// How it reads:
//
//   results     gradients bit-equal with a run that does one task at a time; loss 2.5 in the first
//               step, 1.5 in the last of 2
//   memory      as predicted on every stage, at most 2.25 GiB (stage 0)
//   cores       in tasks, every stage had at least 99 % of a core
//   clocks      aligned within 1.2 us

#include "measured_words.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "comparison_words.hpp"
#include "text/tables.hpp"

namespace ppsim::viz {
namespace {

std::string results_words(const MeasuredRun& run) {
  if (!run.proof) return "not compared with those of a run that does one task at a time";
  const Proof& proof = *run.proof;
  const bool has_gradients = !run.schedule.forward_only();
  std::string text{has_gradients ? "gradients" : "losses"};
  if (proof.bit_equal) {
    text += " bit-equal with a run that does one task at a time";
  } else {
    text += fmt::format(" {} those of a run that does one task at a time{}: ", proof.holds() ? "equal" : "DIFFER from",
                        proof.same_order ? "" : ", which sums them in another order");
    if (has_gradients) text += fmt::format("{:.2g} off, losses ", proof.gradient_error);
    text +=
        fmt::format("{:.2g} off, where {:.2g} is allowed", proof.loss_error, proof.same_order ? 0.0 : proof.tolerance);
  }
  if (const auto step = proof.diverged())
    text += fmt::format("; training DIVERGED: no finite loss from step {} of {} on", *step + 1, proof.losses.size());
  else if (proof.losses.size() > 1)
    text += fmt::format("; loss {:.4g} in the first step, {:.4g} in the last of {}", proof.losses.front(),
                        proof.losses.back(), proof.losses.size());
  return text;
}

/// Why peaks are not compared.
std::string_view unknown_memory(const MeasuredRun& run) {
  if (run.facts.timed) return "not compared: tasks were timed, and hold nothing of what the scenario says";
  const bool measured = std::ranges::any_of(
      run.stages, [](Bytes peak) { return peak > Bytes{}; }, &MeasuredStage::peak_bytes);
  return measured ? "not compared: the scenario does not say how large activations and parameters are"
                  : "not compared: the run did not measure it";
}

std::string memory_words(const MeasuredRun& run, const Validation& validation) {
  constexpr std::size_t most_named = 4;
  if (!validation.knows_memory) return std::string{unknown_memory(run)};
  if (!validation.same_peaks()) return "NOT as predicted: " + differing_peaks(validation, most_named);
  const auto largest = std::ranges::max_element(validation.stages, {}, &StageError::measured_peak);
  std::string text = fmt::format("as predicted on every stage, at most {} (stage {})",
                                 format_bytes(largest->measured_peak), largest - validation.stages.begin());
  const Bytes buffers = std::ranges::max(run.stages, {}, &MeasuredStage::buffer_bytes).buffer_bytes;
  if (buffers > Bytes{}) text += fmt::format("; transfers and scratch space take {} besides", format_bytes(buffers));
  return text;
}

std::string cores_words(const MeasuredRun& run, double share) {
  if (run.facts.timed) return "tasks sleep, so that stages can share them";
  // The two clocks are read one after the other, so that the share can come out above the whole.
  const double percent = 100 * std::min(share, 1.0);
  if (is_contended(run))
    return fmt::format("CONTENDED: in tasks, a stage had only {:.0f} % of a core, and {:.0f} % is needed: other "
                       "programs used it, or there are more stages than cores, and the times say little",
                       percent, 100 * least_core_share);
  return fmt::format("in tasks, every stage had at least {:.0f} % of a core", percent);
}

std::string clocks_words(Duration bound, bool unaligned) {
  return fmt::format("aligned within {}{}", format_duration(bound),
                     unaligned ? "; yet a transfer ended before it began: NOT aligned" : "");
}

} // namespace

std::string answer_lines(std::string_view what, std::string_view text, std::size_t width) {
  const std::string begin = fmt::format("  {:<12}", what);
  return wrapped_lines(begin + std::string{text}, width, begin.size());
}

std::string trust_lines(const MeasuredRun& run, const Validation& validation, std::size_t width) {
  std::string out = answer_lines("results", results_words(run), width);
  out += answer_lines("memory", memory_words(run, validation), width);
  if (const auto share = core_share(run)) out += answer_lines("cores", cores_words(run, *share), width);
  if (run.clock_error) out += answer_lines("clocks", clocks_words(*run.clock_error, run.unaligned), width);
  return out;
}

std::string unpredicted_line(const Validation& validation, std::size_t width) {
  std::vector<std::string> besides;
  const auto add = [&](std::string_view what, const std::optional<Duration>& time) {
    if (time) besides.push_back(fmt::format("{} ({} of the step)", what, format_duration(*time)));
  };
  add("reductions of gradients", validation.unpredicted_exchange);
  add("the optimizer", validation.unpredicted_optimizer);
  if (besides.empty()) return "";
  return answer_lines(
      "besides", fmt::format("measured, not predicted, and left out of the comparison: {}", joined(besides, " and ")),
      width);
}

std::string differing_peaks(const Validation& validation, std::size_t most) {
  std::vector<std::string> named;
  std::size_t others = 0;
  for (std::size_t stage = 0; stage < validation.stages.size(); ++stage) {
    const StageError& error = validation.stages[stage];
    if (error.same_peak()) continue;
    if (named.size() == most)
      ++others;
    else
      named.push_back(fmt::format("stage {} held {} B, and {} B were predicted", stage, error.measured_peak.count(),
                                  error.predicted_peak.count()));
  }
  return joined(named, "; ") +
         (others > 0 ? fmt::format(" (and {} other{})", others, others == 1 ? " differs" : "s differ") : "");
}

} // namespace ppsim::viz
