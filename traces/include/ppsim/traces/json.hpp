#pragma once
// Results as JSON, one document each, schema 1: keys are added, never changed. Times are in whole nanoseconds, sizes in
// bytes; shares and errors are ratios.

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

/// The report (SPEC section 6). With `tasks`, it contains every task with its times and its step.
[[nodiscard]] std::string report_json(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                      bool tasks);

/// A replay: report_json() of the measured step `timeline`, with `replay`: how and where the run was made, its step
/// times, and whether results and memory are correct. `validation` must be of this run.
[[nodiscard]] std::string replay_json(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                      const MeasuredRun& run, const Validation& validation, const ReplayFacts& facts,
                                      bool tasks);

/// Every contender with all metrics by tag, memory by stage, transfers and demands; schedules that do not apply, with
/// reasons; the recommendation by name, with `recommendation` as its text.
[[nodiscard]] std::string comparison_json(const Comparison& comparison, const std::string& recommendation);
/// The contenders as CSV, the best first: name, shape, every metric in its own unit, empty if unknown.
[[nodiscard]] std::string comparison_csv(const Comparison& comparison);

/// The best order of each placement: its makespan and the bound (both for `latency`), how they were found, when in
/// steps of the search (`progress`), and the best schedule by name. Also report_json() of the shortest order, whose run
/// is `graph`, `timeline` and `report`.
[[nodiscard]] std::string synthesis_json(const Synthesis& synthesis, std::uint64_t seed, const TaskGraph& graph,
                                         const Timeline& timeline, const RunReport& report);

/// The values of `axis`, in its unit, with what synthesis_json() has for each placement, or why there is no order.
[[nodiscard]] std::string front_json(std::span<const FrontPoint> front, const Axis& axis, std::uint64_t seed);

/// The varied option with its unit, every sample of every schedule, the intervals of the best and all crossings. Values
/// of the axis are whole numbers of its unit.
[[nodiscard]] std::string variation_json(const Variation& variation);

/// Whether a prediction holds and what contradicts it, every figure predicted and measured with its error, and the
/// tasks that deviate most.
[[nodiscard]] std::string validation_json(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation);

/// The accuracy of many predictions: errors over all runs, by group and by run, and the pairs of schedules whose
/// measured order differs from the predicted one.
[[nodiscard]] std::string accuracy_json(const Accuracy& accuracy);

/// The accuracy of predictions of published runs: errors by set, by device and by run.
[[nodiscard]] std::string published_json(const PublishedErrors& errors);

/// Where the time of a measured run went: the findings, largest first, each with the step before and after and its
/// supporting figures; the parts of a step; replicas and their stages.
[[nodiscard]] std::string explanation_json(std::span<const MeasuredRun> replicas, const Explanation& explanation);

} // namespace ppsim::traces
