#include "ppsim/viz/text.hpp"

#include "ppsim/base/words.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/advice.hpp"
#include "ppsim/study/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <ranges>

#include "report_parts.hpp"
#include "text_blocks.hpp"
#include "words/figures.hpp"

// How the report reads, for `ppsim --stages 4 --mb 8`:
//
//   1f1b: 4 stages, 8 microbatches, transfers: latency
//
//     step time   33 ms, of which the busiest stage computes 24 ms
//     bubble      27.3 % of device time (bubble ratio)
//                 37.5 % over ideal (bubble overhead), 27.3 % of a stage's span (stage span bubble)
//     theory      37.5 % over ideal = (p-1)/m: as simulated
//     path        F 11 ms + B 22 ms on the critical path
//     memory      at most 4 live activations, on stage 0
//
//     stage  busy                     idle by cause                            live  phases
//         0  ############....  72.7%  downstream 9 ms                             4  3+5+3
//     ...
//     total  F 32 ms + B 64 ms + warmup 6 ms + downstream 18 ms + drain 12 ms = 132 ms = 4 x 33 ms
//
//   (the chart of text_gantt.cpp)
//
//   next: fill, drain and waits for other stages cost 27.3 % of device time; --mb 16 (13.6 % less time per microbatch)

namespace ppsim::viz {
namespace {

std::string percent_to_tenths(double ratio) {
  return fmt::format("{:.{}f} %", 100 * ratio, ratio >= 0.0995 || ratio == 0 ? 1 : 2);
}

/// Variation of task times.
std::string jitter_words(const Jitter& jitter) {
  if (!jitter.measured) return fmt::format("{} of each task", percent_to_tenths(factor_of(jitter.ppm)));
  const MeasuredJitter& measured = *jitter.measured;
  const auto deviation = [](std::string_view of, double ratio) {
    return ratio > 0 ? fmt::format(", {} {}", of, percent_to_tenths(ratio)) : std::string{};
  };
  return fmt::format(
      "as in {} of {} (each task {}{}{}{})", counted(measured.steps, "step"), measured.source,
      percent_to_tenths(measured.of_task), deviation("its step", measured.of_step),
      deviation("its stage in the step", measured.of_stage),
      deviation(measured.apart ? "its microbatch, drawn one by one," : "its microbatch", measured.of_microbatch));
}

/// Three digits at least: "1.25", "12.5", "125", "12500".
std::string short_rate(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

/// "11 10 10 9"; a long list with its repetitions: "11, 62 x 10, 9".
std::string with_repeats(const std::vector<std::size_t>& counts) {
  constexpr std::size_t longest_list = 16;
  if (counts.size() <= longest_list) return joined(counts, " ");
  std::string text;
  for (std::size_t first = 0; first < counts.size();) {
    std::size_t end = first + 1;
    while (end < counts.size() && counts[end] == counts[first]) ++end;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", end - first > 1 ? fmt::format("{} x ", end - first) : "",
                        counts[first]);
    first = end;
  }
  return text;
}

/// "; --mb 16 (13.6 % less time per microbatch)"
std::string remedy_words(const std::vector<Remedy>& remedies) {
  std::string words;
  for (const Remedy& remedy : remedies)
    words += fmt::format("{} {} ({} less time per microbatch)", words.empty() ? ";" : ",", as_flags(remedy.fields),
                         percent_to_tenths(remedy.gain));
  return words;
}

/// Advice after "next: ".
std::string advice_words(const Advice& advice) {
  const std::string share = percent_to_tenths(advice.share);
  const std::string remedies = remedy_words(advice.remedies);
  const std::string_view others = advice.try_others ? "; ppsim compare tries other schedules" : "";
  switch (advice.next) {
  case NextStep::nothing:
    return "no stage is ever idle";
  case NextStep::host:
    return fmt::format(
        "{} of the idle time passed before tasks that could have run: use larger tasks, or a less busy host", share);
  case NextStep::run_together:
    return "only one stage works at a time; --schedule 1f1b runs them together";
  case NextStep::even_out: {
    const bool one = advice.busiest.size() == 1;
    return fmt::format("{} {} {:.2f} times the mean: give {} less to do{}", stage_list(advice.busiest),
                       one ? "computes" : "compute", advice.imbalance, one ? "it" : "them",
                       advice.can_balance ? " (--balance)" : "");
  }
  case NextStep::transfers:
    return fmt::format("{} of the idle time waits for transfers: --svg shows where{}{}", share, remedies, others);
  case NextStep::reductions:
    return fmt::format("{} of the idle time waits for reductions and optimizer steps: more microbatches per step "
                       "share them{}",
                       share, remedies);
  case NextStep::pipeline_waits:
    break;
  }
  return fmt::format("fill, drain and waits for other stages cost {} of device time{}{}", share, remedies, others);
}

/// The report, part by part.
class TextReport {
public:
  TextReport(const TaskGraph& graph, const Timeline& timeline, const RunReport& report, const TextOptions& options)
      : graph_{graph}, timeline_{timeline}, report_{report}, options_{options}, scenario_{graph.scenario()} {}

