#pragma once
// Results as JSON, one document each, schema 1: keys are added, never changed. Times are whole nanoseconds, sizes
// bytes, shares and errors ratios.

#include <cstdint>
#include <span>
#include <string>

namespace ppsim {
struct Accuracy;
struct Axis;
struct Comparison;
struct Explanation;
struct FrontPoint;
struct MeasuredRun;
struct PublishedErrors;
struct ReplayFacts;
struct RunReport;
struct Synthesis;
struct Timeline;
struct Validation;
struct Variation;
class TaskGraph;
} // namespace ppsim

namespace ppsim::traces {

/// The report (SPEC section 6). With `tasks`, every task with its times and its step is in it.
[[nodiscard]] std::string report_json(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                      bool tasks);

/// A replay: report_json() of the measured step `timeline`, and with it `replay`: how and where the run was made, how
/// long its steps took, and whether results and memory are as they have to be. `validation` is of this run.
[[nodiscard]] std::string replay_json(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                      const MeasuredRun& run, const Validation& validation, const ReplayFacts& facts,
                                      bool tasks);

/// Every contender with all metrics by their tags, memory by stage, transfers and demands; what does not apply and why;
/// the recommendation by name, with `recommendation` (in words) as its text.
[[nodiscard]] std::string comparison_json(const Comparison& comparison, const std::string& recommendation);
/// The contenders as CSV, the best first: name, shape, every metric in its own unit, empty where it is not known.
[[nodiscard]] std::string comparison_csv(const Comparison& comparison);

/// The best order of each placement: its makespan and the bound (both of `latency`), how they were come by, and
/// when in steps of the search (`progress`), the best schedule by name beside it; and report_json() of the shortest
/// one, whose run `graph` and the others are.
[[nodiscard]] std::string synthesis_json(const Synthesis& synthesis, std::uint64_t seed, const TaskGraph& graph,
                                         const Timeline& timeline, const RunReport& report);

/// The value of `axis`, in its unit, and what synthesis_json() says of each placement there, or why there is no order.
[[nodiscard]] std::string front_json(std::span<const FrontPoint> front, const Axis& axis, std::uint64_t seed);

/// The varied option with its unit, every sample of every schedule, the stretches of the best and all crossings; values
/// of the axis are whole numbers of its unit.
[[nodiscard]] std::string variation_json(const Variation& variation);

/// Whether a prediction holds and what speaks against it, then every figure predicted and measured with its error, and
/// the tasks that deviate most.
[[nodiscard]] std::string validation_json(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation);

/// How good many predictions are: the errors in all, by group and run by run, and the pairs of schedules that did not
/// measure in the order that was predicted.
[[nodiscard]] std::string accuracy_json(const Accuracy& accuracy);

/// How good predictions of published runs are: the errors by set and by device, then run by run.
[[nodiscard]] std::string published_json(const PublishedErrors& errors);

/// Where the time of a measured run went: the findings, the largest first, each with the step before and after and the
/// figures that support it; what a step consists of; replicas and their stages.
[[nodiscard]] std::string explanation_json(std::span<const MeasuredRun> replicas, const Explanation& explanation);

} // namespace ppsim::traces
