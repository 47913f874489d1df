#include "validation_words.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "comparison_words.hpp"
#include "measured_words.hpp"

namespace ppsim::viz {
namespace {

/// What a task that others waited for was late in.
std::string_view delay_words(Delay delay) {
  switch (delay) {
  case Delay::none:
    break;
  case Delay::length:
    return "took longer";
  case Delay::transfer:
    return "sent its output for longer";
  case Delay::start:
    return "could have run and began late";
  }
  return "";
}

} // namespace

std::string given_percent(double share) {
  std::string digits = fmt::format("{:.6f}", 100 * share);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits + " %";
}

std::string signed_percent(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  const double size = std::abs(ratio);
  const int decimals = size >= 0.9995 ? 0 : size >= 0.0995 ? 1 : 2;
  const std::string digits = fmt::format("{:.{}f} %", 100 * size, decimals);
  const bool nothing = digits.find_first_of("123456789") == std::string::npos;
  return (nothing ? "" : ratio > 0 ? "+" : "-") + digits;
}

std::string error_words(const ComparedTime& compared) {
  if (compared.predicted == compared.measured) return "exactly";
  const double error = compared.error();
  if (!std::isfinite(error)) return "too long";
  return fmt::format("{} too {}", signed_percent(std::abs(error)).substr(std::abs(error) < 5e-5 ? 0 : 1),
                     error < 0 ? "short" : "long");
}

std::string verdict(const MeasuredRun& run, const Validation& validation) {
  std::vector<std::string> reasons;
  if (validation.contended)
    reasons.push_back(fmt::format("the cores were shared with other work (a stage had {:.0f} % of one)",
                                  100 * core_share(run).value_or(0)));
  if (validation.unaligned) reasons.emplace_back("the clocks of the stages are apart by more than their bound");
  if (!validation.proved.value_or(true)) reasons.emplace_back("the results are wrong");
  if (!validation.same_peaks()) reasons.push_back(differing_peaks(validation, 1));
  const bool all_predicted = !validation.unpredicted_exchange && !validation.unpredicted_optimizer;
  const std::string time = fmt::format(
      "{}{} is predicted {} ({}; the run took {}{})", validation.own_costs ? "from the run's own means, " : "",
      run.schedule.asynchronous() ? "one step alone" : "the step time", error_words(validation.step),
      format_duration(validation.step.predicted), format_duration(validation.step.measured),
      all_predicted ? "" : " without what was not predicted");
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
  if (deviation.waited_for == no_task) return fmt::format("could have run, and began {} late", wait);
  std::string words = fmt::format("waited {} longer for {}", wait, task_and_stage(graph, deviation.waited_for));
  if (deviation.delay == Delay::none) return words;
  const std::string_view how = delay_words(deviation.delay);
  const Duration early = deviation.wait - deviation.start; // when it began to wait
  if (2 * early > deviation.wait)
    return fmt::format("{}, having begun to wait {} early", words, format_duration(early));
  if (2 * deviation.delayed < deviation.wait)
    words += fmt::format(", as many small delays added up (at most {}: {} {})", format_duration(deviation.delayed),
                         task_and_stage(graph, deviation.behind), how);
  else if (deviation.behind == deviation.waited_for)
    words += fmt::format(", which {}", how);
  else
    words += fmt::format(", late because {} {}", task_and_stage(graph, deviation.behind), how);
  return words;
}

} // namespace ppsim::viz
