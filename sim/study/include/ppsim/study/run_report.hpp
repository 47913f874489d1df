#pragma once
// RunReport: the results of one run, and of other runs related to it.

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

/// Another run with the same costs that may be better.
struct Alternative {
  std::string change; ///< the change to request: "`mb` 16"
  std::size_t microbatches = 0;
  Duration step_time{0};
  double bubble_ratio = 0;
  bool fits = true;
};

/// The cost of the order of sends and receives (streams.hpp).
struct StallReport {
  struct One {
    StageId stage{};
    TaskId task{};
    Span wait;
    std::string words; ///< for users
  };
  std::string operations; ///< their origin and communicators: "lowering pytorch, p2p group"
  std::size_t count = 0;
  Duration sum{0};                   ///< of all waits, over all stages
  std::optional<Duration> without{}; ///< the makespan under `latency`; none if nothing stalled
  std::vector<One> longest;          ///< the longest stalls, longest first
};

/// Unequal data-parallel copies of the pipeline: a step takes as long as the slowest.
struct CopiesReport {
  struct Alike {
    std::size_t first = 0; ///< the lowest of their numbers
    std::size_t count = 1;
    Duration step_time{0};
  };
  std::vector<Alike> alike; ///< by rising lowest number
  std::size_t slowest = 0;  ///< position in `alike`
  /// The step time without the slowest; none if all are equal.
  [[nodiscard]] std::optional<Duration> without_slowest() const;
};

/// The step time in the long run.
struct StepTime {
  /// The source of the time. `unknown`: finding the steady state would take too long, so step_time is the makespan.
  enum class Kind : std::uint8_t { makespan, steady_state, unknown };
  Duration step_time{0};
  Kind step_time_kind = Kind::makespan;
};
/// The step time of a graph with this makespan.
[[nodiscard]] StepTime find_step_time(const TaskGraph& graph, Duration makespan);
/// The most tasks that find_step_time() simulates.
inline constexpr std::size_t most_tasks_for_step_time = std::size_t{1} << 23;

/// The work of a step on the devices of one pipeline.
struct StepWork {
  double model_flop = 0;                       ///< of matrix products; repeated work counts once
  std::optional<double> hardware_flop = {};    ///< all executed work; none: unknown
  std::optional<double> tokens = {};           ///< none: unknown
  double devices = 1;                          ///< of one pipeline
  double replicas = 1;                         ///< pipelines
  std::optional<double> flops_per_second = {}; ///< peak rate of one device; none: unknown
};
/// None if the scenario does not specify it.
[[nodiscard]] std::optional<StepWork> find_step_work(const TaskGraph& graph);

/// The results of one run: its own Report, and results that need further runs.
struct RunReport : Report, StepTime {
  std::optional<ClosedForm> closed_form{}; ///< if theory gives one
  WhatIf what_if{};
  std::vector<Alternative> alternatives{};
  std::optional<Balance> balance{};         ///< if the layout was searched
  std::optional<Sensitivity> sensitivity{}; ///< if requested
  std::optional<StallReport> stalls{};      ///< under `streams`
  std::optional<StepWork> work{};           ///< if known; a replay computes something other than the model
  std::string measured{};               ///< for a measured run: where and how, in words (describe()). Empty: simulated
  std::optional<StepSpread> spread{};   ///< if tasks vary
  std::optional<ProvenBound> bound{};   ///< if requested and known
  std::optional<CopiesReport> copies{}; ///< if copies differ; everything else is for the slowest
};
/// The report of one run, with its makespan as step time. `measured`: see RunReport::measured.
[[nodiscard]] RunReport run_report(const TaskGraph& graph, const Timeline& timeline, std::string measured = {});

/// One metric: the same tag, unit and meaning in every output.
struct Metric {
  std::string_view tag; ///< JSON key
  std::string_view name;
  std::string_view formula;
  std::string_view description;
  Duration (*time)(const RunReport&);                        ///< for a metric in nanoseconds; otherwise null
  double (*ratio)(const RunReport&);                         ///< for a ratio that every run has; otherwise null
  std::optional<double> (*rate)(const RunReport&) = nullptr; ///< for one that only some runs have; otherwise null
  std::string_view rate_unit = {};                           ///< unit of `rate`
  [[nodiscard]] std::string_view unit() const {
    if (rate != nullptr) return rate_unit;
    return time != nullptr ? "ns" : "ratio";
  }
  /// The value in its unit; none if the run does not have it.
  [[nodiscard]] std::optional<double> value(const RunReport& report) const {
    if (rate != nullptr) return rate(report);
    return time != nullptr ? static_cast<double>(time(report).count()) : ratio(report);
  }
};
[[nodiscard]] std::span<const Metric> metrics();
/// The metric with this tag, which must exist.
[[nodiscard]] const Metric& find_metric(std::string_view tag);
/// The metric of the figure.
[[nodiscard]] std::string_view metric_tag(StepFigure figure);
/// The figure of a run; none if the run was not sampled.
[[nodiscard]] std::optional<Duration> find_figure(const RunReport& report, StepFigure figure);

} // namespace ppsim