  std::string render() {
    title();
    answer();
    out_ += stage_table(report_, options_.width);
    if (report_.sensitivity) out_ += sensitivity_table(report_, options_.width);
    const std::string gantt = text_gantt(graph_, timeline_, SimTime{} + report_.makespan, options_);
    if (!gantt.empty()) out_ += '\n' + gantt;
    if (options_.advises) next();
    return std::move(out_);
  }

private:
  void title() {
    const Shape& shape = scenario_.shape;
    std::string line = fmt::format("{}: {}, {}", graph_.headline(), counted(shape.stages, "stage"),
                                   counted(shape.microbatches, "microbatch", "es"));
    if (shape.shared > 0) line += ", " + counted(shape.positions(), "position");
    const std::size_t held = HeldChunks{graph_.schedule()}.most(); // with a chunk per direction more than v
    if (held > 1) line += fmt::format(", {} chunks per stage", held);
    if (graph_.schedule().forward_only()) line += ", forwards only";
    if (!report_.measured.empty()) {
      line += ", measured";
    } else {
      line += fmt::format(", transfers: {}", to_string(scenario_.network.model));
      if (scenario_.network.slices > 1) line += fmt::format(" in {} slices", scenario_.network.slices);
    }
    out_ += bold(line) + '\n';
    if (!scenario_.title.empty()) out_ += scenario_.title + '\n';
    if (!report_.measured.empty())
      put_wrapped("measured: " + report_.measured, 10);
    else if (!scenario_.source.empty())
      out_ += "costs: " + scenario_.source + '\n';
    out_ += '\n';
  }

  /// One line of the answer, broken at spaces where the width ends.
  void say(std::string_view what, std::string_view text) { out_ += answer_lines(what, text, options_.width); }
  /// `text`, broken in the same way, with further lines indented.
  void put_wrapped(std::string_view text, std::size_t indent) { out_ += wrapped_lines(text, options_.width, indent); }

  void answer() {
    const bool alone = graph_.schedule().asynchronous() && !report_.measured.empty(); // no flush, and no steady state
    say(alone ? "one step" : "step time",
        fmt::format("{}{}, of which the busiest stage computes {}", bold(format_duration(report_.step_time)),
                    alone ? " alone" : "", format_duration(report_.ideal)));
    steady_state();
    bound();
    compute();
    say("bubble", bold(percent_to_tenths(report_.bubble_ratio)) + " of device time (bubble ratio)");
    say("", fmt::format("{} over ideal (bubble overhead), {} of a stage's span (stage span bubble)",
                        percent_to_tenths(report_.bubble_overhead), percent_to_tenths(report_.stage_span_bubble)));
    theory();
    critical_path();
    layers();
    copies();
    uneven();
    spread();
    update();
    stalls();
    what_if();
    memory();
    out_ += '\n';
  }

  void steady_state() {
    if (report_.step_time_kind != StepTime::Kind::steady_state) return;
    const double over = fraction(report_.step_time - report_.ideal, report_.ideal);
    say("", fmt::format("steady state, from step to step: {} over ideal; one step alone takes {}",
                        percent_to_tenths(over), format_duration(report_.makespan)));
  }

  void bound() {
    if (report_.bound) say("bound", bound_text(report_));
  }

  /// Share of the devices' peak performance used for the model.
  void compute() {
    const auto figure = [&](std::string_view tag) { return find_metric(tag).value(report_); };
    const auto flops = figure("tflops_per_device");
    if (!flops) return;
    const auto rates = [](double tflops, const std::optional<double>& tokens) {
      const std::string words = fmt::format("{} TFLOP/s", short_rate(tflops));
      return tokens ? fmt::format("{} and {} tokens/s", words, short_rate(*tokens)) : words;
    };
    std::string text;
    if (const auto mfu = figure("mfu")) text += fmt::format("MFU {}", bold(percent_to_tenths(*mfu)));
    if (const auto hfu = figure("hfu")) text += fmt::format(", HFU {}", percent_to_tenths(*hfu));
    if (!text.empty()) text += "; ";
    text += rates(*flops, figure("tokens_per_second_per_device")) + " per device";
    say("compute", text);
    const double devices = report_.work->devices * report_.work->replicas;
    if (devices > 1)
      say("", fmt::format("{} on {:.0f} devices", rates(*figure("tflops"), figure("tokens_per_second")), devices));
  }

