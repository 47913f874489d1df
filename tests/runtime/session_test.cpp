// Session: records of stages put together as a MeasuredRun, and what every backend refuses.

#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/session.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <thread>

#include "runtime/compiled.hpp"
#include <sys/wait.h>
#include <unistd.h>

namespace ppsim::test::session_test {

namespace {

using namespace runtime;
using namespace std::chrono_literals;

/// Two stages, one microbatch: 0F0, 0B0 (tasks 0 and 1), 1F0, 1B0 (2 and 3).
Program two_stages() {
  return compiled(order({"0F0 0B0", "1F0 1B0"}));
}

ChannelId channel_to(const Program& program, std::size_t stage) {
  return program.stages[stage].in.front();
}

/// F of 10 ns, a transfer of 5, B of 20, from `begin` on; stage 1's clock is ahead by `ahead`.
std::vector<StageResult> records_from(const Program& program, std::int64_t begin, std::int64_t ahead = 0) {
  std::vector<StageResult> results(2);
  results[0].stage = StageId{0};
  results[1].stage = StageId{1};
  results[0].losses = {0};
  results[1].losses = {3};
  StageRecord& first = results[0].steps.emplace_back();
  StageRecord& second = results[1].steps.emplace_back();
  first.tasks = {{begin, begin + 10}, {begin + 50, begin + 70}};
  first.arrivals = {{{channel_to(program, 0), 0}, 0, begin + 50}};
  first.optimizer = {begin + 80, begin + 90};
  first.busy = 30ns;
  first.cpu = 20ns;
  first.static_bytes = Bytes{100};
  first.peak_bytes = Bytes{150};
  first.buffer_bytes = Bytes{7};
  begin += ahead;
  second.tasks = {{begin + 15, begin + 25}, {begin + 25, begin + 45}};
  second.arrivals = {{{channel_to(program, 1), 0}, begin + 11, begin + 15}};
  second.optimizer = {begin + 80, begin + 85};
  second.busy = 30ns;
  return results;
}

RunOptions one_step() {
  RunOptions options;
  options.warmup = 0;
  options.steps = 1;
  return options;
}

class NoBackend final : public Backend {
public:
  std::string_view name() const override { return "none"; }
  std::vector<std::string_view> transports() const override { return {"direct", "paced"}; }
  Usability usability() override { return {}; }
  std::optional<MeasuredRun> run(const Program& /*program*/, const RunOptions& /*options*/) override { return {}; }
  std::vector<TransferSample> time_transfers(std::size_t /*stages*/, const RunOptions& /*options*/) override {
    return {};
  }
  ChunkSizes sizes(const Workload& /*workload*/) override { return {}; }
};

std::vector<std::string> refused(const RunOptions& options) {
  const NoBackend backend;
  const Program program = two_stages();
  return refusal_of([&] { check_options(backend, program, options); }).lines;
}

} // namespace

TEST_CASE("A step starts at zero with the first task of all stages", "[runtime][session]") {
  const Program program = two_stages();
  const MeasuredRun run = assemble(program, one_step(), records_from(program, 1'000'000));
  REQUIRE(run.steps.size() == 1);
  const Timeline& step = run.steps[0];
  CHECK(step.tasks == std::vector<Span>{between(0, 10), between(50, 70), between(15, 25), between(25, 45)});
  REQUIRE(step.optimizer.size() == 2);
  CHECK(step.optimizer[0].span == between(80, 90));
  CHECK(step.optimizer[1].span == between(80, 85));
  CHECK_FALSE(run.clock_error);
  CHECK_FALSE(run.unaligned);
  CHECK_NOTHROW(ppsim::check_run(run, "the run"));
}

TEST_CASE("A transfer begins when its transport says so, otherwise at its sender's end", "[runtime][session]") {
  const Program program = two_stages();
  const MeasuredRun run = assemble(program, one_step(), records_from(program, 500));
  CHECK(run.steps[0].transfers == std::vector<Span>{between(11, 15), Span{}, Span{}, between(45, 50)});
}

TEST_CASE("Offsets convert the stages' clocks to the leader's, linearly between two moments", "[runtime][session]") {
  const Program program = two_stages();
  std::vector<StageResult> results = records_from(program, 1'000'000, 300);
  results[1].clock = {.at_begin = 0, .begin = 200, .at_end = 2'000'000, .end = 400, .error = 4};
  const MeasuredRun run = assemble(program, one_step(), results);
  CHECK(run.steps[0].tasks[2] == between(15, 25));
  CHECK(run.steps[0].transfers[0] == between(11, 15));
  CHECK(run.clock_error == 8ns);
  CHECK_FALSE(run.unaligned);
  CHECK_NOTHROW(ppsim::check_run(run, "the run"));
}

TEST_CASE("A run in which a transfer ends before it was sent is unaligned, unless the clocks' error explains it",
          "[runtime][session]") {
  const Program program = two_stages();
  std::vector<StageResult> results = records_from(program, 1'000'000, -7); // it arrives at 8, was sent at 10
  CHECK(assemble(program, one_step(), results).unaligned);
  results[1].clock.error = 2;
  CHECK_FALSE(assemble(program, one_step(), results).unaligned);
}

TEST_CASE("Memory is the maximum over all steps, busy and processor time are sums", "[runtime][session]") {
  const Program program = two_stages();
  std::vector<StageResult> results = records_from(program, 0);
  for (StageResult& result : results) result.steps.push_back(result.steps.front());
  results[0].steps[1].peak_bytes = Bytes{160};
  RunOptions options = one_step();
  options.steps = 2;
  const MeasuredRun run = assemble(program, options, results);
  CHECK(run.steps.size() == 2);
  CHECK(run.stages[0] ==
        MeasuredStage{
            .static_bytes = Bytes{100}, .peak_bytes = Bytes{160}, .buffer_bytes = Bytes{7}, .busy = 60ns, .cpu = 40ns});
  CHECK_FALSE(run.stages[1].cpu);
}

TEST_CASE("Timed runs have no optimizer if the scenario has none", "[runtime][session]") {
  Program program = two_stages();
  RunOptions options = one_step();
  options.compute = Compute::timed;
  CHECK(assemble(program, options, records_from(program, 0)).steps[0].optimizer.empty());
  program.stages[0].optimizer = 10ns;
  CHECK(assemble(program, options, records_from(program, 0)).steps[0].optimizer.size() == 2);
}

TEST_CASE("Losses of a step are the mean over all microbatches, whichever stage they end on", "[runtime][session]") {
  const Program program = compiled(generate("chimera", {.stages = 2, .microbatches = 2}));
  std::vector<StageResult> results(2);
  results[0] = {.stage = StageId{0}, .steps = {}, .clock = {}, .losses = {1.0, 3.0}, .gradients = {}};
  results[1] = {.stage = StageId{1}, .steps = {}, .clock = {}, .losses = {5.0, 4.0}, .gradients = {}};
  CHECK(training_result(program, results).losses == std::vector<double>{3.0, 3.5});
}

TEST_CASE("Both replicas of a chunk are proved", "[runtime][session]") {
  const Program program = compiled(generate("chimera", {.stages = 2, .microbatches = 2}));
  const RunOptions options{.workload = {.tokens = 4, .width = 8}, .warmup = 0, .steps = 1};
  const std::unique_ptr<Device> device = make_host_device(options.workload);
  const TrainingResult right = train_one_at_a_time(program, *device, 1);
  std::vector<StageResult> results(2);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    results[stage].stage = make_id<StageId>(stage);
    results[stage].losses = {stage == 0 ? 2 * right.losses[0] : 0}; // a sum over two microbatches
    for (std::size_t chunk = 0; chunk < 2; ++chunk)
      results[stage].gradients.emplace_back(make_id<ChunkId>(chunk), right.gradients[chunk]);
  }
  CHECK(prove(program, options, results, *device, 1e-6).holds());
  for (std::size_t stage = 0; stage < 2; ++stage) { // whichever is looked at first
    std::vector<StageResult> wrong = results;
    wrong[stage].gradients[1].second[3] += 1.0F;
    CHECK_FALSE(prove(program, options, wrong, *device, 1e-6).holds());
  }
}

