#include "ppsim/study/run_report.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/engine/steady.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

namespace ppsim {

StepTime find_step_time(const TaskGraph& graph, Duration makespan) {
  if (!has_steady_state(graph)) return {makespan};
  if (steady_tasks(graph) > most_tasks_for_step_time) return {makespan, StepTime::Kind::unknown};
  return {steady_interval(graph), StepTime::Kind::steady_state};
}

namespace {

/// The operations that backwards repeat, if only some of them recompute.
double recomputed_flop(const TaskGraph& graph, const std::vector<double>& by_chunk) {
  std::vector<std::int64_t> times(by_chunk.size()); // counted first, because sums of doubles depend on their order
  const auto tasks = graph.schedule().tasks();
  for (std::size_t id = 0; id < tasks.size() && !by_chunk.empty(); ++id)
    if (gives_gradient(tasks[id].pass) && graph.is_recomputed(make_id<TaskId>(id))) ++times[tasks[id].chunk_index];
  double sum = 0;
  for (std::size_t chunk = 0; chunk < by_chunk.size(); ++chunk)
    sum += static_cast<double>(times[chunk]) * by_chunk[chunk];
  return sum;
}

/// `amount` per second, if known.
std::optional<double> per_second(const RunReport& report, const std::optional<double>& amount) {
  if (!amount || report.step_time == Duration{0}) return std::nullopt;
  return *amount / std::chrono::duration<double>{report.step_time}.count();
}

/// The rate of a member of the work, on one device.
template <auto member>
std::optional<double> per_device(const RunReport& report) {
  const auto rate = report.work ? per_second(report, (*report.work).*member) : std::nullopt;
  return rate ? std::optional{*rate / report.work->devices} : std::nullopt;
}

/// The same on all devices of all replicas.
template <auto member>
std::optional<double> in_all(const RunReport& report) {
  const auto rate = report.work ? per_second(report, (*report.work).*member) : std::nullopt;
  return rate ? std::optional{*rate * report.work->replicas} : std::nullopt;
}

/// The rate as a share of the device's peak.
template <auto member>
std::optional<double> utilisation(const RunReport& report) {
  const auto rate = per_device<member>(report);
  return rate && report.work->flops_per_second ? std::optional{*rate / *report.work->flops_per_second} : std::nullopt;
}

/// A metric that is known if the run was sampled.
template <auto member>
constexpr Metric spread_metric(std::string_view tag, std::string_view name, std::string_view description) {
  return {tag,
          name,
          "over the samples of --jitter or --jitter-from; the slowest of several copies",
          description,
          nullptr,
          nullptr,
          [](const RunReport& report) {
            return report.spread ? std::optional{static_cast<double>(((*report.spread).*member).count())}
                                 : std::nullopt;
          },
          "ns"};
}

constexpr double tera = 1e12;
std::optional<double> in_tera(std::optional<double> rate) {
  return rate ? std::optional{*rate / tera} : std::nullopt;
}

} // namespace

RunReport run_report(const TaskGraph& graph, const Timeline& timeline, std::string measured) {
  Report report = analyse(graph, timeline);
  const StepTime step{report.makespan};
  const bool computes_the_model = measured.empty();
  return {std::move(report),  step, {}, {}, {}, {}, {}, {}, computes_the_model ? find_step_work(graph) : std::nullopt,
          std::move(measured)};
}

std::optional<StepWork> find_step_work(const TaskGraph& graph) {
  const std::optional<MicrobatchWork>& work = graph.scenario().work;
  if (!work) return std::nullopt;
  const auto microbatches = static_cast<double>(graph.scenario().shape.microbatches);
  const bool forward_only = graph.schedule().forward_only();
  const auto in_step = [&](const PassOperations& each) {
    return microbatches * (forward_only ? each.forward : each.forward + each.backward);
  };
  StepWork step;
  step.model_flop = in_step(work->model);
  if (work->hardware) step.hardware_flop = in_step(*work->hardware) + recomputed_flop(graph, work->recompute);
  if (work->tokens > 0) step.tokens = microbatches * static_cast<double>(work->tokens);
  step.devices = static_cast<double>(graph.scenario().shape.stages) * static_cast<double>(work->devices_per_stage);
  step.replicas = static_cast<double>(work->replicas);
  if (work->flops_per_second) step.flops_per_second = static_cast<double>(*work->flops_per_second);
  return step;
}

std::span<const Metric> metrics() {
  static constexpr std::array table{
      Metric{"makespan_ns", "makespan",
             "end of the last task, transfer, reduction or optimizer step - start of the first",
             "time of one step alone", [](const RunReport& report) { return report.makespan; }, nullptr},
      Metric{"step_time_ns", "step time",
             "makespan; with an optimizer step per stage, or without a flush, the steady interval between steps",
             "time of one training step in the long run", [](const RunReport& report) { return report.step_time; },
             nullptr},
      Metric{"ideal_ns", "ideal", "max over stages of compute time",
             "the busiest stage's compute time: no order is faster",
             [](const RunReport& report) { return report.ideal; }, nullptr},
      Metric{"bubble_ratio", "bubble ratio", "idle / (p x makespan)", "share of device time that is idle", nullptr,
             [](const RunReport& report) { return report.bubble_ratio; }},
      Metric{"bubble_overhead", "bubble overhead", "(makespan - ideal) / ideal", "Megatron-LM's bubble time fraction",
             nullptr, [](const RunReport& report) { return report.bubble_overhead; }},
      Metric{"stage_span_bubble", "stage span bubble",
             "(s - w) / s, s = longest first start to last end of any stage, w its work",
             "the Zero Bubble papers' bubble rate", nullptr,
             [](const RunReport& report) { return report.stage_span_bubble; }},
      Metric{"gap", "gap", "(makespan - b) / b, b = lower bound for any order of this placement within this memory",
             "how far above the best order, at most: with --bound", nullptr, nullptr,
             [](const RunReport& report) {
               return report.bound
                          ? std::optional{fraction(report.makespan - report.bound->makespan, report.bound->makespan)}
                          : std::nullopt;
             },
             "ratio"},
      spread_metric<&StepSpread::mean>("step_time_mean_ns", "mean step time", "the mean of all samples"),
      spread_metric<&StepSpread::p50>("step_time_p50_ns", "median step time", "half of all steps take at most this"),
      spread_metric<&StepSpread::p95>("step_time_p95_ns", "p95 step time", "95 % of all steps take at most this"),
      spread_metric<&StepSpread::p99>("step_time_p99_ns", "p99 step time", "99 % of all steps take at most this"),
      Metric{"mfu", "MFU", "model FLOPs of a step / (step time x devices x dense peak rate)",
             "model FLOPs utilisation (PaLM): recomputation does not count, attention counts in full", nullptr, nullptr,
             utilisation<&StepWork::model_flop>, "ratio"},
      Metric{"hfu", "HFU", "all FLOPs of a step / (step time x devices x dense peak rate)",
             "hardware FLOPs utilisation (Korthikanti et al.): the same with recomputation", nullptr, nullptr,
             utilisation<&StepWork::hardware_flop>, "ratio"},
      Metric{"tflops_per_device", "model TFLOP/s per device", "model FLOPs of a step / (step time x devices) / 1e12",
             "useful work of each device", nullptr, nullptr,
             [](const RunReport& report) { return in_tera(per_device<&StepWork::model_flop>(report)); }, "TFLOP/s"},
      Metric{"tflops", "model TFLOP/s", "model FLOPs of a step x data-parallel replicas / step time / 1e12",
             "useful work of all devices", nullptr, nullptr,
             [](const RunReport& report) { return in_tera(in_all<&StepWork::model_flop>(report)); }, "TFLOP/s"},
      Metric{"tokens_per_second_per_device", "tokens/s per device", "tokens of a step / (step time x devices)",
             "training speed of each device", nullptr, nullptr, per_device<&StepWork::tokens>, "tokens/s"},
      Metric{"tokens_per_second", "tokens/s", "tokens of a step x data-parallel replicas / step time",
             "training speed of all devices", nullptr, nullptr, in_all<&StepWork::tokens>, "tokens/s"},
  };
  return table;
}

const Metric& find_metric(std::string_view tag) {
  const auto found = std::ranges::find(metrics(), tag, &Metric::tag);
  PPSIM_ASSERT(found != metrics().end());
  return *found;
}

std::optional<Duration> CopiesReport::without_slowest() const {
  std::optional<Duration> longest;
  for (std::size_t i = 0; i < alike.size(); ++i)
    if (i != slowest) longest = std::max(longest, std::optional{alike[i].step_time});
  return longest;
}

std::string_view to_string(StepFigure figure) {
  switch (figure) {
  case StepFigure::mean:
    return "mean";
  case StepFigure::p50:
    return "p50";
  case StepFigure::p95:
    return "p95";
  case StepFigure::p99:
    return "p99";
  case StepFigure::step_time:
    break;
  }
  return "step time";
}

std::string_view metric_tag(StepFigure figure) {
  switch (figure) {
  case StepFigure::mean:
    return "step_time_mean_ns";
  case StepFigure::p50:
    return "step_time_p50_ns";
  case StepFigure::p95:
    return "step_time_p95_ns";
  case StepFigure::p99:
    return "step_time_p99_ns";
  case StepFigure::step_time:
    break;
  }
  return "step_time_ns";
}

std::optional<Duration> find_figure(const RunReport& report, StepFigure figure) {
  if (figure == StepFigure::step_time) return report.step_time;
  if (!report.spread) return std::nullopt;
  const StepSpread& spread = *report.spread;
  switch (figure) {
  case StepFigure::mean:
    return spread.mean;
  case StepFigure::p50:
    return spread.p50;
  case StepFigure::p95:
    return spread.p95;
  case StepFigure::p99:
    return spread.p99;
  case StepFigure::step_time:
    break; // above
  }
  return std::nullopt;
}

} // namespace ppsim
