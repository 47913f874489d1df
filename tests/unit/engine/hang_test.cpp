// Whether an order of sends and receives hangs: the orders that people have reported, and such as look like them and
// run.

#include "ppsim/engine/hang.hpp"
#include "support/comm_orders.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ppsim::test::hang_test {

namespace {

using Sentences = std::vector<std::string>;

std::optional<Hang> hang_of(const Rows& rows, Communicators communicators, bool eager = false) {
  const Written read = written(rows);
  return find_hang(read.schedule, read.order, communicators, eager);
}

bool hangs(const Rows& rows, Communicators communicators, bool eager = false) {
  return hang_of(rows, communicators, eager).has_value();
}

/// pytorch#172668, a comment of January 2026: with every receive right before its task, rank 0 is stuck at "0SEND_F1
/// 2RECV_F0 2F0" and rank 1 at "1SEND_F0 1RECV_F1 1F1".
const Rows crossing_sends{"0F0 0SEND_F0 0F1 0SEND_F1 2RECV_F0 2F0 2RECV_F1 2SEND_F0 2F1 2SEND_F1",
                          "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1 3RECV_F0 3F0 3RECV_F1 3F1"};

/// The next comment: receives first on odd ranks. "2SEND_F1 0F2 0SEND_F2 2RECV_B0 2B0" against "3RECV_F1 3SEND_B0 3F1
/// 3B1 1RECV_F2 3SEND_B1 1F2"; `turn` is what rank 0 does there.
Rows receives_first(const std::string& turn) {
  return {"0F0 0SEND_F0 0F1 0SEND_F1 2RECV_F0 2F0 2SEND_F0 2RECV_F1 2F1 2SEND_F1 0F2 " + turn +
              " 2RECV_B1 2B0 2SEND_B0 2B1 2SEND_B1 2RECV_F2 2F2 2SEND_F2 0RECV_B0 0B0 0RECV_B1 0B1 2RECV_B2 2B2 "
              "2SEND_B2 0RECV_B2 0B2",
          "1RECV_F0 1F0 1RECV_F1 1SEND_F0 1F1 3RECV_F0 1SEND_F1 3F0 3B0 3RECV_F1 3SEND_B0 3F1 3B1 1RECV_F2 3SEND_B1 "
          "1F2 1RECV_B0 1RECV_B1 1SEND_F2 3RECV_F2 1B0 1SEND_B0 1B1 1SEND_B1 3F2 3B2 3SEND_B2 1RECV_B2 1B2 1SEND_B2"};
}

/// nccl#479, as microbatches that go in opposite directions.
const Rows both_send_first{"0F0 0SEND_F0 1RECV_F1 1F1", "0F1 0SEND_F1 1RECV_F0 1F0"};

} // namespace

TEST_CASE("Crossing sends hang if each is before the other stage's receive, but not on edges") {
  const auto hang = hang_of(crossing_sends, Communicators::pair);
  REQUIRE(hang);
  CHECK(hang->cycle == Sentences{
                           "stage 0: 0SEND_F1 waits for stage 1 to come to 1RECV_F1",
                           "stage 1: 1RECV_F1 waits for 1SEND_F0, which is before it on the same communicator",
                           "stage 1: 1SEND_F0 waits for stage 0 to come to 2RECV_F0",
                           "stage 0: 2RECV_F0 waits for 0SEND_F1, which is before it on the same communicator",
                       });
  CHECK(hangs(crossing_sends, Communicators::group));
  CHECK(!hangs(crossing_sends, Communicators::edge));
  CHECK(!hangs(crossing_sends, Communicators::pair, true));
}

TEST_CASE("With a communicator per direction, activations block activations, but no gradients") {
  CHECK(hangs(crossing_sends, Communicators::direction)); // on its way round, each rank sends and receives activations
  CHECK(hangs(receives_first("0SEND_F2 2RECV_B0"), Communicators::group));
  CHECK(!hangs(receives_first("0SEND_F2 2RECV_B0"), Communicators::direction));
  CHECK(hangs(both_send_first, Communicators::direction));
}

TEST_CASE("The fix of a hang was tried") {
  const auto hang = hang_of(crossing_sends, Communicators::pair);
  REQUIRE(hang);
  CHECK(hang->fix == "swap 1SEND_F0 and 1RECV_F1 on stage 1");
  Rows mended = crossing_sends;
  mended[1] = "1RECV_F0 1F0 1RECV_F1 1SEND_F0 1F1 1SEND_F1 3RECV_F0 3F0 3RECV_F1 3F1";
  CHECK(!hangs(mended, Communicators::pair));
}

