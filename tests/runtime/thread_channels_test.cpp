// ThreadChannels: buffers that pass between threads, paced by the scenario or at once.

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <future>
#include <thread>

#include "runtime/compiled.hpp"
#include "runtime/stage/thread_channels.hpp"

namespace ppsim::test::thread_channels_test {

namespace {

using namespace runtime;
using namespace std::chrono_literals;

constexpr Bytes size{64};

/// Two stages, three microbatches; every transfer takes `comm`.
struct Ends {
  explicit Ends(ThreadChannelOptions options = {}, Duration comm = 0ns, TransferModel model = TransferModel::latency)
      : program{compiled(order({"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1F1 1F2 1B0 1B1 1B2"}), {.slots = 3}, comm)},
        monitor{program, {StageId{0}, StageId{1}}, 10s, 10s, [](const auto&) {}} {
    program.transfer_model = model;
    channels = std::make_unique<ThreadChannels>(program, size, monitor, options);
    sender().begin_step();
    receiver().begin_step();
  }
  [[nodiscard]] TransferRef transfer(std::uint32_t position) const { return {program.stages[1].in.front(), position}; }
  [[nodiscard]] Transport& sender() const { return channels->transport(StageId{0}); }
  [[nodiscard]] Transport& receiver() const { return channels->transport(StageId{1}); }
  void send(std::uint32_t position, int content) const {
    std::memcpy(sender().output(transfer(position)), &content, sizeof content);
    sender().isend(transfer(position), size);
  }
  [[nodiscard]] int receive(std::uint32_t position) const {
    int content = 0;
    std::memcpy(&content, receiver().input(transfer(position), size), sizeof content);
    return content;
  }

  Program program;
  Monitor monitor;
  std::unique_ptr<ThreadChannels> channels;
};

} // namespace

TEST_CASE("Buffers are aligned, passed without a copy, and arrive in the sender's order",
          "[runtime][thread-channels]") {
  const Ends ends;
  void* const buffer = ends.sender().output(ends.transfer(0));
  CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 64 == 0);
  const int seven = 7;
  std::memcpy(buffer, &seven, sizeof seven);
  ends.sender().isend(ends.transfer(0), size);
  ends.send(1, 8);
  CHECK(ends.receiver().input(ends.transfer(0), size) == buffer);
  CHECK(ends.receive(1) == 8); // used in another order
  CHECK(ends.receive(0) == 7);
}

TEST_CASE("A sender waits for a slot until a receiver frees one", "[runtime][thread-channels]") {
  const Ends ends;
  for (int position = 0; position < 3; ++position) ends.send(static_cast<std::uint32_t>(position), position);
  CHECK(ends.receive(0) == 0);
  ends.sender().begin_step(); // of the next step, before the receiver is there
  std::future<void*> waiting = std::async(std::launch::async, [&] { return ends.sender().output(ends.transfer(0)); });
  CHECK(waiting.wait_for(20ms) == std::future_status::timeout);
  ends.receiver().release(ends.transfer(0));
  CHECK(waiting.get() != nullptr);
}

TEST_CASE("A message of another size is refused with both sizes", "[runtime][thread-channels]") {
  const Ends ends;
  static_cast<void>(ends.sender().output(ends.transfer(0)));
  ends.sender().isend(ends.transfer(0), Bytes{60});
  CHECK(refusal_of([&] { static_cast<void>(ends.receive(0)); }).first() ==
        ": 60 bytes arrived, expected 64 -- check that both ranks run the same workload");
}

TEST_CASE("Paced content becomes visible after its transfer's time, each transfer by itself",
          "[runtime][thread-channels]") {
  const Ends ends{{.paced = true, .spin = 0ns}, 20ms};
  for (std::uint32_t position = 0; position < 3; ++position) ends.send(position, 0);
  static_cast<void>(ends.receive(2));
  const Transport::Arrival arrival = ends.receiver().arrivals().front();
  CHECK(arrival.ended - arrival.began == 20'000'000);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  CHECK(now >= Duration{arrival.ended});
}

TEST_CASE("A paced link takes one transfer at a time", "[runtime][thread-channels]") {
  const Ends ends{{.paced = true, .spin = 0ns}, 100ms, TransferModel::link}; // both sent while the first is under way
  ends.send(0, 0);
  ends.send(1, 0);
  static_cast<void>(ends.receive(0));
  static_cast<void>(ends.receive(1));
  const std::vector<Transport::Arrival> arrivals = ends.receiver().arrivals();
  CHECK(arrivals[1].began == arrivals[0].ended);
  CHECK(arrivals[1].ended == arrivals[0].ended + 100'000'000);
}

