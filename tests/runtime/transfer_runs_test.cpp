// Times of transfers from runs that do little else, as backend nccl takes them.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/runtime/host_device.hpp"

#include <catch2/catch.hpp>

#include <vector>

#include "runtime/program/transfer_runs.hpp"

namespace ppsim::test::transfer_runs_test {

using namespace ppsim::runtime;
using namespace std::chrono_literals;

namespace {

/// Runs nothing: a transfer takes a nanosecond per byte, and the odd step takes an hour.
class FormulaBackend final : public Backend {
public:
  explicit FormulaBackend(bool leads) : leads_{leads} {}
  std::vector<Workload> workloads;
  std::vector<Duration> timeouts;

  std::string_view name() const override { return "pencil"; }
  std::vector<std::string_view> transports() const override { return {"direct"}; }
  Usability usability() override { return {true, "", ""}; }
  std::vector<TransferSample> time_transfers(std::size_t, const RunOptions&) override { return {}; }
  ChunkSizes sizes(const Workload& workload) override { return host_sizes(workload); }
  std::optional<MeasuredRun> run(const Program& program, const RunOptions& options) override {
    workloads.push_back(options.workload);
    timeouts.push_back(options.timeout);
    if (!leads_) return std::nullopt;
    MeasuredRun run;
    const auto bytes = static_cast<std::int64_t>(options.workload.tokens * options.workload.width * 2);
    for (std::size_t step = 0; step < options.steps; ++step) {
      Timeline& timeline = run.steps.emplace_back();
      timeline.transfers.resize(program.schedule.size());
      for (Span& span : timeline.transfers)
        span = {SimTime{5ns}, SimTime{5ns} + (step == 1 ? Duration{1h} : Duration{bytes})};
    }
    return run;
  }

private:
  bool leads_;
};

} // namespace

TEST_CASE("Every transfer size is one that a workload can have", "[transfer_runs]") {
  FormulaBackend backend{true};
  RunOptions options;
  options.timeout = 7s;
  const std::vector<TransferSample> samples = transfers_of_runs(backend, 3, options, 2);
  REQUIRE(backend.workloads.size() == 5);
  for (const Workload& workload : backend.workloads) CHECK_NOTHROW(host_sizes(workload));
  for (const Duration timeout : backend.timeouts) CHECK(timeout == 7s);
  // Both ways over two edges, for each size: the median, which the odd step does not move.
  CHECK(samples.size() == 5 * 4);
  for (const TransferSample& sample : samples) CHECK(sample.time == Duration{sample.bytes.count()});
  CHECK(samples.front().bytes == Bytes{4096});
  CHECK(samples.back().bytes == Bytes{16 << 20});
}

TEST_CASE("All processes time transfers, and the leader reports them", "[transfer_runs]") {
  FormulaBackend follower{false};
  CHECK(transfers_of_runs(follower, 2, {}, 2).empty());
  CHECK(follower.workloads.size() == 5);
  FormulaBackend alone{true};
  CHECK(transfers_of_runs(alone, 1, {}, 2).empty());
  CHECK(alone.workloads.empty()); // one stage sends nothing
}

} // namespace ppsim::test::transfer_runs_test
