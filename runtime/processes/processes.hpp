#pragma once
// Processes: collective operations of a run outside its steps: barrier, gather, broadcast, clock comparison. Every wait
// can give up, because a peer may have ended or stopped, and MPI never reports it.

#include "ppsim/runtime/message_passing.hpp"
#include "ppsim/runtime/monotonic.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ppsim::runtime {

/// Tags of messages. Those of transfers are `transfer` and above.
enum class Tag : int { stop = 1, failure, clock, gather, broadcast, exchange, transfer_time, alive, transfer = 16 };
[[nodiscard]] constexpr int number(Tag tag) {
  return static_cast<int>(tag);
}

/// Called repeatedly during a wait; throws to give up.
using GiveUp = std::function<void()>;

/// How a wait polls. eager: continuously for a while, then with sleeps, because there may be more processes than cores.
/// patient: with longer sleeps from the start, if many wait for few that measure.
enum class Wait : std::uint8_t { eager, patient };

/// Polls `done` until it returns true.
void wait_until(const std::function<bool()>& done, const GiveUp& give_up, Wait wait = Wait::eager);

/// Keeps `content` until the process ends.
void keep_for_good(std::shared_ptr<const void> content);

/// A pending message, cancelled if its scope ends before it is complete. MPI cannot cancel a matched message: any later
/// MPI call may still read or write `data`, which must therefore outlive all calls, or be owned by `content`.
class Pending {
public:
  [[nodiscard]] static Pending send(MessagePassing& messages, const void* data, std::size_t bytes, std::size_t to,
                                    int tag, std::shared_ptr<const void> content = nullptr) {
    return {messages, messages.isend(data, bytes, to, tag), std::move(content)};
  }
  [[nodiscard]] static Pending receive(MessagePassing& messages, void* data, std::size_t capacity, std::size_t from,
                                       int tag, std::shared_ptr<const void> content = nullptr) {
    return {messages, messages.irecv(data, capacity, from, tag), std::move(content)};
  }
  Pending(Pending&& other) noexcept
      : messages_{other.messages_}, request_{std::exchange(other.request_, std::nullopt)},
        content_{std::move(other.content_)}, bytes_{other.bytes_} {}
  Pending& operator=(Pending&& other) noexcept {
    std::swap(messages_, other.messages_);
    std::swap(request_, other.request_);
    std::swap(content_, other.content_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() {
    if (!request_) return;
    messages_->cancel(*request_);
    if (content_) keep_for_good(std::move(content_));
  }

  /// Whether it is complete.
  [[nodiscard]] bool test() {
    if (request_ && messages_->test(*request_, &bytes_)) request_.reset();
    return !request_;
  }
  void wait(const GiveUp& give_up, Wait how = Wait::eager) {
    wait_until([this] { return test(); }, give_up, how);
  }
  /// For a complete receive: the size of the message, which may exceed its capacity.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
  Pending(MessagePassing& messages, MessagePassing::Request request, std::shared_ptr<const void> content)
      : messages_{&messages}, request_{request}, content_{std::move(content)} {}
  MessagePassing* messages_;
  std::optional<MessagePassing::Request> request_;
  std::shared_ptr<const void> content_;
  std::size_t bytes_ = 0;
};

using Message = std::vector<std::byte>;

/// Waits for all processes.
void barrier(MessagePassing& messages, const GiveUp& give_up, Wait wait = Wait::eager);
/// All messages, by rank, on rank 0; empty elsewhere.
[[nodiscard]] std::vector<Message> gather(MessagePassing& messages, Message mine, const GiveUp& give_up);
/// Rank 0's message, on every rank.
[[nodiscard]] Message broadcast(MessagePassing& messages, Message of_leader, const GiveUp& give_up);
/// A message of any length, and its receive.
void send_long(MessagePassing& messages, const std::shared_ptr<const Message>& message, std::size_t to, Tag tag,
               const GiveUp& give_up);
[[nodiscard]] Message receive_long(MessagePassing& messages, std::size_t from, Tag tag, const GiveUp& give_up,
                                   Wait wait = Wait::patient);

/// A process's clock against that of rank 0, at one moment, in nanoseconds.
struct ClockReading {
  std::int64_t leader_time = 0;
  std::int64_t offset = 0; ///< the process's clock minus rank 0's
  std::int64_t error = 0;  ///< bound of its error: half of the shortest round trip
};
/// Reads the processes' clocks, one after the other, with round trips: the shortest of `rounds` counts (Cristian 1989,
/// Probabilistic clock synchronization). Each process gets its own reading. `now` is this process's clock.
[[nodiscard]] ClockReading read_clock(MessagePassing& messages, const std::function<std::int64_t()>& now,
                                      const GiveUp& give_up, std::size_t rounds = 200);

} // namespace ppsim::runtime
