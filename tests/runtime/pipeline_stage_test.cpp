// PipelineStage: the order in which a stage asks, computes, sends and frees; its memory; its errors. On a toy device.

#include "ppsim/runtime/pipeline_stage.hpp"
#include "ppsim/schedule/generators.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <exception>
#include <functional>
#include <thread>

#include "runtime/compiled.hpp"
#include "runtime/stage/thread_channels.hpp"
#include "runtime/toy_device.hpp"

namespace ppsim::test::pipeline_stage_test {

namespace {

using namespace runtime;
using namespace std::chrono_literals;

std::vector<StageId> stages_of(const Program& program) {
  std::vector<StageId> stages;
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage) stages.push_back(make_id<StageId>(stage));
  return stages;
}

/// A run on threads, each with a toy device of its own.
class ToyRun {
public:
  explicit ToyRun(const Program& program, StageOptions options = {})
      : program_{program}, options_{options}, monitor_{program, stages_of(program), 10s, 10s, [](const auto&) {}},
        channels_{program, Bytes{16}, monitor_, {}}, devices(program.stages.size()) {}

  /// Calls `work` with each stage on a thread of its own; rethrows what the first stage threw.
  void run(const std::function<void(PipelineStage&)>& work) {
    std::vector<std::exception_ptr> thrown(program_.stages.size());
    {
      std::vector<std::jthread> threads;
      for (const StageId id : stages_of(program_))
        threads.emplace_back([&, id] {
          try {
            PipelineStage stage{program_, id, devices[index(id)], channels_.transport(id), monitor_, options_};
            work(stage);
          } catch (const std::exception& error) {
            if (!monitor_.stopped()) thrown[index(id)] = std::current_exception();
            monitor_.stop(error.what());
          }
        });
    }
    for (const std::exception_ptr& each : thrown)
      if (each) std::rethrow_exception(each);
  }

private:
  const Program& program_;
  StageOptions options_;
  Monitor monitor_;
  ThreadChannels channels_;

public:
  std::vector<ToyDevice> devices;
};

/// Trains `steps` steps and returns the records of the last, by stage.
std::vector<StageRecord> train_toys(ToyRun& toys, std::size_t stages, std::size_t steps) {
  std::vector<StageRecord> records(stages);
  toys.run([&](PipelineStage& stage) {
    for (std::size_t step = 0; step < steps; ++step) stage.train_step();
    records[index(stage.rank())] = stage.record();
  });
  return records;
}

/// A scenario with the toy's sizes.
Scenario toy_scenario(const Shape& shape) {
  Scenario scenario = uniform_scenario(shape, 10us, 20us);
  scenario.pair.kind = PairRule::Kind::serial;
  scenario.memory.activation.assign(shape.chunks(), Bytes{13});
  scenario.memory.activation_for_weight.assign(shape.chunks(), Bytes{8});
  scenario.memory.parameters.assign(shape.chunks(), Bytes{100});
  scenario.memory.gradients.assign(shape.chunks(), Bytes{40});
  scenario.memory.optimizer.assign(shape.chunks(), Bytes{7});
  return scenario;
}

/// A stage's ends that write down what they are asked for.
class WrittenTransport final : public Transport {
public:
  std::vector<std::string> log;
  std::array<float, 4> content{};

  void begin_step() override {}
  void* output(TransferRef transfer) override {
    log.push_back("output " + std::to_string(transfer.position));
    return content.data();
  }
  void isend(TransferRef transfer, Bytes bytes) override {
    log.push_back("isend " + std::to_string(transfer.position) + " of " + std::to_string(bytes.count()));
  }
  void irecv(TransferRef transfer) override { log.push_back("irecv " + std::to_string(transfer.position)); }
  const void* input(TransferRef transfer, Bytes expected) override {
    log.push_back("input " + std::to_string(transfer.position) + " of " + std::to_string(expected.count()));
    return content.data();
  }
  void release(TransferRef transfer) override { log.push_back("release " + std::to_string(transfer.position)); }
  void finish_step() override { log.emplace_back("finish"); }
  std::vector<Arrival> arrivals() override { return {}; }
  void barrier() override { log.emplace_back("barrier"); }
  void exchange(StageId /*peer*/, const void* /*mine*/, void* /*theirs*/, Bytes /*bytes*/) override {
    log.emplace_back("exchange");
  }
  Bytes buffer_bytes() const override { return Bytes{1000}; }
};

} // namespace