  void theory() {
    if (!report_.closed_form) return;
    const double theory = report_.closed_form->value;
    const Metric& metric = find_metric(report_.closed_form->metric);
    const double difference = metric.ratio(report_) - theory;
    // Chunk costs are whole nanoseconds: agreement is to a nanosecond per task on the longest chain.
    const bool agrees = std::abs(difference) <= 1e-5 * (1 + theory);
    say("theory",
        fmt::format("{} {} = {}: {}", percent_to_tenths(theory),
                    metric.tag == "bubble_overhead" ? "over ideal" : metric.name, report_.closed_form->formula,
                    agrees ? "as simulated"
                           : fmt::format("the simulation gives {} {}", percent_to_tenths(std::abs(difference)),
                                         difference > 0 ? "more" : "less")));
  }

  /// Parts of the chain that sets the makespan; they add up to it. Gaps between the tasks of a measured chain are host
  /// time.
  void critical_path() {
    std::array<Duration, label_count> time{};
    Duration reductions{0};
    Duration open = report_.makespan;
    for (const PathStep& step : report_.critical_path) {
      const Duration length = span_of(timeline_, step).length();
      open -= length;
      if (step.kind == PathKind::reduction) {
        reductions += length;
        continue;
      }
      const Duration again =
          step.kind == PathKind::task ? recompute_span(graph_, timeline_, step.task).length() : Duration{0};
      time[static_cast<std::size_t>(Label::recompute)] += again;
      time[static_cast<std::size_t>(path_label(step))] += length - again;
    }
    if (!report_.measured.empty()) time[static_cast<std::size_t>(Label::host)] = open;
    std::vector<std::string> parts;
    const auto add = [&](std::string_view name, Duration length) {
      if (length > Duration{0}) parts.push_back(fmt::format("{} {}", name, format_duration(length)));
    };
    for (std::size_t label = 0; label < label_count; ++label) add(to_string(label_at(label)), time[label]);
    add("reduction", reductions);
    if (!parts.empty()) say("path", joined(parts, " + ") + " on the critical path");
  }

  /// Label of a step of the critical path; a reduction has none, since it runs in parallel with the tasks.
  [[nodiscard]] Label path_label(const PathStep& step) const {
    if (step.kind == PathKind::optimizer) return Label::optimizer;
    if (step.kind == PathKind::transfer) return Label::transfer;
    if (step.kind == PathKind::reduction) return Label::flush;
    const Task& task = graph_.schedule().task(step.task);
    return task.pairing != Pairing::alone ? Label::overlap : static_cast<Label>(task.pass);
  }

  /// Layers per stage, if they differ; for a stage with chunks of two directions, those of both.
  void layers() {
    const HeldChunks held{graph_.schedule()};
    std::vector<std::size_t> counts(scenario_.shape.stages);
    for (std::size_t stage = 0; stage < counts.size() && !scenario_.layout.empty(); ++stage)
      for (const std::uint16_t chunk : held.of(make_id<StageId>(stage)))
        counts[stage] += scenario_.layout[chunk].layers + scenario_.layout[chunk].mtp_layers;
    if (report_.balance) return balance(*report_.balance, with_repeats(counts));
    std::vector<std::size_t> chunks;
    for (const ChunkBlocks& blocks : scenario_.layout) chunks.push_back(blocks.layers + blocks.mtp_layers);
    const auto differ = [](const std::vector<std::size_t>& values) {
      return std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) != values.end();
    };
    if (differ(counts))
      say("layers", fmt::format("{} on the stages", with_repeats(counts)));
    else if (differ(chunks))
      say("layers", fmt::format("{} on the chunks", with_repeats(chunks)));
  }

  void spread() {
    if (!report_.spread) return;
    const StepSpread& spread = *report_.spread;
    const std::string copies =
        spread.of.copies > 1 ? fmt::format(", the slowest of {} copies", spread.of.copies) : std::string{};
    say("jitter",
        fmt::format("{}: {} on average, at most {} in half of {}, {} in 95 %, {} in 99 %{}", jitter_words(spread.of),
                    format_duration(spread.mean), format_duration(spread.p50), counted(spread.of.samples, "step"),
                    format_duration(spread.p95), format_duration(spread.p99), copies));
  }

