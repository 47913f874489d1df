#include "replaying.hpp"

#include "ppsim/engine/simulate.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/study/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <system_error>
#include <thread>

#include "files/scenario_file.hpp"
#include "terminal/console.hpp"
#include "terminal/progress.hpp"

namespace ppsim::cli {
namespace {

using runtime::Compute;
using runtime::Workload;

/// If tasks have prescribed durations, their computation only has to be correct and fast.
Workload tiny_workload(const Workload& given) {
  Workload workload = given;
  workload.tokens = 4;
  workload.width = 8;
  workload.heads = 2;
  workload.layers = 1;
  return workload;
}

/// Refuses options without effect on the command line; a scenario file may serve other runs.
void refuse_flags(const Inputs& inputs, std::initializer_list<std::string_view> options, std::string_view why,
                  std::string_view remedy, Problems& problems) {
  for (const std::string_view option : options)
    if (inputs.is_asked(option)) problems.add(inputs.place_of(option), std::string{why}, std::string{remedy});
}

void check_flags(const Inputs& inputs, Compute compute) {
  const std::initializer_list<std::string_view> memory{"weight-activation-bytes", "checkpoint-bytes",
                                                       "parameter-bytes",         "gradient-bytes",
                                                       "optimizer-bytes",         "release-outputs"};
  Problems problems;
  if (compute == Compute::timed) {
    refuse_flags(inputs, {"tokens", "width", "heads", "layers-per-chunk"}, "timed tasks compute almost nothing",
                 "leave it out, or use --compute real", problems);
    refuse_flags(inputs, memory, "timed tasks hold almost no memory", "leave it out", problems);
    refuse_flags(inputs, {"activation-bytes"}, "timed tasks hold almost no memory", "leave it out", problems);
    refuse_flags(inputs, {"memory-limit"}, "timed tasks hold almost no memory",
                 "leave it out; schedules that search for an order take --activation-limit", problems);
  } else {
    if (!inputs.activation_bytes)
      refuse_flags(inputs, memory, "without --activation-bytes the memory follows from the workload",
                   "leave it out, or give all sizes", problems);
    if (inputs.workload.block == runtime::Block::mlp)
      refuse_flags(inputs, {"heads"}, "mlp blocks have no heads", "leave it out, or use --block transformer", problems);
    if (inputs.model)
      problems.add(inputs.place_of("model"), "a replay runs a small model of its own, and these are costs of another",
                   "use --compute timed, or leave it out and calibrate");
  }
  problems.throw_if_any();
}

/// A task as long as the limit would end a correct run.
void check_timeout(const Inputs& inputs, const Timeline& prediction) {
  if (!inputs.timeout) return;
  Duration longest{0};
  for (const Span& task : prediction.tasks) longest = std::max(longest, task.length());
  if (*inputs.timeout > longest) return;
  throw Error{ExitCode::bad_input,
              Problem{inputs.place_of("timeout"),
                      fmt::format("{} is not longer than a task, which is predicted to take up to {}",
                                  format_duration(*inputs.timeout), format_duration(longest)),
                      "give several times that, or leave it out"}};
}

/// The sharing of communicators in the backends' terms. Throws Error for modes of simulations only.
runtime::P2p shared_by(const Inputs& inputs) {
  switch (inputs.p2p.value_or(P2p::edge)) {
  case P2p::edge:
    return runtime::P2p::edge;
  case P2p::pair:
    return runtime::P2p::pair;
  case P2p::batched:
    return runtime::P2p::batched;
  case P2p::direction:
  case P2p::group:
    break;
  }
  throw Error{ExitCode::bad_input, Problem{inputs.place_of("p2p"),
                                           "no backend runs single operations on a communicator that all stages share",
                                           "use batched, which groups them, or edge or pair"}};
}

/// Timed tasks have timed links by default if the backend supports them; otherwise a run would be faster than its
/// prediction.
bool wants_pacing(const Inputs& inputs, const runtime::Backend& backend, const runtime::Program& program) {
  const auto takes_time = [](const runtime::Channel& channel) {
    return std::ranges::any_of(channel.transfers,
                               [](const runtime::Transfer& transfer) { return transfer.time > Duration{0}; });
  };
  return !inputs.transport && inputs.compute == Compute::timed &&
         std::ranges::count(backend.transports(), "paced") > 0 &&
         program.transfer_model != TransferModel::blocking && // no emulated link blocks its sender
         std::ranges::any_of(program.channels, takes_time);
}

/// Sets parameters and, by default, the learning rate for a model of the schedule's depth.
void fit_training(const Inputs& inputs, const Schedule& schedule, Workload& workload) {
  const Shape& shape = schedule.shape();
  workload.depth = depth_of(workload, shape.chunks());
  if (inputs.where.contains("learning-rate")) return;
  const std::size_t delay = schedule.asynchronous() ? std::min(shape.stages, shape.microbatches) : 1;
  workload.learning_rate = runtime::default_learning_rate(workload.optimizer, workload.depth, delay);
}

/// The time without progress that counts as failure if task times are unknown: a pessimistic estimate, at 1 GFLOPS.
Duration generous_timeout(const Workload& workload) {
  const double layer = 2.0 * 2 * 4 * static_cast<double>(workload.width) * static_cast<double>(workload.width) +
                       4.0 * static_cast<double>(workload.tokens) * static_cast<double>(workload.width);
  const double operations = 3 * layer * static_cast<double>(workload.tokens) * static_cast<double>(workload.layers);
  constexpr double longest = 86400;
  return std::chrono::seconds{60 + static_cast<std::int64_t>(std::min(operations / 1e9, longest))};
}

/// Uses the sizes of the workload instead of the scenario's, unless those are its own.
void fit_memory(const Inputs& inputs, const runtime::RunOptions& options, runtime::Backend& backend,
                Scenario& scenario) {
  const bool timed = options.compute == Compute::timed;
  if (timed) scenario.memory.limit.reset(); // it applies to the scenario's model
  if (timed || !inputs.activation_bytes) use_sizes(backend.sizes(options.workload), scenario);
}

/// Makes the scenario that of a run: pairs as backends run them, and without features that no backend has, so that the
/// prediction is of the run. Adds notes about what was left out.
void fit_to_run(const Inputs& inputs, Scenario& scenario, std::vector<std::string>& notes) {
  if (!inputs.pair) scenario.pair = {.kind = PairRule::Kind::serial};
  const auto leave_out = [&notes](std::string_view what) {
    notes.push_back(fmt::format("no backend replays {}: the prediction leaves them out", what));
  };
  Update& update = scenario.update;
  const auto takes_time = [](Duration time) { return time > Duration{0}; };
  if (std::ranges::any_of(update.reduce, takes_time) || takes_time(update.tied_embedding_reduce))
    leave_out("reductions over data-parallel ranks and of tied embeddings");
  if (scenario.network.slices > 1) leave_out("sending in slices");
  update.reduce.clear();
  update.tied_embedding_reduce = Duration{0};
  scenario.network.slices = 1;
}

/// Starts a thread, only for progress messages, that blocks signals which end the program; none if the system starts no
/// more threads. A backend blocks SIGTERM, also in its threads, so that its guard can report the state. In a thread
/// started before, the signal would end the process silently.
std::jthread start_unsignalled(std::function<void(std::stop_token)> body) {
  sigset_t ending;
  sigset_t before;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, &before); // a thread inherits the mask of the one that starts it
  std::jthread thread;
  try {
    thread = std::jthread{std::move(body)};
  } catch (const std::system_error&) { // the run then fails for the same reason, or continues without progress
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

/// Reports the progress of a run while it runs.
class Ticker {
public:
  explicit Ticker(Duration expected)
      : expected_{static_cast<std::size_t>(std::chrono::ceil<std::chrono::seconds>(expected).count())},
        thread_{start_unsignalled([this](const std::stop_token& stop) { tick(stop); })} {}

private:
  void tick(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (!changed_.wait_for(lock, stop, std::chrono::seconds{1}, [] { return false; }) && !stop.stop_requested())
      progress_.step(expected_);
  }

  std::size_t expected_; ///< in seconds
  Progress progress_{"seconds"};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_; // last: it uses the others
};

} // namespace

runtime::Backend& backend_of(const Inputs& inputs) {
  const std::string name = inputs.backend.value_or("threads");
  if (const auto launched = runtime::launch();
      launched && launched->size.value_or(1) > 1 && !runtime::find_backend(name).processes)
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("backend"),
                        fmt::format("{} runs in one process, but {} were started", name, *launched->size),
                        "use --backend mpi, which runs a process per stage; or start ppsim without mpirun or srun"}};
  runtime::Backend& backend = runtime::load_backend(name);
  const runtime::Usability usability = backend.usability();
  if (!usability.usable)
    throw Error{ExitCode::failed,
                Problem{inputs.place_of("backend"), fmt::format("{} cannot be used here: {}", name, usability.why),
                        usability.remedy}};
  return backend;
}

