// Tasks per second from an order to its report. The reference ("speed of light") is a bare recurrence for 1F1B: a
// cursor per stage and index arithmetic for dependencies, without causes or other orders.
//
//   build/release/bench/ppsim_bench                       all of it
//   build/release/bench/ppsim_bench --benchmark_filter=64/1024

#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/step_timer.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/plan/plan.hpp"
#include "ppsim/report/report.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/synthesize.hpp"
#include "ppsim/study/vary.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "../tests/support/kineto.hpp"
#include "cli/options/commands.hpp"
#include "traces/imports/kineto/kineto.hpp"
#include <benchmark/benchmark.h>

namespace {

using namespace ppsim;

constexpr std::int64_t forward_ns = 1'000'000;
constexpr std::int64_t backward_ns = 2'000'000;

/// 1F1B on p stages and m microbatches by the bare recurrence. Ends are by stage and microbatch; -1: not yet known.
struct BareRecurrence {
  struct Cursor {
    std::size_t forwards = 0, backwards = 0;
    std::int64_t now = 0;
  };
  std::size_t p, m;
  std::vector<std::int64_t>& forward_end;
  std::vector<std::int64_t>& backward_end;

  [[nodiscard]] std::int64_t ready(std::size_t s, std::size_t k, bool forward) const {
    if (forward) return s == 0 ? 0 : forward_end[(s - 1) * m + k];
    return s + 1 == p ? forward_end[s * m + k] : backward_end[(s + 1) * m + k];
  }

  /// Runs stage s until it has to wait; returns the number of tasks it ran.
  std::size_t advance(std::size_t s, Cursor& at) const {
    const std::size_t warmup = std::min(m, p - 1 - s);
    std::size_t ran = 0;
    for (; at.backwards < m; ++ran) {
      const bool forward = at.forwards < m && at.forwards <= warmup + at.backwards;
      const std::size_t k = forward ? at.forwards : at.backwards;
      const std::int64_t start = ready(s, k, forward);
      if (start < 0) break;
      at.now = std::max(at.now, start) + (forward ? forward_ns : backward_ns);
      (forward ? forward_end : backward_end)[s * m + k] = at.now;
      ++(forward ? at.forwards : at.backwards);
    }
    return ran;
  }

  /// The makespan.
  [[nodiscard]] std::int64_t run() const {
    std::vector<Cursor> stages(p);
    for (std::size_t left = 2 * p * m; left > 0;)
      for (std::size_t s = 0; s < p; ++s) left -= advance(s, stages[s]);
    return stages[0].now;
  }
};

std::int64_t bare_recurrence(const Shape& shape, std::vector<std::int64_t>& forward_end,
                             std::vector<std::int64_t>& backward_end) {
  return BareRecurrence{shape.stages, shape.microbatches, forward_end, backward_end}.run();
}

Shape shape_of(const benchmark::State& state) {
  return {static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)),
          static_cast<std::size_t>(state.range(2))};
}

std::string schedule_of(const Shape& shape) {
  return shape.vpp > 1 ? "interleaved" : "1f1b";
}
Schedule order(const Shape& shape) {
  return make_schedule(find_generator(schedule_of(shape)), {.shape = shape});
}
Scenario scenario(const Shape& shape, TransferModel model = TransferModel::latency, std::int64_t comm_ns = 0) {
  Scenario made = uniform_scenario(shape, Duration{forward_ns}, Duration{backward_ns}, Duration{comm_ns});
  made.network.model = model;
  return made;
}

/// Processor time since construction, in seconds: less affected by other load than wall time.
class Stopwatch {
public:
  [[nodiscard]] double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

private:
  std::clock_t start_ = std::clock();
};

/// Seconds per task of the recurrence at each p and m: measured once, before the figure compared with it.
double light_seconds_per_task(const Shape& shape) {
  static std::map<std::pair<std::size_t, std::size_t>, double> measured;
  double& seconds = measured[{shape.stages, shape.microbatches}];
  if (seconds > 0) return seconds;
  const std::size_t cells = shape.stages * shape.microbatches;
  std::vector<std::int64_t> forward_end(cells);
  std::vector<std::int64_t> backward_end(cells);
  const std::size_t rounds = std::max<std::size_t>(3, 4'000'000 / cells);
  const Stopwatch stopwatch;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::ranges::fill(forward_end, -1);
    std::ranges::fill(backward_end, -1);
    benchmark::DoNotOptimize(bare_recurrence(shape, forward_end, backward_end));
  }
  return seconds = stopwatch.seconds() / (2.0 * static_cast<double>(cells * rounds));
}

