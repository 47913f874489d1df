#include "processes.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <thread>

#include <sched.h>

namespace ppsim::runtime {

void keep_for_good(std::shared_ptr<const void> content) {
  static std::mutex mutex;                                           // tests have several ranks in one process
  static auto& kept = *new std::vector<std::shared_ptr<const void>>; // never destroyed
  const std::lock_guard lock{mutex};
  kept.push_back(std::move(content));
}

void wait_until(const std::function<bool()>& done, const GiveUp& give_up, Wait wait) {
  // Linux gives a process that only yields about half of a core that another needs: 4 ranks on 2 cores took 80 ms for a
  // step of 10 ms. So it yields for the time of a round trip, and then sleeps.
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

/// A message of an unexpected size: the program has a bug, or processes have different versions.
void check_size(std::size_t received, std::size_t expected, std::size_t from) {
  if (received != expected)
    throw Error(ExitCode::failed,
                {fmt::format("rank {}", from), fmt::format("sent {} bytes, expected {}", received, expected),
                 "all processes must be the same program"});
}

template <class T>
void send_value(MessagePassing& messages, const T& value, std::size_t to, Tag tag, const GiveUp& give_up) {
  const auto content = std::make_shared<const T>(value);
  Pending::send(messages, content.get(), sizeof value, to, number(tag), content).wait(give_up);
}

template <class T>
T receive_value(MessagePassing& messages, std::size_t from, Tag tag, const GiveUp& give_up, Wait wait) {
  const auto content = std::make_shared<T>();
  Pending pending = Pending::receive(messages, content.get(), sizeof(T), from, number(tag), content);
  pending.wait(give_up, wait);
  check_size(pending.bytes(), sizeof(T), from);
  return *content;
}

/// MPI counts bytes in an int: longer messages are sent in pieces.
constexpr std::size_t longest_piece = std::size_t{1} << 30;

} // namespace

void send_long(MessagePassing& messages, const std::shared_ptr<const Message>& message, std::size_t to, Tag tag,
               const GiveUp& give_up) {
  send_value(messages, std::uint64_t{message->size()}, to, tag, give_up);
  for (std::size_t at = 0; at < message->size(); at += longest_piece) {
    const std::size_t piece = std::min(longest_piece, message->size() - at);
    Pending::send(messages, message->data() + at, piece, to, number(tag), message).wait(give_up);
  }
}

Message receive_long(MessagePassing& messages, std::size_t from, Tag tag, const GiveUp& give_up, Wait wait) {
  const auto message = std::make_shared<Message>(receive_value<std::uint64_t>(messages, from, tag, give_up, wait));
  for (std::size_t at = 0; at < message->size(); at += longest_piece) {
    const std::size_t piece = std::min(longest_piece, message->size() - at);
    Pending pending = Pending::receive(messages, message->data() + at, piece, from, number(tag), message);
    pending.wait(give_up);
    check_size(pending.bytes(), piece, from);
  }
  return std::move(*message);
}

void barrier(MessagePassing& messages, const GiveUp& give_up, Wait wait) {
  messages.start_barrier();
  wait_until([&] { return messages.test_barrier(); }, give_up, wait);
}

std::vector<Message> gather(MessagePassing& messages, Message mine, const GiveUp& give_up) {
  if (messages.rank() != 0) {
    send_long(messages, std::make_shared<const Message>(std::move(mine)), 0, Tag::gather, give_up);
    return {};
  }
  std::vector<Message> all;
  all.push_back(std::move(mine));
  for (std::size_t rank = 1; rank < messages.size(); ++rank)
    all.push_back(receive_long(messages, rank, Tag::gather, give_up));
  return all;
}

Message broadcast(MessagePassing& messages, Message of_leader, const GiveUp& give_up) {
  if (messages.rank() != 0) return receive_long(messages, 0, Tag::broadcast, give_up);
  const auto message = std::make_shared<const Message>(std::move(of_leader));
  for (std::size_t rank = 1; rank < messages.size(); ++rank)
    send_long(messages, message, rank, Tag::broadcast, give_up);
  return *message;
}

namespace {

/// Sent by rank 0 while it reads a clock: a question, or the final result.
struct ClockMessage {
  std::int64_t is_reading = 0;
  ClockReading reading;
};

ClockReading ask_clock(MessagePassing& messages, std::size_t rank, const std::function<std::int64_t()>& now,
                       const GiveUp& give_up, std::size_t rounds) {
  ClockReading best;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  const auto question = std::make_shared<const ClockMessage>();
  const auto theirs = std::make_shared<std::int64_t>();
  for (std::size_t round = 0; round < rounds; ++round) {
    Pending answer = Pending::receive(messages, theirs.get(), sizeof *theirs, rank, number(Tag::clock), theirs);
    const std::int64_t asked = now();
    Pending ask = Pending::send(messages, question.get(), sizeof *question, rank, number(Tag::clock), question);
    answer.wait(give_up);
    const std::int64_t answered = now();
    ask.wait(give_up);
    check_size(answer.bytes(), sizeof *theirs, rank);
    const std::int64_t trip = answered - asked;
    if (trip >= shortest) continue;
    shortest = trip;
    const std::int64_t middle = asked + trip / 2;
    best = {middle, *theirs - middle, (trip + 1) / 2};
  }
  send_value(messages, ClockMessage{1, best}, rank, Tag::clock, give_up);
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
  // Sleeps until its turn, so that the active processes have their cores for themselves.
  for (Wait wait = Wait::patient;; wait = Wait::eager) {
    const auto message = receive_value<ClockMessage>(messages, 0, Tag::clock, give_up, wait);
    if (message.is_reading != 0) return message.reading;
    send_value(messages, now(), 0, Tag::clock, give_up);
  }
}

} // namespace ppsim::runtime