runtime::RunOptions run_options(const Inputs& inputs, runtime::Backend& backend, const Schedule& schedule,
                                bool predicts) {
  runtime::RunOptions options;
  options.compute = inputs.compute.value_or(Compute::real);
  options.workload = inputs.workload;
  options.transport = inputs.transport.value_or(std::string{backend.transports().front()});
  options.warmup = inputs.warmup.value_or(options.warmup);
  options.steps = inputs.steps.value_or(options.steps);
  options.timeout = inputs.timeout.value_or(options.timeout);
  options.fault = inputs.fault;
  check_flags(inputs, options.compute);
  if (options.compute == Compute::timed)
    options.workload = tiny_workload(options.workload);
  else if (!inputs.timeout && !predicts)
    options.timeout = generous_timeout(options.workload);
  fit_training(inputs, schedule, options.workload);
  return options;
}

bool knows_costs(const Inputs& inputs) {
  return inputs.forward || inputs.backward || inputs.input_grad || inputs.weight_grad || inputs.model_shape;
}

std::size_t chunks_of_stage(const Inputs& inputs) {
  if (inputs.vpp) return inputs.vpp->front();
  return inputs.schedule ? find_generator(*inputs.schedule).vpp.standard : 1;
}

void require_same_work(const Inputs& inputs, const Settings& ran, std::string_view backend) {
  if (!inputs.scenario_file) return;
  Problems problems;
  Inputs file; // without the flags
  assign(inputs.scenario_file->keys(), file, problems);
  problems.throw_if_any();
  const auto check = [&](const std::string& key, std::string_view said, std::string_view found) {
    if (said != found)
      problems.add(file.place_of(key), fmt::format("its costs are for {}, but the run is for {}", said, found),
                   std::ranges::find(workload_sizes, key, &WorkloadSize::option) != workload_sizes.end()
                       ? "calibrate and replay the same workload, or scale the costs with 'ppsim scale'"
                       : "calibrate and replay the same workload");
  };
  for (const auto& [key, said] : runtime::settings(file.workload)) {
    const auto found = std::ranges::find(ran, key, &Settings::value_type::first);
    if (file.where.contains(key) && found != ran.end()) check(key, said, found->second);
  }
  if (file.backend && !backend.empty()) check("backend", *file.backend, backend);
  problems.throw_if_any();
}

