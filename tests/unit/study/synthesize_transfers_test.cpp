// Orders are sought for transfers by latency. Under other models the shortest of those known is given.

#include "ppsim/base/error.hpp"
#include "ppsim/certificate/certificate.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/synthesize.hpp"
#include "support/stage_orders.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace ppsim::test::synthesize_transfers_test {
namespace {

constexpr std::size_t tries = 20;

/// None where it deadlocks.
std::optional<RunReport> report_of(const RunSpec& spec) {
  try {
    return evaluate(spec).report;
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return std::nullopt;
  }
}

bool holds_at_most(const RunReport& report, std::size_t activations) {
  return std::ranges::all_of(report.stages,
                             [&](const StageReport& stage) { return stage.peak_live_activations <= activations; });
}

} // namespace

TEST_CASE("A synthesized order takes no longer than a named one, under any transfer model") {
  DrawnTimes draw{20261130};
  std::size_t taken = 0;
  for (std::size_t i = 0; i < tries; ++i) {
    INFO("input " << i);
    const bool is_v = i % 2 == 1;
    RunSpec spec;
    spec.stages = draw.from(2, 4);
    spec.microbatches = draw.from(2, 6);
    spec.forward = {draw.ms(2, 20)};
    spec.input_grad = {draw.ms(2, 20)};
    spec.weight_grad = {draw.ms(2, 20)};
    spec.comm = {draw.ms(0, 15)};
    if (i % 3 == 0) spec.overhead = draw.ms(1, 5);
    spec.activation_limit = (is_v ? 2 : 1) * draw.from(*spec.stages, 2 * *spec.stages);
    spec.transfer = i % 4 < 2 ? TransferModel::streams : TransferModel::blocking;
    const SynthesisRequest request{.placements = {find_chunk_placement(is_v ? "v" : "linear").value()}, .effort = 0};
    const SynthesizedOrder found = synthesize(spec, request).orders.front();
    const std::optional<RunReport> report = report_of(found.spec);
    CHECK(found.deadlocks() == !report);
    if (report) CHECK(found.run_length() == report->makespan);
    CHECK(found.length >= found.bound);
    if (found.bound_of == Backwards::any) CHECK(found.run_length() >= found.bound);
    if (report) CHECK(holds_at_most(*report, *spec.activation_limit));
    CHECK(check_certificate(certificate_of(found)).holds());
    const std::array<const char*, 3> linear{"zb-h1", "zb-h2", "1f1b"};
    for (const char* const name : is_v ? std::array<const char*, 3>{"zb-v", "v-half", "hanayo"} : linear) {
      RunSpec named = spec;
      named.schedule = name;
      named.activation_limit.reset();
      if (is_v) named.vpp = {2};
      const std::optional<RunReport> its = report_of(named);
      if (!its || !holds_at_most(*its, *spec.activation_limit)) continue;
      REQUIRE(report);
      CHECK(report->makespan <= its->makespan);
      REQUIRE(found.best_named);
      CHECK(found.best_named->length <= its->makespan);
    }
    RunSpec by_latency = spec;
    by_latency.transfer = TransferModel::latency;
    RunSpec as_found = synthesize(by_latency, request).orders.front().spec;
    as_found.transfer = spec.transfer;
    const std::optional<RunReport> sought = report_of(as_found);
    taken += report && (!sought || report->makespan < sought->makespan) ? 1 : 0;
  }
  CHECK(taken > tries / 6); // else the search's own order would do
}

} // namespace ppsim::test::synthesize_transfers_test
