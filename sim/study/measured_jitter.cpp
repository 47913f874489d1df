#include "ppsim/study/measured_jitter.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/percentile.hpp"
#include "ppsim/base/random.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/measured/variable_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace ppsim {
namespace {

constexpr std::size_t handful = 5;
constexpr std::size_t one_of = 20;      ///< tasks per one that may dominate
constexpr double least_far = 2;         ///< each dominating task, as a multiple of the median
constexpr double most_by_handful = 0.2; ///< share of a mean

std::size_t number_of(Pass pass) {
  return static_cast<std::size_t>(pass);
}

std::string_view name_of(Pass pass) {
  constexpr std::array<std::string_view, MeasuredJitter::passes> names{"forwards", "backwards", "input gradients",
                                                                       "weight gradients"};
  return names[number_of(pass)];
}

/// A task of the measured order, with its group and the group's mean.
struct UsualTask {
  std::size_t stage = 0, microbatch = 0;
  Pass pass{};
  double mean = 0; ///< of its chunk's tasks of this pass, in ns
};

double time_in(const Timeline& step, std::size_t id) {
  return static_cast<double>(step.tasks[id].length().count());
}

std::vector<UsualTask> usual_tasks(const MeasuredRun& run) {
  const Schedule& schedule = run.schedule;
  std::map<std::tuple<std::size_t, std::uint16_t, Pass>, std::pair<double, double>> sums; // and their number
  std::vector<UsualTask> tasks(schedule.size());
  const auto of = [&](std::size_t id) -> std::pair<double, double>& {
    const Task& task = schedule.tasks()[id];
    return sums[{tasks[id].stage, task.chunk_index, task.pass}];
  };
  for (const StageId stage : schedule.stage_ids())
    for (const TaskId id : schedule.task_ids(stage))
      tasks[index(id)] = {
          .stage = index(stage), .microbatch = index(schedule.task(id).microbatch), .pass = schedule.task(id).pass};
  for (std::size_t id = 0; id < tasks.size(); ++id)
    for (const Timeline& step : run.steps) {
      of(id).first += time_in(step, id);
      of(id).second += 1;
    }
  for (std::size_t id = 0; id < tasks.size(); ++id) tasks[id].mean = of(id).first / of(id).second;
  return tasks;
}

/// The first task of a step with zero duration.
std::optional<std::size_t> task_of_no_time(const Timeline& step) {
  const auto found = std::ranges::find_if(step.tasks, [](const Span& task) { return task.length() <= Duration{0}; });
  if (found == step.tasks.end()) return std::nullopt;
  return static_cast<std::size_t>(found - step.tasks.begin());
}

/// Throws unless the run has enough steps to show variation.
void require_steps(const MeasuredRun& run, const std::string& source) {
  if (run.steps.size() < 2)
    throw Error{ExitCode::bad_input,
                Problem{source,
                        fmt::format("{}: too few to tell what the tasks of a step have in common",
                                    counted(run.steps.size(), "step")),
                        "record several steps: 'ppsim replay --steps 20 -o RUN.json'; percentiles need 20 or more"}};
  const auto none = [](const Timeline& step) { return task_of_no_time(step).has_value(); };
  const auto found = std::ranges::find_if(run.steps, none);
  if (found == run.steps.end()) return;
  const auto others = static_cast<std::size_t>(std::count_if(found + 1, run.steps.end(), none));
  const std::size_t id = task_of_no_time(*found).value();
  throw Error{
      ExitCode::bad_input,
      Problem{fmt::format("{}: step {}", source, found - run.steps.begin() + 1),
              fmt::format("{} takes {} ns{}", to_string(run.schedule.tasks()[id]), found->tasks[id].length().count(),
                          others == 0 ? "" : fmt::format(", and so do tasks of {}", counted(others, "other step"))),
              "every task must take time: leave out such steps, or measure with a finer clock"}};
}

/// Checks the factors of a stage's pass; sorts them.
void check_tail(std::vector<double>& factors, const std::string& where, Problems& problems) {
  std::ranges::sort(factors);
  const std::size_t most = std::clamp<std::size_t>(factors.size() / one_of, 1, handful);
  const double usual = percentile_of_sorted(factors, 0.5);
  std::size_t few = 0;
  while (few < most && factors[factors.size() - 1 - few] > least_far * usual) ++few;
  if (few == 0) return;
  const double all = std::accumulate(factors.begin(), factors.end(), 0.0);
  const double others = std::accumulate(factors.begin(), factors.end() - static_cast<std::ptrdiff_t>(few), 0.0);
  const auto count = static_cast<double>(factors.size());
  const double lower = 1 - others / (count - static_cast<double>(few)) * count / all;
  if (lower > most_by_handful)
    problems.add(where,
                 fmt::format("the mean of {} tasks depends on a few: without the longest {} it would be {:.1f} % "
                             "lower, more than {:.0f} %",
                             factors.size(), few, 100 * lower, 100 * most_by_handful),
                 "record more steps, or leave out the steps with the long tasks (often the first of a run)");
}

/// A division of a step's tasks into parts.
struct Parts {
  std::size_t count = 1;
  std::size_t (*of)(const UsualTask&) = nullptr; ///< the part of a task
  bool within_step = true;                       ///< the step's common factor is removed from its parts
};

/// By measured step and part: measured / usual time.
using PartFactors = std::vector<std::vector<double>>;

PartFactors part_factors(const MeasuredRun& run, const std::vector<UsualTask>& tasks, const Parts& parts) {
  PartFactors factors;
  for (const Timeline& step : run.steps) {
    std::vector<double> measured(parts.count);
    std::vector<double> usual(parts.count);
    for (std::size_t id = 0; id < tasks.size(); ++id) {
      measured[parts.of(tasks[id])] += time_in(step, id);
      usual[parts.of(tasks[id])] += tasks[id].mean;
    }
    const double in_common = parts.within_step ? std::accumulate(measured.begin(), measured.end(), 0.0) /
                                                     std::accumulate(usual.begin(), usual.end(), 0.0)
                                               : 1;
    for (std::size_t part = 0; part < parts.count; ++part) measured[part] /= usual[part] * in_common;
    factors.push_back(std::move(measured));
  }
  return factors;
}

double variance_around_one(const PartFactors& factors) {
  double sum = 0;
  double count = 0;
  for (const std::vector<double>& step : factors)
    for (const double factor : step) {
      sum += (factor - 1) * (factor - 1);
      ++count;
    }
  return count > 0 ? sum / count : 0;
}

/// The variance that factors of parts have by chance if own factors have variance `own`: the mean over the parts.
double chance_of(const std::vector<UsualTask>& tasks, const Parts& parts, double own) {
  std::vector<double> sums(parts.count);
  std::vector<double> squares(parts.count);
  for (const UsualTask& task : tasks) {
    sums[parts.of(task)] += task.mean;
    squares[parts.of(task)] += task.mean * task.mean;
  }
  double chance = 0;
  for (std::size_t part = 0; part < parts.count; ++part)
    chance += own * squares[part] / (sums[part] * sums[part]) / static_cast<double>(parts.count);
  return chance;
}

/// Keeps the part of factors that exceeds chance. Returns its standard deviation.
double keep_shown(PartFactors& factors, double chance) {
  const double variance = variance_around_one(factors);
  const double kept = variance > 0 ? std::sqrt(std::max(0.0, 1 - chance / variance)) : 0;
  for (std::vector<double>& step : factors)
    for (double& factor : step) factor = 1 + kept * (factor - 1);
  return kept * std::sqrt(variance);
}

/// Whether steps vary like means of independent microbatches, compared with the microbatches' variance divided by their
/// number. Steps vary less if a loader balances them, more if an effect lasts for a step.
bool vary_apart(double of_steps, double of_microbatches, const Shape& shape, std::size_t steps) {
  if (shape.microbatches < 2 || of_microbatches <= 0) return false;
  return vary_independently(of_steps * static_cast<double>(shape.microbatches) / of_microbatches, steps - 1);
}

/// The factors of each task after removing its step's, stage's and microbatch's.
std::vector<std::vector<double>> own_factors(const MeasuredRun& run, const std::vector<UsualTask>& tasks,
                                             const PartFactors& of_step, const PartFactors& of_stage,
                                             const PartFactors& of_microbatch) {
  std::vector<std::vector<double>> own(run.steps.size(), std::vector<double>(tasks.size()));
  for (std::size_t step = 0; step < own.size(); ++step)
    for (std::size_t id = 0; id < tasks.size(); ++id)
      own[step][id] = time_in(run.steps[step], id) / tasks[id].mean / of_step[step][0] /
                      of_stage[step][tasks[id].stage] / of_microbatch[step][tasks[id].microbatch];
  return own;
}

/// Factors of microbatches for a step with `count` of them.
std::vector<double> draw_microbatches(const MeasuredJitter& jitter, std::size_t count, SplitMix64& draws) {
  std::vector<double> drawn(count);
  const std::vector<double>& together = jitter.microbatch[draws.below(jitter.steps)];
  const std::size_t first = draws.below(together.size());
  for (std::size_t microbatch = 0; microbatch < count; ++microbatch)
    drawn[microbatch] = jitter.apart ? jitter.microbatch[draws.below(jitter.steps)][draws.below(together.size())]
                                     : together[(first + microbatch) % together.size()];
  return drawn;
}

/// Scales to mean 1.
void scale_to_one(std::vector<double>& factors) {
  const double mean = std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(factors.size());
  for (double& factor : factors) factor /= mean;
}

/// Sets the own factors, by stage and pass.
void set_own(const std::vector<UsualTask>& tasks, const std::vector<std::vector<double>>& own, MeasuredJitter& jitter) {
  jitter.own.resize(jitter.stages);
  for (const std::vector<double>& step : own)
    for (std::size_t id = 0; id < tasks.size(); ++id)
      jitter.own[tasks[id].stage][number_of(tasks[id].pass)].push_back(step[id]);
  for (std::array<std::vector<double>, MeasuredJitter::passes>& of_stage : jitter.own) {
    for (std::vector<double>& factors : of_stage) scale_to_one(factors);
    std::vector<double>& whole = of_stage[number_of(Pass::backward)];
    std::vector<double>& input = of_stage[number_of(Pass::input_grad)];
    std::vector<double>& weight = of_stage[number_of(Pass::weight_grad)];
    if (whole.empty()) whole = input;
    if (input.empty()) input = whole;
    if (weight.empty()) weight = whole;
  }
}

} // namespace