/// Reports tasks per second, and the time of a task relative to the recurrence's.
void finish(benchmark::State& state, std::size_t tasks_per_round, const Stopwatch& stopwatch) {
  const double tasks = static_cast<double>(tasks_per_round) * static_cast<double>(state.iterations());
  const double seconds = stopwatch.seconds();
  state.counters["Mtasks/s"] = tasks / seconds / 1e6;
  state.counters["x_light"] = seconds / (tasks * light_seconds_per_task(shape_of(state)));
}

void speed_of_light(benchmark::State& state) {
  const Shape shape = shape_of(state);
  std::vector<std::int64_t> forward_end(shape.stages * shape.microbatches);
  std::vector<std::int64_t> backward_end(forward_end.size());
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) {
    std::ranges::fill(forward_end, -1);
    std::ranges::fill(backward_end, -1);
    const std::int64_t end = bare_recurrence(shape, forward_end, backward_end);
    if (end != static_cast<std::int64_t>(shape.microbatches + shape.stages - 1) * (forward_ns + backward_ns))
      state.SkipWithError("wrong makespan");
  }
  finish(state, 2 * shape.stages * shape.microbatches, stopwatch);
}

void generate(benchmark::State& state) {
  const Shape shape = shape_of(state);
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(order(shape));
  finish(state, 2 * shape.chunks() * shape.microbatches, stopwatch);
}

void generate_by_name(benchmark::State& state, const Generator& generator) {
  const ScheduleRequest request{.shape = shape_of(state)};
  const std::size_t tasks = make_schedule(generator, request).size();
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(make_schedule(generator, request));
  finish(state, tasks, stopwatch);
}

void report_by_name(benchmark::State& state, const Generator& generator) {
  const Shape shape = shape_of(state);
  const Schedule schedule = make_schedule(generator, {.shape = shape});
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) {
    const TaskGraph graph = lower(schedule, scenario(shape));
    benchmark::DoNotOptimize(analyse(graph, simulate(graph)));
  }
  finish(state, schedule.size(), stopwatch);
}

void build_graph(benchmark::State& state) {
  const Shape shape = shape_of(state);
  const Schedule schedule = order(shape);
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(lower(schedule, scenario(shape)));
  finish(state, schedule.size(), stopwatch);
}

void simulate_graph(benchmark::State& state, TransferModel model, std::int64_t comm_ns) {
  const Shape shape = shape_of(state);
  const TaskGraph graph = lower(order(shape), scenario(shape, model, comm_ns));
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(simulate(graph));
  finish(state, graph.size(), stopwatch);
}

/// Only the engine of `streams`, with operations placed before: sends and receives count as tasks.
void simulate_operations(benchmark::State& state, Communicators communicators, std::int64_t slowdown_ppm) {
  const Shape shape = shape_of(state);
  Scenario costs = scenario(shape, TransferModel::streams, 100'000);
  costs.network.streams.slowdown_ppm = slowdown_ppm;
  const TaskGraph graph = lower(order(shape), costs);
  const CommOrder operations = operations_of(graph);
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(simulate(graph, operations, communicators));
  const double count = static_cast<double>(graph.size() + operations.size()) * static_cast<double>(state.iterations());
  state.counters["Moperations/s"] = count / stopwatch.seconds() / 1e6;
}

void sizes_of_streams(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"p", "m", "v"})
      ->Unit(benchmark::kMillisecond)
      ->Args({64, 256, 2})
      ->Args({8, 1024, 1})
      ->Args({8, 16384, 1});
}

void build_and_simulate(benchmark::State& state) {
  const Shape shape = shape_of(state);
  const Schedule schedule = order(shape);
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(simulate(lower(schedule, scenario(shape))));
  finish(state, schedule.size(), stopwatch);
}

void order_to_report(benchmark::State& state) {
  const Shape shape = shape_of(state);
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) {
    const TaskGraph graph = lower(order(shape), scenario(shape));
    const Timeline timeline = simulate(graph);
    benchmark::DoNotOptimize(analyse(graph, timeline));
  }
  finish(state, 2 * shape.chunks() * shape.microbatches, stopwatch);
}

/// The step of an existing order with other costs each time, as studies need it thousands of times.
void evaluate(benchmark::State& state, TransferModel model, std::int64_t comm_ns) {
  const Shape shape = shape_of(state);
  Scenario costs = scenario(shape, model, comm_ns);
  const TaskGraph graph = lower(order(shape), costs);
  const StepTimer timer{graph};
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) {
    for (Duration& forward : costs.costs.forward) forward += Duration{1};
    benchmark::DoNotOptimize(timer.makespan(graph.with_costs(costs)));
  }
  finish(state, graph.size(), stopwatch);
  state.counters["evaluations/s"] = static_cast<double>(state.iterations()) / stopwatch.seconds();
}

