#pragma once
// RunReport: what a run was, and what other runs say about it.

#include "ppsim/report/report.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/balance.hpp"
#include "ppsim/study/jitter.hpp"
#include "ppsim/study/proven_bound.hpp"
#include "ppsim/study/sensitivity.hpp"
#include "ppsim/study/step_figure.hpp"
#include "ppsim/study/what_if.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// Another run of the same costs that may be better.
struct Alternative {
  std::string change; ///< what to ask for instead: "`mb` 16"
  std::size_t microbatches = 0;
  Duration step_time{0};
  double bubble_ratio = 0;
  bool fits = true;
};

/// What the order of sends and receives cost (streams.hpp).
struct StallReport {
  struct One {
    StageId stage{};
    TaskId task{};
    Span wait;
    std::string words; ///< for people
  };
  std::string operations; ///< who placed them, and what they share: "lowering pytorch, p2p group"
  std::size_t count = 0;
  Duration sum{0};                   ///< of all waits, over all stages
  std::optional<Duration> without{}; ///< the makespan under `latency`; none where nothing stalled
  std::vector<One> longest;          ///< those, longest first
};

/// Data-parallel copies of the pipeline that are not alike: a step takes what the slowest of them takes.
struct CopiesReport {
  struct Alike {
    std::size_t first = 0; ///< the lowest of their numbers
    std::size_t count = 1;
    Duration step_time{0};
  };
  std::vector<Alike> alike; ///< from the lowest number on
  std::size_t slowest = 0;  ///< position in `alike`
  /// What a step takes without the slowest; none where all are like it.
  [[nodiscard]] std::optional<Duration> without_slowest() const;
};

/// What a step costs in the long run.
struct StepTime {
  /// Whose time that is; `unknown`: there is a steady state, which would cost too much to find, and the makespan stands
  /// in.
  enum class Kind : std::uint8_t { makespan, steady_state, unknown };
  Duration step_time{0};
  Kind step_time_kind = Kind::makespan;
};
/// Of a graph whose own makespan is that.
[[nodiscard]] StepTime find_step_time(const TaskGraph& graph, Duration makespan);
/// How many tasks that may simulate.
inline constexpr std::size_t most_tasks_for_step_time = std::size_t{1} << 23;

/// What a step asks of the devices of one pipeline, all together.
struct StepWork {
  double model_flop = 0;                       ///< of matrix products, nothing counted twice that runs twice
  std::optional<double> hardware_flop = {};    ///< all that runs; none: not known
  std::optional<double> tokens = {};           ///< none: not known
  double devices = 1;                          ///< of one pipeline
  double replicas = 1;                         ///< pipelines
  std::optional<double> flops_per_second = {}; ///< of a device, at most; none: not known
};
/// None where the scenario does not say.
[[nodiscard]] std::optional<StepWork> find_step_work(const TaskGraph& graph);

/// What is known of one run: its own Report, and what takes more than this one run to know.
struct RunReport : Report, StepTime {
  std::optional<ClosedForm> closed_form{}; ///< where theory says something
  WhatIf what_if{};
  std::vector<Alternative> alternatives{};
  std::optional<Balance> balance{};         ///< where the layout was searched
  std::optional<Sensitivity> sensitivity{}; ///< where it was asked for
  std::optional<StallReport> stalls{};      ///< under `streams`
  std::optional<StepWork> work{};           ///< where it is known; a replay computes something else than a model
  std::string measured{}; ///< of a run that really took place: where and how, in words (describe()). Empty: simulated
  std::optional<StepSpread> spread{};   ///< where tasks are not said to take the same time twice
  std::optional<ProvenBound> bound{};   ///< where it was asked for, and is known
  std::optional<CopiesReport> copies{}; ///< where some are not like the others; all else is that of the slowest
};
/// Of one run alone, with its makespan as step time. `measured`: see there.
[[nodiscard]] RunReport run_report(const TaskGraph& graph, const Timeline& timeline, std::string measured = {});

/// One metric: the same tag, unit and meaning in every output.
struct Metric {
  std::string_view tag; ///< JSON key
  std::string_view name;
  std::string_view formula;
  std::string_view description;
  Duration (*time)(const RunReport&);                        ///< of a metric in nanoseconds; else null
  double (*ratio)(const RunReport&);                         ///< of a ratio that every run has; else null
  std::optional<double> (*rate)(const RunReport&) = nullptr; ///< of one that only some runs have; else null
  std::string_view rate_unit = {};                           ///< of that
  [[nodiscard]] std::string_view unit() const {
    if (rate != nullptr) return rate_unit;
    return time != nullptr ? "ns" : "ratio";
  }
  /// As a number of its unit; none where the run does not tell.
  [[nodiscard]] std::optional<double> value(const RunReport& report) const {
    if (rate != nullptr) return rate(report);
    return time != nullptr ? static_cast<double>(time(report).count()) : ratio(report);
  }
};
[[nodiscard]] std::span<const Metric> metrics();
/// The metric of that tag, which must exist.
[[nodiscard]] const Metric& find_metric(std::string_view tag);
/// The metric that says the figure.
[[nodiscard]] std::string_view metric_tag(StepFigure figure);
/// What that is of a run; none where the run was not sampled.
[[nodiscard]] std::optional<Duration> find_figure(const RunReport& report, StepFigure figure);

} // namespace ppsim