TEST_CASE("Stages of one node share its paced link to other nodes, as predicted", "[runtime][thread-channels]") {
  const Shape shape{.stages = 4, .microbatches = 4, .vpp = 2};
  Scenario scenario = uniform_scenario(shape, 10us, 20us, 100ms); // all sent while the first is under way
  scenario.network.model = TransferModel::link;
  scenario.network.stages_per_node = 2;
  const Program program = compiled(generate("interleaved", shape), scenario);
  CHECK(program.has_uplinks());
  CHECK_FALSE(channel_between(program, 0, 1).uplink);
  CHECK(channel_between(program, 1, 2).uplink == 0U);
  CHECK(channel_between(program, 0, 3).uplink == 0U);
  CHECK(channel_between(program, 3, 0).uplink == 1U);
  Monitor monitor{program, {}, 10s, 10s, [](const auto&) {}};
  ThreadChannels channels{program, size, monitor, {.paced = true, .spin = 0ns}};
  for (std::size_t stage = 0; stage < 4; ++stage) channels.transport(make_id<StageId>(stage)).begin_step();
  const auto first_of = [&](std::size_t from, std::size_t to) {
    return TransferRef{
        make_id<ChannelId>(static_cast<std::size_t>(&channel_between(program, from, to) - program.channels.data())), 0};
  };
  const auto send = [&](std::size_t from, std::size_t to) {
    Transport& transport = channels.transport(make_id<StageId>(from));
    static_cast<void>(transport.output(first_of(from, to)));
    transport.isend(first_of(from, to), size);
  };
  const auto arrival = [&](std::size_t from, std::size_t to) {
    Transport& transport = channels.transport(make_id<StageId>(to));
    static_cast<void>(transport.input(first_of(from, to), size));
    return transport.arrivals().front();
  };
  send(1, 2);
  send(0, 3);
  send(0, 1);
  const Transport::Arrival first = arrival(1, 2);
  CHECK(arrival(0, 3).began == first.ended);
  CHECK(arrival(0, 1).began < first.ended); // within the node
}

TEST_CASE("Waiting stages wake up when the run is stopped", "[runtime][thread-channels]") {
  Ends ends;
  std::future<Refusal> receiver =
      std::async(std::launch::async, [&] { return refusal_of([&] { static_cast<void>(ends.receive(0)); }); });
  std::future<Refusal> meeting =
      std::async(std::launch::async, [&] { return refusal_of([&] { ends.sender().barrier(); }); });
  std::this_thread::sleep_for(5ms);
  ends.monitor.stop("enough");
  CHECK(receiver.get().first() == ": the run was stopped while it waited for the output of 0F0 -- ");
  CHECK(meeting.get().first() == ": the run was stopped while it waited for the other ranks -- ");
}

TEST_CASE("Two stages that exchange get each other's content", "[runtime][thread-channels]") {
  const Program program = compiled(generate("chimera", {.stages = 2, .microbatches = 2}));
  Monitor monitor{program, {StageId{0}, StageId{1}}, 10s, 10s, [](const auto&) {}};
  ThreadChannels channels{program, size, monitor, {}};
  const auto sums = [&](std::size_t stage) {
    int sum = 0;
    for (int round = 0; round < 1000; ++round) {
      const int mine = round * static_cast<int>(stage + 1);
      int theirs = 0;
      channels.transport(make_id<StageId>(stage))
          .exchange(make_id<StageId>(1 - stage), &mine, &theirs, Bytes{sizeof mine});
      sum += theirs;
    }
    return sum;
  };
  std::future<int> other = std::async(std::launch::async, [&] { return sums(1); });
  CHECK(sums(0) == 2 * 499500);
  CHECK(other.get() == 499500);
}

TEST_CASE("Content of many steps arrives as sent", "[runtime][thread-channels]") {
  const Ends ends;
  constexpr int steps = 2000;
  std::jthread sender{[&] {
    for (int step = 0; step < steps; ++step) {
      ends.sender().begin_step();
      for (int position = 0; position < 3; ++position)
        ends.send(static_cast<std::uint32_t>(position), step * 3 + position);
    }
  }};
  int wrong = 0;
  for (int step = 0; step < steps; ++step) {
    ends.receiver().begin_step();
    for (const std::uint32_t position : {1U, 0U, 2U}) {
      if (ends.receive(position) != step * 3 + static_cast<int>(position)) ++wrong;
      ends.receiver().release(ends.transfer(position));
    }
  }
  CHECK(wrong == 0);
}

} // namespace ppsim::test::thread_channels_test
