// The unmodified plugin ppsim_gpu on an emulated GPU: CUDA, cublasLt and NCCL on the processor, with work of different
// streams in random order. It cannot show whether a real GPU and the real libraries follow their documentation; see
// docs/gpu-checks.md.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/session.hpp"
#include "ppsim/schedule/generators.hpp"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "runtime/backends/gpu_plugin.hpp"
#include "runtime/compiled.hpp"

namespace ppsim::runtime::emulated_gpu_test {

using Catch::Matchers::Contains;
using test::compiled;

namespace {

Schedule schedule_of(std::string_view name, std::size_t stages, std::size_t microbatches, std::size_t vpp = 1) {
  return make_schedule(find_generator(name), {.shape = {.stages = stages, .microbatches = microbatches, .vpp = vpp}});
}

RunOptions small_run() {
  RunOptions options;
  options.workload = {.block = Block::mlp, .tokens = 16, .width = 16, .layers = 1};
  options.warmup = 1;
  options.steps = 2;
  options.timeout = std::chrono::seconds{30};
  return options;
}

Backend& cuda() {
  return load_backend("cuda");
}

/// Sets a variable of the environment while it exists.
class Setting {
public:
  Setting(const char* name, const char* value) : name_{name} { setenv(name, value, 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { unsetenv(name_); }

private:
  const char* name_;
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    std::string text;
    for (const Problem& problem : error.problems()) text += problem.where + ": " + problem.what + " | ";
    return text;
  }
  return "no error";
}

/// Checks that tasks of each stage do not overlap, and that no input is used before it was sent.
void check_order(const Program& program, const MeasuredRun& run) {
  CHECK_NOTHROW(ppsim::check_run(run, "the run"));
  for (const Timeline& step : run.steps)
    for (const StageProgram& stage : program.stages)
      for (std::size_t i = 0; i < stage.tasks.size(); ++i) {
        const Span& span = step.tasks[index(stage.tasks[i].id)];
        CHECK(span.start <= span.end);
        if (i > 0) CHECK(step.tasks[index(stage.tasks[i - 1].id)].end <= span.start);
        if (!stage.tasks[i].input) continue;
        const Transfer& transfer = program.transfer(*stage.tasks[i].input);
        CHECK(step.tasks[index(transfer.producer)].end <= span.start);
      }
}

/// The most stash memory of a stage, with its tasks one after another.
Bytes most_stashed(const StageProgram& stage, const ChunkSizes& sizes) {
  Bytes now{};
  Bytes most{};
  for (const ProgramTask& task : stage.tasks) {
    if (task.allocates) most = std::max(most, now += sizes.stash());
    if (task.frees_for_input) now -= sizes.stash_for_input;
    if (task.frees_for_weight) now -= sizes.stash_for_weight;
  }
  return most;
}

void check_memory(const Program& program, const MeasuredRun& run, const ChunkSizes& sizes) {
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage)
    CHECK(run.stages[stage].peak_bytes - run.stages[stage].static_bytes == most_stashed(program.stages[stage], sizes));
}

} // namespace

TEST_CASE("On one GPU every schedule computes what one task at a time does", "[gpu]") {
  const auto [name, vpp] = GENERATE(table<std::string, std::size_t>(
      {{"gpipe", 1}, {"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"zb-v", 2}, {"dualpipe", 1}, {"chimera", 1}}));
  CAPTURE(name);
  const Program program = compiled(schedule_of(name, 4, 8, vpp));
  const std::optional<MeasuredRun> run = cuda().run(program, small_run());
  REQUIRE(run);
  REQUIRE(run->proof);
  INFO("gradients differ by " << run->proof->gradient_error << ", losses by " << run->proof->loss_error);
  CHECK(run->proof->holds());
  CHECK(run->proof->bit_equal == run->proof->same_order);
  CHECK(run->proof->losses.back() < run->proof->losses.front());
  check_order(program, *run);
  check_memory(program, *run, cuda().sizes(small_run().workload));
}

TEST_CASE("All transports of one GPU move the same content", "[gpu]") {
  const std::string transport = GENERATE("direct", "paced", "nccl-self");
  CAPTURE(transport);
  RunOptions options = small_run();
  options.transport = transport;
  const Program program = compiled(schedule_of("1f1b", 4, 6));
  const std::optional<MeasuredRun> run = cuda().run(program, options);
  CHECK(run->proof->bit_equal);
  check_order(program, *run);
}

TEST_CASE("An emulated link lasts as the scenario says", "[gpu]") {
  RunOptions options = small_run();
  options.transport = "paced";
  constexpr Duration time = std::chrono::milliseconds{2};
  const Program program = compiled(schedule_of("1f1b", 2, 2), {}, time);
  const std::optional<MeasuredRun> run = cuda().run(program, options);
  for (const Timeline& step : run->steps)
    for (const Channel& channel : program.channels)
      for (const Transfer& transfer : channel.transfers)
        CHECK(step.transfers[index(transfer.producer)].length() >= time);
}

TEST_CASE("A timed task on a GPU lasts as the scenario says", "[gpu]") {
  RunOptions options = small_run();
  options.compute = Compute::timed;
  constexpr Duration forward = std::chrono::milliseconds{1};
  const Schedule schedule = schedule_of("1f1b", 2, 2);
  const Program program = compiled(schedule, uniform_scenario(schedule.shape(), forward, 2 * forward));
  const std::optional<MeasuredRun> run = cuda().run(program, options);
  CHECK(run->facts.timed);
  for (const Timeline& step : run->steps)
    for (const StageProgram& stage : program.stages)
      for (const ProgramTask& task : stage.tasks) CHECK(step.tasks[index(task.id)].length() >= task.length);
}

TEST_CASE("A limit without progress applies to single tasks on a GPU too, although a step is enqueued as a whole",
          "[gpu]") {
  RunOptions options = small_run();
  options.compute = Compute::timed;
  options.warmup = 0;
  options.steps = 1;
  options.prove = false;
  options.timeout = std::chrono::milliseconds{400};
  constexpr Duration forward = std::chrono::milliseconds{50};
  const Schedule schedule = schedule_of("1f1b", 2, 4);
  const Program program = compiled(schedule, uniform_scenario(schedule.shape(), forward, 2 * forward));
  const std::optional<MeasuredRun> run = cuda().run(program, options);
  CHECK(run->steps.front().tasks.back().end > SimTime{options.timeout}); // the whole step is longer than the limit
}

TEST_CASE("Training on a GPU equals that on the processor, except for rounding", "[gpu]") {
  const Block block = GENERATE(Block::mlp, Block::transformer);
  const OptimizerKind optimizer = GENERATE(OptimizerKind::sgd, OptimizerKind::adam);
  CAPTURE(to_string(block), to_string(optimizer));
  RunOptions options = small_run();
  options.workload.block = block;
  options.workload.heads = 2;
  options.workload.layers = 2;
  options.workload.optimizer = optimizer;
  options.workload.learning_rate = optimizer == OptimizerKind::adam ? 0.01 : 0.05;
  options.workload.depth = 64; // halves the initial parameters
  options.warmup = 0;
  options.steps = 4;
  const Program program = compiled(schedule_of("1f1b", 2, 4));
  const std::optional<MeasuredRun> run = cuda().run(program, options);
  CHECK(run->proof->bit_equal);
  const TrainingResult host = train_one_at_a_time(program, *make_host_device(options.workload), options.steps);
  REQUIRE(run->proof->losses.size() == host.losses.size());
  for (std::size_t step = 0; step < host.losses.size(); ++step)
    CHECK(run->proof->losses[step] == Approx(host.losses[step]).epsilon(0.01));
}

TEST_CASE("Each gradient on a GPU equals the processor's, except for rounding", "[gpu]") {
  const Block block = GENERATE(Block::mlp, Block::transformer);
  Workload workload = small_run().workload;
  workload.block = block;
  workload.heads = 2;
  workload.layers = 2;
  const Program program = compiled(schedule_of("gpipe", 1, 2));
  const std::unique_ptr<Device> gpu = gpu_plugin().make_device(workload);
  const TrainingResult mine = train_one_at_a_time(program, *gpu, 1);
  const TrainingResult host = train_one_at_a_time(program, *make_host_device(workload), 1);
  const Proof proof = compare_results(program, mine, host, 0.02);
  INFO("gradients differ by " << proof.gradient_error);
  CHECK(proof.gradient_error < 0.02); // bf16 has 8 bits: half a unit is 0.002, and some accumulate
}

TEST_CASE("If events of the primary context do not work with green streams, kernels write the stamps", "[gpu]") {
  const Setting strict{"PPSIM_EMULATION_STRICT_EVENTS", "1"};
  const Program program = compiled(schedule_of("1f1b", 2, 4));
  const std::optional<MeasuredRun> run = cuda().run(program, small_run());
  CHECK(run->proof->bit_equal);
  CHECK_THAT(run->facts.machine, Contains("stamps by %globaltimer"));
  check_order(program, *run);
  RunOptions self = small_run();
  self.transport = "nccl-self"; // NCCL's own events are of the primary context
  CHECK_THAT(error_of([&] { static_cast<void>(cuda().run(program, self)); }), Contains("NCCL records its events"));
}

TEST_CASE("If too few multiprocessors remain for a partition, transfers share those of the stages", "[gpu]") {
  const Setting small{"PPSIM_EMULATION_NO_SMALL_PARTS", "1"};
  const Program program = compiled(schedule_of("1f1b", 2, 4));
  const std::optional<MeasuredRun> run = cuda().run(program, small_run());
  CHECK(run->proof->bit_equal);
  CHECK_THAT(run->facts.machine, Contains("none left for transfers"));
}

TEST_CASE("If a driver makes no green contexts, stages share the GPU on request", "[gpu]") {
  const std::string transport = GENERATE("direct", "paced", "nccl-self");
  CAPTURE(transport);
  const Setting none{"PPSIM_EMULATION_NO_GREEN_CONTEXTS", "1"};
  RunOptions options = small_run();
  options.transport = transport;
  const Program program = compiled(schedule_of("1f1b", 4, 6));
  CHECK_THAT(error_of([&] { static_cast<void>(cuda().run(program, options)); }),
             Contains("driver().green_create(") && Contains("set PPSIM_GREEN_CONTEXTS=0"));
  const Setting shared{"PPSIM_GREEN_CONTEXTS", "0"};
  const std::optional<MeasuredRun> run = cuda().run(program, options);
  CHECK(run->proof->bit_equal);
  check_order(program, *run);
  CHECK_THAT(run->facts.machine, Contains("no partitions (PPSIM_GREEN_CONTEXTS is 0): 4 stages share"));
}

TEST_CASE("If cublasLt has no mask without reductions, an algorithm without split sums is found among all", "[gpu]") {
  const Setting deaf{"PPSIM_EMULATION_NO_MASK_NONE", "1"};
  CHECK(cuda().run(compiled(schedule_of("1f1b", 2, 4)), small_run())->proof->bit_equal);
}

TEST_CASE("Faults on a GPU are reported with rank and task", "[gpu]") {
  const auto [fault, text] = GENERATE(table<std::string, std::string>({
      {"fail@1F2", "rank 1, task 1F2: failed on purpose"},
      {"no-memory@1F0", "rank 1, task 1F0"},
      {"lose@0F2", "rank 1, task 1F2, input 0F2 from rank 0: transfer 2 from stage 0 to stage 1 was never sent"},
      {"resize@0F1", "transfer 1 from stage 0 to stage 1 has 256 bytes, 512 were expected"},
  }));
  CAPTURE(fault);
  RunOptions options = small_run();
  options.fault = parse_fault(fault);
  REQUIRE(options.fault);
  const Program program = compiled(schedule_of("1f1b", 2, 4));
  CHECK_THAT(error_of([&] { static_cast<void>(cuda().run(program, options)); }), Contains(text));
  options.fault.reset(); // nothing of the failed run is left
  CHECK(cuda().run(program, options)->proof->bit_equal);
}

TEST_CASE("A GPU that is too small is reported", "[gpu]") {
  const Program program = compiled(schedule_of("1f1b", 2, 4));
  {
    const Setting memory{"PPSIM_EMULATION_MEMORY", "1000000"};
    CHECK_THAT(error_of([&] { static_cast<void>(cuda().run(program, small_run())); }), Contains("no memory"));
  }
  const Program wide = compiled(schedule_of("1f1b", 8, 8));
  CHECK_THAT(error_of([&] { static_cast<void>(cuda().run(wide, small_run())); }),
             Contains("36 multiprocessors cannot be split among 8 stages"));
}

TEST_CASE("The proof uses the memory that the stages have freed", "[gpu]") {
  // Memory for three chunks: the proof needs two, after the stages have freed them.
  RunOptions options = small_run();
  options.workload.width = 128;
  options.workload.optimizer = OptimizerKind::adam;
  options.steps = 1;
  const ChunkSizes sizes = cuda().sizes(options.workload);
  const std::int64_t chunk = (sizes.parameter_bytes + sizes.gradient_bytes + sizes.optimizer_bytes).count();
  const std::string limit = std::to_string(2 * sizes.scratch.count() + 3 * chunk);
  const Setting memory{"PPSIM_EMULATION_MEMORY", limit.c_str()};
  CHECK(cuda().run(compiled(schedule_of("1f1b", 2, 2)), options)->proof->bit_equal);
}

TEST_CASE("No step makes a memory pool grow", "[gpu]") {
  // Gradients of a replica, local outputs, versions of parameters: more than the first tasks need.
  const auto [name, vpp] = GENERATE(
      table<std::string, std::size_t>({{"1f1b", 1}, {"zb-v", 2}, {"dualpipe", 1}, {"chimera", 1}, {"pipedream", 1}}));
  CAPTURE(name);
  const Program program = compiled(schedule_of(name, 4, 8, vpp));
  const RunOptions options = small_run();
  const std::unique_ptr<GpuPipeline> pipeline =
      gpu_plugin().make_pipeline(program, {.workload = options.workload, .stopped = nullptr});
  std::vector<StageId> ids;
  for (std::size_t stage = 0; stage < 4; ++stage) ids.push_back(make_id<StageId>(stage));
  Monitor monitor{program, ids, std::chrono::seconds{30}, std::chrono::seconds{20}, end_process};
  std::vector<std::unique_ptr<PipelineStage>> stages;
  for (const StageId id : ids)
    stages.push_back(
        std::make_unique<PipelineStage>(program, id, pipeline->device(id), pipeline->transport(id), monitor));
  const Setting full{"PPSIM_EMULATION_FULL_POOLS", "1"}; // ends the process if a pool grows
  CHECK(train_together(stages, program, options).size() == 4);
}

TEST_CASE("The clock error of a GPU is that of the worst step", "[gpu]") {
  const Program program = compiled(schedule_of("1f1b", 2, 2));
  const std::unique_ptr<GpuPipeline> pipeline =
      gpu_plugin().make_pipeline(program, {.workload = small_run().workload, .stopped = nullptr});
  const auto microseconds = [&] {
    const std::string text = pipeline->describe();
    return std::stol(text.substr(text.rfind("within ") + 7));
  };
  {
    const Setting slow{"PPSIM_EMULATION_SLOW_HOST", "1"}; // a synchronisation takes 1 ms
    pipeline->device(StageId{0}).begin_step();
  }
  CHECK(microseconds() >= 500);
  pipeline->device(StageId{0}).begin_step();
  CHECK(microseconds() >= 500);
}

TEST_CASE("A machine without a driver is reported", "[gpu]") {
  const Setting none{"PPSIM_EMULATION_NO_DRIVER", "1"};
  const Usability usability = cuda().usability();
  CHECK_FALSE(usability.usable);
  CHECK(usability.why == "no NVIDIA driver is installed");
  CHECK_THAT(usability.remedy, Contains("install its driver"));
}

TEST_CASE("Transfers on one GPU are timed for each neighbour and size", "[gpu]") {
  RunOptions options;
  options.transport = GENERATE("direct", "nccl-self");
  const std::vector<TransferSample> samples = cuda().time_transfers(2, options);
  CHECK(samples.size() == 2 * 8);
  for (const TransferSample& sample : samples) CHECK(sample.time > Duration{0});
}

namespace {

/// A barrier of threads with a way to give up.
class StoppableBarrier {
public:
  explicit StoppableBarrier(std::size_t count) : count_{count} {}
  void meet(const std::function<bool()>& stopped) {
    std::unique_lock lock{mutex_};
    const std::size_t round = round_;
    if (++here_ == count_) {
      here_ = 0;
      ++round_;
      all_.notify_all();
      return;
    }
    while (!all_.wait_for(lock, std::chrono::milliseconds{5}, [&] { return round_ != round; }))
      if (stopped()) throw std::runtime_error{"stopped while waiting for the others"};
  }

private:
  std::size_t count_, here_ = 0, round_ = 0;
  std::mutex mutex_;
  std::condition_variable all_;
};

struct RankResults {
  std::vector<StageResult> stages;
  std::vector<std::string> errors; ///< by stage
};

/// A run of NCCL ranks, each on a thread.
RankResults train_ranks(const Program& program, const RunOptions& options) {
  const GpuPlugin& plugin = gpu_plugin();
  std::vector<NcclId> ids(plugin.communicators(program));
  for (NcclId& id : ids) id = plugin.make_id();
  const std::size_t count = program.stages.size();
  RankResults results{std::vector<StageResult>(count), std::vector<std::string>(count)};
  StoppableBarrier meeting{count};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const StageId stage = make_id<StageId>(i);
      Monitor monitor{program, {stage}, options.timeout, std::chrono::seconds{20}, end_process};
      const auto stopped = [&] { return monitor.stopped(); };
      try {
        const std::unique_ptr<RankParts> rank = plugin.make_rank(program, {.workload = options.workload,
                                                                           .stage = stage,
                                                                           .local_rank = i,
                                                                           .ids = ids,
                                                                           .stopped = stopped,
                                                                           .barrier = [&] { meeting.meet(stopped); }});
        PipelineStage pipeline{program, stage, rank->device(), rank->transport(), monitor, {.fault = options.fault}};
        results.stages[i] = train(pipeline, program, options);
      } catch (const Error& error) {
        results.errors[i] = error.problems().front().where + ": " + error.problems().front().what;
      }
      monitor.note(stage, Doing::nothing);
    });
  threads.clear();
  return results;
}

} // namespace

namespace {

void check_ranks(P2p p2p, const std::string& name, std::size_t vpp) {
  CAPTURE(to_string(p2p), name);
  const Program program = compiled(schedule_of(name, 4, 8, vpp), {.p2p = p2p});
  RunOptions options = small_run();
  options.steps = 1;
  const RankResults results = train_ranks(program, options);
  for (const std::string& error : results.errors) CHECK(error.empty());
  const Proof proof =
      prove(program, options, results.stages, *gpu_plugin().make_device(options.workload), gpu_tolerance);
  INFO("gradients differ by " << proof.gradient_error << ", losses by " << proof.loss_error);
  CHECK(proof.holds());
  CHECK(proof.bit_equal == proof.same_order);
}

} // namespace

TEST_CASE("NCCL ranks compute what one task at a time does, a communicator per directed edge", "[gpu]") {
  check_ranks(P2p::edge, "gpipe", 1);
  check_ranks(P2p::edge, "1f1b", 1);
  check_ranks(P2p::edge, "interleaved", 2);
  check_ranks(P2p::edge, "zb-h1", 1);
  check_ranks(P2p::edge, "zb-v", 2);
  check_ranks(P2p::edge, "dualpipe", 1);
}

TEST_CASE("NCCL ranks compute what one task at a time does, a communicator per pair", "[gpu]") {
  check_ranks(P2p::pair, "gpipe", 1);
  check_ranks(P2p::pair, "1f1b", 1);
  check_ranks(P2p::pair, "interleaved", 2);
  check_ranks(P2p::pair, "zb-h1", 1);
}

TEST_CASE("NCCL ranks compute what one task at a time does, in batches of one communicator", "[gpu]") {
  check_ranks(P2p::batched, "gpipe", 1);
  check_ranks(P2p::batched, "1f1b", 1);
  check_ranks(P2p::batched, "zb-h1", 1);
}

TEST_CASE("NCCL ranks end if a transfer never comes, and each names the waiting task and its peer", "[gpu]") {
  RunOptions options = small_run();
  options.timeout = std::chrono::seconds{2};
  // For 1B0, rank 0's next send waits for tasks that wait for the missing transfer on another communicator.
  const auto [fault, first, second] = GENERATE(
      table<std::string, std::string, std::string>({{"lose@0F2",
                                                     "rank 0, task 0B2, input 1B2 from rank 1: no progress for 2 s: "
                                                     "stage 0 waits for the gradient of 1B2 from stage 1",
                                                     "rank 1, task 1F2, input 0F2 from rank 0: no progress for 2 s: "
                                                     "stage 1 waits for the activation of 0F2 from stage "
                                                     "0"},
                                                    {"lose@1B0",
                                                     "rank 0, task 0B0, input 1B0 from rank 1: no progress for 2 s: "
                                                     "stage 0 waits for the gradient of 1B0 from stage 1",
                                                     "rank 1, task 1F2, input 0F2 from rank 0: no progress for 2 s: "
                                                     "stage 1 waits for the activation of 0F2 from stage "
                                                     "0"}}));
  CAPTURE(fault);
  options.fault = parse_fault(fault);
  const RankResults results = train_ranks(compiled(schedule_of("1f1b", 2, 4)), options);
  CHECK(results.errors[0] == first);
  CHECK(results.errors[1] == second);
  options.fault.reset(); // nothing of the failed run is left
  for (const std::string& error : train_ranks(compiled(schedule_of("1f1b", 2, 4)), options).errors)
    CHECK(error.empty());
}

TEST_CASE("NCCL refuses to send what the receiver does not expect", "[gpu]") {
  RunOptions options = small_run();
  options.timeout = std::chrono::seconds{2};
  options.fault = parse_fault("resize@0F1");
  const RankResults results = train_ranks(compiled(schedule_of("1f1b", 2, 4)), options);
  CHECK_THAT(results.errors[0], Contains("0F1") && Contains("256 bytes, 512 are expected"));
}

} // namespace ppsim::runtime::emulated_gpu_test
