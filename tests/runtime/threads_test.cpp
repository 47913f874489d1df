// Backend threads: real training under every kind of schedule, held against one task at a time; failures; timing.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/session.hpp"
#include "ppsim/schedule/generators.hpp"
#include "support/few_threads.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "runtime/compiled.hpp"

namespace ppsim::test::threads_test {

namespace {

using namespace runtime;
using namespace std::chrono_literals;

Backend& threads() {
  return load_backend("threads");
}

constexpr Workload tiny{.tokens = 8, .width = 8};

/// A scenario with the sizes that the workload has.
Scenario sized(const Shape& shape, Duration forward, Duration backward, const Workload& workload = tiny) {
  Scenario scenario = uniform_scenario(shape, forward, backward);
  scenario.pair.kind = PairRule::Kind::serial;
  const ChunkSizes sizes = threads().sizes(workload);
  scenario.memory.activation.assign(shape.chunks(), sizes.stash());
  scenario.memory.activation_for_weight.assign(shape.chunks(), sizes.stash_for_weight);
  scenario.memory.parameters.assign(shape.chunks(), sizes.parameter_bytes);
  scenario.memory.gradients.assign(shape.chunks(), sizes.gradient_bytes);
  scenario.memory.optimizer.assign(shape.chunks(), sizes.optimizer_bytes);
  return scenario;
}

Outcome predict(std::string_view name, const Scenario& scenario, std::optional<bool> descending = std::nullopt) {
  const Generator& generator = find_generator(name);
  return run(make_schedule(generator, {.shape = scenario.shape, .descending_backward = descending}, scenario),
             scenario);
}

Shape shape_of(std::string_view name, std::size_t stages, std::size_t microbatches) {
  return {.stages = stages, .microbatches = microbatches, .vpp = find_generator(name).vpp.standard};
}

MeasuredRun replay(const Outcome& predicted, const RunOptions& options) {
  std::optional<MeasuredRun> run = threads().run(compile(predicted.graph, predicted.timeline), options);
  REQUIRE(run);
  CHECK_NOTHROW(ppsim::check_run(*run, "the run")); // a run that took place can have
  return *std::move(run);
}

RunOptions options_for(std::size_t warmup, std::size_t steps) {
  RunOptions options;
  options.workload = tiny;
  options.warmup = warmup;
  options.steps = steps;
  return options;
}

MeasuredRun replay(std::string_view name, std::size_t stages, std::size_t microbatches,
                   std::optional<bool> descending = std::nullopt) {
  const Scenario scenario = sized(shape_of(name, stages, microbatches), 10us, 20us);
  return replay(predict(name, scenario, descending), options_for(1, 1));
}

/// Runs 1f1b with this fault; returns the error and the time until it.
Refusal refusal_with(Fault fault, Duration timeout, Duration* took = nullptr) {
  const Scenario scenario = sized({.stages = 3, .microbatches = 4}, 10us, 20us);
  const Outcome predicted = predict("1f1b", scenario);
  const Program program = compile(predicted.graph, predicted.timeline);
  RunOptions options = options_for(1, 2);
  options.timeout = timeout;
  options.fault = fault;
  const auto start = std::chrono::steady_clock::now();
  Refusal refusal = refusal_of([&] { static_cast<void>(threads().run(program, options)); });
  if (took != nullptr) *took = std::chrono::steady_clock::now() - start;
  return refusal;
}

} // namespace

TEST_CASE("Gradients and losses equal those of one task at a time bit by bit if sums keep their order",
          "[runtime][threads]") {
  for (const std::string_view name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"}) {
    INFO(name);
    const MeasuredRun run = replay(name, 4, 8, name == "gpipe" ? std::optional{false} : std::nullopt);
    REQUIRE(run.proof);
    CHECK(run.proof->same_order);
    CHECK(run.proof->bit_equal);
    CHECK(run.proof->loss_error == 0);
    CHECK(run.proof->holds());
    CHECK(run.proof->losses.size() == 2);
    CHECK(run.proof->losses[1] < run.proof->losses[0]);
  }
}

TEST_CASE("Gradients and losses equal those of one task at a time within a tolerance if sums have another order",
          "[runtime][threads]") {
  for (const std::string_view name : {"gpipe", "looped-bfs", "dualpipe", "chimera"}) {
    INFO(name);
    const MeasuredRun run = replay(name, 4, 8, name == "gpipe" ? std::optional{true} : std::nullopt);
    REQUIRE(run.proof);
    CHECK_FALSE(run.proof->same_order);
    CHECK(run.proof->holds());
    CHECK(run.proof->gradient_error < 1e-4);
    CHECK(std::isfinite(run.proof->losses[1]));
  }
}

TEST_CASE("A run ends if the system starts too few threads, and the error says why and what to do",
          "[runtime][threads]") {
  const Scenario scenario = sized({.stages = 3, .microbatches = 4}, 10us, 20us);
  const Outcome predicted = predict("1f1b", scenario);
  const Program program = compile(predicted.graph, predicted.timeline);
  const auto refused = [&] {
    const Refusal refusal = refusal_of([&] { static_cast<void>(threads().run(program, options_for(1, 1))); });
    return (refusal.code == ExitCode::failed ? "failed: " : "not failed: ") + refusal.first();
  };
  const std::string why =
      ": the system cannot start its thread: Resource temporarily unavailable -- every stage needs a thread, and the "
      "run one more: raise the limit of processes (ulimit -u, or of the container), or use fewer stages";
  for (const auto& [started, whose] :
       {std::pair{0U, "the run's monitor"}, std::pair{1U, "rank 0"}, std::pair{3U, "rank 2"}})
    if (const auto said = output_with_threads(started, refused))
      CHECK(*said == std::string{"failed: "} + whose + why);
    else
      WARN("threads cannot be limited here");
}

TEST_CASE("PipeDream follows its definition: each microbatch uses the parameters that it began with",
          "[runtime][threads]") {
  const MeasuredRun run = replay("pipedream", 4, 8);
  REQUIRE(run.proof);
  CHECK(run.proof->holds());
  CHECK(run.proof->losses[1] < run.proof->losses[0]);
}

TEST_CASE("The loss falls over 20 steps, equally for every schedule", "[runtime][threads]") {
  std::map<std::size_t, std::vector<double>> curves; // by the number of chunks: equal models
  for (const Generator* generator : generators()) {
    const Scenario scenario = sized(shape_of(generator->name, 2, 4), 10us, 20us);
    const Outcome predicted = predict(generator->name, scenario);
    if (predicted.graph.schedule().asynchronous()) continue; // other weights, so another curve
    INFO(generator->name);
    const MeasuredRun run = replay(predicted, options_for(2, 18));
    REQUIRE(run.proof);
    CHECK(run.proof->holds());
    const std::vector<double>& losses = run.proof->losses;
    REQUIRE(losses.size() == 20);
    CHECK(losses.back() < 0.9 * losses.front());
    const std::vector<double>& curve = curves.try_emplace(scenario.shape.chunks(), losses).first->second;
    for (std::size_t step = 0; step < 20; ++step) CHECK(losses[step] == Approx(curve[step]).epsilon(1e-4));
  }
  CHECK(curves.size() >= 2);
}

TEST_CASE("Measured peak memory equals the prediction, for every schedule", "[runtime][threads]") {
  for (const Generator* generator : generators()) {
    INFO(generator->name);
    const Scenario scenario = sized(shape_of(generator->name, 4, 8), 10us, 20us);
    const Outcome predicted = predict(generator->name, scenario);
    RunOptions options = options_for(0, 1);
    options.prove = false;
    const MeasuredRun run = replay(predicted, options);
    for (std::size_t stage = 0; stage < 4; ++stage) {
      CHECK(run.stages[stage].static_bytes == predicted.report.stages[stage].static_bytes);
      CHECK(run.stages[stage].peak_bytes == predicted.report.stages[stage].peak_bytes());
    }
  }
}

TEST_CASE("A measured timeline keeps the order of every stage and of every transfer", "[runtime][threads]") {
  const Scenario scenario = sized(shape_of("interleaved", 2, 4), 10us, 20us);
  const Outcome predicted = predict("interleaved", scenario);
  const MeasuredRun run = replay(predicted, options_for(1, 2));
  REQUIRE(run.steps.size() == 2);
  CHECK(run.facts.backend == "threads");
  CHECK(run.facts.transport == "buffers are handed over");
  CHECK_FALSE(run.unaligned);
  for (const Timeline& step : run.steps) {
    CHECK(std::ranges::min(step.tasks, {}, &Span::start).start == SimTime{});
    for (std::size_t stage = 0; stage < 2; ++stage)
      for (std::size_t id = index(predicted.graph.schedule().first_task(make_id<StageId>(stage))) + 1;
           id < index(predicted.graph.schedule().first_task(make_id<StageId>(stage + 1))); ++id)
        CHECK(step.tasks[id - 1].end <= step.tasks[id].start);
    for (std::size_t id = 0; id < step.tasks.size(); ++id)
      if (const auto receiver = predicted.graph.receiver(make_id<TaskId>(id))) {
        CHECK(step.tasks[id].end <= step.transfers[id].start);
        CHECK(step.transfers[id].end <= step.tasks[index(*receiver)].start);
      }
    CHECK(step.optimizer.size() == 2);
  }
}

TEST_CASE("A task that fails ends the run with rank and task", "[runtime][threads][fault]") {
  const Refusal refusal = refusal_with({FaultKind::fail, cell("1F3")}, 5s);
  CHECK(refusal.code == ExitCode::failed);
  CHECK(refusal.first() == "rank 1, task 1F3: failed on purpose (--inject) -- ");
}

TEST_CASE("A stash that cannot be allocated ends the run with rank, task and bytes", "[runtime][threads][fault]") {
  const std::string bytes = std::to_string(threads().sizes(tiny).stash().count());
  CHECK(refusal_with({FaultKind::no_memory, cell("2F1")}, 5s).first() ==
        "rank 2, task 2F1: no memory for its stash (" + bytes +
            " bytes) -- use a smaller workload, or a schedule with fewer live activations");
}

TEST_CASE("A tensor of the wrong size ends the run with both sizes, rank, task and peer", "[runtime][threads][fault]") {
  const std::int64_t bytes = threads().sizes(tiny).boundary.count();
  CHECK(refusal_with({FaultKind::resize, cell("0F2")}, 5s).first() ==
        "rank 1, task 1F2, input 0F2 from rank 0: " + std::to_string(bytes / 2) + " bytes arrived, expected " +
            std::to_string(bytes) + " -- check that both ranks run the same workload");
}

TEST_CASE("A tensor that is never sent ends the run in time, with who waits for whom", "[runtime][threads][fault]") {
  Duration took{};
  const Refusal refusal = refusal_with({FaultKind::lose, cell("1B2")}, 300ms, &took);
  INFO(refusal.first());
  CHECK(refusal.code == ExitCode::failed);
  CHECK(refusal.first().find("no progress for 300 ms: stage 0 waits for the gradient of 1B2 from stage 1") !=
        std::string::npos);
  CHECK(took >= 300ms);
  CHECK(took < 3s);
}

TEST_CASE("A task that does not end ends the run in time, with its name", "[runtime][threads][fault]") {
  Duration took{};
  const Refusal refusal = refusal_with({FaultKind::stall, cell("0B1")}, 300ms, &took);
  INFO(refusal.first());
  CHECK(refusal.code == ExitCode::failed);
  CHECK(refusal.first().find("0B1") != std::string::npos);
  CHECK(took < 3s);
}

TEST_CASE("Options that threads do not support are refused", "[runtime][threads]") {
  const Scenario scenario = sized({.stages = 2, .microbatches = 2}, 10us, 20us);
  const Outcome predicted = predict("1f1b", scenario);
  Program program = compile(predicted.graph, predicted.timeline);
  program.p2p = P2p::pair;
  program.transfer_model = TransferModel::blocking;
  RunOptions options = options_for(1, 1);
  options.transport = "paced";
  CHECK(refusal_of([&] { static_cast<void>(threads().run(program, options)); }).lines.size() == 2);
}

TEST_CASE("A timed run takes the predicted time, within 25 %", "[runtime][threads][timed]") {
  Scenario scenario = sized({.stages = 4, .microbatches = 8}, 4ms, 8ms);
  scenario.network.latency.assign(3, 1ms);
  scenario.update.optimizer.assign(4, 2ms);
  const Outcome predicted = predict("1f1b", scenario);
  const double expected = static_cast<double>(end_of(predicted.timeline).time_since_epoch().count());
  RunOptions options = options_for(1, 2);
  options.compute = Compute::timed;
  options.transport = "paced";
  double best = 10;
  // Other programs may hold up a whole run, and tests run beside others.
  for (int attempt = 0; attempt < 10 && best > 1.25; ++attempt) {
    const MeasuredRun run = replay(predicted, options);
    CHECK(run.facts.timed);
    for (const Timeline& step : run.steps) {
      const double ratio = static_cast<double>(end_of(step).time_since_epoch().count()) / expected;
      CHECK(ratio > 0.99); // nothing makes it shorter
      best = std::min(best, ratio);
    }
  }
  CHECK(best < 1.25);
}

TEST_CASE("Randomly drawn times are used in each step, and the step takes as long as they predict",
          "[runtime][threads][timed]") {
  const Outcome outcome = predict("1f1b", sized({.stages = 2, .microbatches = 2}, 1ms, 2ms));
  Program program = compile(outcome.graph, outcome.timeline, {.timed = true});
  RunOptions options = options_for(1, 3);
  options.compute = Compute::timed;
  for (std::size_t step = 0; step < 4; ++step) // by turns short and long: a step too early or late would be seen
    program.drawn.emplace_back(outcome.graph.size(), step % 2 == 0 ? 1ms : 6ms);
  for (std::size_t task = 0; task < outcome.graph.size(); task += 3) program.drawn[2][task] = 4ms;
  const MeasuredRun run = threads().run(program, options).value();
  REQUIRE(run.steps.size() == 3);
  for (std::size_t step = 0; step < 3; ++step) {
    TaskGraph drawn = outcome.graph.with_costs(outcome.graph.scenario());
    drawn.set_times(program.drawn[step + 1]);
    CHECK(end_of(run.steps[step]) >= end_of(simulate(drawn)) - 100us); // stamps of two threads
    for (std::size_t task = 0; task < outcome.graph.size(); ++task)
      CHECK(run.steps[step].tasks[task].length() >= program.drawn[step + 1][task]);
  }
}

TEST_CASE("A timed run without a flush also runs the scenario's optimizer at its end", "[runtime][threads][timed]") {
  Scenario scenario = sized({.stages = 2, .microbatches = 2}, 1ms, 2ms);
  scenario.update.optimizer.assign(2, 5ms);
  RunOptions options = options_for(0, 1);
  options.compute = Compute::timed;
  const MeasuredRun run = replay(predict("pipedream", scenario), options);
  REQUIRE(run.steps[0].optimizer.size() == 2);
  for (const OptimizerRun& optimizer : run.steps[0].optimizer) CHECK(optimizer.span.length() >= 5ms);
  CHECK(run.proof->holds());
}

TEST_CASE("Transfers are timed between neighbours around the ring, for sizes from 4 KiB to 16 MiB",
          "[runtime][threads]") {
  const std::vector<TransferSample> samples = threads().time_transfers(3, {});
  CHECK(samples.size() == std::size_t{6} * 7);
  for (const TransferSample& sample : samples) {
    CHECK(sample.from != sample.to);
    CHECK(sample.time > 0ns);
  }
  CHECK(samples.front().bytes == Bytes{4096});
  CHECK(samples.back().bytes == Bytes{std::int64_t{16} << 20});
  CHECK(threads().time_transfers(1, {}).empty());
}

TEST_CASE("A backend is found by its name, and its usability is reported without an error", "[runtime]") {
  CHECK(threads().name() == "threads");
  CHECK(threads().usability().usable);
  CHECK(threads().is_leader());
  CHECK(refusal_of([] { static_cast<void>(load_backend("thread")); }).first() ==
        "--backend: there is no backend 'thread' -- did you mean 'threads'? see: ppsim list backends");
  for (const BackendEntry& entry : backends()) {
    const Usability usability = usability_of(entry);
    CHECK_FALSE(usability.why.empty());
  }
}

} // namespace ppsim::test::threads_test