void use_sizes(const runtime::ChunkSizes& sizes, Scenario& scenario) {
  Memory& memory = scenario.memory;
  const std::size_t chunks = scenario.shape.chunks();
  memory.activation.assign(chunks, sizes.stash());
  memory.activation_for_weight.assign(chunks, sizes.stash_for_weight);
  memory.parameters.assign(chunks, sizes.parameter_bytes);
  memory.gradients.assign(chunks, sizes.gradient_bytes);
  memory.optimizer.assign(chunks, sizes.optimizer_bytes);
  memory.release_outputs = false;
  if (scenario.recompute.is_on()) scenario.recompute.checkpoint = memory.activation; // only its time is replayed
}

namespace {

/// Draws the times of timed tasks, step by step; returns the predicted times of the timed steps. Throws Error if tasks
/// compute, or if there are too many.
std::vector<Duration> draw_program(const Inputs& inputs, const TaskGraph& graph, const runtime::RunOptions& options,
                                   runtime::Program& program) {
  if (!inputs.varies_by_chance()) return {};
  constexpr std::size_t most_drawn = std::size_t{1} << 26;
  const std::string place = inputs.place_of(inputs.measured_jitter ? "jitter-from" : "jitter");
  const std::size_t steps = options.warmup + options.steps;
  if (options.compute != Compute::timed)
    throw Error{ExitCode::bad_input, Problem{place, "it changes durations, but real tasks take as long as they take",
                                             "give --compute timed, so that tasks take the given times"}};
  if (steps > most_drawn / std::max<std::size_t>(graph.size(), 1))
    throw Error{ExitCode::bad_input,
                Problem{place, fmt::format("{} steps of {} tasks each are too many", steps, graph.size()),
                        "give fewer --steps"}};
  Jitter jitter = jitter_of(inputs, 1);
  jitter.samples = steps;
  DrawnSteps drawn = draw_samples(graph, jitter);
  program.drawn = std::move(drawn.times);
  return {drawn.steps.begin() + static_cast<std::ptrdiff_t>(options.warmup), drawn.steps.end()};
}

} // namespace

