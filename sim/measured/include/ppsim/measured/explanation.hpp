#pragma once
// Explanation: where the time of a measured run goes, and the cost of each reason, from simulations with its own times.

#include "ppsim/measured/cost_model.hpp"
#include "ppsim/measured/measured.hpp"
#include "ppsim/measured/variable_work.hpp"
#include "ppsim/report/report.hpp"

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ppsim {

/// The parts of a step. explain() removes the reasons in this order, each after those before it.
enum class Reason : std::uint8_t {
  after_tasks,    ///< from the last task of all replicas to the end: reductions, optimizer
  late_starts,    ///< tasks that had not started although their stage was free and their input had arrived
  transfer_waits, ///< transfers that took longer than usual between their stages
  jitter,         ///< tasks of one stage and pass that differ, within a step and from step to step
  slow_worker,    ///< a stage of one replica that is slower than the same stage of the others
  heavy_stage,    ///< the stage with the most work
  imbalance,      ///< other differences between stages
  slow_link,      ///< transfers between two stages that take longer than those between others
  transfers,      ///< all transfers
  schedule,       ///< warm-up, drain and waits that the order itself causes
  work,           ///< the work of a stage: what is left
  drift           ///< tasks longer than in the first quarter of the steps; only a finding, not a part of the step
};
inline constexpr std::size_t reasons_of_a_step = 11;
[[nodiscard]] std::string_view to_string(Reason reason);

/// The part of the step that one reason takes.
struct StepPart {
  Reason reason{};
  Duration time{0}; ///< below zero if removing it made the step longer
};

/// The durations of steps, or of their tasks.
struct StepTimes {
  Duration p5{0}, median{0}, p95{0}, mean{0}; ///< percentiles: nearest rank
  Duration first{0}, last{0}; ///< means of the first and the last quarter of the steps; zero below 4 steps
  /// last / first - 1; zero below 4 steps.
  [[nodiscard]] double drift() const;
};

/// The tasks of one pass on one stage, over all steps.
struct PassStatistics {
  Pass pass{};
  std::size_t tasks = 0; ///< per step
  Duration mean{0};
  Duration spread{0}; ///< standard deviation
};

/// One stage of one replica; means over all steps.
struct StageExplanation {
  std::vector<PassStatistics> passes; ///< only passes that occur
  Duration busy{0};
  /// By Label. With waits_for_replicas it adds up to the mean step of the job, except for rounding. Work after the
  /// tasks of all replicas is `optimizer` or `flush`.
  std::array<Duration, label_count> time{};
  Duration waits_for_replicas{0}; ///< from the last task of its replica to the last task of all replicas
};

/// One data-parallel replica.
struct ReplicaExplanation {
  StepTimes step;                                  ///< from its first task to its end, with reductions and optimizer
  std::size_t median_step = 0;                     ///< the position of its median step
  std::array<Duration, label_count> median_time{}; ///< of that step alone, as analyse() computes it, over its stages
  double median_bubble = 0;                        ///< bubble_ratio of that step alone
  std::size_t slowest_in = 0;                      ///< number of steps in which its tasks ended last
  Duration tasks{0};                               ///< mean time from its first task to its last
  Duration simulated{0};                           ///< the same with the mean of its stage and pass for every task
  std::vector<StageExplanation> stages;
};

/// The mean time of one pass here and elsewhere.
struct PassComparison {
  Pass pass{};
  Duration own{0};
  Duration others{0};
  [[nodiscard]] double ratio() const;
};

/// A stage that is slower than the same stage of other replicas, or that has more work than other stages.
struct Suspect {
  std::size_t replica = 0; ///< with a heavy stage: the replica that sets the pace
  StageId stage{};
  Duration own{0}; ///< busy time per step
  Duration others{
      0}; ///< median of the same stage in the other replicas; with a heavy stage, the mean of the other stages
  std::vector<PassComparison> passes;
  Duration before{0}; ///< simulated tasks of this replica; zero for slow workers after the first most_simulated_alone
  Duration after{0};  ///< the same if this stage were like the others
  [[nodiscard]] double ratio() const;
};

/// A reason that makes steps longer, and their duration without it.
struct Finding {
  Reason reason{};
  Duration before{0}; ///< the mean step without the reasons before this one
  Duration after{0};  ///< the mean step also without this one
  double share = 0;   ///< gain() / measured mean step
  [[nodiscard]] Duration gain() const { return before - after; }
  std::vector<Suspect> suspects{}; ///< slow_worker: the slowest first; heavy_stage: one; late_starts, jitter and drift:
                                   ///< the stage with the most
  /// heavy_stage: its device may be slow instead. Forwards and backwards take longer by about the same factor, and
  /// there is no replica to compare with.
  bool may_be_slow = false;
  /// slow_link: time of a transfer on this link, and the median on the others; transfers: `own`, the mean.
  Duration own{0}, others{0};
  StageId stage{}, other{}; ///< slow_link: its ends
  std::size_t replica = 0;  ///< slow_link: its replica
  std::size_t links = 0;    ///< slow_link: number of slow links over all replicas; this is the slowest
  bool everywhere = false;  ///< slow_link: it is slow in every replica, and no other link is slow
};

/// Where the time of a run goes. Figures are of the mean step, except the percentiles of StepTimes and those named
/// median.
struct Explanation {
  Shape shape;
  std::size_t steps = 0;
  StepTimes step;                           ///< of the job: a step ends when the slowest replica ends
  StepTimes tasks;                          ///< the part until the last task of all replicas has ended
  double bubble = 0;                        ///< idle share of all devices' time, over all steps
  Duration waits_for_replicas{0};           ///< of all devices, mean per step
  std::array<Duration, label_count> time{}; ///< of all devices, mean per step: the sum over replicas and stages
  std::vector<ReplicaExplanation> replicas;
  std::vector<StepPart> parts;           ///< one per Reason of a step, in that order; add up to step.mean
  std::vector<Finding> findings;         ///< above least_share of the step, the largest gain first
  Duration simulated{0};                 ///< the step, with the mean of each stage and pass
  double model_error = 0;                ///< simulated / step.mean - 1
  double own_error = 0;                  ///< the same with each task's and transfer's own duration
  bool contended = false;                ///< some replica was contended: times are not reliable
  bool unaligned = false;                ///< some replica was unaligned
  std::optional<Duration> clock_error{}; ///< the largest bound
  /// Idle share of all devices in a step with equal stages and free transfers: the bubble of the order itself.
  double schedule_bubble = 0;
  /// By replica: how well its first steps predict the others; only if requested and there are several steps.
  std::vector<HeldOut> held_out{};
  /// What the first steps predict for the others if task times vary: predict_variable_work(); only if requested.
  std::optional<VariableWork> variable{};
};

/// The least gain of a finding, as a share of the step: 1 %.
inline constexpr double least_share = 0.01;
/// A worker or a link is slow if it takes more than this percentage of the others' time.
inline constexpr std::int64_t slow_worker_percent = 115;
inline constexpr std::int64_t slow_link_percent = 150;
/// The most slow workers whose single gain is simulated: each takes one simulation.
inline constexpr std::size_t most_simulated_alone = 16;

/// Explains a run of one or more data-parallel replicas; assumes that their steps begin together. Simulations remove
/// the reasons one after another: every task with its own duration, started as soon as possible; then every task with
/// the mean of its stage, chunk and pass, and every transfer with its usual time (the mean of the lowest quarter,
/// because others waited for their other side); then slow workers as fast as their peers; then the work of the heaviest
/// stage and of all stages spread evenly; then slow links as fast as the others; then free transfers. With `calibrate`,
/// a share of the steps, held_out has how well those predict the others (hold_out()). Throws Error (bad_input) for
/// broken runs (check_run), and for replicas with different orders or numbers of steps.
[[nodiscard]] Explanation explain(std::span<const MeasuredRun> replicas, std::optional<double> calibrate = {});

/// The slow workers that explain() finds, the slowest first, without simulations: `before` and `after` are zero. Throws
/// as explain().
[[nodiscard]] std::vector<Suspect> slow_workers(std::span<const MeasuredRun> replicas);

} // namespace ppsim
