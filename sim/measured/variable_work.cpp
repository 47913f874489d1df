#include "ppsim/measured/variable_work.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/base/percentile.hpp"
#include "ppsim/base/random.hpp"
#include "ppsim/engine/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "run_means.hpp"

namespace ppsim {
namespace {

/// The random numbers of one sample, independent of other samples.
SplitMix64 draws_of(std::uint64_t seed, std::uint64_t sample) {
  return SplitMix64{SplitMix64::mixed(SplitMix64::mixed(seed) + sample)};
}

double in_ns(Duration time) {
  return static_cast<double>(time.count());
}

/// Scales a measured time of a step to another level.
Duration at_level(const WorkDistribution& work, Duration time, std::size_t step, double level) {
  // A step without work has no level.
  const double ratio = work.levels[step] > 0 ? level / work.levels[step] : 1.0;
  return Duration{std::llround(in_ns(time) * ratio)};
}

/// The total task time of a step.
double work_of_step(const Timeline& step) {
  return std::accumulate(step.tasks.begin(), step.tasks.end(), 0.0,
                         [](double sum, const Span& task) { return sum + in_ns(task.length()); });
}

struct Moments {
  double mean = 0;
  double variance = 0; ///< of the sample: n - 1
};
Moments moments_of(std::span<const double> values) {
  Moments found;
  for (const double value : values) found.mean += value / static_cast<double>(values.size());
  for (const double value : values)
    found.variance += (value - found.mean) * (value - found.mean) / static_cast<double>(values.size() - 1);
  return found;
}

/// Sets WorkDistribution::levels and `together`. With L the level's variance, V_r = L m_r^2 + own of replica r, and the
/// sum over the replicas has L (sum m_r)^2 + sum of owns: so L = (V_sum - sum V_r) / ((sum m_r)^2 - sum m_r^2).
void find_common(WorkDistribution& work) {
  std::vector<double> sums(work.steps(), 0.0);
  double own = 0;
  double squares = 0;
  for (const MeasuredRun& run : work.replicas) {
    std::vector<double> times;
    for (std::size_t step = work.first; step < work.last; ++step) times.push_back(work_of_step(run.steps[step]));
    for (std::size_t step = 0; step < times.size(); ++step) sums[step] += times[step];
    const Moments found = moments_of(times);
    own += found.variance;
    squares += found.mean * found.mean;
  }
  const Moments all = moments_of(sums);
  work.levels.assign(sums.size(), 1.0);
  if (work.replicas.size() < 2) return;
  work.together = all.variance < own / 4;
  if (all.variance <= own) return;
  const double common = (all.variance - own) / (all.mean * all.mean - squares);
  const double shrunk = std::min(std::sqrt(common * all.mean * all.mean / all.variance), 1.0);
  for (std::size_t step = 0; step < sums.size(); ++step) work.levels[step] += shrunk * (sums[step] / all.mean - 1);
}

/// The task time of each microbatch in a step.
std::vector<double> work_of_microbatches(const Schedule& schedule, const Timeline& step) {
  std::vector<double> work(schedule.shape().microbatches, 0.0);
  for (std::size_t id = 0; id < schedule.size(); ++id)
    work[index(schedule.tasks()[id].microbatch)] += in_ns(step.tasks[id].length());
  return work;
}

/// Sets `apart`: whether the variance of a step is the sum of those of its microbatches.
void find_apart(WorkDistribution& work) {
  const std::size_t microbatches = work.replicas.front().schedule.shape().microbatches;
  const std::size_t freedom = work.replicas.size() * (work.steps() - 1);
  if (microbatches < 2 || work.replicas.size() < 2 || work.together) return;
  double of_steps = 0;
  double of_microbatches = 0;
  for (const MeasuredRun& run : work.replicas) {
    std::vector<double> sums(work.steps(), 0.0);
    std::vector<std::vector<double>> each(microbatches, sums);
    for (std::size_t step = 0; step < work.steps(); ++step) {
      const std::vector<double> parts = work_of_microbatches(run.schedule, run.steps[work.first + step]);
      const double level = work.levels[step] > 0 ? work.levels[step] : 1.0;
      for (std::size_t microbatch = 0; microbatch < microbatches; ++microbatch) {
        each[microbatch][step] = parts[microbatch] / level;
        sums[step] += parts[microbatch] / level;
      }
    }
    of_steps += moments_of(sums).variance;
    for (const std::vector<double>& times : each) of_microbatches += moments_of(times).variance;
  }
  work.apart = of_microbatches > 0 && vary_independently(of_steps / of_microbatches, freedom);
}

/// Of a step of the job.
struct JobStep {
  Duration tasks{0}; ///< until the last one of all replicas
  Duration end{0};
};
JobStep job_step(std::span<const MeasuredRun> replicas, std::size_t step) {
  JobStep found;
  for (const MeasuredRun& run : replicas) {
    found.tasks = std::max(found.tasks, time_of_tasks(run.steps[step]));
    found.end = std::max(found.end, end_of(run.steps[step]) - SimTime{});
  }
  return found;
}

/// Far from users' seeds, so that mixes and samples share no draws.
constexpr std::uint64_t mix_seed = std::uint64_t{1} << 40;
/// Mixed steps per measured step: with eight, results hardly depend on the mix.
constexpr std::size_t mixes_of_a_step = 8;

/// Outliers need at least this many steps: of three or four, one is often an outlier by chance.
constexpr std::size_t least_to_tell_apart = 8;

/// The number of outliers at the start: values apart from all later ones by more than those differ and by more than 1
/// %.
std::size_t apart_at_start(std::span<const Duration> values) {
  if (values.size() < least_to_tell_apart) return 0;
  for (std::size_t count = values.size() / 2; count > 0; --count) {
    const auto [least, most] = std::ranges::minmax(values.first(count));
    const auto [low, high] = std::ranges::minmax(values.subspan(count));
    const Duration range = std::max(high - low, high / 100);
    if (least > high + range || most < low - range) return count;
  }
  return 0;
}

std::size_t first_to_learn(std::span<const MeasuredRun> replicas, std::size_t last) {
  std::vector<Duration> tasks;
  std::vector<Duration> after;
  for (std::size_t step = 0; step < last; ++step) {
    const JobStep found = job_step(replicas, step);
    tasks.push_back(found.tasks);
    after.push_back(found.end - found.tasks);
  }
  return std::max(apart_at_start(tasks), apart_at_start(after));
}

/// A mixed step: order and level of one step, with each microbatch's tasks from a random step.
Timeline mixed_step(const WorkDistribution& work, std::size_t replica, std::size_t mix) {
  const MeasuredRun& run = work.replicas[replica];
  const std::size_t base = mix % work.steps();
  Timeline step = run.steps[work.first + base];
  SplitMix64 draws = draws_of(mix_seed + replica, mix);
  std::vector<std::size_t> from(run.schedule.shape().microbatches);
  for (std::size_t& own : from) own = draws.below(work.steps());
  for (std::size_t id = 0; id < step.tasks.size(); ++id) {
    const std::size_t own = from[index(run.schedule.tasks()[id].microbatch)];
    const Duration length = run.steps[work.first + own].tasks[id].length();
    step.tasks[id].end = step.tasks[id].start + at_level(work, length, own, work.levels[base]);
  }
  return step;
}

Duration slowest(const std::vector<std::vector<Duration>>& tasks, std::size_t step) {
  Duration most{0};
  for (const std::vector<Duration>& replica : tasks) most = std::max(most, replica[step]);
  return most;
}

Duration simulated_tasks(const Schedule& schedule, Scenario scenario) {
  return time_of_tasks(simulate(lower(schedule, std::move(scenario), "run")));
}

/// Sets the figures at constant cost. Returns the mean of the replicas' tasks.
Duration add_constant(const WorkDistribution& work, VariableWork& result) {
  std::vector<Duration> tasks;
  for (std::size_t replica = 0; replica < work.replicas.size(); ++replica)
    tasks.push_back(simulated_tasks(work.replicas[replica].schedule, work.means[replica]));
  const Duration mean = mean_duration(tasks);
  result.constant = std::ranges::max(tasks) + mean_duration(work.outside);
  result.constant_waits = std::ranges::max(tasks) - mean;
  return mean;
}

/// The percentile of groups of `steps` drawn steps: the median over all groups.
Duration percentile_of_so_many(const std::vector<Duration>& drawn, std::size_t steps, std::size_t percent) {
  std::vector<Duration> found;
  for (std::size_t at = 0; at + steps <= drawn.size(); at += steps) {
    const auto first = drawn.begin() + static_cast<std::ptrdiff_t>(at);
    found.push_back(percentile(std::vector<Duration>(first, first + static_cast<std::ptrdiff_t>(steps)), percent));
  }
  return found.empty() ? percentile(drawn, percent) : percentile(std::move(found), 50);
}

double mean_error_of(Duration predicted, const std::vector<Duration>& measured) {
  double sum = 0;
  for (const Duration step : measured) sum += std::abs(in_ns(predicted) / in_ns(std::max(step, Duration{1})) - 1);
  return sum / static_cast<double>(measured.size());
}

} // namespace

bool vary_independently(double ratio, std::size_t freedom) {
  constexpr double most_uncertain = 0.15;
  constexpr double most_off = 2.5;
  const double uncertain = std::sqrt(2 / static_cast<double>(std::max<std::size_t>(freedom, 1)));
  return uncertain <= most_uncertain && std::abs(ratio - 1) <= most_off * uncertain;
}

std::optional<WorkDistribution> work_distribution(std::span<const MeasuredRun> replicas, std::size_t first,
                                                  std::size_t last, std::size_t threads) {
  PPSIM_ASSERT(!replicas.empty() && first + 2 <= last && last <= replicas.front().steps.size());
  WorkDistribution work{
      .replicas = replicas, .first = first, .last = last, .means = {}, .levels = {}, .outside = {}, .tasks = {}};
  for (const MeasuredRun& run : replicas) {
    const CostModel model = cost_model(run, first, last);
    if (model.pair.kind == PairRule::Kind::max) return std::nullopt;
    work.means.push_back(scenario_of(model));
  }
  find_common(work);
  find_apart(work);
  const std::size_t each = work.steps() * (work.apart ? 1 + mixes_of_a_step : 1);
  work.tasks.assign(replicas.size(), std::vector<Duration>(each));
  for_each_index(replicas.size() * each, threads, [&](std::size_t at) {
    const std::size_t replica = at / each;
    const std::size_t step = at % each;
    work.tasks[replica][step] = simulated_tasks(replicas[replica].schedule, step_work(work, replica, step));
  });
  for (std::size_t step = 0; step < work.steps(); ++step)
    work.outside.push_back(job_step(replicas, first + step).end - slowest(work.tasks, step));
  return work;
}

Scenario step_work(const WorkDistribution& work, std::size_t replica, std::size_t step) {
  const MeasuredRun& run = work.replicas[replica];
  return with_own_times(work.means[replica], run.schedule,
                        step < work.steps() ? run.steps[work.first + step] : mixed_step(work, replica, step));
}

std::vector<DrawnStep> draw_steps(const WorkDistribution& work, const std::vector<std::vector<Duration>>& tasks,
                                  std::size_t samples, std::uint64_t seed) {
  std::vector<DrawnStep> drawn(samples);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    SplitMix64 draws = draws_of(seed, sample);
    const std::size_t of_all = draws.below(work.steps());
    const bool whole = work.together || tasks.size() == 1; // nothing is independent of the step
    RunningMean mean;
    for (const std::vector<Duration>& replica : tasks) {
      const std::size_t own = whole ? of_all : draws.below(replica.size());
      const Duration time = at_level(work, replica[own], own % work.steps(), work.levels[of_all]);
      mean.add(time);
      drawn[sample].tasks = std::max(drawn[sample].tasks, time);
    }
    drawn[sample].mean_tasks = mean.mean();
    drawn[sample].step = drawn[sample].tasks + work.outside[of_all];
  }
  return drawn;
}