  /// Copies of the pipeline that differ.
  void copies() {
    if (!report_.copies) return;
    const CopiesReport& copies = *report_.copies;
    const CopiesReport::Alike& slowest = copies.alike[copies.slowest];
    std::size_t count = 0;
    for (const CopiesReport::Alike& each : copies.alike) count += each.count;
    std::string words = slowest.count == 1
                            ? fmt::format("copy {1} of {0} is the slowest, shown here", count, slowest.first)
                            : fmt::format("copy {1} and {2} equal copies of {0} are the slowest, shown here", count,
                                          slowest.first, slowest.count - 1);
    if (const std::optional<Duration> without = copies.without_slowest())
      words += fmt::format("; without {} a step takes {} ({})", slowest.count == 1 ? "it" : "them",
                           format_duration(*without), difference(*without, slowest.step_time));
    say("copies", words);
  }

  /// Devices and links with a different speed.
  void uneven() {
    const auto times = [](std::int64_t ppm) { return fmt::format("takes {:.4g} times as long", factor_of(ppm)); };
    std::vector<std::string> parts;
    const std::vector<std::int64_t>& stages = scenario_.costs.stage_ppm;
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
      if (stages[stage] != unchanged_ppm) parts.push_back(fmt::format("stage {} {}", stage, times(stages[stage])));
    for (const UnusualLink& link : scenario_.network.unusual_links)
      parts.push_back(fmt::format("link {}-{} {}", index(link.stage), index(link.other), times(link.ppm)));
    if (!parts.empty()) say("slow", joined(parts, ", "));
  }

  void balance(const Balance& found, const std::string& layers) {
    const std::string start = found.start.is_given ? "the layout given" : "the even split";
    const std::string start_time = format_duration(found.start_step_time);
    if (!found.changed())
      say("balance",
          fmt::format("layers per stage {}: {} is the best of {}", layers, start, counted(found.tried, "split")));
    else if (!found.fits)
      say("balance", fmt::format("layers per stage {}: no tried split fits; this one exceeds the limit least", layers));
    else if (found.start_fits && found.start_step_time == Duration{0})
      say("balance", fmt::format("layers per stage {}: {} deadlocks", layers, start));
    else if (found.start_fits)
      say("balance",
          fmt::format("layers per stage {}: {} less time than {} ({})", layers,
                      percent_to_tenths(1 - fraction(found.step_time, found.start_step_time)), start, start_time));
    else
      say("balance", fmt::format("layers per stage {}: {}{} does not fit", layers, start,
                                 found.start_step_time > Duration{0} ? fmt::format(" ({})", start_time) : ""));
    if (!found.settled) say("", fmt::format("the search ended after {} splits; others may be better", found.tried));
    const Schedule& schedule = graph_.schedule();
    const bool is_loop = placement_of(schedule) == loop_placement(schedule.shape());
    say("", is_loop ? fmt::format("--pipeline-model-parallel-layout '{}'", to_string(found.layout))
                    : fmt::format("--layout '{}' (Megatron-LM would place these chunks in a loop)",
                                  to_string(found.layout)));
  }

  /// Work after the tasks: the time from the last task to the end of the reductions, and the optimizer steps.
  void update() {
    if (timeline_.optimizer.empty()) return;
    const SimTime done = tasks_end(graph_, timeline_);
    SimTime reduced{};
    for (const Reduction& reduction : timeline_.reductions) reduced = std::max(reduced, reduction.span.end);
    std::string text = fmt::format("tasks end at {}", format_duration(done - SimTime{}));
    if (!timeline_.reductions.empty()) text += fmt::format(", reductions at {}", format_duration(reduced - SimTime{}));
    Duration longest{0};
    for (const OptimizerRun& step : timeline_.optimizer) longest = std::max(longest, step.span.length());
    if (longest > Duration{0})
      text +=
          fmt::format("; {} optimizer step of up to {}", to_string(scenario_.update.step), format_duration(longest));
    say("update", text);
  }

  void what_if() {
    const auto line = [&](std::string_view words, const std::optional<Duration>& time) {
      if (!time || report_.step_time == Duration{0}) return;
      const double change = fraction(*time - report_.step_time, report_.step_time);
      say("what if",
          fmt::format("{}: {} ({}{:.1f} %)", words, format_duration(*time), change > 0 ? "+" : "", 100 * change + 0.0));
    };
    line("without transfers", report_.what_if.no_communication);
    line("with equal stages", report_.what_if.equal_stages);
    line("without recomputation", report_.what_if.no_recompute);
  }

