#pragma once
// Explanation: where the time of a measured run goes, and what each reason costs, from simulations with its own times.

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

/// What a step consists of. explain() takes the reasons out in this order, each with those before it gone.
enum class Reason : std::uint8_t {
  after_tasks,    ///< from the last task of all replicas to the end: reductions, optimizer
  late_starts,    ///< tasks whose stage was free and whose input was there, and that had not begun
  transfer_waits, ///< transfers that took longer than they usually take between their stages
  jitter,         ///< tasks of one stage and pass that differ, within a step and from step to step
  slow_worker,    ///< a stage of one replica that is slower than the same stage of the others
  heavy_stage,    ///< the stage with most work
  imbalance,      ///< what else the stages differ
  slow_link,      ///< transfers between two stages that take longer than those between others
  transfers,      ///< all transfers
  schedule,       ///< warm-up, drain and waits that the order has even so
  work,           ///< of a stage, then: what is left
  drift           ///< tasks longer than in the first quarter of the steps; a finding only, and not a part of the step
};
inline constexpr std::size_t reasons_of_a_step = 11;
[[nodiscard]] std::string_view to_string(Reason reason);

/// Of the step, what one reason takes.
struct StepPart {
  Reason reason{};
  Duration time{0}; ///< below zero where taking it out made the step longer
};

/// How long steps took, or their tasks.
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
  std::vector<PassStatistics> passes; ///< those that occur
  Duration busy{0};
  /// By Label; with waits_for_replicas it adds up to the mean step of the job, but for rounding. What comes after the
  /// tasks of all replicas is `optimizer` or `flush`.
  std::array<Duration, label_count> time{};
  Duration waits_for_replicas{0}; ///< from the last task of its replica to the last task of all replicas
};

/// One data-parallel replica.
struct ReplicaExplanation {
  StepTimes step;                                  ///< from its first task to its end, with reductions and optimizer
  std::size_t median_step = 0;                     ///< which one that is
  std::array<Duration, label_count> median_time{}; ///< of that step alone, as analyse() has it, over its stages
  double median_bubble = 0;                        ///< bubble_ratio of that step alone
  std::size_t slowest_in = 0;                      ///< of so many steps its tasks were the last to end
  Duration tasks{0};                               ///< mean time from its first task to its last
  Duration simulated{0};                           ///< the same, where every task takes the mean of its stage and pass
  std::vector<StageExplanation> stages;
};

/// One pass beside the same elsewhere: means.
struct PassBeside {
  Pass pass{};
  Duration own{0};
  Duration others{0};
  [[nodiscard]] double ratio() const;
};

/// A stage of one replica that is slower than the same stage of the others, or a stage with more work than others.
struct Suspect {
  std::size_t replica = 0; ///< of a heavy stage, that sets the pace
  StageId stage{};
  Duration own{0};    ///< busy time per step
  Duration others{0}; ///< of the same stage in the other replicas, their median; of a heavy stage, the mean of the
                      ///< other stages
  std::vector<PassBeside> passes;
  Duration before{0}; ///< simulated tasks of this replica; zero of slow workers after the first most_simulated_alone
  Duration after{0};  ///< the same with this stage like the others
  [[nodiscard]] double ratio() const;
};

/// One thing that makes steps longer, and what they would take without it.
struct Finding {
  Reason reason{};
  Duration before{0}; ///< the mean step, with what is before this reason in Reason taken out
  Duration after{0};  ///< the mean step without this, too
  double share = 0;   ///< gain() of the measured mean step
  [[nodiscard]] Duration gain() const { return before - after; }
  std::vector<Suspect> suspects{}; ///< slow_worker: the slowest first; heavy_stage: one; late_starts, jitter and drift:
                                   ///< where it is largest
  /// heavy_stage: forwards and backwards are so much alike in how much longer they take, and there is no replica to
  /// compare with, that its device may be slow instead.
  bool may_be_slow = false;
  /// slow_link: what a transfer takes, on it and (the median) on the others; transfers: `own`, the mean.
  Duration own{0}, others{0};
  StageId stage{}, other{}; ///< slow_link: its ends
  std::size_t replica = 0;  ///< slow_link: whose
  std::size_t links = 0;    ///< slow_link: how many are slow, by replica; this is the slowest
  bool everywhere = false;  ///< slow_link: it is slow in every replica, and no other link is
};

/// Where the time of a run goes. What is said of a step is of the mean one, but for the percentiles of StepTimes and
/// what is named median.
struct Explanation {
  Shape shape;
  std::size_t steps = 0;
  StepTimes step;                           ///< of the job: a step ends when the slowest replica ends
  StepTimes tasks;                          ///< of that, until the last task of all replicas has ended
  double bubble = 0;                        ///< of all devices' time, over all steps: the share that is not busy
  Duration waits_for_replicas{0};           ///< of all devices, mean per step
  std::array<Duration, label_count> time{}; ///< of all devices, mean per step: the sum over replicas and stages
  std::vector<ReplicaExplanation> replicas;
  std::vector<StepPart> parts;           ///< one per Reason of a step, in that order; they add up to step.mean
  std::vector<Finding> findings;         ///< above least_share of the step, the largest gain first
  Duration simulated{0};                 ///< the step with the mean of each stage and pass
  double model_error = 0;                ///< simulated / step.mean - 1
  double own_error = 0;                  ///< the same with every task's and transfer's own duration
  bool contended = false;                ///< a replica was: then times say little
  bool unaligned = false;                ///< as above, its clocks
  std::optional<Duration> clock_error{}; ///< the largest bound
  /// Of the step, with the stages alike and transfers free: idle time of all devices as a share of theirs. What the
  /// order itself leaves idle.
  double schedule_bubble = 0;
  /// By replica: how well its first steps predict the others; where that was asked for and there are several steps.
  std::vector<HeldOut> held_out{};
  /// What the first steps say of the others where tasks do not always take the same: predict_variable_work(), where
  /// somebody asked for it.
  std::optional<VariableWork> variable{};
};

/// What a step has to gain for a finding: 1 %.
inline constexpr double least_share = 0.01;
/// A worker is slow, and a link, where it takes more than so many per cent of what others take.
inline constexpr std::int64_t slow_worker_percent = 115;
inline constexpr std::int64_t slow_link_percent = 150;
/// Of so many slow workers it is simulated what each would give alone: it takes a simulation each.
inline constexpr std::size_t most_simulated_alone = 16;

/// Explains a run of one or more data-parallel replicas, whose steps are taken to begin together. Each reason is taken
/// out of the step by a simulation: first every task with its own duration, at once when it can begin; then with the
/// mean of its stage, chunk and pass, and every transfer with what it usually takes (the mean of the lowest quarter, as
/// others waited for their other side); then with a slow worker like its peers, the work of the heaviest stage, and
/// then of all stages, spread evenly, a slow link like the others, and transfers free. With `calibrate`, a share of the
/// steps, it says besides how well those predict the others (hold_out()). Throws Error (bad_input) for broken runs
/// (check_run), and for replicas of different orders or with different numbers of steps.
[[nodiscard]] Explanation explain(std::span<const MeasuredRun> replicas, std::optional<double> calibrate = {});

/// The slow workers that explain() finds, the slowest first, without a simulation: `before` and `after` are zero.
/// Throws as explain() does.
[[nodiscard]] std::vector<Suspect> slow_workers(std::span<const MeasuredRun> replicas);

} // namespace ppsim
