// MFU, HFU, TFLOP/s and tokens/s: against published figures, and by pencil.

#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/run_report.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace ppsim::test::rates_test {

using namespace std::chrono_literals;

namespace {

std::optional<double> figure(const RunReport& report, std::string_view tag) {
  return find_metric(tag).value(report);
}

RunSpec training_of(std::string_view model, std::size_t stages, std::size_t microbatches) {
  RunSpec spec;
  spec.stages = stages;
  spec.microbatches = microbatches;
  spec.model_shape = find_model(model);
  spec.device_sheet = find_device("a100");
  return spec;
}

double model_flop(const RunSpec& spec) {
  return evaluate(spec).report.work.value().model_flop;
}

double hardware_flop(const RunSpec& spec) {
  return evaluate(spec).report.work.value().hardware_flop.value();
}

/// Two stages that take 2 ms for a forward and 4 ms for a backward: a step of 3 microbatches takes 24 ms.
RunSpec given_operations() {
  RunSpec spec;
  spec.stages = 2;
  spec.microbatches = 3;
  spec.forward = {2ms};
  spec.backward = {4ms};
  spec.flops = FlopCount{800'000'000'000};
  return spec;
}

} // namespace

TEST_CASE("At the step times that Korthikanti et al. measured, MFU is as printed (arXiv 2205.05198, table 5)") {
  struct Row {
    std::string_view model;
    std::size_t stages, microbatches;
    std::int64_t microbatch_size;
    Duration step_time;
    double mfu, hfu;
  };
  for (const Row& row :
       {Row{"gpt-22b", 1, 1, 4, 1100ms, 0.415, 0.437}, Row{"gpt-175b", 8, 64, 1, 13750ms, 0.514, 0.528},
        Row{"gpt-530b", 35, 280, 1, 37830ms, 0.560, 0.570}, Row{"gpt-1t", 64, 512, 1, 71490ms, 0.563, 0.570}}) {
    CAPTURE(row.model);
    RunSpec spec = training_of(row.model, row.stages, row.microbatches);
    spec.training.microbatch_size = row.microbatch_size;
    spec.training.tensor_parallel = 8;
    spec.recompute = RecomputeKind::selective;
    RunReport report = evaluate(spec).report;
    report.step_time = row.step_time;
    const double mfu = figure(report, "mfu").value();
    const double hfu = figure(report, "hfu").value();
    CHECK(mfu == Approx(row.mfu).margin(0.003));
    // Theirs is as if attention's forward ran three times more, which is what it costs with its backward. What runs
    // again is the forward alone, a third of that.
    CHECK(mfu + 3 * (hfu - mfu) == Approx(row.hfu).margin(0.003));
  }
}

TEST_CASE("A GPT's step is 72BLshh(1 + s/6h) + 6Bshv model FLOPs, for any distribution and recomputation") {
  constexpr double b = 2;
  constexpr double s = 2048;
  constexpr double h = 6144;
  constexpr double v = 51200;
  const double pencil = 3 * (72 * b * 48 * s * h * h * (1 + s / (6 * h)) + 6 * b * s * h * v);
  RunSpec spec = training_of("gpt-22b", 4, 3);
  spec.training.microbatch_size = 2;
  CHECK(model_flop(spec) == Approx(pencil).epsilon(1e-12));
  CHECK(hardware_flop(spec) == Approx(pencil).epsilon(1e-12));
  spec.training.attention = Attention::flash;
  spec.training.tensor_parallel = 4;
  spec.training.context_parallel = 2;
  spec.recompute = RecomputeKind::full;
  CHECK(model_flop(spec) == Approx(pencil).epsilon(1e-12));
  spec.forward_only = true;
  spec.recompute.reset();
  CHECK(model_flop(spec) == Approx(pencil / 3).epsilon(1e-12));
}

TEST_CASE("The hardware's FLOPs include recomputation: fused scores, attention, or whole layers") {
  constexpr double tokens = 2048;
  constexpr double h = 6144;
  constexpr double layers = 48;
  constexpr double microbatches = 8;
  const double product = microbatches * layers * 2 * tokens * tokens * h; // queries with keys, or scores with values
  const double layer = microbatches * layers * 24 * tokens * h * h + 2 * product;
  RunSpec spec = training_of("gpt-22b", 4, 8);
  const double model = model_flop(spec);
  const auto more = [&] { return hardware_flop(spec) - model; };
  spec.recompute = RecomputeKind::selective;
  CHECK(more() == Approx(2 * product));
  spec.recompute = RecomputeKind::full;
  CHECK(more() == Approx(layer));
  spec.training.attention = Attention::flash;
  CHECK(more() == Approx(layer + product));
  spec.recompute.reset();
  CHECK(more() == Approx(product));
}

TEST_CASE("Only backwards that recompute count as recomputation") {
  RunSpec spec = training_of("gpt-22b", 1, 4);
  spec.recompute = RecomputeKind::full;
  const double all = hardware_flop(spec) - model_flop(spec);
  spec.microbatches_without_recompute = 1; // every forward of a stage without warm-up
  CHECK(all > 0);
  CHECK(hardware_flop(spec) == Approx(model_flop(spec)));
}

TEST_CASE("Work that several ranks repeat is the hardware's and not the model's") {
  RunSpec spec = training_of("llama-3-8b", 2, 2); // 8 key-value heads
  const double whole = model_flop(spec);
  const double once = hardware_flop(spec);
  spec.training.tensor_parallel = 16;
  CHECK(model_flop(spec) == whole);
  CHECK(hardware_flop(spec) > once);
}

TEST_CASE("Rates are of one device, and of all with their data-parallel replicas") {
  RunSpec spec = given_operations();
  spec.device_sheet = find_device("a100"); // 312 TFLOP/s
  spec.training.tensor_parallel = 2;
  spec.training.data_parallel = 5;
  spec.training.sequence_length = 1000;
  spec.training.microbatch_size = 4;
  const RunReport report = evaluate(spec).report;
  REQUIRE(report.step_time == 24ms);
  CHECK(figure(report, "tflops_per_device").value() == Approx(3 * 0.8 / 0.024 / 4));
  CHECK(figure(report, "tflops").value() == Approx(5 * 3 * 0.8 / 0.024));
  CHECK(figure(report, "mfu").value() == Approx(25.0 / 312));
  CHECK(figure(report, "tokens_per_second_per_device").value() == Approx(3 * 4000 / 0.024 / 4));
  CHECK(figure(report, "tokens_per_second").value() == Approx(5 * 3 * 4000 / 0.024));
  CHECK(!figure(report, "hfu")); // what runs again is not known
}

TEST_CASE("Unknown rates are not reported") {
  const RunReport without_device = evaluate(given_operations()).report;
  CHECK(figure(without_device, "tflops"));
  CHECK(!figure(without_device, "mfu"));
  CHECK(!figure(without_device, "tokens_per_second"));
  RunSpec spec = given_operations();
  spec.flops.reset();
  const RunReport nothing = evaluate(spec).report;
  for (const char* tag : {"mfu", "hfu", "tflops", "tflops_per_device", "tokens_per_second"})
    CHECK(!figure(nothing, tag));
  spec = given_operations();
  spec.forward = {0ms};
  spec.backward = {0ms};
  CHECK(!figure(evaluate(spec).report, "tflops")); // in no time
}

TEST_CASE("The peak is that of the chosen data type") {
  RunSpec spec = training_of("llama-3-8b", 2, 2);
  spec.device_sheet = find_device("h100");
  spec.training.data_type = DataType::fp8;
  CHECK(evaluate(spec).report.work.value().flops_per_second == 1979e12);
}

TEST_CASE("Rates are of the step time in the long run") {
  RunSpec spec = given_operations();
  spec.schedule = "pipedream";
  const RunReport report = evaluate(spec).report;
  REQUIRE(report.step_time == 18ms); // no bubble: 3 x 6 ms
  REQUIRE(report.makespan > 18ms);
  CHECK(figure(report, "tflops").value() == Approx(3 * 0.8 / 0.018));
}

} // namespace ppsim::test::rates_test
