// The best split of layers over chunks, with a pencil.

#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/balance.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

namespace ppsim::test::balance_test {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t many = 10'000;

/// An objective without a schedule: the step takes as long as the busiest chunk, layers of 10 ns and the loss as
/// `loss_layers` of them.
SplitValue busiest_chunk(const Layout& layout, std::size_t loss_layers) {
  SplitValue value;
  for (const ChunkBlocks& blocks : layout) {
    const std::size_t layers = blocks.layers + blocks.mtp_layers + (blocks.loss ? loss_layers : 0);
    value.load.push_back(static_cast<std::int64_t>(layers) * 10ns);
    value.step_time = std::max(value.step_time, value.load.back());
  }
  return value;
}

Balance balanced(const std::string& start, std::size_t loss_layers) {
  return balance(
      {parse_layout(start)}, [&](const Layout& layout) { return busiest_chunk(layout, loss_layers); }, many);
}

std::string found(const std::string& start, std::size_t loss_layers) {
  return to_string(balanced(start, loss_layers).layout);
}

} // namespace

TEST_CASE("With a loss as heavy as two layers the last chunk gets two layers fewer than the others") {
  // 22 layers and the loss are 24: 6 on each of 4 chunks
  const Balance result = balanced("Et*6|t*6|t*5|t*5L", 2);
  CHECK(to_string(result.layout) == "Et*6|t*6|t*6|t*4L");
  CHECK(result.start_step_time == 70ns);
  CHECK(result.step_time == 60ns);
  CHECK(result.changed());
  CHECK(result.settled);
}

TEST_CASE("Of splits that are equally good the one with the fewest layers moved is taken, then with fewer on the first "
          "chunks") {
  CHECK(found("Ett|tt|tt|ttL", 0) == "Ett|tt|tt|ttL");
  CHECK_FALSE(balanced("Ett|tt|tt|ttL", 0).changed());
  // 9 layers and the loss of 2 are 11: 3 at most, one layer has to move
  CHECK(found("Ettt|tt|tt|ttL", 2) == "Ettt|tt|ttt|tL");
}

TEST_CASE("A chunk gives up its last layer only if it has other work") {
  CHECK(found("Et|t|t|tL", 2) == "Et|t|tt|L");
  // the second chunk could be spared, but keeps its layer
  const auto second_is_slow = [](const Layout& layout) {
    SplitValue value = busiest_chunk(layout, 0);
    value.load[1] *= 100;
    value.step_time = std::max(value.load[1], value.step_time);
    return value;
  };
  const Balance result = balance({parse_layout("Et|tt|t|tL")}, second_is_slow, many);
  CHECK(result.layout[1].layers == 1);
}

TEST_CASE("Layers for multi-token prediction do not move, and an empty chunk may stay empty") {
  CHECK(found("Ett|tt|tt|ttmmL", 0) == "Ett|tt|ttt|tmmL");
  CHECK(found("Et|||tL", 0) == "Et|||tL");
}

TEST_CASE(
    "A split that fits is better than a faster one that does not, and one that lacks less than one that lacks more") {
  const auto value = [](std::size_t limit) {
    return [limit](const Layout& layout) {
      SplitValue split = busiest_chunk(layout, 0);
      const std::size_t first = layout.front().layers;
      split.excess = Bytes{static_cast<std::int64_t>(first > limit ? first - limit : 0)};
      return split;
    };
  };
  const Balance fits = balance({parse_layout("Et*4|t*4L")}, value(3), many);
  CHECK(to_string(fits.layout) == "Ettt|t*5L");
  CHECK_FALSE(fits.start_fits);
  CHECK(fits.fits);
  CHECK(fits.step_time == 50ns);
  const auto never = [&](const Layout& layout) {
    SplitValue result = value(3)(layout);
    result.excess += Bytes{1};
    return result;
  };
  CHECK(to_string(balance({parse_layout("Et*4|t*4L")}, never, many).layout) == "Ettt|t*5L");
  CHECK_FALSE(balance({parse_layout("Et*4|t*4L")}, never, many).fits);
}

TEST_CASE("If none fits, the fullest stage decides, not the total excess") {
  // six layers on one chunk lack 9, three on each lack 6 twice
  const auto value = [](const Layout& layout) {
    SplitValue split = busiest_chunk(layout, 0);
    for (const ChunkBlocks& blocks : layout) {
      const auto own = static_cast<std::int64_t>(blocks.layers);
      const std::int64_t lacks = own == 0 ? 0 : own + 3; // a second stage in use needs more in all
      split.excess = std::max(split.excess, Bytes{lacks});
    }
    return split;
  };
  CHECK(to_string(balance({parse_layout("Et*6|L")}, value, many).layout) == "Ettt|tttL");
}

TEST_CASE("A split that is not allowed is not taken") {
  const auto value = [](const Layout& layout) -> std::optional<SplitValue> {
    if (layout.back().layers == 4) return std::nullopt;
    return busiest_chunk(layout, 2);
  };
  CHECK(balance({parse_layout("Et*6|t*6|t*5|t*5L")}, value, many).layout.back().layers == 5);
}

TEST_CASE("The search ends after its limit of splits, and says so") {
  const Balance result = balance(
      {parse_layout("Et*6|t*6|t*5|t*5L")}, [](const Layout& layout) { return busiest_chunk(layout, 2); }, 2);
  CHECK(result.tried == 2);
  CHECK_FALSE(result.settled);
  CHECK(result.step_time == 60ns); // the first try goes from the busiest to the least busy
}

TEST_CASE("One chunk leaves nothing to search") {
  const Balance result = balanced("Et*6L", 2);
  CHECK_FALSE(result.changed());
  CHECK(result.tried == 1);
  CHECK(result.settled);
}

TEST_CASE("The value of a split has the compute time of each chunk's stage and the excess of the fullest stage") {
  // F = 5 and 15, B = 10 each, two microbatches; three activations of 8 over a limit of 10: 2 on stage 0 lack 6
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 10ns);
  scenario.costs.forward = {5ns, 15ns};
  scenario.memory.activation = scenario.memory.activation_for_weight = {Bytes{8}, Bytes{8}};
  scenario.memory.limit = Bytes{10};
  const Outcome outcome = run(generate("1f1b", scenario.shape), scenario);
  const SplitValue value = split_value(outcome.graph, outcome.timeline, 99ns);
  CHECK(value.load == std::vector<Duration>{30ns, 50ns});
  CHECK(value.excess == Bytes{6});
  CHECK(value.step_time == 99ns);
}

TEST_CASE("In the load of a stage, an overlapped pair counts once") {
  const Schedule paired = order({"0F0 0F1 0B0 0B1", "1F0 (1F1;1B0) 1B1"});
  Scenario scenario = uniform_scenario(paired.shape(), 10ns, 20ns);
  scenario.pair.kind = PairRule::Kind::max;
  const Outcome outcome = run(paired, scenario);
  CHECK(split_value(outcome.graph, outcome.timeline, 0ns).load == std::vector<Duration>{60ns, 50ns});
}

} // namespace ppsim::test::balance_test
