// Transfers as messages. Ranks are threads here; a send is complete when its receive took it.

#include "ppsim/base/error.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <cstring>

#include "runtime/processes/message_transport.hpp"
#include "runtime/thread_messages.hpp"

namespace ppsim::runtime::message_transport_test {

namespace {

constexpr Bytes content{1000};

/// One channel from stage 0 to stage 1.
Program one_channel(std::size_t transfers, std::size_t slots) {
  Program program;
  program.stages.resize(2);
  program.stages[0].out = {ChannelId{0}};
  program.stages[1].in = {ChannelId{0}};
  program.channels.push_back(
      {.from = StageId{0}, .to = StageId{1}, .transfers = std::vector<Transfer>(transfers), .slots = slots});
  return program;
}

TransferRef ref(std::uint32_t position) {
  return {ChannelId{0}, position};
}

GiveUp patience(std::chrono::milliseconds limit = std::chrono::seconds{20}) {
  const auto end = std::chrono::steady_clock::now() + limit;
  return [end] {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("gave up");
  };
}

void send(Transport& transport, std::uint32_t position, Bytes bytes = content) {
  std::memset(transport.output(ref(position)), static_cast<int>(position), 1000);
  transport.isend(ref(position), bytes);
}

/// The first and last byte of a transfer's content, together.
int take(Transport& transport, std::uint32_t position) {
  const auto* const bytes = static_cast<const unsigned char*>(transport.input(ref(position), content));
  return bytes[0] == bytes[999] ? bytes[0] : -1;
}

} // namespace

TEST_CASE("Transfers of a channel arrive in order, step after step, with fewer slots than transfers", "[message]") {
  const Program program = one_channel(5, 2);
  run_ranks(2, [&](MessagePassing& messages) {
    const auto transport =
        make_message_transport(program, make_id<StageId>(messages.rank()), messages, content, patience());
    for (int step = 0; step < 2; ++step) {
      transport->begin_step();
      if (messages.rank() == 0)
        for (std::uint32_t position = 0; position < 5; ++position) send(*transport, position);
      else {
        for (std::uint32_t position = 0; position < 2; ++position) transport->irecv(ref(position));
        for (std::uint32_t position = 0; position < 5; ++position) {
          if (take(*transport, position) != static_cast<int>(position)) throw std::runtime_error("wrong content");
          transport->release(ref(position));
          if (position + 2 < 5) transport->irecv(ref(position + 2));
        }
      }
      transport->finish_step();
      transport->barrier();
      const std::vector<Transport::Arrival> arrivals = transport->arrivals();
      if (arrivals.size() != (messages.rank() == 0 ? 0U : 5U)) throw std::runtime_error("arrivals");
      for (const Transport::Arrival& arrival : arrivals)
        if (arrival.ended <= 0 || arrival.ended > monotonic_now()) throw std::runtime_error("arrival time");
    }
  });
}

TEST_CASE("A receiver may use transfers in another order than they arrive", "[message]") {
  const Program program = one_channel(4, 2);
  run_ranks(2, [&](MessagePassing& messages) {
    const auto transport =
        make_message_transport(program, make_id<StageId>(messages.rank()), messages, content, patience());
    transport->begin_step();
    if (messages.rank() == 0)
      for (std::uint32_t position = 0; position < 4; ++position) send(*transport, position);
    else {
      transport->irecv(ref(0));
      transport->irecv(ref(1));
      for (const std::uint32_t position : {1U, 2U, 3U}) { // 0 stays until the end
        if (take(*transport, position) != static_cast<int>(position)) throw std::runtime_error("wrong content");
        transport->release(ref(position));
        if (position < 3) transport->irecv(ref(position + 1));
      }
      if (take(*transport, 0) != 0) throw std::runtime_error("overwritten");
    }
    transport->finish_step();
  });
}

TEST_CASE("A transfer of an unexpected size is an error with both sizes", "[message]") {
  const Program program = one_channel(1, 1);
  const auto with_size = [&](Bytes bytes) {
    run_ranks(2, [&](MessagePassing& messages) {
      const Bytes mine = messages.rank() == 0 ? Bytes{2000} : content;
      const auto transport =
          make_message_transport(program, make_id<StageId>(messages.rank()), messages, mine, patience());
      if (messages.rank() == 0) {
        send(*transport, 0, bytes);
        transport->finish_step();
      } else {
        transport->irecv(ref(0));
        static_cast<void>(transport->input(ref(0), content));
      }
    });
  };
  CHECK_THROWS_WITH(with_size(Bytes{400}), Catch::Contains("received 400 bytes, expected 1000"));
  CHECK_THROWS_WITH(with_size(Bytes{2000}), Catch::Contains("received 2000 bytes, expected 1000"));
}

TEST_CASE("A sender waits while all slots are in use, and can give up", "[message]") {
  const Program program = one_channel(3, 2);
  CHECK_THROWS_WITH(run_ranks(2,
                              [&](MessagePassing& messages) {
                                if (messages.rank() == 1) return; // posts no receive
                                const auto transport = make_message_transport(program, StageId{0}, messages, content,
                                                                              patience(std::chrono::milliseconds{50}));
                                send(*transport, 0);
                                send(*transport, 1);
                                send(*transport, 2);
                              }),
                    "gave up");
}

TEST_CASE("A missing transfer is given up, and the next one does not replace it", "[message]") {
  const Program program = one_channel(2, 2);
  std::atomic<bool> has_next = false;
  CHECK_THROWS_WITH(run_ranks(2,
                              [&](MessagePassing& messages) {
                                const auto transport =
                                    make_message_transport(program, make_id<StageId>(messages.rank()), messages,
                                                           content, patience(std::chrono::seconds{1}));
                                if (messages.rank() == 0) {
                                  send(*transport, 1);
                                  transport->finish_step();
                                } else {
                                  transport->irecv(ref(0));
                                  transport->irecv(ref(1));
                                  has_next = take(*transport, 1) == 1;
                                  static_cast<void>(transport->input(ref(0), content));
                                }
                              }),
                    "gave up");
  CHECK(has_next);
}

TEST_CASE("Two stages exchange their data", "[message]") {
  const Program program = one_channel(1, 1);
  run_ranks(2, [&](MessagePassing& messages) {
    const StageId stage = make_id<StageId>(messages.rank());
    const auto transport = make_message_transport(program, stage, messages, content, patience());
    const double mine = 1.5 + static_cast<double>(messages.rank());
    double theirs = 0;
    transport->exchange(StageId{messages.rank() == 0 ? 1U : 0U}, &mine, &theirs, Bytes{sizeof mine});
    if (theirs != 4.0 - mine) throw std::runtime_error("wrong content");
  });
}

TEST_CASE("A transport's buffers are the slots of its incoming and outgoing channels", "[message]") {
  const Program program = one_channel(5, 3);
  run_ranks(2, [&](MessagePassing& messages) {
    const auto transport =
        make_message_transport(program, make_id<StageId>(messages.rank()), messages, content, patience());
    if (transport->buffer_bytes() != Bytes{3000}) throw std::runtime_error("buffer bytes");
  });
}

} // namespace ppsim::runtime::message_transport_test
