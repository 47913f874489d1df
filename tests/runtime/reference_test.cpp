// The reference run: one task at a time, and what runs are held against.

#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/reference.hpp"
#include "ppsim/schedule/generators.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "runtime/host_chunk.hpp"

namespace ppsim::test::reference_test {

namespace {

using namespace runtime;

// The reference reads the schedule only.
Program program_of(std::string_view name, std::size_t stages, std::size_t microbatches,
                   std::optional<bool> descending = std::nullopt) {
  const Generator& generator = find_generator(name);
  const Shape shape{.stages = stages, .microbatches = microbatches, .vpp = generator.vpp.standard};
  Program program;
  program.schedule = make_schedule(generator, {.shape = shape, .descending_backward = descending});
  return program;
}

Workload small(Block block, OptimizerKind optimizer = OptimizerKind::sgd) {
  return {.block = block,
          .tokens = 16,
          .width = 16,
          .heads = 2,
          .optimizer = optimizer,
          .learning_rate = default_learning_rate(optimizer)};
}

} // namespace

TEST_CASE("The loss falls over 20 steps, for every block and optimizer", "[reference]") {
  for (const Block block : {Block::mlp, Block::transformer}) {
    for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adam}) {
      CAPTURE(to_string(block), to_string(optimizer));
      const auto device = make_host_device(small(block, optimizer));
      const std::vector<double> losses = train_one_at_a_time(program_of("1f1b", 4, 4), *device, 20).losses;
      REQUIRE(losses.size() == 20);
      CHECK(losses.back() < 0.4 * losses.front());
      // With Adam, steps stay long near the end, so the loss may rise in between.
      for (std::size_t step = 1; step < losses.size() && optimizer == OptimizerKind::sgd; ++step)
        CHECK(losses[step] < losses[step - 1]);
    }
  }
}

TEST_CASE("The loss starts equal and falls for any depth and any delay of updates", "[reference]") {
  const auto losses_of = [](std::string_view schedule, std::size_t stages, std::size_t microbatches,
                            Workload workload) {
    workload.depth = depth_of(workload, stages);
    workload.learning_rate =
        default_learning_rate(workload.optimizer, workload.depth, schedule == "pipedream" ? stages : 1);
    return train_one_at_a_time(program_of(schedule, stages, microbatches), *make_host_device(workload), 7).losses;
  };
  constexpr Workload tiny{.tokens = 4, .width = 8, .heads = 2};
  for (const Block block : {Block::mlp, Block::transformer}) {
    for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adam}) {
      CAPTURE(to_string(block), to_string(optimizer));
      Workload workload = tiny;
      workload.block = block;
      workload.optimizer = optimizer;
      const std::vector<double> losses = losses_of("1f1b", 500, 2, workload);
      CHECK(losses.front() < 2 * losses_of("1f1b", 1, 2, workload).front());
      CHECK(std::ranges::is_sorted(losses, std::greater{}));
      CHECK(losses.back() < (optimizer == OptimizerKind::sgd ? 0.2 : 0.5) * losses.front());
    }
  }
  const std::vector<double> late = losses_of("pipedream", 64, 128, tiny);
  CHECK(late.back() < 0.2 * late.front());
}

TEST_CASE("Training gives equal bits every time", "[reference]") {
  const Program program = program_of("1f1b", 3, 4);
  for (const Block block : {Block::mlp, Block::transformer}) {
    const auto device = make_host_device(small(block));
    const TrainingResult first = train_one_at_a_time(program, *device, 3);
    for (const TrainingResult& again :
         {train_one_at_a_time(program, *device, 3), train_one_at_a_time(program, *make_host_device(small(block)), 3)}) {
      CHECK(again.losses == first.losses);
      CHECK(again.gradients == first.gradients);
    }
  }
}

