// Figures that papers print for their schedules, reproduced by simulation. Those of one schedule alone (the Zero Bubble
// table, Chimera's and Hanayo's ratios, PipeDream's versions) and interleaving's activations stand with the other tests
// of theirs.

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_report.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

namespace ppsim::test::published_figures_test {

using namespace std::chrono_literals;

namespace {

/// What each chunk takes.
struct Passes {
  Duration forward, input_grad, weight_grad;
};

/// Free transfers; a chunk has 100 bytes of parameters, and a stage's activation takes 100 bytes over all its chunks.
RunReport simulated(std::string_view name, const Shape& shape, const Passes& passes,
                    std::optional<std::size_t> activation_limit = {}) {
  Scenario scenario = uniform_scenario(shape, 0ns, 0ns);
  scenario.costs.forward.assign(shape.chunks(), passes.forward);
  scenario.costs.input_grad.assign(shape.chunks(), passes.input_grad);
  scenario.costs.weight_grad.assign(shape.chunks(), passes.weight_grad);
  scenario.memory.parameters.assign(shape.chunks(), Bytes{100});
  scenario.memory.activation.assign(shape.chunks(), Bytes{100 / static_cast<std::int64_t>(shape.vpp)});
  scenario.memory.activation_for_weight = scenario.memory.activation;
  ScheduleRequest request{.shape = shape};
  request.activation_limit = activation_limit;
  return run(make_schedule(find_generator(name), request, scenario), scenario).report;
}

/// The most that a stage holds, in activations of a whole stage.
double peak_activations(const RunReport& report) {
  Bytes most;
  for (const StageReport& stage : report.stages) most = std::max(most, stage.peak_activation_bytes);
  return static_cast<double>(most.count()) / 100;
}

/// Copies of the parameters, where one for every stage is 1.
double parameter_copies(const RunReport& report) {
  Bytes held;
  for (const StageReport& stage : report.stages) held += stage.static_bytes;
  return static_cast<double>(held.count()) / 100 / static_cast<double>(report.stages.size());
}

constexpr Passes equal_passes{1ms, 1ms, 1ms};

} // namespace

TEST_CASE("GPipe's bubble is (K-1)/(M+K-1) of all device time (Huang et al., arXiv 1811.06965, section 2.3)") {
  struct Row {
    std::size_t partitions, microbatches;
    double bubble;
  };
  // K partitions, M microbatches; from M = 4K on the paper calls it negligible
  for (const Row& row : {Row{2, 1, 1.0 / 2}, Row{4, 1, 3.0 / 4}, Row{4, 4, 3.0 / 7}, Row{8, 4, 7.0 / 11},
                         Row{8, 32, 7.0 / 39}, Row{16, 64, 15.0 / 79}}) {
    CAPTURE(row.partitions, row.microbatches);
    const Shape shape{.stages = row.partitions, .microbatches = row.microbatches, .vpp = 1};
    CHECK(simulated("gpipe", shape, {1ms, 1ms, 1ms}).bubble_ratio == Approx(row.bubble));
    CHECK(simulated("gpipe", shape, {7ms, 2ms, 3ms}).bubble_ratio == Approx(row.bubble)); // whatever F and B take
  }
}

TEST_CASE("The bubble time fraction is (p-1)/m, interleaved (p-1)/(vm) (Narayanan et al., arXiv 2104.04473, section "
          "2.2)") {
  struct Row {
    std::string_view name;
    std::size_t stages, microbatches, chunks;
    double fraction; // of the ideal time
  };
  // p = 4, m = 8 with two chunks is the paper's figure 4
  for (const Row& row :
       {Row{"gpipe", 4, 8, 1, 3.0 / 8}, Row{"1f1b", 4, 8, 1, 3.0 / 8}, Row{"interleaved", 4, 8, 2, 3.0 / 16},
        Row{"gpipe", 8, 8, 1, 7.0 / 8}, Row{"1f1b", 8, 8, 1, 7.0 / 8}, Row{"interleaved", 8, 8, 4, 7.0 / 32},
        Row{"1f1b", 8, 64, 1, 7.0 / 64}, Row{"interleaved", 8, 64, 2, 7.0 / 128},
        Row{"interleaved", 12, 24, 3, 11.0 / 72}, Row{"1f1b", 64, 512, 1, 63.0 / 512},
        Row{"interleaved", 64, 512, 2, 63.0 / 1024}}) {
    CAPTURE(row.name, row.stages, row.microbatches, row.chunks);
    const Shape shape{.stages = row.stages, .microbatches = row.microbatches, .vpp = row.chunks};
    CHECK(simulated(row.name, shape, equal_passes).bubble_overhead == Approx(row.fraction));
  }
}

TEST_CASE("DeepSeek-V3's comparison of bubbles, parameters and activations holds at F = I = W (arXiv 2412.19437, table "
          "2)") {
  struct Row {
    std::string_view name;
    std::int64_t bubble; // in passes
    double parameters, activations;
  };
  // PP = 8. Its B is the whole backward, I and W: F = W = 1, B = 2; an overlapped F&B is one after the other: 3.
  constexpr std::int64_t forward = 1;
  constexpr std::int64_t backward = 2;
  constexpr std::int64_t weight = 1;
  constexpr std::int64_t both = 3;
  for (const Row& row :
       {Row{"1f1b", 7 * (forward + backward), 1, 8}, Row{"zb-h1", 7 * (forward + backward - 2 * weight), 1, 8}, // ZB1P
        Row{"dualpipe", 3 * (both + backward - 3 * weight), 2, 9}}) {
    CAPTURE(row.name);
    const RunReport report = simulated(row.name, {.stages = 8, .microbatches = 20, .vpp = 1}, equal_passes);
    CHECK(report.makespan - report.ideal == row.bubble * 1ms);
    CHECK(parameter_copies(report) == row.parameters);
    CHECK(peak_activations(report) == row.activations);
  }
}

TEST_CASE("ZB-1p idles (p-1)/(3m+p-1) of all device time, more than a third of 1F1B's bubble") {
  // The README of sail-sg/zero-bubble-pipeline-parallelism says B/3 with B = (p-1)/(m+p-1), which is .1014 here.
  // The rest is p-1 passes of 3m+p-1: 7 of 55.
  const Shape shape{.stages = 8, .microbatches = 16, .vpp = 1};
  const RunReport report = simulated("zb-auto", shape, equal_passes, 8);
  CHECK(report.bubble_ratio == Approx(7.0 / 55));
  CHECK(peak_activations(report) == 8);
  CHECK(simulated("1f1b", shape, equal_passes).bubble_ratio == Approx(7.0 / 23));
}

TEST_CASE("V-ZB has no bubble within a stage's span, and holds as much as 1F1B (arXiv 2405.15362, table 1)") {
  const Shape shape{.stages = 8, .microbatches = 16, .vpp = 2};
  for (const auto& [name, limit] :
       {std::pair{"zb-v", std::optional<std::size_t>{}}, std::pair{"v-auto", std::optional<std::size_t>{16}}}) {
    CAPTURE(name);
    const RunReport report = simulated(name, shape, equal_passes, limit);
    CHECK(report.stage_span_bubble == 0);
    CHECK(peak_activations(report) == 8);
  }
}

TEST_CASE("With no more microbatches than stages 1F1B takes (m+p-1)(F+I+W), zero bubble (m+p-1)(F+I) + W") {
  // Qi et al., arXiv 2401.10241, appendix H, for W < I and free transfers
  for (const std::size_t microbatches : {1U, 4U, 6U}) {
    CAPTURE(microbatches);
    const Shape shape{.stages = 6, .microbatches = microbatches, .vpp = 1};
    const auto steps = static_cast<std::int64_t>(microbatches + 5);
    CHECK(simulated("1f1b", shape, {5ms, 4ms, 3ms}).makespan == steps * 12ms);
    CHECK(simulated("zb-auto", shape, {5ms, 4ms, 3ms}).makespan == steps * 9ms + 3ms);
  }
}

} // namespace ppsim::test::published_figures_test