TEST_CASE("A stage has its chunks and its neighbouring ranks", "[runtime][stage]") {
  const Program program = compiled(generate("interleaved", {.stages = 2, .microbatches = 2, .vpp = 2}));
  Monitor monitor{program, stages_of(program), 10s, 10s, [](const auto&) {}};
  std::array<ToyDevice, 2> devices;
  WrittenTransport transport;
  const PipelineStage first{program, StageId{0}, devices[0], transport, monitor};
  const PipelineStage second{program, StageId{1}, devices[1], transport, monitor};
  CHECK(std::vector<std::uint16_t>{first.chunks().begin(), first.chunks().end()} == std::vector<std::uint16_t>{0, 2});
  CHECK(first.is_first());
  CHECK_FALSE(first.is_last());
  CHECK_FALSE(first.previous_rank());
  CHECK(first.next_rank() == StageId{1});
  CHECK_FALSE(second.is_first());
  CHECK(second.is_last());
  CHECK(second.previous_rank() == StageId{0});
  CHECK_FALSE(second.next_rank());
}

TEST_CASE("Receives are posted in order, one per slot, and one more when a slot becomes free", "[runtime][stage]") {
  const Program program = compiled(order({"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}), {.slots = 2});
  Monitor monitor{program, stages_of(program), 10s, 10s, [](const auto&) {}};
  ToyDevice device;
  WrittenTransport transport;
  PipelineStage stage{program, StageId{1}, device, transport, monitor};
  stage.train_step();
  CHECK(transport.log == std::vector<std::string>{"irecv 0", "irecv 1", //
                                                  "input 0 of 16", "release 0", "irecv 2", "output 0",
                                                  "isend 0 of 16",                                           //
                                                  "input 1 of 16", "release 1", "output 1", "isend 1 of 16", //
                                                  "input 2 of 16", "release 2", "output 2", "isend 2 of 16", //
                                                  "barrier", "finish"});
}

TEST_CASE("A stage returns the mean loss of the microbatches that end on it, and none if none do", "[runtime][stage]") {
  // w = 2 and 3, x = 1 and 2: losses 6 and 12.
  const Program program = compiled(generate("1f1b", {.stages = 2, .microbatches = 2}));
  ToyRun toys{program};
  std::vector<std::optional<double>> losses(2);
  std::vector<float> gradients(2);
  std::vector<float> parameters(2);
  toys.run([&](PipelineStage& stage) {
    losses[index(stage.rank())] = stage.train_step();
    gradients[index(stage.rank())] = stage.gradients(make_id<ChunkId>(index(stage.rank())))[0];
    parameters[index(stage.rank())] = stage.parameters(make_id<ChunkId>(index(stage.rank())))[0];
  });
  CHECK_FALSE(losses[0]);
  CHECK(losses[1] == 9.0);
  CHECK(gradients == std::vector<float>{9.0F, 6.0F});   // 3 (1 + 2) and 2 (1 + 2)
  CHECK(parameters == std::vector<float>{-2.5F, 0.0F}); // 2 - 9/2 and 3 - 6/2
}

TEST_CASE("Gradients start at zero in every step", "[runtime][stage]") {
  const Program program = compiled(generate("zb-h1", {.stages = 2, .microbatches = 2}));
  ToyRun toys{program};
  std::vector<float> gradients(2);
  toys.run([&](PipelineStage& stage) {
    stage.train_step();
    stage.train_step();
    gradients[index(stage.rank())] = stage.gradients(make_id<ChunkId>(index(stage.rank())))[0];
  });
  // w = -2.5 and 0 now: 0 (1 + 2) and -2.5 (1 + 2).
  CHECK(gradients == std::vector<float>{0.0F, -7.5F});
}

TEST_CASE("Replicas of a chunk add their gradients and stay equal", "[runtime][stage]") {
  const Program program = compiled(generate("chimera", {.stages = 2, .microbatches = 2}));
  ToyRun toys{program};
  std::array<std::array<float, 2>, 2> gradients{}; // by stage and chunk
  std::array<std::array<float, 2>, 2> parameters{};
  std::array<StageRecord, 2> records;
  toys.run([&](PipelineStage& stage) {
    stage.train_step();
    records[index(stage.rank())] = stage.record();
    for (const std::uint16_t chunk : stage.chunks()) {
      gradients[index(stage.rank())][chunk] = stage.gradients(make_id<ChunkId>(chunk))[0];
      parameters[index(stage.rank())][chunk] = stage.parameters(make_id<ChunkId>(chunk))[0];
    }
  });
  CHECK(gradients[0] == std::array{9.0F, 6.0F});
  CHECK(gradients[1] == gradients[0]);
  CHECK(parameters[0] == std::array{-2.5F, 0.0F});
  CHECK(parameters[1] == parameters[0]);
  CHECK(toys.devices[0].others_first == 0); // stage 0's come first on both
  CHECK(toys.devices[1].others_first == 2);
  REQUIRE(records[0].reductions.size() == 2);
  CHECK(records[0].reductions[0].chunk == ChunkId{0});
  CHECK(records[0].reductions[1].chunk == ChunkId{1});
}

TEST_CASE("Without a flush, each backward uses the parameters of its forward", "[runtime][stage]") {
  // w = 2, 3, 4 and x = 1, 2, 3. Stage 0 runs F0 F1 F2 first: 2, 4, 6 go out.
  // Stage 1, F0 and F1 with w = 3: 6 and 12. Stage 2: y = 24, dx = 4, w = 4 - 6 = -2.
  // Stage 1, B0: dx = 3*4 = 12, w = 3 - 2*4 = -5; F2 with that: -30. Stage 2: y = -24, dx = -2, w = -2 - 12 = -14.
  // Stage 1, B1 with 3 again: dx = -6, w = -5 + 4*2 = 3. Stage 2: y = 420, dx = -14, w = -14 + 30 = 16.
  // Stage 1, B2 with -5: dx = 70, w = 3 + 6*14 = 87. Stage 0: w = 2 - 12 = -10, + 2*6 = 2, - 3*70 = -208.
  const Program program = compiled(generate("pipedream", {.stages = 3, .microbatches = 3}));
  REQUIRE(rows_of(program.schedule)[1] == "1F0 1F1 1B0 1F2 1B1 1B2");
  ToyRun toys{program};
  std::vector<float> parameters(3);
  std::vector<float> gradients(3);
  std::optional<double> loss;
  toys.run([&](PipelineStage& stage) {
    if (const std::optional<double> mean = stage.train_step()) loss = mean;
    gradients[index(stage.rank())] = stage.gradients(make_id<ChunkId>(index(stage.rank())))[0];
    parameters[index(stage.rank())] = stage.parameters(make_id<ChunkId>(index(stage.rank())))[0];
  });
  CHECK(loss == 140.0);
  CHECK(parameters == std::vector<float>{-208.0F, 87.0F, 16.0F});
  CHECK(gradients == std::vector<float>{210.0F, -84.0F, -30.0F}); // of the last microbatch
}

TEST_CASE("Peak memory equals the simulator's prediction, for every schedule", "[runtime][stage]") {
  for (const Generator* generator : generators()) {
    const Shape shape{.stages = 4, .microbatches = 8, .vpp = generator->vpp.standard};
    const Scenario scenario = toy_scenario(shape);
    INFO(generator->name);
    const Outcome predicted = run(make_schedule(*generator, {shape}, scenario), scenario);
    const Program program = compile(predicted.graph, predicted.timeline);
    ToyRun toys{program};
    const std::vector<StageRecord> records = train_toys(toys, shape.stages, 2);
    for (std::size_t stage = 0; stage < shape.stages; ++stage) {
      INFO("stage " << stage);
      CHECK(records[stage].static_bytes == predicted.report.stages[stage].static_bytes);
      CHECK(records[stage].peak_bytes == predicted.report.stages[stage].peak_bytes());
      CHECK(toys.devices[stage].used == Bytes{}); // nothing is left behind
    }
  }
}

TEST_CASE("Buffers are counted separately: of transfers, of the input, and scratch", "[runtime][stage]") {
  const Program program = compiled(generate("1f1b", {.stages = 2, .microbatches = 2}));
  Monitor monitor{program, stages_of(program), 10s, 10s, [](const auto&) {}};
  ToyDevice device;
  WrittenTransport transport;
  PipelineStage stage{program, StageId{0}, device, transport, monitor};
  stage.train_step();
  CHECK(stage.record().buffer_bytes == Bytes{16 + 3 + 1000});
  CHECK(stage.record().static_bytes == Bytes{147});
}

TEST_CASE("Buffers are poisoned if requested", "[runtime][stage]") {
  const Program program = compiled(generate("1f1b", {.stages = 2, .microbatches = 1}));
  ToyRun toys{program};
  std::vector<std::optional<double>> losses(2);
  toys.run([&](PipelineStage& stage) {
    stage.set_poison(true);
    losses[index(stage.rank())] = stage.train_step();
  });
  CHECK(toys.devices[0].poisoned == 4); // both parts of the stash, the input, the output
  CHECK(toys.devices[1].poisoned == 4); // both parts, y, dx
  CHECK(losses[1] == 6.0);
}

TEST_CASE("A device's error names rank and task", "[runtime][stage]") {
  const Program program = compiled(generate("1f1b", {.stages = 2, .microbatches = 4}));
  ToyRun toys{program};
  toys.devices[1].fail_at = 2;
  CHECK(refusal_of([&] { train_toys(toys, 2, 1); }).first() == "rank 1, task 1F2: the kernel failed -- ");
}

TEST_CASE("An error about missing memory names rank, task and bytes", "[runtime][stage]") {
  const Program program = compiled(generate("1f1b", {.stages = 2, .microbatches = 4}));
  ToyRun toys{program};
  toys.devices[0].capacity = Bytes{147 + 16 + 13 + 12}; // the second stash lacks a byte
  const Refusal refusal = refusal_of([&] { train_toys(toys, 2, 1); });
  CHECK(refusal.code == ExitCode::failed);
  CHECK(refusal.first() == "rank 0, task 0F1: no memory for its stash (13 bytes) -- use a smaller workload, or a "
                           "schedule with fewer live activations");
  CHECK(toys.devices[0].used == Bytes{});
  ToyRun smaller{program};
  smaller.devices[1].capacity = Bytes{146};
  CHECK(refusal_of([&] { train_toys(smaller, 2, 1); }).first().starts_with("rank 1, parameters: no memory"));
}

TEST_CASE("A transport's error names rank, task and peer", "[runtime][stage]") {
  const Program program = compiled(generate("1f1b", {.stages = 2, .microbatches = 4}));
  ToyRun toys{program, {.compute = Compute::real, .poison = false, .fault = Fault{FaultKind::resize, cell("0F3")}}};
  CHECK(refusal_of([&] { train_toys(toys, 2, 2); }).first() ==
        "rank 1, task 1F3, input 0F3 from rank 0: 8 bytes arrived, expected 16 -- check that both ranks run the same "
        "workload");
}

TEST_CASE("A timed task lasts as the scenario says", "[runtime][stage]") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2}, 2ms, 4ms);
  scenario.update.optimizer.assign(2, 3ms);
  const Program program = compiled(generate("1f1b", scenario.shape), scenario);
  ToyRun toys{program, {.compute = Compute::timed, .poison = false, .fault = std::nullopt}};
  const std::vector<StageRecord> records = train_toys(toys, 2, 1);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    const StageRecord& record = records[stage];
    for (std::size_t task = 0; task < record.tasks.size(); ++task)
      CHECK(Duration{record.tasks[task].end - record.tasks[task].start} >= program.stages[stage].tasks[task].length);
    CHECK(Duration{record.optimizer.end - record.optimizer.start} >= 3ms);
    CHECK(record.busy >= 12ms);
    CHECK(record.cpu < 6ms); // it sleeps
  }
}

} // namespace ppsim::test::pipeline_stage_test