TEST_CASE("The first step lowers the loss by the learning rate times the squared mean gradient", "[reference]") {
  // Holds for the gradient of the mean loss and for no other: one that lacks a microbatch or a chunk is too small, one
  // that is summed instead of averaged four times too large.
  for (const Block block : {Block::mlp, Block::transformer}) {
    constexpr std::size_t microbatches = 4;
    Workload workload = small(block);
    workload.learning_rate = 0.005;
    const auto device = make_host_device(workload);
    const TrainingResult result = train_one_at_a_time(program_of("1f1b", 3, microbatches), *device, 2);
    double squares = 0;
    for (const std::vector<float>& gradients : result.gradients)
      for (const float gradient : gradients) squares += std::pow(double{gradient} / microbatches, 2);
    CHECK((result.losses[0] - result.losses[1]) / (workload.learning_rate * squares) == Approx(1).margin(0.01));
  }
}

TEST_CASE("Gradients are sums over all microbatches, the loss is their mean", "[reference]") {
  const auto device = make_host_device(small(Block::transformer));
  const HostWeights lower{*device, ChunkId{0}};
  const HostWeights upper{*device, ChunkId{1}};
  device->begin_step();
  for (const MicrobatchId microbatch : {MicrobatchId{0}, MicrobatchId{1}, MicrobatchId{2}}) {
    HostBuffers down{*device};
    HostBuffers up{*device};
    device->make_input(microbatch, down.x.get());
    device->forward(lower.parameters.get(), down.x.get(), down.y.get(), down.stash());
    device->forward(upper.parameters.get(), down.y.get(), up.y.get(), up.stash());
    device->loss(microbatch, up.y.get(), up.stash());
    device->input_grad(upper.parameters.get(), nullptr, up.dx.get(), up.stash());
    device->input_grad(lower.parameters.get(), up.dx.get(), down.dx.get(), down.stash());
    device->weight_grad(up.stash(), upper.gradients.get());
    device->weight_grad(down.stash(), lower.gradients.get());
  }
  const double losses = device->losses() / 3;
  for (const std::string_view schedule : {"gpipe", "zb-h1"}) { // none of its business
    const TrainingResult result = train_one_at_a_time(program_of(schedule, 2, 3), *device, 1);
    CHECK(result.losses == std::vector<double>{losses});
    CHECK(result.gradients == std::vector<std::vector<float>>{lower.gradients.values(), upper.gradients.values()});
  }
}

TEST_CASE("A forward-only program has losses and does not change its parameters", "[reference]") {
  Program program = program_of("gpipe", 2, 3);
  program.schedule = program.schedule.forwards();
  const auto device = make_host_device(small(Block::mlp));
  const TrainingResult result = train_one_at_a_time(program, *device, 2);
  CHECK(result.losses[0] == result.losses[1]);
  CHECK(result.losses[0] == train_one_at_a_time(program_of("gpipe", 2, 3), *device, 1).losses[0]);
}

TEST_CASE("An asynchronous program follows its definition", "[reference]") {
  // PipeDream on two stages, two microbatches: stage 0 runs 0F 1F 0B 1B, so both of its microbatches use the first
  // weights; stage 1 runs 0F 0B 1F 1B, so its second uses the weights that the first has changed. Here by hand.
  const Program program = program_of("pipedream", 2, 2);
  const auto device = make_host_device(small(Block::mlp));
  const HostWeights before{*device, ChunkId{0}}; // never changed
  const HostWeights lower{*device, ChunkId{0}};
  const HostWeights upper{*device, ChunkId{1}};
  device->begin_step();
  for (const MicrobatchId microbatch : {MicrobatchId{0}, MicrobatchId{1}}) {
    HostBuffers down{*device};
    HostBuffers up{*device};
    device->make_input(microbatch, down.x.get());
    device->forward(before.parameters.get(), down.x.get(), down.y.get(), down.stash());
    device->forward(upper.parameters.get(), down.y.get(), up.y.get(), up.stash());
    device->loss(microbatch, up.y.get(), up.stash());
    device->input_grad(upper.parameters.get(), nullptr, up.dx.get(), up.stash());
    device->input_grad(before.parameters.get(), up.dx.get(), down.dx.get(), down.stash());
    for (const auto& [weights, passage] : {std::pair{&upper, &up}, std::pair{&lower, &down}}) {
      device->zero_gradients(weights->gradients.get());
      device->weight_grad(passage->stash(), weights->gradients.get());
      device->optimizer_step(weights->state(), 0, 1);
    }
  }
  const double losses = device->losses() / 2;

  const TrainingResult result = train_one_at_a_time(program, *device, 1);
  CHECK(result.losses == std::vector<double>{losses});
  CHECK(result.gradients == std::vector<std::vector<float>>{lower.parameters.values(), upper.parameters.values()});
  // And it is another training than the synchronous one.
  CHECK(train_one_at_a_time(program_of("1f1b", 2, 2), *device, 1).losses[0] != losses);
}