/// Concurrent steps whose tasks have different times.
void evaluate_lanes(benchmark::State& state) {
  const Shape shape = shape_of(state);
  const TaskGraph graph = lower(order(shape), scenario(shape, TransferModel::latency, 100'000));
  const StepTimer timer{graph};
  std::vector<Duration> alone(graph.size() * StepTimer::lanes, Duration{forward_ns});
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) {
    alone.front() += Duration{1};
    benchmark::DoNotOptimize(timer.makespans(graph, alone));
  }
  finish(state, graph.size() * StepTimer::lanes, stopwatch);
}

void read_csv(benchmark::State& state) {
  const std::string text = traces::write_schedule_csv(order(shape_of(state)));
  const Stopwatch stopwatch;
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(traces::read_schedule(text, "order.csv"));
  finish(state, 2 * shape_of(state).chunks() * shape_of(state).microbatches, stopwatch);
}

/// Every schedule that applies, on two threads, in wall time.
void compare_all(benchmark::State& state) {
  const std::vector<std::string> flags{
      "--stages", std::to_string(state.range(0)), "--mb", std::to_string(state.range(1)), "--comm", "100us"};
  const cli::Inputs inputs = cli::parse_arguments(cli::find_command("compare"), flags);
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(compare(inputs, 2));
}

/// Llama 3 70B on 512 H100, every configuration with a rule-based order, on two threads: configurations decided per
/// second, and the simulated ones.
void plan_cluster(benchmark::State& state) {
  PlanRequest request;
  request.run.model_shape = find_model("llama-3-70b");
  request.run.device_sheet = find_device("h100");
  request.gpus = 512;
  request.global_batch = 1024;
  for (const Generator* generator : generators())
    if (!generator->searches() && generator->name != "sequential")
      request.choices.schedules.emplace_back(generator->name);
  std::uint64_t decided = 0;
  std::uint64_t simulated = 0;
  for ([[maybe_unused]] const auto round : state) {
    const RankedPlan plan = find_plan(request, {.threads = 2});
    decided += plan.configurations;
    simulated += plan.simulated;
  }
  state.counters["configurations/s"] = {static_cast<double>(decided), benchmark::Counter::kIsRate};
  state.counters["simulated/s"] = {static_cast<double>(simulated), benchmark::Counter::kIsRate};
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"p", "m", "v"})
      ->Unit(benchmark::kMillisecond)
      ->Args({8, 64, 1})
      ->Args({64, 1024, 1})
      ->Args({512, 16384, 1});
}

void sizes_with_chunks(benchmark::internal::Benchmark* benchmark) {
  sizes(benchmark);
  benchmark->Args({16, 1024, 8});
}

/// A plot of 100 points, from the command line to the intervals: ten schedules, three of which search.
void vary_all(benchmark::State& state) {
  const std::vector<std::string> flags{
      "--stages",    std::to_string(state.range(0)),
      "--mb",        std::to_string(state.range(1)),
      "--vary",      "comm=0..2ms",
      "--schedules", "gpipe,1f1b,interleaved,zb-h1,zb-h2,zb-v,dualpipe-v,v-half,v-min,hanayo"};
  const cli::Inputs inputs = cli::parse_arguments(cli::find_command("compare"), flags);
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(vary(inputs, {.threads = 2}));
}

/// An order and its bound, with memory for 1.5 p activations and transfers of half a forward. `gap_%` is the quality:
/// faster but worse is no progress.
void synthesize_order(benchmark::State& state, const char* placement) {
  const std::vector<std::string> flags{"--stages",
                                       std::to_string(state.range(0)),
                                       "--mb",
                                       std::to_string(state.range(1)),
                                       "--forward",
                                       "1ms",
                                       "--input-grad",
                                       "1ms",
                                       "--weight-grad",
                                       "700us",
                                       "--comm",
                                       "500us",
                                       "--activation-limit",
                                       std::to_string(state.range(0) * 3 / 2)};
  const cli::Inputs inputs = cli::parse_arguments(cli::find_command("synthesize"), flags);
  const SynthesisRequest request{.placements = {find_chunk_placement(placement).value()},
                                 .effort = static_cast<std::uint64_t>(state.range(2))};
  double gap = 0;
  for ([[maybe_unused]] const auto round : state) gap = synthesize(inputs, request).orders.front().gap();
  state.counters["gap_%"] = 100 * gap;
}

