#include "ppsim/measured/cost_model.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/measured/times_alone.hpp"
#include "ppsim/schedule/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "run_means.hpp"

namespace ppsim {
namespace {

/// The measured times of one pass of a chunk.
struct PassSample {
  RunningMean all, early, late;
  std::vector<RunningMean> by_microbatch;

  [[nodiscard]] Statistic statistic() const {
    Statistic result{.mean = all.mean(), .spread = all.spread(), .drift = 0, .runs = all.runs()};
    if (early.runs() > 0 && late.runs() > 0 && early.mean() > Duration{0})
      result.drift = static_cast<double>(late.mean().count()) / static_cast<double>(early.mean().count()) - 1;
    return result;
  }
  [[nodiscard]] std::vector<Duration> means() const {
    std::vector<Duration> result;
    if (all.runs() == 0) return result;
    result.reserve(by_microbatch.size());
    for (const RunningMean& sample : by_microbatch) result.push_back(sample.runs() > 0 ? sample.mean() : all.mean());
    return result;
  }
};
using ChunkSamples = std::array<PassSample, 4>; // by Pass

/// Predicted / measured time of a step - 1.
double error_of(const Schedule& schedule, Scenario scenario, const Timeline& step) {
  const Duration measured = time_of_tasks(step);
  const Duration predicted = time_of_tasks(simulate(lower(schedule, std::move(scenario), "run")));
  return measured > Duration{0} ? static_cast<double>(predicted.count()) / static_cast<double>(measured.count()) - 1
                                : 0;
}

/// The times of tasks and transfers in steps: a cost model without the properties common to all steps of a run.
class Calibration {
public:
  Calibration(const MeasuredRun& run, const TaskGraph& graph, std::size_t first, std::size_t last)
      : run_{run}, graph_{graph}, first_{first}, last_{last}, samples_(run.schedule.shape().chunks()),
        transfers_(run.schedule.shape().chunks() - 1) {
    PPSIM_ASSERT(first < last && last <= run.steps.size());
  }

  CostModel make() {
    model_.shape = run_.schedule.shape();
    model_.steps = last_ - first_;
    model_.unrecorded.resize(transfers_.size());
    find_pair_rule();
    for (std::size_t step = first_; step < last_; ++step) look_at(step);
    for (const ChunkSamples& chunk : samples_) model_.chunks.push_back(statistics_of(chunk));
    for (std::vector<Duration>& times : transfers_) model_.transfers.push_back(transfer_statistic(std::move(times)));
    find_optimizer();
    return std::move(model_);
  }

private:
  static constexpr std::size_t quarters = 4;

  void look_at(std::size_t step) {
    const std::size_t quarter = (last_ - first_) / quarters;
    const bool early = step < first_ + quarter;
    const bool late = step + quarter >= last_;
    const Timeline& timeline = run_.steps[step];
    for (std::size_t id = 0; id < graph_.size(); ++id) {
      const Task& task = run_.schedule.tasks()[id];
      PassSample& pass = samples_[task.chunk_index][static_cast<std::size_t>(task.pass)];
      const Duration length = timeline.tasks[id].length();
      pass.by_microbatch.resize(model_.shape.microbatches); // only for passes that occur
      if (task.pairing == Pairing::alone || model_.pair.kind != PairRule::Kind::factor) {
        pass.all.add(length);
        pass.by_microbatch[index(task.microbatch)].add(length);
        if (early) pass.early.add(length);
        if (late) pass.late.add(length);
      }
      const auto sender = make_id<TaskId>(id);
      const std::optional<TaskId> receiver = graph_.receiver(sender);
      if (!receiver) continue;
      if (run_.has_recorded(step, sender))
        transfers_[Dag::boundary_of(task)].push_back(transfer_time(timeline, sender, *receiver));
      else
        ++model_.unrecorded[Dag::boundary_of(task)];
    }
  }

  static Statistic transfer_statistic(std::vector<Duration> times) {
    const std::size_t runs = times.size();
    const RunningMean usual = usual_transfer(std::move(times));
    return {.mean = usual.mean(), .spread = usual.spread(), .drift = 0, .runs = runs};
  }

