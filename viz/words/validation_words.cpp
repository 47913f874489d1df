#include "validation_words.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "figures.hpp"
#include "text/text_blocks.hpp"

namespace ppsim::viz {
namespace {

/// Part of a task that was late when others waited for it.
std::string_view delay_words(Delay delay) {
  switch (delay) {
  case Delay::none:
    break;
  case Delay::length:
    return "took longer";
  case Delay::transfer:
    return "sent its output for longer";
  case Delay::start:
    return "could have run but started late";
  }
  return "";
}

/// "1.2 % too short", "exactly": the error of a prediction.
std::string error_words(const ComparedTime& compared) {
  if (compared.predicted == compared.measured) return "exactly";
  const double error = compared.error();
  if (!std::isfinite(error)) return "too long";
  return fmt::format("{} too {}", signed_percent(std::abs(error)).substr(std::abs(error) < 5e-5 ? 0 : 1),
                     error < 0 ? "short" : "long");
}

/// "stage 1 held 151 B, and 150 B were predicted", of the first `most` stages where peaks differ, and how many others
/// do; to the byte, as that is how they are compared. Some stage's must.
std::string differing_peaks(const Validation& validation, std::size_t most) {
  std::vector<std::string> named;
  std::size_t others = 0;
  for (std::size_t stage = 0; stage < validation.stages.size(); ++stage) {
    const StageError& error = validation.stages[stage];
    if (error.same_peak()) continue;
    if (named.size() == most)
      ++others;
    else
      named.push_back(fmt::format("stage {} held {} B, but {} B were predicted", stage, error.measured_peak.count(),
                                  error.predicted_peak.count()));
  }
  return joined(named, "; ") +
         (others > 0 ? fmt::format(" (and {} other{})", others, others == 1 ? " differs" : "s differ") : "");
}

std::string results_words(const MeasuredRun& run) {
  if (!run.proof) return "not compared with a run that does one task at a time";
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
        fmt::format("{:.2g} off, and {:.2g} is allowed", proof.loss_error, proof.same_order ? 0.0 : proof.tolerance);
  }
  if (const auto step = proof.diverged())
    text += fmt::format("; training DIVERGED: the loss is not finite from step {} of {} on", *step + 1,
                        proof.losses.size());
  else if (proof.losses.size() > 1)
    text += fmt::format("; loss {:.4g} in the first step, {:.4g} in the last of {}", proof.losses.front(),
                        proof.losses.back(), proof.losses.size());
  return text;
}

/// Reason why peaks are not compared.
std::string_view unknown_memory(const MeasuredRun& run) {
  if (run.facts.timed) return "not compared: timed tasks do not hold the memory of the scenario";
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
  if (buffers > Bytes{}) text += fmt::format("; transfers and scratch space take another {}", format_bytes(buffers));
  return text;
}

std::string cores_words(const MeasuredRun& run, double share) {
  if (run.facts.timed) return "tasks sleep, so stages can share them";
  // The two clocks are read one after the other, so the share can exceed 100 %.
  const double percent = 100 * std::min(share, 1.0);
  if (is_contended(run))
    return fmt::format("CONTENDED: in tasks, a stage had only {:.0f} % of a core, but {:.0f} % is needed: other "
                       "programs used it, or there are more stages than cores, and the times are unreliable",
                       percent, 100 * least_core_share);
  return fmt::format("in tasks, every stage had at least {:.0f} % of a core", percent);
}

} // namespace

std::string verdict(const MeasuredRun& run, const Validation& validation) {
  std::vector<std::string> reasons;
  if (validation.contended)
    reasons.push_back(fmt::format("the cores were shared with other work (a stage had {:.0f} % of one)",
                                  100 * core_share(run).value_or(0)));
  if (validation.unaligned) reasons.emplace_back("the clocks of the stages differ by more than their bound");
  if (!validation.proved.value_or(true)) reasons.emplace_back("the results are wrong");
  if (!validation.same_peaks()) reasons.push_back(differing_peaks(validation, 1));
  const bool all_predicted = !validation.unpredicted_exchange && !validation.unpredicted_optimizer;
  const std::string time = fmt::format(
      "{}{} is predicted {} ({}; the run took {}{})", validation.own_costs ? "from the run's own means, " : "",
      run.schedule.asynchronous() ? "one step alone" : "the step time", error_words(validation.step),
      format_duration(validation.step.predicted), format_duration(validation.step.measured),
      all_predicted ? "" : " without the parts that were not predicted");
  const std::string tolerated = given_percent(validation.tolerance);
  if (!validation.in_tolerance()) reasons.push_back(fmt::format("{}, {} is tolerated", time, tolerated));
  if (reasons.empty()) return fmt::format("valid: {}, within {}", time, tolerated);
  return fmt::format("{}: {}", validation.counts() ? "not valid" : "no validation", joined(reasons, "; "));
}

std::string task_and_stage(const TaskGraph& graph, TaskId id) {
  return fmt::format("{} on stage {}", ppsim::to_string(graph.schedule().task(id)),
                     index(graph.schedule().stage_of(id)));
}

std::string deviation_words(const TaskGraph& graph, const Deviation& deviation) {
  if (deviation.because == Lateness::slow) {
    const bool longer = deviation.length > Duration{0};
    return fmt::format("took {} {} than the {} predicted", format_duration(std::chrono::abs(deviation.length)),
                       longer ? "longer" : "less", format_duration(deviation.predicted));
  }
  const std::string wait = format_duration(deviation.wait);
  if (deviation.waited_for == no_task) return fmt::format("could have run, but started {} late", wait);
  std::string words = fmt::format("waited {} longer for {}", wait, task_and_stage(graph, deviation.waited_for));
  if (deviation.delay == Delay::none) return words;
  const std::string_view how = delay_words(deviation.delay);
  const Duration early = deviation.wait - deviation.start; // start of the wait
  if (2 * early > deviation.wait) return fmt::format("{}, and started to wait {} early", words, format_duration(early));
  if (2 * deviation.delayed < deviation.wait)
    words += fmt::format(", as many small delays added up (at most {}: {} {})", format_duration(deviation.delayed),
                         task_and_stage(graph, deviation.behind), how);
  else if (deviation.behind == deviation.waited_for)
    words += fmt::format(", which {}", how);
  else
    words += fmt::format(", late because {} {}", task_and_stage(graph, deviation.behind), how);
  return words;
}

std::string trust_lines(const MeasuredRun& run, const Validation& validation, std::size_t width) {
  std::string out = answer_lines("results", results_words(run), width);
  out += answer_lines("memory", memory_words(run, validation), width);
  if (const auto share = core_share(run)) out += answer_lines("cores", cores_words(run, *share), width);
  if (!run.clock_error) return out;
  const std::string_view aligned = run.unaligned ? "; but a transfer ended before it started: NOT aligned" : "";
  return out +
         answer_lines("clocks", fmt::format("aligned within {}{}", format_duration(*run.clock_error), aligned), width);
}

std::string unpredicted_line(const Validation& validation, std::size_t width) {
  std::vector<std::string> besides;
  const auto add = [&](std::string_view what, const std::optional<Duration>& time) {
    if (time) besides.push_back(fmt::format("{} ({} of the step)", what, format_duration(*time)));
  };
  add("reductions of gradients", validation.unpredicted_exchange);
  add("the optimizer", validation.unpredicted_optimizer);
  if (besides.empty()) return "";
  return answer_lines("besides", "measured but not predicted, so left out of the comparison: " + enumerated(besides),
                      width);
}

} // namespace ppsim::viz