/// A profile of about `size` bytes, mostly irrelevant events as in real ones: per kernel five processor operations, a
/// launch and two arrows.
std::string profile(std::size_t size) {
  constexpr int kernels = 200;
  constexpr int operations = 5;
  constexpr int microbatches = 32;
  test::KinetoFile file;
  int id = 0;
  for (int task = 0; file.size() < size; ++task) {
    const double at = 1500.0 * task;
    const std::string name =
        fmt::format("PP:0{}{}", task % 2 == 0 ? 'F' : 'B', task / 2 % microbatches); // a step ends where they repeat
    ++id;
    file.annotation(name, at, 1000, id).gpu_annotation(name, at + 500, 1000, id);
    for (int kernel = 0; kernel < kernels; ++kernel) {
      const std::string start = fmt::format("{:.3f}", at + kernel);
      for (int operation = 0; operation < operations; ++operation)
        file.event("cpu_op", "aten::linear", start, "3.250",
                   R"("External id": 77, "Record function id": 0, "Ev Idx": 77, "Input Dims": [[4096, 1, 5120], )"
                   R"([13824, 5120], []], "Input type": ["c10::BFloat16", "c10::BFloat16", ""])");
      file.launch(at + kernel, ++id);
      file.kernel("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", at + 500 + 4 * kernel, 3.5, id);
      for (const char* end : {"s", "f"})
        file.raw(fmt::format("\n  {{\n    \"ph\": \"{}\", \"id\": {}, \"pid\": 1, \"tid\": 2, \"ts\": {},\n    "
                             "\"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }},",
                             end, id, start));
    }
  }
  return file.text();
}

/// One core; bytes per second.
void read_kineto(benchmark::State& state) {
  const std::string text = profile(static_cast<std::size_t>(state.range(0)) << 20U);
  const std::vector<traces::ImportFile> files{{"rank0.json", text}};
  for ([[maybe_unused]] const auto round : state) benchmark::DoNotOptimize(traces::read_kineto(files, {}));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

/// Every named schedule at one size.
void register_schedules() {
  for (const Generator* generator : generators()) {
    const auto add = [&](const std::string& what, auto measure) {
      benchmark::RegisterBenchmark((what + "/" + std::string{generator->name}).c_str(), measure, *generator)
          ->ArgNames({"p", "m", "v"})
          ->Unit(benchmark::kMillisecond)
          ->Args({64, 1024, static_cast<std::int64_t>(generator->vpp.standard)});
    };
    add("generate", generate_by_name);
    add("report", report_by_name);
  }
}

} // namespace

BENCHMARK(speed_of_light)->Apply(sizes);
BENCHMARK(generate)->Apply(sizes_with_chunks);
BENCHMARK(build_graph)->Apply(sizes_with_chunks);
BENCHMARK_CAPTURE(simulate_graph, latency, TransferModel::latency, 0)->Apply(sizes_with_chunks);
BENCHMARK_CAPTURE(simulate_graph, latency_comm, TransferModel::latency, 100'000)->Apply(sizes);
BENCHMARK_CAPTURE(simulate_graph, link, TransferModel::link, 100'000)->Apply(sizes);
BENCHMARK_CAPTURE(simulate_graph, blocking, TransferModel::blocking, 100'000)->Apply(sizes);
BENCHMARK_CAPTURE(simulate_operations, edge, Communicators::edge, unchanged_ppm)->Apply(sizes_of_streams);
BENCHMARK_CAPTURE(simulate_operations, edge_slowed, Communicators::edge, 2 * unchanged_ppm)->Apply(sizes_of_streams);
BENCHMARK(build_and_simulate)->Apply(sizes_with_chunks);
BENCHMARK(order_to_report)->Apply(sizes_with_chunks);
BENCHMARK_CAPTURE(evaluate, latency, TransferModel::latency, 100'000)->Apply(sizes_with_chunks);
BENCHMARK_CAPTURE(evaluate, link, TransferModel::link, 100'000)->ArgNames({"p", "m", "v"})->Args({8, 64, 1});
BENCHMARK_CAPTURE(evaluate, streams, TransferModel::streams, 100'000)->ArgNames({"p", "m", "v"})->Args({8, 64, 1});
BENCHMARK(evaluate_lanes)->Apply(sizes_with_chunks);
BENCHMARK(read_csv)->ArgNames({"p", "m", "v"})->Unit(benchmark::kMillisecond)->Args({64, 1024, 1});
BENCHMARK(read_kineto)->Name("kineto reading")->ArgName("MiB")->Unit(benchmark::kMillisecond)->Arg(32)->Arg(320);
BENCHMARK(vary_all)->Name("vary")->ArgNames({"p", "m"})->Unit(benchmark::kMillisecond)->UseRealTime()->Args({8, 64});
BENCHMARK(plan_cluster)->Name("plan")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(synthesize_order, linear, "linear")
    ->ArgNames({"p", "m", "effort"})
    ->Unit(benchmark::kMillisecond)
    ->Args({8, 64, 1})
    ->Args({32, 256, 0});
BENCHMARK_CAPTURE(synthesize_order, v, "v")
    ->ArgNames({"p", "m", "effort"})
    ->Unit(benchmark::kMillisecond)
    ->Args({8, 32, 0})
    ->Args({8, 32, 1});
BENCHMARK(compare_all)
    ->Name("compare")
    ->ArgNames({"p", "m"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Args({8, 64})
    ->Args({64, 1024});

int main(int argc, char** argv) {
  register_schedules();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