  /// Waits caused by the order of sends and receives.
  void stalls() {
    constexpr std::size_t most_said = 3;
    if (!report_.stalls) return;
    const StallReport& stalls = *report_.stalls;
    say("stalls", stalls.count == 0
                      ? fmt::format("none: no send or receive held up a task ({})", stalls.operations)
                      : fmt::format("{} of {} in all: queued behind other sends and receives, or posted late ({})",
                                    counted(stalls.count, "wait"), format_duration(stalls.sum), stalls.operations));
    for (std::size_t i = 0; i < std::min(most_said, stalls.longest.size()); ++i) say("", stalls.longest[i].words);
    if (stalls.without)
      say("", fmt::format("without stalls a step would take {}; 'ppsim place' moves sends and receives",
                          format_duration(*stalls.without)));
  }

  void memory() {
    const auto most_of = [&](auto figure) {
      const auto most = std::invoke(figure, std::ranges::max(report_.stages, {}, figure));
      return std::pair{
          most, stage_list(stages_where([&](const StageReport& stage) { return std::invoke(figure, stage) == most; }))};
    };
    const auto [live, live_on] = most_of(&StageReport::peak_live_activations);
    std::string text = fmt::format("at most {}, on {}", counted(live, "live activation"), live_on);
    if (const auto [most, on] = most_of(&StageReport::peak_bytes); most > Bytes{})
      text += fmt::format("; at most {}, on {}", format_bytes(most), on);
    if (const auto [versions, on] = most_of(&StageReport::weight_versions); versions > 1)
      text += fmt::format("; up to {} versions of the weights, on {}", versions, on);
    say("memory", text);
    if (scenario_.memory.limit) capacity(*scenario_.memory.limit);
  }

  void capacity(Bytes limit) {
    if (!report_.overflow) return say("", in_colour("fits", "32", options_.colour) + " in " + format_bytes(limit));
    const Overflow& overflow = *report_.overflow;
    const std::string where =
        overflow.is_before_tasks()
            ? fmt::format("holds {} before the first task", format_bytes(overflow.needed))
            : fmt::format("needs {} at {}, when {} starts", format_bytes(overflow.needed),
                          format_duration(overflow.at - SimTime{}), to_string(graph_.schedule().task(overflow.task)));
    const std::size_t over = stages_where([&](const StageReport& stage) { return stage.peak_bytes() > limit; }).size();
    say("",
        fmt::format("{} in {}: stage {} {}{}", in_colour("does not fit", "1;31", options_.colour), format_bytes(limit),
                    index(overflow.stage), where, over > 1 ? fmt::format("; {} stages exceed it in all", over) : ""));
  }

  /// Advice: the largest cost, and the remedies tried.
  void next() {
    out_ += '\n';
    const Advice advice = advice_for(graph_, report_);
    if (advice.excess)
      advise(fmt::format("stage {} peaks {} over the limit: {}", index(advice.excess->stage),
                         format_bytes(advice.excess->over),
                         report_.overflow->is_before_tasks()
                             ? "no schedule lowers what it holds before its first task; more stages, or fewer layers "
                               "on this one"
                             : "fewer live activations (another schedule), recomputation, smaller microbatches, or "
                               "more tensor parallelism"));
    advise(advice_words(advice));
    if (advice.search)
      advise("a shorter order may exist: ppsim synthesize searches for it (--placement all: with any placement)");
  }

  void advise(std::string_view text) { put_wrapped(fmt::format("next: {}", text), 6); }

  template <class Predicate>
  [[nodiscard]] std::vector<std::size_t> stages_where(Predicate predicate) const {
    std::vector<std::size_t> found;
    for (std::size_t stage = 0; stage < report_.stages.size(); ++stage)
      if (predicate(report_.stages[stage])) found.push_back(stage);
    return found;
  }

  [[nodiscard]] std::string bold(std::string_view text) const { return in_colour(text, "1", options_.colour); }

  const TaskGraph& graph_;
  const Timeline& timeline_;
  const RunReport& report_;
  const TextOptions& options_;
  const Scenario& scenario_;
  std::string out_;
};

} // namespace

std::string bound_text(const RunReport& report) {
  const std::string where = fmt::format("of this placement{} {}", report.bound->whole ? " with whole backwards" : "",
                                        report.bound->by_limit ? "within this memory" : "that holds no more");
  if (report.makespan == report.bound->makespan) return fmt::format("proven: no order {} is shorter", where);
  return fmt::format("proven: at most {} above the best order {} ({} at least)",
                     percent_to_tenths(*find_metric("gap").value(report)), where,
                     format_duration(report.bound->makespan));
}

std::string text_report(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                        const TextOptions& options) {
  return TextReport{graph, timeline, report, options}.render();
}

} // namespace ppsim::viz
