// Step time of a known order with other costs, compared with a separate run.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/candidates.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/commands.hpp"
#include "sim/study/known_order.hpp"

namespace ppsim::test::known_order_test {

using namespace ppsim::cli;
using ppsim::test::Rows;

namespace {

RunSpec spec_of(const Rows& flags) {
  Rows all{"--stages", "4", "--mb", "8", "--activation-bytes", "1GiB"};
  if (std::ranges::find(flags, "--memory-limit") == flags.end()) all.insert(all.end(), {"--memory-limit", "5GiB"});
  all.insert(all.end(), flags.begin(), flags.end());
  return parse_arguments(find_command("compare"), all);
}

std::optional<Evaluation> try_run(const RunSpec& spec) {
  try {
    return evaluate(spec);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Of all candidates whose orders can be timed, how many were; each is held to a run of its own.
std::size_t check_all(const Rows& known, const Rows& asked) {
  std::size_t timed = 0;
  const std::vector<Candidate> before = candidates(spec_of(known));
  const std::vector<Candidate> after = candidates(spec_of(asked));
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    INFO(before[i].name);
    std::optional<Evaluation> first = try_run(before[i].spec);
    const std::optional<Evaluation> own = try_run(after[i].spec);
    if (!first || !own || find_generator(*before[i].spec.schedule).searches()) continue;
    const auto order = KnownOrder::of(*std::move(first));
    const auto sample = order ? order->sample(after[i].spec) : std::nullopt;
    if (!sample) continue;
    CHECK(sample->step_time == own->report.step_time);
    CHECK(sample->peak_bytes == own->report.peak_bytes());
    CHECK(sample->fits == !own->report.overflow);
    CHECK(sample->microbatches == 8);
    ++timed;
  }
  return timed;
}

} // namespace

TEST_CASE("A known order with other costs takes the time of a separate run, under every transfer model") {
  for (const auto& [model, least] :
       {std::pair<std::string, std::size_t>{"latency", 15}, {"link", 15}, {"blocking", 5}, {"streams", 15}}) {
    INFO(model);
    const Rows known{"--transfer", model, "--comm", "100us"};
    CHECK(check_all(known, {"--transfer", model, "--comm", "700us"}) >= least);
    CHECK(check_all(known, {"--transfer", model, "--comm", "1ms", "--forward", "3ms"}) >= least);
    CHECK(check_all(known, {"--transfer", model, "--slow", "2=1.5", "--optimizer", "4ms"}) >= least);
  }
}

TEST_CASE("An order is not reused if it, or its memory, may differ") {
  const Rows known{"--comm", "100us"};
  CHECK(check_all(known, {"--comm", "100us", "--recompute", "full"}) == 0);
  CHECK(check_all(known, {"--comm", "100us", "--optimizer", "1ms", "--optimizer-step", "per-stage"}) == 0);
  CHECK(check_all(known, {"--comm", "100us", "--memory-limit", "3GiB"}) >= 15); // it holds as much; does it fit?
  RunSpec longer = spec_of({"--schedules", "1f1b"});
  const auto order = KnownOrder::of(evaluate(candidates(longer).front().spec));
  REQUIRE(order);
  longer.microbatches = 16;
  CHECK_FALSE(order->sample(candidates(longer).front().spec));
}

TEST_CASE("Between two points a searched order is the better of theirs, at a point it is searched again") {
  const auto at = [](const std::string& comm) {
    return candidates(spec_of({"--schedules", "zb-auto", "--comm", comm})).front().spec;
  };
  KnownOrders known{true, {.option = "comm", .unit = Axis::Unit::time, .from = 0, .to = 2'000'000}, {0, 2'000'000}};
  std::vector<Schedule> orders;
  for (const auto& [comm, value] : {std::pair{"0ns", 0}, std::pair{"2ms", 2'000'000}}) {
    Evaluation run = evaluate(at(comm));
    orders.push_back(run.graph.schedule());
    known.keep(std::move(run), value);
    CHECK_FALSE(known.sample(at(comm), value));
  }
  const auto sample = known.sample(at("700us"), 700'000);
  REQUIRE(sample);
  std::vector<Duration> steps;
  for (const Schedule& order : orders) {
    BuiltRun run = build_run(at("700us"), &order);
    steps.push_back(end_of(simulate(lower(std::move(run.schedule), std::move(run.scenario)))) - SimTime{});
  }
  REQUIRE(steps[0] != steps[1]);
  CHECK(sample->step_time == std::min(steps[0], steps[1]));
}

} // namespace ppsim::test::known_order_test