TEST_CASE("Asynchronous training continues across steps, and its loss falls", "[reference]") {
  const auto device = make_host_device(small(Block::transformer));
  const std::vector<double> losses = train_one_at_a_time(program_of("pipedream", 3, 6), *device, 10).losses;
  CHECK(losses.back() < 0.3 * losses.front());
}

TEST_CASE("Gradients are summed in the reference's order if every chunk's microbatches ascend on one stage",
          "[reference]") {
  CHECK(sums_in_reference_order(program_of("gpipe", 4, 8, false)));
  CHECK(sums_in_reference_order(program_of("1f1b", 4, 8)));
  CHECK(sums_in_reference_order(program_of("zb-v", 4, 8)));
  CHECK(sums_in_reference_order(program_of("pipedream", 4, 8)));
  CHECK_FALSE(sums_in_reference_order(program_of("gpipe", 4, 8, true)));
  CHECK_FALSE(sums_in_reference_order(program_of("dualpipe", 4, 8)));

  // One chunk on two stages, which share the microbatches.
  ScheduleBuilder builder{"two holders", {.stages = 2, .microbatches = 2, .shared = 1}};
  for (const std::size_t microbatch : {0U, 1U}) {
    builder.add(Pass::forward, 0, microbatch);
    builder.add(Pass::backward, 0, microbatch);
    builder.end_stage();
  }
  Program shared;
  shared.schedule = builder.build();
  CHECK_FALSE(sums_in_reference_order(shared));
}

TEST_CASE("A run that sums in the reference's order must equal it bit by bit", "[reference]") {
  const Program program = program_of("1f1b", 2, 2);
  const TrainingResult reference{{0.5, 0.25}, {{1, 2}, {3, -4}}};
  const Proof equal = compare_results(program, reference, reference, 1e-6);
  CHECK(equal.same_order);
  CHECK(equal.bit_equal);
  CHECK(equal.holds());
  CHECK(equal.gradient_error == 0);
  CHECK(equal.losses == reference.losses);

  TrainingResult run = reference;
  run.gradients[1][0] = std::nextafter(3.0F, 4.0F);
  const Proof near = compare_results(program, run, reference, 1e-6);
  CHECK_FALSE(near.bit_equal);
  CHECK_FALSE(near.holds());
  CHECK(near.gradient_error == Approx(0x1p-22 / 4)); // of the largest gradient of its chunk
}

TEST_CASE("A run that sums in another order must be within the tolerance, in gradients and losses", "[reference]") {
  const Program program = program_of("gpipe", 2, 2, true);
  const TrainingResult reference{{0.5, 0.25}, {{1, 2}, {3, -4}}};
  TrainingResult run = reference;
  run.gradients[1][0] = 3.0004F;
  CHECK_FALSE(compare_results(program, run, reference, 0.9e-4).holds());
  CHECK(compare_results(program, run, reference, 1.1e-4).holds());
  CHECK(compare_results(program, run, reference, 1.1e-4).gradient_error == Approx(1e-4).epsilon(1e-3));
  run.losses[1] = 0.2501;
  const Proof off = compare_results(program, run, reference, 1.1e-4);
  CHECK_FALSE(off.holds());
  CHECK(off.loss_error == Approx(4e-4));
}