MeasuredJitter measured_jitter(const MeasuredRun& run, std::string source) {
  require_steps(run, source);
  const std::vector<UsualTask> tasks = usual_tasks(run);
  const Shape& shape = run.schedule.shape();
  std::map<std::pair<std::size_t, Pass>, std::vector<double>> ratios;
  for (const Timeline& step : run.steps)
    for (std::size_t id = 0; id < tasks.size(); ++id)
      ratios[{tasks[id].stage, tasks[id].pass}].push_back(time_in(step, id) / tasks[id].mean);
  Problems problems;
  for (auto& [of, factors] : ratios)
    check_tail(factors, fmt::format("{}: {} of stage {}", source, name_of(of.second), of.first), problems);
  problems.throw_if_any();

  const Parts whole{.of = [](const UsualTask&) { return std::size_t{0}; }, .within_step = false};
  const Parts by_stage{.count = shape.stages, .of = [](const UsualTask& task) { return task.stage; }};
  Parts by_microbatch{.count = shape.microbatches, .of = [](const UsualTask& task) { return task.microbatch; }};
  PartFactors steps = part_factors(run, tasks, whole);
  PartFactors stages = part_factors(run, tasks, by_stage);
  PartFactors microbatches = part_factors(run, tasks, by_microbatch);
  // Removing that many factors from a step's tasks also removes some of their own variation.
  const auto count = static_cast<double>(tasks.size());
  const double freedom = count - static_cast<double>(shape.stages + shape.microbatches - 1);
  const double own =
      variance_around_one(own_factors(run, tasks, steps, stages, microbatches)) * (freedom > 0 ? count / freedom : 1);
  MeasuredJitter jitter;
  jitter.source = std::move(source);
  jitter.stages = shape.stages;
  jitter.steps = run.steps.size();
  jitter.forward_only = run.schedule.forward_only();
  by_microbatch.within_step = false;
  PartFactors whole_microbatches = part_factors(run, tasks, by_microbatch);
  jitter.apart = vary_apart(variance_around_one(steps) - chance_of(tasks, whole, own),
                            variance_around_one(whole_microbatches) - chance_of(tasks, by_microbatch, own), shape,
                            run.steps.size());
  if (jitter.apart) {
    microbatches = std::move(whole_microbatches);
    for (std::vector<double>& step : steps) step.front() = 1;
  }
  jitter.of_step = keep_shown(steps, chance_of(tasks, whole, own));
  jitter.of_stage = keep_shown(stages, chance_of(tasks, by_stage, own));
  jitter.of_microbatch = keep_shown(microbatches, chance_of(tasks, by_microbatch, own));
  const std::vector<std::vector<double>> left = own_factors(run, tasks, steps, stages, microbatches);
  jitter.of_task = std::sqrt(variance_around_one(left));
  set_own(tasks, left, jitter);
  for (const std::vector<double>& step : steps) jitter.step.push_back(step.front());
  scale_to_one(jitter.step);
  jitter.stage = std::move(stages);
  jitter.microbatch = std::move(microbatches);
  return jitter;
}

void draw_measured(const MeasuredJitter& jitter, const TaskGraph& graph, const std::vector<Duration>& usual,
                   std::uint64_t seed, std::vector<Duration>& times) {
  const Schedule& schedule = graph.schedule();
  SplitMix64 draws{seed};
  const std::size_t step = draws.below(jitter.steps);
  const std::vector<double> microbatches = draw_microbatches(jitter, schedule.shape().microbatches, draws);
  for (const StageId stage : schedule.stage_ids()) {
    const double in_common = jitter.step[step] * jitter.stage[step][index(stage)];
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      const std::vector<double>& own = jitter.own[index(stage)][number_of(task.pass)];
      const double factor = in_common * microbatches[index(task.microbatch)] * own[draws.below(own.size())];
      times[index(id)] = Duration{std::llround(static_cast<double>(usual[index(id)].count()) * factor)};
    }
  }
}

} // namespace ppsim