std::optional<VariableWork> predict_variable_work(std::span<const MeasuredRun> replicas, double share,
                                                  std::size_t threads, std::size_t samples, std::uint64_t seed) {
  const std::size_t steps = replicas.front().steps.size();
  if (steps < 2 * least_steps_of_a_half || samples == 0) return std::nullopt;
  const double part = share > 0 ? std::min(share, 1.0) : 0.0; // NaN becomes 0
  const std::size_t learned = std::clamp<std::size_t>(static_cast<std::size_t>(part * static_cast<double>(steps)),
                                                      least_steps_of_a_half, steps - least_steps_of_a_half);
  VariableWork result{.samples = samples, .seed = seed};
  result.first = first_to_learn(replicas, learned);
  result.learned = learned - result.first;
  result.steps = steps - learned;
  const std::optional<WorkDistribution> work = work_distribution(replicas, result.first, learned, threads);
  if (!work) return std::nullopt;
  result.together = work->together;
  result.apart = work->apart;
  const std::vector<DrawnStep> drawn = draw_steps(*work, work->tasks, samples, seed);
  std::vector<Duration> predicted;
  predicted.reserve(drawn.size());
  for (const DrawnStep& step : drawn) predicted.push_back(step.step);
  std::vector<Duration> measured;
  for (std::size_t step = learned; step < steps; ++step) measured.push_back(job_step(replicas, step).end);
  result.mean = {mean_duration(predicted), mean_duration(measured)};
  for (const auto& [figure, percent] : {std::pair{&result.p50, std::size_t{50}}, {&result.p95, 95}, {&result.p99, 99}})
    *figure = {percentile_of_so_many(predicted, result.steps, percent), percentile(measured, percent)};
  const Duration mean_tasks = mean_duration(drawn, &DrawnStep::mean_tasks);
  result.in_replicas = mean_tasks - add_constant(*work, result);
  result.waits = mean_duration(drawn, &DrawnStep::tasks) - mean_tasks;
  result.mean_error = mean_error_of(result.mean.predicted, measured);
  result.constant_mean_error = mean_error_of(result.constant, measured);
  return result;
}

} // namespace ppsim
