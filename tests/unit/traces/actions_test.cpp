// Steps of actions that follow one another, and the stream that tasks run on.

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "traces/imports/actions.hpp"

namespace ppsim::test::actions_test {

using namespace ppsim::traces;

namespace {

/// "0F0 0B0 opt" as actions.
std::vector<PpAction> actions(const std::string& text) {
  std::vector<PpAction> found;
  std::istringstream words{text};
  for (std::string word; words >> word;)
    found.push_back(word == "opt" ? PpAction{PpAction::Kind::optimizer, {}} : parse_pp_action(word).value());
  return found;
}

/// The steps as "--001": a digit for each action, '-' for those that are cut off.
std::string steps(const std::string& text) {
  const ActionSteps found = steps_of(actions(text));
  std::string shown;
  for (std::size_t i = 0; i < found.steps.size(); ++i)
    shown += i < found.cut ? '-' : static_cast<char>('0' + found.steps[i]);
  return shown;
}

} // namespace

TEST_CASE("A step ends when an action is repeated, not at another optimizer or reduction") {
  CHECK(steps("").empty());
  CHECK(steps("0F0 0B0 0F0 0B0") == "0011");
  CHECK(steps("1RECV_F0 1F0 1B0 1RECV_F0 1F0 1B0") == "000111");
  CHECK(steps("0F0 2F0 2B0 0B0 0REDUCE_GRAD 2REDUCE_GRAD 0REDUCE_GRAD opt opt 0F0 2F0 2B0 0B0 opt opt") ==
        "000000000111111");
  CHECK(steps("0F0 0I0 0F1 0I1 0W0 0W1 0F0") == "0000001");
}

TEST_CASE("A step without its first forward does not take that of the next step") {
  CHECK(steps("0F0 0B0 0F1 0B1 0B0 0F1 0B1 0F0 0B0") == "000011122");
}

TEST_CASE("Tasks before the first complete step are cut off") {
  const std::string whole = "0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3 ";
  CHECK(steps("0B0 0F2 0B1 0F3 0B2 0B3 " + whole + whole) == "------0000000011111111");
  CHECK(steps("0F2 0B1 0F3 0B2 0B3 " + whole + whole) == "-----0000000011111111");
  CHECK(steps("0B3 " + whole) == "-00000000");
  CHECK(steps("0F3 0B2 0B3 opt opt " + whole + "opt opt " + whole) == "-----000000000011111111");
  // On the last stage every forward has its backward right after it.
  CHECK(steps("1F1 1B1 opt 1F0 1B0 1F1 1B1 opt 1F0 1B0 1F1 1B1") == "---000001111");
  CHECK(steps("1F1 1B1 1RECV_F0 1F0 1B0 1RECV_F1 1F1 1B1") == "--000000");
  CHECK(steps("0F2 0F0 0F1 0F2 0F0 0F1 0F2") == "-000111"); // forward only
  // Two chunks: that of the first one comes first, as the backward of a step tells.
  CHECK(steps("2F0 2F1 2B0 2B1 0B0 0B1 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1") == "------00000000");
}

TEST_CASE("Nothing is cut off a recording that begins with a step") {
  CHECK(steps("0F0 0F1 0B0 0B1 0F0 0F1 0B0 0B1") == "00001111");
  CHECK(steps("3F2 0F0 0F1 3F3 0B0 3B2 0B1 3B3 3F2") == "000000001"); // both directions, each with its microbatches
  CHECK(steps("0F0 0B0 opt 0F1 0B1 opt 0F0") == "0000001");           // an optimizer per microbatch
  CHECK(steps("0B0 0F0 0W1") == "011");                               // nothing whole to begin with
}

TEST_CASE("Tasks run on the stream of most of them, or on the busier one if there are two") {
  MainStream main;
  CHECK(main.stream() == 0);
  main.add_task({{7, {0, 10}}, {13, {0, 500}}});
  CHECK(main.stream() == 13);
  main.add_task({{7, {10, 20}}});
  CHECK(main.stream() == 7);
}

TEST_CASE("Tasks without kernels are between their neighbours, in the processor's order") {
  using traces::TaskTime;
  const auto placed = [](std::vector<TaskTime> tasks) {
    const std::size_t count = traces::place_without_kernels(tasks);
    std::string shown = fmt::format("{}:", count);
    for (const TaskTime& task : tasks)
      shown += task.ran ? fmt::format(" {}-{}", task.ran->start, task.ran->end) : std::string{" none"};
    return shown;
  };
  const std::optional<Stretch> none;
  CHECK(placed({{0, none}, {0, none}}) == "0: none none"); // nothing is known of the device
  CHECK(placed({{0, Stretch{10, 20}}, {0, none, 25}, {0, none}, {0, Stretch{30, 40}}}) == "2: 10-20 25-25 30-30 30-40");
  CHECK(placed({{0, Stretch{10, 20}}, {0, none, 15}, {0, Stretch{30, 40}}}) == "1: 10-20 20-20 30-40");
  CHECK(placed({{0, Stretch{10, 20}}, {0, none, 35}, {0, Stretch{30, 40}}}) == "1: 10-20 30-30 30-40");
  CHECK(placed({{0, Stretch{10, 20}}, {0, none}, {0, Stretch{19, 40}}}) == "1: 10-20 19-19 19-40"); // rounded times
  CHECK(placed({{0, Stretch{10, 20}}, {0, none}, {0, none, 25}}) == "2: 10-20 20-20 25-25");
  CHECK(placed({{0, none}, {0, Stretch{10, 20}}}) == "1: 10-10 10-20");
  // Those of a step stay within it.
  CHECK(placed({{0, Stretch{10, 20}}, {0, none}, {1, none}, {1, Stretch{90, 95}}}) == "2: 10-20 20-20 90-90 90-95");
}

} // namespace ppsim::test::actions_test
