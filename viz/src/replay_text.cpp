#include "ppsim/viz/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

// How it reads:
//
//   replay
//     steps       2 to warm up, 5 that count: 33.1 ms (32.9 ms to 34.1 ms)
//     predicted   33 ms, 0.3 % less than the median step took
//     results     gradients bit-equal with a run that does one task at a time; loss 0.52 at first, 0.31 after 7 steps
//     memory      as predicted on every stage, at most 3.2 MiB (stage 0); 1 MiB of buffers besides
//     cores       in tasks 99 % of the time was processor time

namespace ppsim::viz {
namespace {

class ReplayText {
public:
  ReplayText(const MeasuredRun& run, const Validation& validation, const ReplayHead& head, const TextOptions& options)
      : run_{run}, validation_{validation}, head_{head}, options_{options} {}

  std::string render() {
    out_ = options_.colour ? "\033[1mreplay\033[0m\n" : "replay\n";
    say("steps", steps());
    say("predicted", predicted());
    say("results", results());
    say("memory", memory());
    if (const auto share = core_share(run_)) say("cores", cores(*share));
    if (run_.clock_error) say("clocks", clocks());
    return out_;
  }

private:
  /// One line, broken at spaces where the width ends.
  void say(std::string_view what, std::string_view text) {
    constexpr std::size_t indent = 14;
    out_ += fmt::format("{:<{}}", fmt::format("  {}", what), indent);
    std::size_t column = indent;
    for (bool first = true; !text.empty(); first = false) {
      const std::size_t end = std::min(text.find(' '), text.size());
      if (!first && column + 1 + end > options_.width) {
        out_ += fmt::format("\n{:{}}", "", indent);
        column = indent;
      } else if (!first) {
        out_ += ' ';
        ++column;
      }
      out_ += text.substr(0, end);
      column += end;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    out_ += '\n';
  }

  [[nodiscard]] std::string steps() const {
    const auto [least, most] = std::ranges::minmax(validation_.steps);
    std::string text = fmt::format("{} to warm up, {} that count: {}", head_.warmup, validation_.steps.size(),
                                   format_duration(validation_.step.measured));
    if (validation_.steps.size() > 1)
      text += fmt::format(" (median; {} to {})", format_duration(least), format_duration(most));
    if (run_.schedule.asynchronous()) text += ", each step alone";
    return text;
  }

  [[nodiscard]] std::string predicted() const {
    if (!head_.predicts) return "nothing: no costs were given; 'ppsim calibrate' measures them";
    const double error = validation_.step.error();
    return fmt::format("{}, {:.1f} % {} than measured", format_duration(validation_.step.predicted),
                       100 * std::abs(error), error < 0 ? "less" : "more");
  }

  [[nodiscard]] std::string results() const {
    if (!run_.proof) return "not compared";
    const Proof& proof = *run_.proof;
    const std::string_view what = run_.schedule.forward_only() ? "losses" : "gradients";
    std::string text;
    if (proof.bit_equal)
      text = fmt::format("{} bit-equal with a run that does one task at a time", what);
    else
      text = fmt::format("{} {} those of a run that does one task at a time{}: {:.2g} off, loss {:.2g}, where "
                         "{:.2g} is allowed",
                         what, proof.holds() ? "equal" : "DIFFER from",
                         proof.same_order ? "" : ", which sums them in another order", proof.gradient_error,
                         proof.loss_error, proof.same_order ? 0.0 : proof.tolerance);
    if (proof.losses.size() > 1)
      text += fmt::format("; loss {:.4g} in the first step, {:.4g} in the last of {}", proof.losses.front(),
                          proof.losses.back(), proof.losses.size());
    return text;
  }

  [[nodiscard]] std::string memory() const {
    if (!validation_.knows_memory) return "not compared";
    std::string text;
    for (std::size_t stage = 0; stage < validation_.stages.size(); ++stage) {
      const StageError& error = validation_.stages[stage];
      if (error.same_peak()) continue;
      text += fmt::format("{}stage {}: {} B, predicted {} B", text.empty() ? "NOT as predicted: " : "; ", stage,
                          error.measured_peak.count(), error.predicted_peak.count());
    }
    if (!text.empty()) return text;
    const auto largest = std::ranges::max_element(validation_.stages, {}, &StageError::measured_peak);
    const auto buffers = std::ranges::max_element(run_.stages, {}, &MeasuredStage::buffer_bytes);
    return fmt::format(
        "as predicted on every stage, at most {} (stage {}); transfers and scratch space take {} besides",
        format_bytes(largest->measured_peak), largest - validation_.stages.begin(),
        format_bytes(buffers->buffer_bytes));
  }

  [[nodiscard]] std::string cores(double share) const {
    if (run_.facts.timed) return "tasks sleep, so that stages can share them";
    if (validation_.contended)
      return fmt::format("CONTENDED: in tasks of one stage only {:.0f} % of the time was processor time; others used "
                         "its core, and the times say little",
                         100 * share);
    // The two clocks are read one after the other, so that the share can come out above the whole.
    return fmt::format("its own: in tasks {:.0f} % of the time was processor time, or more",
                       100 * std::min(share, 1.0));
  }

  [[nodiscard]] std::string clocks() const {
    return fmt::format("aligned within {}{}", format_duration(*run_.clock_error),
                       run_.unaligned ? "; yet a transfer ended before it began: NOT aligned" : "");
  }

  const MeasuredRun& run_;
  const Validation& validation_;
  const ReplayHead& head_;
  const TextOptions& options_;
  std::string out_;
};

} // namespace

std::string replay_text(const MeasuredRun& run, const Validation& validation, const ReplayHead& head,
                        const TextOptions& options) {
  return ReplayText{run, validation, head, options}.render();
}

} // namespace ppsim::viz