TEST_CASE("Two stages that group their transfers differently are reported") {
  const auto uneven = [](const Rows& rows, Communicators communicators) {
    const Written read = written(rows);
    return find_uneven_groups(read.schedule, read.order, communicators);
  };
  const Rows one_sided{"0F0 (0SEND_F0;1RECV_F1) 1F1", "0F1 0SEND_F1 1RECV_F0 1F0"};
  CHECK(uneven(one_sided, Communicators::group) ==
        "stage 0 launches 0SEND_F0 and 1RECV_F1 as one group, stage 1 launches their other ends separately: NCCL "
        "does not define what happens");
  CHECK(uneven(one_sided, Communicators::pair));
  CHECK(!uneven(one_sided, Communicators::edge)); // each of them has a communicator of its own
  CHECK(!uneven({"0F0 (0SEND_F0;1RECV_F1) 1F1", "0F1 (0SEND_F1;1RECV_F0) 1F0"}, Communicators::group));
  CHECK(uneven({"0F0 0F1 (0SEND_F0;0SEND_F1)", "1RECV_F0 1RECV_F1 1F0 1F1"}, Communicators::edge));
  // With another stage between them it is not a matter of two stages.
  CHECK(!uneven(
      {"0F0 0SEND_F0 0RECV_B0 0B0", "1RECV_F0 1F0 (1SEND_F0;1RECV_B0) 1B0 1SEND_B0", "2RECV_F0 2F0 2B0 2SEND_B0"},
      Communicators::edge));
}

TEST_CASE("A send and a receive in one group do not hang, even if only one stage groups them") {
  Rows grouped = crossing_sends;
  grouped[0] = "0F0 0SEND_F0 0F1 (0SEND_F1;2RECV_F0) 2F0 2RECV_F1 2SEND_F0 2F1 2SEND_F1";
  CHECK(!hangs(grouped, Communicators::pair));
  CHECK(!hangs(grouped, Communicators::group));
  grouped[1] = "1RECV_F0 1F0 (1SEND_F0;1RECV_F1) 1F1 1SEND_F1 3RECV_F0 3F0 3RECV_F1 3F1";
  CHECK(!hangs(grouped, Communicators::group));
}

TEST_CASE("Receives first on one of two stages do not help if the next exchange crosses") {
  const auto hang = hang_of(receives_first("0SEND_F2 2RECV_B0"), Communicators::pair);
  REQUIRE(hang);
  CHECK(hang->cycle == Sentences{
                           "stage 0: 0SEND_F2 waits for stage 1 to come to 1RECV_F2",
                           "stage 1: 1RECV_F2 waits for 3SEND_B0, which is before it on the same communicator",
                           "stage 1: 3SEND_B0 waits for stage 0 to come to 2RECV_B0",
                           "stage 0: 2RECV_B0 waits for 0SEND_F2, which is before it on the same communicator",
                       });
  CHECK(hang->fix == "swap 0SEND_F2 and 2RECV_B0 on stage 0");
  CHECK(!hangs(receives_first("2RECV_B0 0SEND_F2"), Communicators::pair));
  CHECK(!hangs(receives_first("(0SEND_F2;2RECV_B0)"), Communicators::pair));
  CHECK(!hangs(receives_first("0SEND_F2 2RECV_B0"), Communicators::edge));
}

TEST_CASE("Send and receive against send and receive hang, unless grouped or swapped on one stage") {
  CHECK(hangs(both_send_first, Communicators::pair));
  CHECK(hangs(both_send_first, Communicators::group));
  CHECK(!hangs(both_send_first, Communicators::edge));
  CHECK(!hangs({"0F0 (0SEND_F0;1RECV_F1) 1F1", "0F1 (0SEND_F1;1RECV_F0) 1F0"}, Communicators::group));
  CHECK(!hangs({"0F0 (0SEND_F0;1RECV_F1) 1F1", "0F1 0SEND_F1 1RECV_F0 1F0"}, Communicators::group));
  CHECK(!hangs({"0F0 0SEND_F0 1RECV_F1 1F1", "0F1 1RECV_F0 0SEND_F1 1F0"}, Communicators::group));
}

TEST_CASE("Three stages in a ring hang on one communicator for all, not on one per pair") {
  // Each microbatch begins one stage further on.
  const Rows ring{"0F0 0SEND_F0 1RECV_F2 1F2 1SEND_F2 2RECV_F1 2F1", "0F1 0SEND_F1 1RECV_F0 1F0 1SEND_F0 2RECV_F2 2F2",
                  "0F2 0SEND_F2 1RECV_F1 1F1 1SEND_F1 2RECV_F0 2F0"};
  const auto hang = hang_of(ring, Communicators::group);
  REQUIRE(hang);
  CHECK(hang->cycle == Sentences{
                           "stage 0: 0SEND_F0 waits for stage 1 to come to 1RECV_F0",
                           "stage 1: 1RECV_F0 waits for 0SEND_F1, which is before it on the same communicator",
                           "stage 1: 0SEND_F1 waits for stage 2 to come to 1RECV_F1",
                           "stage 2: 1RECV_F1 waits for 0SEND_F2, which is before it on the same communicator",
                           "stage 2: 0SEND_F2 waits for stage 0 to come to 1RECV_F2",
                           "stage 0: 1RECV_F2 waits for 0SEND_F0, which is before it on the same communicator",
                       });
  CHECK(!hangs(ring, Communicators::pair));
  // One stage that receives first opens the first ring; the sends of the second then cross in turn.
  Rows turned = ring;
  turned[0] = "0F0 1RECV_F2 0SEND_F0 1F2 2RECV_F1 1SEND_F2 2F1";
  CHECK(!hangs(turned, Communicators::group));
}