Replay prepare_replay(const Inputs& inputs) {
  // Flags override a file, but costs of one workload are not compared with a run of another. Timed tasks have no
  // workload.
  if (inputs.scenario_file && inputs.compute != Compute::timed && inputs.scenario_file->is_calibrated())
    require_same_work(inputs, runtime::settings(inputs.workload), inputs.backend.value_or(""));
  BuiltRun run = build_run(inputs);
  runtime::Backend& backend = backend_of(inputs);
  runtime::RunOptions options = run_options(inputs, backend, run.schedule, knows_costs(inputs));
  const bool timed = options.compute == Compute::timed;
  const bool predicts = timed || knows_costs(inputs);
  fit_memory(inputs, options, backend, run.scenario);
  fit_to_run(inputs, run.scenario, run.notes);
  // Backends run a pair as two tasks, and the first waits only for its own input. They refuse overlapped pairs.
  if (run.scenario.pair.kind == PairRule::Kind::serial) run.schedule = run.schedule.taken_apart();
  TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
  Timeline prediction = simulate(graph);
  if (predicts) check_timeout(inputs, prediction);
  runtime::Program program =
      runtime::compile(graph, prediction, {.p2p = shared_by(inputs), .timed = timed, .slots = inputs.slots});
  if (wants_pacing(inputs, backend, program)) options.transport = "paced";
  std::vector<Duration> drawn_steps = draw_program(inputs, graph, options, program);
  return {.backend = &backend,
          .graph = std::move(graph),
          .prediction = std::move(prediction),
          .program = std::move(program),
          .options = std::move(options),
          .predicts = predicts,
          .notes = std::move(run.notes),
          .drawn_steps = std::move(drawn_steps)};
}

TaskGraph graph_of(const Inputs& inputs, const Schedule& schedule, bool timed, std::vector<std::string>& notes) {
  Scenario scenario = make_scenario(inputs, schedule.shape(), placement_of(schedule), ends_share_stage(schedule));
  fit_update(inputs, schedule, scenario, notes);
  fit_to_run(inputs, scenario, notes);
  if (timed) use_sizes({}, scenario);
  return lower(schedule, std::move(scenario), "the run");
}

std::optional<MeasuredRun> run_replay(const Replay& replay) {
  constexpr std::chrono::seconds long_run{10};
  const auto steps = static_cast<std::int64_t>(replay.options.warmup + replay.options.steps);
  const Duration step = replay.program.predicted_step;
  const bool out_of_range = step > Duration::max() / steps;
  const Duration expected = out_of_range ? Duration::max() : steps * step;
  if (!replay.predicts || expected < long_run || !replay.backend->is_leader())
    return replay.backend->run(replay.program, replay.options);
  note("this takes {} {}: {} steps of {}; --warmup and --steps say how many", out_of_range ? "more than" : "about",
       format_duration(expected), steps, format_duration(step));
  const Ticker ticker{expected};
  return replay.backend->run(replay.program, replay.options);
}

} // namespace ppsim::cli