  static ChunkStatistics statistics_of(const ChunkSamples& chunk) {
    const auto of = [&](Pass pass) -> const PassSample& { return chunk[static_cast<std::size_t>(pass)]; };
    return {.forward = of(Pass::forward).statistic(),
            .backward = of(Pass::backward).statistic(),
            .input_grad = of(Pass::input_grad).statistic(),
            .weight_grad = of(Pass::weight_grad).statistic(),
            .forward_by_microbatch = of(Pass::forward).means(),
            .backward_by_microbatch = of(Pass::backward).means(),
            .input_grad_by_microbatch = of(Pass::input_grad).means(),
            .weight_grad_by_microbatch = of(Pass::weight_grad).means()};
  }

  void find_optimizer() {
    for (std::size_t stage = 0; stage < model_.shape.stages; ++stage) {
      PassSample sample;
      for (std::size_t step = first_; step < last_; ++step)
        if (const auto& optimizer = run_.steps[step].optimizer; !optimizer.empty())
          sample.all.add(optimizer[stage].span.length());
      const Statistic found = sample.statistic();
      if (found.runs > 0 && (model_.optimizer.runs == 0 || found.mean > model_.optimizer.mean))
        model_.optimizer = found;
    }
  }

  void find_pair_rule() {
    const std::span<const Task> tasks = run_.schedule.tasks();
    const auto is_second = [](const Task& task) { return task.pairing == Pairing::second; };
    if (std::ranges::none_of(tasks, is_second)) return;
    model_.pair.kind = PairRule::Kind::serial;
    TimesAlone alone;
    for (std::size_t step = first_; step < last_; ++step)
      for (std::size_t id = 0; id < tasks.size(); ++id) {
        const std::vector<Span>& spans = run_.steps[step].tasks;
        alone.add(tasks[id], spans[id].length());
        if (is_second(tasks[id]) && spans[id].start < spans[id - 1].end) model_.pair.kind = PairRule::Kind::max;
      }
    if (model_.pair.kind == PairRule::Kind::serial) find_factor(alone);
  }

  /// Consecutive halves that take less time than alone did overlap: the reader separated them.
  void find_factor(const TimesAlone& alone) {
    double together = 0;
    double apart = 0;
    for (std::size_t id = 0; id < run_.schedule.size(); ++id) {
      if (run_.schedule.tasks()[id].pairing != Pairing::second) continue;
      const std::optional<double> first = alone.time_of(run_.schedule.tasks()[id - 1]);
      const std::optional<double> second = alone.time_of(run_.schedule.tasks()[id]);
      if (!first || !second) return;
      for (std::size_t step = first_; step < last_; ++step) {
        const std::vector<Span>& spans = run_.steps[step].tasks;
        together += static_cast<double>((spans[id].end - spans[id - 1].start).count());
        apart += *first + *second;
      }
    }
    constexpr double noise = 0.98;
    constexpr double thousandths = 1000;
    if (together < noise * apart)
      model_.pair = {
          PairRule::Kind::factor,
          1000 * std::max(static_cast<std::int64_t>(std::llround(thousandths * together / apart)), std::int64_t{1})};
  }