TEST_CASE("Options that no backend supports are refused together", "[runtime][session]") {
  CHECK(refused(one_step()).empty());
  RunOptions options = one_step();
  options.steps = 0;
  options.transport = "packed";
  options.fault = Fault{FaultKind::fail, cell("5F0")};
  CHECK(refused(options) ==
        std::vector<std::string>{
            "--steps: 0 steps: nothing would be measured -- give at least 1",
            "--transport: backend none has no transport 'packed' -- did you mean 'paced'? take direct or paced",
            "--inject: the schedule has no task 5F0 -- name one of its tasks, such as 0F1",
            "--inject: it happens in the second step, but there is only one -- run more steps"});
  options = one_step();
  options.steps = 2;
  options.fault = Fault{FaultKind::lose, cell("1F0")};
  CHECK(refused(options) ==
        std::vector<std::string>{"--inject: 1F0 sends nothing to another stage -- name a task that does"});
  options.fault = Fault{FaultKind::no_memory, cell("1B0")};
  CHECK(refused(options) ==
        std::vector<std::string>{"--inject: 1B0 allocates no stash -- name a forward, such as 0F1"});
  options.fault = Fault{FaultKind::resize, cell("1B0")};
  CHECK(refused(options).empty());
}

TEST_CASE("Without a time limit, a run may make no progress for ten steps and 10 s", "[runtime][session]") {
  const Program program = two_stages();
  CHECK(progress_limit(program, {}) == 10s + 10 * program.predicted_step);
  CHECK(progress_limit(program, {.workload = {}, .timeout = 3s}) == 3s);
}

TEST_CASE("A task that never returns ends the process, with the reason on stderr", "[runtime][session]") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const Program program = two_stages();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    Monitor monitor{program, {StageId{0}}, 20ms, 20ms, end_process};
    monitor.note(StageId{0}, Doing::computing, 1);
    std::this_thread::sleep_for(60s);
    std::_Exit(0);
  }
  close(ends[1]);
  std::string said(1000, ' ');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(read(ends[0], said.data(), said.size()), 0)));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(said == "ppsim: error: no progress for 20 ms: stage 0 computes 0B0; 20 ms later: stage 0 computes 0B0\n");
}

} // namespace ppsim::test::session_test
