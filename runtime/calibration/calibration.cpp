#include "ppsim/runtime/calibration.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/percentile.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/measured/link_fit.hpp"
#include "ppsim/schedule/generators.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace ppsim::runtime {
namespace {

/// Durations of one chunk's tasks.
struct ChunkSamples {
  std::array<std::vector<Duration>, 4> by_pass;
  std::vector<Duration>& of(Pass pass) { return by_pass[static_cast<std::size_t>(pass)]; }
};

/// From the start of the last stage to start to the end of the first one to end.
Span all_at_work(const Schedule& schedule, const Timeline& step) {
  Span span{SimTime::min(), SimTime::max()};
  for (const StageId stage : schedule.stage_ids()) {
    const IdRange<TaskId> ids = schedule.task_ids(stage);
    if (ids.empty()) continue;
    span.start = std::max(span.start, step.tasks[index(ids.front())].start);
    span.end = std::min(span.end, step.tasks[index(ids.back())].end);
  }
  return span;
}

std::vector<ChunkSamples> samples_of(const MeasuredRun& run, bool only_at_work) {
  const Schedule& schedule = run.schedule;
  std::vector<ChunkSamples> samples(schedule.shape().chunks());
  for (const Timeline& step : run.steps) {
    const Span at_work = only_at_work ? all_at_work(schedule, step) : Span{SimTime::min(), SimTime::max()};
    for (std::size_t id = 0; id < schedule.size(); ++id) {
      const Task& task = schedule.tasks()[id];
      const Span& span = step.tasks[id];
      if (span.start >= at_work.start && span.end <= at_work.end)
        samples[index(task.chunk())].of(task.pass).push_back(span.length());
    }
  }
  return samples;
}

/// Gaps between two tasks of a stage, if the second waited only for the first.
Spread overhead_of(const MeasuredRun& run, const TaskGraph& graph) {
  std::vector<Duration> gaps;
  for (Timeline step : run.steps) {
    attribute(graph, step);
    for (std::size_t id = 1; id < run.schedule.size(); ++id)
      if (step.cause[id] == Cause::order && step.released_by[id] == make_id<TaskId>(id - 1))
        gaps.push_back(std::max(step.tasks[id].start - step.tasks[id - 1].end, Duration{0}));
  }
  return spread_of(std::move(gaps));
}

std::vector<Spread> optimizer_of(const MeasuredRun& run) {
  std::vector<Spread> spreads;
  for (std::size_t stage = 0; stage < run.schedule.shape().stages; ++stage) {
    std::vector<Duration> lengths;
    for (const Timeline& step : run.steps)
      if (!step.optimizer.empty()) lengths.push_back(step.optimizer[stage].span.length());
    spreads.push_back(spread_of(std::move(lengths)));
  }
  return spreads;
}

Spread scaled(const Spread& spread, std::int64_t part, std::int64_t whole) {
  const auto scale = [&](Duration time) {
    return whole == 0 ? Duration{0} : Duration{scale_rounded(time.count(), part, whole)};
  };
  return {scale(spread.median), scale(spread.p5), scale(spread.p95), spread.runs};
}

/// Times of one stage at a time. Its backward is whole and is split in the proportion of the busy run.
std::vector<ChunkTimes> alone_times(const MeasuredRun& run, const std::vector<ChunkTimes>& busy) {
  std::vector<ChunkSamples> samples = samples_of(run, false);
  std::vector<ChunkTimes> times;
  for (std::size_t chunk = 0; chunk < samples.size(); ++chunk) {
    const std::int64_t input = busy[chunk].input_grad.median.count();
    const std::int64_t whole = input + busy[chunk].weight_grad.median.count();
    const Spread backward = spread_of(std::move(samples[chunk].of(Pass::backward)));
    times.push_back({spread_of(std::move(samples[chunk].of(Pass::forward))), scaled(backward, input, whole),
                     scaled(backward, whole - input, whole)});
  }
  return times;
}

std::vector<TransferFit> fit_edges(const std::vector<TransferSample>& samples) {
  std::map<std::pair<StageId, StageId>, std::vector<TransferSample>> edges;
  for (const TransferSample& sample : samples) edges[{sample.from, sample.to}].push_back(sample);
  std::vector<TransferFit> fits;
  fits.reserve(edges.size());
  for (const auto& [edge, of_edge] : edges) fits.push_back(fit_transfers(of_edge));
  return fits;
}

/// One microbatch at a time forward over the chunks of `placement` and back.
Schedule one_at_a_time(const Shape& shape, const std::vector<StageId>& placement) {
  ScheduleBuilder builder{"sequential", shape};
  for (std::size_t stage = 0; stage < shape.stages; ++stage) {
    for (std::size_t microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
      for (std::size_t chunk = 0; chunk < shape.chunks(); ++chunk)
        if (index(placement[chunk]) == stage) builder.add(Pass::forward, chunk, microbatch);
      for (std::size_t chunk = shape.chunks(); chunk-- > 0;)
        if (index(placement[chunk]) == stage) builder.add(Pass::backward, chunk, microbatch);
    }
    builder.end_stage();
  }
  return builder.build();
}

/// A run of this order before its costs are known; the assumed ones decide slots and issue order, not results.
struct Trial {
  TaskGraph graph;
  std::optional<MeasuredRun> run;
};
Trial try_order(Backend& backend, const Schedule& schedule, const RunOptions& options) {
  using std::chrono::milliseconds;
  TaskGraph graph = lower(schedule, uniform_scenario(schedule.shape(), milliseconds{1}, milliseconds{2}));
  const Program program = compile(graph, simulate(graph));
  std::optional<MeasuredRun> run = backend.run(program, options);
  return {std::move(graph), std::move(run)};
}

} // namespace

