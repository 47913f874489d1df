#include "processes.hpp"

#include "ppsim/sim/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <thread>

#include <sched.h>

namespace ppsim::runtime {

void wait_until(const std::function<bool()>& done, const GiveUp& give_up, Wait wait) {
  // Linux gives a process that only yields about half of a core that another needs: 4 ranks on 2 cores took 80 ms for a
  // step of 10 ms. So it yields for as long as a round trip takes, and then sleeps.
  constexpr std::chrono::microseconds eager{50};
  constexpr std::chrono::microseconds nap{50};
  constexpr std::chrono::microseconds patient_nap{200};
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    give_up();
    if (wait == Wait::patient)
      std::this_thread::sleep_for(patient_nap);
    else if (std::chrono::steady_clock::now() - begin < eager)
      sched_yield();
    else
      std::this_thread::sleep_for(nap);
  }
}

namespace {

/// Where a message has another size than what it is must have, the program has a bug or processes of two versions run.
void check_size(std::size_t received, std::size_t expected, std::size_t from) {
  if (received != expected)
    throw Error(ExitCode::failed,
                {fmt::format("rank {}", from), fmt::format("sent {} bytes where {} are expected", received, expected),
                 "all processes must be the same program"});
}

void send_and_wait(MessagePassing& messages, const void* data, std::size_t bytes, std::size_t to, Tag tag,
                   const GiveUp& give_up) {
  Pending pending = Pending::send(messages, data, bytes, to, number(tag));
  wait_until([&] { return pending.test(); }, give_up);
}

void receive_and_wait(MessagePassing& messages, void* data, std::size_t bytes, std::size_t from, Tag tag,
                      const GiveUp& give_up, Wait wait = Wait::eager) {
  Pending pending = Pending::receive(messages, data, bytes, from, number(tag));
  wait_until([&] { return pending.test(); }, give_up, wait);
  check_size(pending.bytes(), bytes, from);
}

/// MPI counts bytes in an int: longer messages go in pieces.
constexpr std::size_t longest_piece = std::size_t{1} << 30;

void send_long(MessagePassing& messages, const Message& message, std::size_t to, Tag tag, const GiveUp& give_up) {
  const std::uint64_t size = message.size();
  send_and_wait(messages, &size, sizeof size, to, tag, give_up);
  for (std::size_t at = 0; at < message.size(); at += longest_piece)
    send_and_wait(messages, message.data() + at, std::min(longest_piece, message.size() - at), to, tag, give_up);
}

Message receive_long(MessagePassing& messages, std::size_t from, Tag tag, const GiveUp& give_up) {
  std::uint64_t size = 0;
  receive_and_wait(messages, &size, sizeof size, from, tag, give_up, Wait::patient);
  Message message(size);
  for (std::size_t at = 0; at < message.size(); at += longest_piece)
    receive_and_wait(messages, message.data() + at, std::min(longest_piece, message.size() - at), from, tag, give_up);
  return message;
}

} // namespace

void barrier(MessagePassing& messages, const GiveUp& give_up, Wait wait) {
  messages.start_barrier();
  wait_until([&] { return messages.test_barrier(); }, give_up, wait);
}

std::vector<Message> gather(MessagePassing& messages, const Message& mine, const GiveUp& give_up) {
  if (messages.rank() != 0) {
    send_long(messages, mine, 0, Tag::gather, give_up);
    return {};
  }
  std::vector<Message> all{mine};
  for (std::size_t rank = 1; rank < messages.size(); ++rank)
    all.push_back(receive_long(messages, rank, Tag::gather, give_up));
  return all;
}

Message broadcast(MessagePassing& messages, const Message& of_leader, const GiveUp& give_up) {
  if (messages.rank() != 0) return receive_long(messages, 0, Tag::broadcast, give_up);
  for (std::size_t rank = 1; rank < messages.size(); ++rank)
    send_long(messages, of_leader, rank, Tag::broadcast, give_up);
  return of_leader;
}

namespace {

/// What rank 0 sends while it reads a clock: a question, or at the end the answer, which ends the reading.
struct ClockMessage {
  std::int64_t is_reading = 0;
  ClockReading reading;
};

ClockReading ask_clock(MessagePassing& messages, std::size_t rank, const std::function<std::int64_t()>& now,
                       const GiveUp& give_up, std::size_t rounds) {
  ClockReading best;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t round = 0; round < rounds; ++round) {
    const ClockMessage question;
    std::int64_t theirs = 0;
    Pending answer = Pending::receive(messages, &theirs, sizeof theirs, rank, number(Tag::clock));
    const std::int64_t asked = now();
    Pending ask = Pending::send(messages, &question, sizeof question, rank, number(Tag::clock));
    wait_until([&] { return answer.test(); }, give_up);
    const std::int64_t answered = now();
    wait_until([&] { return ask.test(); }, give_up);
    check_size(answer.bytes(), sizeof theirs, rank);
    const std::int64_t trip = answered - asked;
    if (trip >= shortest) continue;
    shortest = trip;
    const std::int64_t middle = asked + trip / 2;
    best = {middle, theirs - middle, (trip + 1) / 2};
  }
  const ClockMessage result{1, best};
  send_and_wait(messages, &result, sizeof result, rank, Tag::clock, give_up);
  return best;
}

} // namespace

ClockReading read_clock(MessagePassing& messages, const std::function<std::int64_t()>& now, const GiveUp& give_up,
                        std::size_t rounds) {
  if (messages.rank() == 0) {
    for (std::size_t rank = 1; rank < messages.size(); ++rank)
      static_cast<void>(ask_clock(messages, rank, now, give_up, rounds));
    return {now(), 0, 0};
  }
  // Sleeps until its turn comes, so that those whose turn it is have their cores for themselves.
  for (Wait wait = Wait::patient;; wait = Wait::eager) {
    ClockMessage message;
    receive_and_wait(messages, &message, sizeof message, 0, Tag::clock, give_up, wait);
    if (message.is_reading != 0) return message.reading;
    const std::int64_t mine = now();
    send_and_wait(messages, &mine, sizeof mine, 0, Tag::clock, give_up);
  }
}

} // namespace ppsim::runtime