TEST_CASE("Two stages that each wait for their own send hang") {
  // Stage 0 runs 0F3 when 0F2 is taken; stage 1 takes that after 1F1, for which 1B0's gradient has to be taken.
  const Rows held{"0F0 0SEND_F0! 0F1 0SEND_F1! 0F2 0SEND_F2! 0F3 0SEND_F3! 0RECV_B0 0B0 0RECV_B1 0B1 0RECV_B2 0B2 "
                  "0RECV_B3 0B3",
                  "1RECV_F0 1F0 1B0 1SEND_B0! 1RECV_F1 1F1 1B1 1SEND_B1! 1RECV_F2 1F2 1B2 1SEND_B2! 1RECV_F3 1F3 1B3 "
                  "1SEND_B3!"};
  const auto hang = hang_of(held, Communicators::edge);
  REQUIRE(hang);
  CHECK(hang->cycle == Sentences{
                           "stage 0: 0SEND_F2 waits for stage 1 to come to 1RECV_F2",
                           "stage 1: 1RECV_F2 waits for 1F1, which is before it",
                           "stage 1: 1F1 waits for its stage's own 1SEND_B0",
                           "stage 1: 1SEND_B0 waits for stage 0 to come to 0RECV_B0",
                           "stage 0: 0RECV_B0 waits for 0F3, which is before it",
                           "stage 0: 0F3 waits for its stage's own 0SEND_F2",
                       });
  Rows loose = held;
  loose[0] = "0F0 0SEND_F0! 0F1 0SEND_F1! 0F2 0SEND_F2 0F3 0SEND_F3 0RECV_B0 0B0 0RECV_B1 0B1 0RECV_B2 0B2 0RECV_B3 "
             "0B3";
  CHECK(!hangs(loose, Communicators::edge));
}

TEST_CASE("Two stages that list their transfers in different orders are reported: data is misdelivered") {
  const Written turned = written({"0F0 0F1 0SEND_F0 0SEND_F1", "1RECV_F1 1RECV_F0 1F0 1F1"});
  CHECK(find_mismatch(turned.schedule, turned.order, Communicators::edge));
  const Scenario scenario = uniform_scenario(turned.schedule.shape(), Duration{10}, Duration{20});
  const Refusal refusal = refusal_of([&] { (void)run_streams(turned, scenario, Communicators::edge); });
  CHECK(refusal.code == ExitCode::no); // the check does not call it a hang, nor does the simulation
  CHECK(refusal.first().find("would go astray") != std::string::npos);
  const Written grouped = written({"0F0 0F1 (0SEND_F0;0SEND_F1)", "(1RECV_F1;1RECV_F0) 1F0 1F1"});
  CHECK(!find_hang(grouped.schedule, grouped.order, Communicators::edge));
  CHECK(
      find_mismatch(grouped.schedule, grouped.order, Communicators::edge) ==
      "stage 0 sends 0SEND_F0, but stage 1 receives 1RECV_F1: NCCL matches them in order, so the data would go astray");
  const Written both_kinds = written(
      {"0F0 0SEND_F0 0RECV_B0 1RECV_F1 1F1 1B1 1SEND_B1 0B0", "0F1 0SEND_F1 1RECV_F0 1F0 1B0 1SEND_B0 0RECV_B1 0B1"});
  CHECK(find_mismatch(both_kinds.schedule, both_kinds.order, Communicators::edge));
  CHECK(!find_mismatch(both_kinds.schedule, both_kinds.order, Communicators::direction));
  const Written straight = written(crossing_sends);
  CHECK(!find_mismatch(straight.schedule, straight.order, Communicators::edge));
}

TEST_CASE("Operations have PyTorch's notation") {
  const Written read = written({"0F0 0SEND_F0 0RECV_B0 0B0", "1RECV_F0 1F0 1B0 1SEND_B0"});
  Sentences names;
  for (const CommOp& op : read.order.ops()) names.push_back(to_string(read.schedule, op));
  CHECK(names == Sentences{"0SEND_F0", "0RECV_B0", "1RECV_F0", "1SEND_B0"});
}

TEST_CASE("The simulation refuses an order that hangs, with the message of the check") {
  const Written read = written(crossing_sends);
  Scenario scenario = uniform_scenario(read.schedule.shape(), Duration{10}, Duration{20});
  const Refusal refusal = refusal_of([&] { (void)run_streams(read, scenario, Communicators::pair); });
  CHECK(refusal.code == ExitCode::no);
  CHECK(refusal.first() ==
        "schedule: deadlock: stage 0: 0SEND_F1 waits for stage 1 to come to 1RECV_F1; stage 1: 1RECV_F1 waits for "
        "1SEND_F0, which is before it on the same communicator; stage 1: 1SEND_F0 waits for stage 0 to come to "
        "2RECV_F0; stage 0: 2RECV_F0 waits for 0SEND_F1, which is before it on the same communicator -- swap 1SEND_F0 "
        "and 1RECV_F1 on stage 1");
}

} // namespace ppsim::test::hang_test