  const MeasuredRun& run_;
  const TaskGraph& graph_;
  std::size_t first_, last_;
  std::vector<ChunkSamples> samples_;
  std::vector<std::vector<Duration>> transfers_; ///< by boundary
  CostModel model_;
};

/// Mean absolute error of some steps with every task's own time, under the transfer model of `model`; none if the order
/// cannot run under it.
std::optional<double> error_under(const MeasuredRun& run, const CostModel& model, std::size_t first, std::size_t last) {
  constexpr std::size_t steps_tried = 8;
  const Scenario scenario = scenario_of(model);
  const std::size_t stride = (last - first + steps_tried - 1) / steps_tried;
  double sum = 0;
  std::size_t count = 0;
  try {
    for (std::size_t step = first; step < last; step += stride, ++count)
      sum += std::abs(error_of(run.schedule, with_own_times(scenario, run.schedule, run.steps[step]), run.steps[step]));
  } catch (const Error&) {
    return std::nullopt;
  }
  return sum / static_cast<double>(count);
}

/// See CostModel::transfer; `model` has everything else.
TransferModel transfer_model_of(const MeasuredRun& run, CostModel model, std::size_t first, std::size_t last) {
  model.transfer = TransferModel::blocking;
  const std::optional<double> blocking = error_under(run, model, first, last);
  model.transfer = TransferModel::latency;
  const std::optional<double> latency = error_under(run, model, first, last);
  return blocking && *blocking < latency.value_or(0) ? TransferModel::blocking : TransferModel::latency;
}

CostModel cost_model_of(const MeasuredRun& run, const TaskGraph& graph, std::size_t first, std::size_t last) {
  CostModel model = Calibration{run, graph, first, last}.make();
  if (const Generator* generator = generator_of(run.schedule)) model.schedule = generator->name;
  model.placement = placement_of(run.schedule);
  model.run = run_id(run);
  for (const MeasuredStage& stage : run.stages) model.peak.push_back(stage.peak_bytes);
  if (std::ranges::all_of(model.peak, [](Bytes bytes) { return bytes == Bytes{}; })) model.peak.clear();
  if (graph.transfer_count() > 0) model.transfer = transfer_model_of(run, model, first, last);
  return model;
}

/// The halves of a backward, from the measured parts.
struct Halves {
  Duration input{0};
  Duration weight{0};
};
Halves halves_of(Duration whole, Duration input, Duration weight, bool split) {
  return split ? Halves{input, weight} : Halves{whole - whole / 2, whole / 2};
}

Duration mean_of(std::span<const Duration> times) {
  std::int64_t sum = 0; // in range: all chunks of a stage together take at most a day
  for (const Duration time : times) sum += time.count();
  return Duration{divide_rounded(sum, static_cast<std::int64_t>(std::max<std::size_t>(times.size(), 1)))};
}

} // namespace

WithoutEnds without_ends(const std::vector<Duration>& times, const CostModel& model, Statistic ChunkStatistics::*pass) {
  std::span<const Duration> among = times;
  const Duration between =
      times.size() > 2 ? mean_of(among.subspan(1, times.size() - 2)) : std::min(times.front(), times.back());
  const bool longer_first = times.front() > between + (model.chunks.front().*pass).spread;
  const bool longer_last = times.back() > between + (model.chunks.back().*pass).spread;
  if (longer_first) among = among.subspan(1);
  if (longer_last) among = among.first(among.size() - 1);
  const Duration mean = mean_of(among);
  return {mean, longer_first ? times.front() - mean : Duration{0}, longer_last ? times.back() - mean : Duration{0}};
}

Scenario with_own_times(Scenario scenario, const Schedule& schedule, const Timeline& step) {
  Costs& costs = scenario.costs;
  const std::size_t microbatches = scenario.shape.microbatches;
  for (auto* list : {&costs.forward_by_microbatch, &costs.input_grad_by_microbatch, &costs.weight_grad_by_microbatch})
    list->assign(scenario.shape.chunks() * microbatches, Duration{0});
  for (auto* list : {&costs.forward_collective, &costs.input_grad_collective}) // which are a part of them
    std::ranges::fill(*list, Duration{0});
  costs.stage_ppm.clear(); // as above
  if (scenario.pair.kind == PairRule::Kind::factor)
    scenario.pair = {.kind = PairRule::Kind::serial}; // the measured times include it
  for (std::size_t id = 0; id < schedule.size(); ++id) {
    const Task& task = schedule.tasks()[id];
    const std::size_t at = task.chunk_index * microbatches + index(task.microbatch);
    const Duration length = step.tasks[id].length();
    if (task.pass == Pass::forward) costs.forward_by_microbatch[at] = length;
    if (task.pass == Pass::input_grad) costs.input_grad_by_microbatch[at] = length;
    if (task.pass == Pass::weight_grad) costs.weight_grad_by_microbatch[at] = length;
    if (task.pass == Pass::backward) {
      costs.input_grad_by_microbatch[at] = length - length / 2;
      costs.weight_grad_by_microbatch[at] = length / 2;
    }
  }
  return scenario;
}

TaskGraph measured_graph(const MeasuredRun& run) {
  return lower(run.schedule, uniform_scenario(run.schedule.shape(), Duration{1}, Duration{1}), "the run");
}

CostModel cost_model(const MeasuredRun& run, std::size_t first, std::size_t last) {
  return cost_model_of(run, measured_graph(run), first, last);
}

Scenario scenario_of(const CostModel& model, bool by_microbatch) {
  Scenario scenario = uniform_scenario(model.shape, Duration{0}, Duration{0});
  scenario.source = "measured";
  scenario.pair = model.pair;
  scenario.network.model = model.transfer;
  Costs& costs = scenario.costs;
  for (std::size_t chunk = 0; chunk < model.chunks.size(); ++chunk) {
    const ChunkStatistics& found = model.chunks[chunk];
    const bool split = found.input_grad.runs > 0;
    costs.forward[chunk] = found.forward.mean;
    const auto [input, weight] = halves_of(found.backward.mean, found.input_grad.mean, found.weight_grad.mean, split);
    costs.input_grad[chunk] = input;
    costs.weight_grad[chunk] = weight;
    for (std::size_t microbatch = 0; by_microbatch && microbatch < model.shape.microbatches; ++microbatch) {
      const auto at = [microbatch](const std::vector<Duration>& list) {
        return list.empty() ? Duration{0} : list[microbatch];
      };
      const Halves own = halves_of(at(found.backward_by_microbatch), at(found.input_grad_by_microbatch),
                                   at(found.weight_grad_by_microbatch), split);
      costs.forward_by_microbatch.push_back(at(found.forward_by_microbatch));
      costs.input_grad_by_microbatch.push_back(own.input);
      costs.weight_grad_by_microbatch.push_back(own.weight);
    }
  }
  for (std::size_t boundary = 0; boundary < model.transfers.size(); ++boundary)
    scenario.network.latency[boundary] = model.transfers[boundary].mean;
  if (model.optimizer.runs > 0)
    scenario.update.optimizer.assign(
        model.shape.chunks(),
        Duration{divide_rounded(model.optimizer.mean.count(), static_cast<std::int64_t>(model.shape.vpp))});
  return scenario;
}

HeldOut hold_out(const MeasuredRun& run, double share) {
  const std::size_t steps = run.steps.size();
  if (steps < 2)
    throw Error{ExitCode::bad_input,
                Problem{"the run", "it has only one step, so none is left to predict", "record at least two"}};
  const double part = share > 0 ? std::min(share, 1.0) : 0.0; // NaN becomes 0
  const auto wanted = static_cast<std::size_t>(part * static_cast<double>(steps));
  HeldOut result;
  result.calibrated = std::clamp<std::size_t>(wanted, 1, steps - 1);
  const TaskGraph graph = measured_graph(run);
  const CostModel model = cost_model_of(run, graph, 0, result.calibrated);
  result.transfer = model.transfer;
  const Scenario scenario = scenario_of(model);
  const Duration predicted = time_of_tasks(simulate(lower(run.schedule, scenario, "run")));
  for (std::size_t step = result.calibrated; step < steps; ++step) {
    const Timeline& timeline = run.steps[step];
    const auto measured = static_cast<double>(std::max(time_of_tasks(timeline), Duration{1}).count());
    result.errors.push_back(static_cast<double>(predicted.count()) / measured - 1);
    result.mean_error += std::abs(result.errors.back());
    result.own_error += std::abs(error_of(run.schedule, with_own_times(scenario, run.schedule, timeline), timeline));
    Scenario of_step = scenario_of(Calibration{run, graph, step, step + 1}.make());
    of_step.network = scenario.network; // only compute drifts
    result.step_mean_error += std::abs(error_of(run.schedule, std::move(of_step), timeline));
    result.after_tasks += static_cast<double>((end_of(timeline) - SimTime{}).count()) / measured - 1;
  }
  for (double* sum : {&result.mean_error, &result.own_error, &result.step_mean_error, &result.after_tasks})
    *sum /= static_cast<double>(result.errors.size());
  return result;
}

} // namespace ppsim
