// Plans that several processes make together. Processes are threads here.

#include "ppsim/plan/analysis.hpp"

#include <catch2/catch.hpp>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "unit/plan/small_space.hpp"

namespace ppsim::test::shared_plan_test {
namespace {

constexpr std::size_t processes = 3;

/// Numbers go from one process to the next, and each gets all that was made.
class Rounds {
public:
  std::vector<std::string> share(std::size_t rank, std::size_t count,
                                 const std::function<std::string(std::size_t)>& make) {
    if (rank == 0) made_.assign(count, {});
    met_.arrive_and_wait();
    for (std::size_t i = 0; i < count; ++i)
      if (i % processes == rank) made_.at(i) = make(i);
    met_.arrive_and_wait();
    std::vector<std::string> all = made_;
    met_.arrive_and_wait();
    if (rank == 0) shared_ += count;
    return all;
  }
  [[nodiscard]] std::uint64_t shared() const { return shared_; }

private:
  std::barrier<> met_{processes};
  std::vector<std::string> made_;
  std::uint64_t shared_ = 0;
};

struct Answered {
  RankedPlan plan;
  PlanAnalysis analysis;
};

Answered answered(const PlanRequest& request, const PlanWorkers& workers) {
  Answered all{find_plan(request, workers), {}};
  if (!all.plan.rows.empty()) all.analysis = analyse_plan(request, all.plan, workers);
  return all;
}

/// What each of the processes finds.
std::vector<Answered> answered_together(const PlanRequest& request, Rounds& rounds) {
  std::vector<Answered> all(processes);
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < processes; ++rank)
    threads.emplace_back([&, rank] {
      const auto share = [&](std::size_t count, const std::function<std::string(std::size_t)>& make) {
        return rounds.share(rank, count, make);
      };
      all[rank] = answered(request, {.share = share});
    });
  threads.clear(); // joins
  return all;
}

void check_same(const PlanRow& a, const PlanRow& b) {
  CHECK(a.configuration == b.configuration);
  CHECK(a.figure == b.figure);
  CHECK(a.equals == b.equals);
  CHECK(a.demands == b.demands);
  CHECK(a.report.step_time == b.report.step_time);
  CHECK(a.report.peak_bytes() == b.report.peak_bytes());
  CHECK(a.report.time_by_label() == b.report.time_by_label());
}

void check_same(const std::optional<PlanRow>& a, const std::optional<PlanRow>& b) {
  REQUIRE(a.has_value() == b.has_value());
  if (a) check_same(*a, *b);
}

void check_same(const RankedPlan& a, const RankedPlan& b) {
  CHECK(a.configurations == b.configurations);
  CHECK(a.simulated == b.simulated);
  CHECK(a.too_large == b.too_large);
  CHECK(a.refused == b.refused);
  CHECK(a.refusal == b.refusal);
  REQUIRE(a.rows.size() == b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) check_same(a.rows[i], b.rows[i]);
  check_same(a.closest, b.closest);
}

void check_same(const PlanAnalysis& a, const PlanAnalysis& b) {
  check_same(a.simpler, b.simpler);
  REQUIRE(a.balanced.has_value() == b.balanced.has_value());
  if (a.balanced) {
    CHECK(a.balanced->position == b.balanced->position);
    check_same(a.balanced->row, b.balanced->row);
  }
  REQUIRE(a.front.size() == b.front.size());
  for (std::size_t i = 0; i < a.front.size(); ++i) check_same(a.front[i].row, b.front[i].row);
  REQUIRE(a.changes.size() == b.changes.size());
  for (std::size_t i = 0; i < a.changes.size(); ++i) {
    check_same(a.changes[i].best, b.changes[i].best);
    check_same(a.changes[i].winner, b.changes[i].winner);
  }
}

PlanRequest small(Bytes limit) {
  PlanRequest request = small_space(8, 32, limit);
  request.choices.schedules = {"1f1b", "interleaved", "zb-h1", "v-half", "chimera"};
  request.top = 7;
  return request;
}

} // namespace

TEST_CASE("Processes that share the simulations of a plan all find the plan of one process") {
  for (const std::int64_t gibibytes : {40, 8, 1}) { // the last: nothing fits
    const PlanRequest request = small(Bytes{gibibytes << 30U});
    const Answered alone = answered(request, {.threads = 2});
    CHECK(alone.plan.rows.empty() == (gibibytes == 1));
    Rounds rounds;
    for (const Answered& one : answered_together(request, rounds)) {
      check_same(alone.plan, one.plan);
      check_same(alone.analysis, one.analysis);
    }
    CHECK(rounds.shared() >= alone.plan.simulated);
  }
}

TEST_CASE("All processes have the reason why a configuration cannot run") {
  PlanRequest request = small(Bytes{std::int64_t{40} << 30U});
  request.run.slow = {SlowStage{.stage = 2}};
  const RankedPlan alone = find_plan(request, {});
  CHECK(alone.refused > 0);
  Rounds rounds;
  for (const Answered& one : answered_together(request, rounds)) check_same(alone, one.plan);
}

} // namespace ppsim::test::shared_plan_test