Spread spread_of(std::vector<Duration> values) {
  const std::size_t runs = values.size();
  return {percentile(values, 50), percentile(values, 5), percentile(std::move(values), 95), runs};
}

TransferFit fit_transfers(std::span<const TransferSample> samples) {
  PPSIM_ASSERT(!samples.empty());
  std::vector<LinkSample> points;
  points.reserve(samples.size());
  for (const TransferSample& sample : samples) points.push_back({sample.bytes, sample.time});
  const LinkFit fit = fit_link(points);
  return {.from = samples.front().from,
          .to = samples.front().to,
          .latency = fit.latency,
          .bandwidth = fit.bandwidth,
          .samples = {samples.begin(), samples.end()},
          .largest_residual = fit.largest_residual};
}

Schedule split_backwards(const Schedule& schedule) {
  ScheduleBuilder builder{schedule.name(), schedule.shape()};
  for (const StageId stage : schedule.stage_ids()) {
    for (const Task& task : schedule.stage(stage)) {
      const bool whole = task.pass == Pass::backward;
      builder.add(whole ? Pass::input_grad : task.pass, index(task.chunk()), index(task.microbatch));
      if (whole) builder.add(Pass::weight_grad, index(task.chunk()), index(task.microbatch));
    }
    builder.end_stage();
  }
  return builder.build();
}

std::vector<ChunkTimes> chunk_times(const MeasuredRun& run) {
  std::vector<ChunkSamples> at_work = samples_of(run, true);
  std::vector<ChunkSamples> all = samples_of(run, false);
  std::vector<ChunkTimes> times;
  for (std::size_t chunk = 0; chunk < all.size(); ++chunk) {
    const auto spread = [&](Pass pass) {
      std::vector<Duration>& some = at_work[chunk].of(pass);
      return spread_of(std::move(some.empty() ? all[chunk].of(pass) : some));
    };
    times.push_back({spread(Pass::forward), spread(Pass::input_grad), spread(Pass::weight_grad)});
  }
  return times;
}

std::optional<Calibration> calibrate(Backend& backend, const Schedule& schedule, const RunOptions& options) {
  PPSIM_ASSERT(!schedule.asynchronous());
  RunOptions run = options;
  run.compute = Compute::real;
  run.prove = false;
  const Trial busy = try_order(backend, split_backwards(schedule), run);
  const std::vector<StageId> placement = placement_of(schedule);
  const Shape& shape = schedule.shape();
  const Trial alone =
      try_order(backend, one_at_a_time({.stages = shape.stages, .microbatches = 4, .vpp = shape.vpp}, placement), run);
  const std::vector<TransferSample> transfers =
      shape.stages > 1 ? backend.time_transfers(shape.stages, run) : std::vector<TransferSample>{};
  if (!busy.run || !alone.run) return std::nullopt;
  Calibration calibration{.shape = shape,
                          .workload = options.workload,
                          .facts = busy.run->facts,
                          .sizes = backend.sizes(options.workload),
                          .placement = placement,
                          .busy = chunk_times(*busy.run),
                          .alone = {},
                          .optimizer = optimizer_of(*busy.run),
                          .overhead = overhead_of(*busy.run, busy.graph),
                          .edges = fit_edges(transfers),
                          .core_share = core_share(*busy.run),
                          .contended = is_contended(*busy.run) || is_contended(*alone.run)};
  calibration.alone = alone_times(*alone.run, calibration.busy);
  return calibration;
}

} // namespace ppsim::runtime