TEST_CASE("Gradients that are missing, of another size or not a number are never correct", "[reference]") {
  const TrainingResult reference{{0.5}, {{1, 2}, {3, -4}}};
  for (const Program& program : {program_of("gpipe", 2, 2, true), program_of("gpipe", 2, 2, false)}) {
    const auto holds = [&](const TrainingResult& run) { return compare_results(program, run, reference, 1).holds(); };
    CHECK(holds(reference));
    CHECK_FALSE(holds({{0.5}, {{1, 2}}}));
    CHECK_FALSE(holds({{0.5}, {{1, 2}, {}}}));
    CHECK_FALSE(holds({{0.5}, {{1, 2}, {3, std::numeric_limits<float>::quiet_NaN()}}}));
    CHECK_FALSE(holds({{0.5, 0.5}, {{1, 2}, {3, -4}}}));
    CHECK_FALSE(holds({{std::numeric_limits<double>::quiet_NaN()}, {{1, 2}, {3, -4}}}));
  }
}

TEST_CASE("If run and reference both diverge, they are compared until then, and a difference is still found",
          "[reference]") {
  const Program program = program_of("1f1b", 2, 2);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  constexpr double endless = std::numeric_limits<double>::infinity();
  const TrainingResult reference{{0.5, 7, endless, none}, {{1}, {2}}};
  const auto proof = [&](const std::vector<double>& losses) {
    return compare_results(program, {losses, reference.gradients}, reference, 0);
  };
  const Proof alike = proof({0.5, 7, none, none});
  CHECK(alike.holds());
  CHECK(alike.loss_error == 0);
  CHECK(alike.diverged() == 2);
  CHECK_FALSE(proof({0.5, 8, none, none}).holds());       // another one before
  CHECK_FALSE(proof({0.5, endless, none, none}).holds()); // too early
  CHECK_FALSE(proof({0.5, 7, 9, none}).holds());          // too late
  CHECK_FALSE(compare_results(program, {{0.5}, {{1}, {2}}}, {{0.5}, {{1}, {2}}}, 0).diverged());
}

TEST_CASE("Equal losses of microbatches may be added in any order", "[reference]") {
  const Program program = program_of("1f1b", 2, 2);
  const TrainingResult reference{{0.5}, {{1}, {2}}};
  TrainingResult run = reference;
  run.losses[0] = std::nextafter(0.5, 1.0);
  CHECK(compare_results(program, run, reference, 1e-6).bit_equal);
  run.losses[0] = 0.5 + 1e-11;
  CHECK_FALSE(compare_results(program, run, reference, 1e-6).bit_equal);
}

TEST_CASE("The tolerance covers another order of summation but no missing microbatch", "[reference]") {
  constexpr std::size_t microbatches = 32;
  for (const Block block : {Block::mlp, Block::transformer}) {
    const auto device = make_host_device(small(block));
    const HostWeights weights{*device};
    const auto sum = [&](std::size_t first, std::ptrdiff_t step, std::size_t count) {
      device->zero_gradients(weights.gradients.get());
      for (std::size_t i = 0; i < count; ++i, first += static_cast<std::size_t>(step)) {
        HostBuffers passage{*device};
        device->make_input(make_id<MicrobatchId>(first), passage.x.get());
        device->forward(weights.parameters.get(), passage.x.get(), passage.y.get(), passage.stash());
        device->loss(make_id<MicrobatchId>(first), passage.y.get(), passage.stash());
        device->input_grad(weights.parameters.get(), nullptr, nullptr, passage.stash());
        device->weight_grad(passage.stash(), weights.gradients.get());
      }
      return TrainingResult{{}, {weights.gradients.values()}};
    };
    const Program program = program_of("gpipe", 1, microbatches, true);
    const TrainingResult rising = sum(0, 1, microbatches);
    const double tolerance = reordering_tolerance(microbatches);
    const Proof falling = compare_results(program, sum(microbatches - 1, -1, microbatches), rising, tolerance);
    CHECK(falling.gradient_error > 0);
    CHECK(falling.holds());
    const Proof lacking = compare_results(program, sum(0, 1, microbatches - 1), rising, tolerance);
    CHECK(lacking.gradient_error > 100 * tolerance);
  }
}

} // namespace ppsim::test::reference_test
