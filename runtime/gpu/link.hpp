#pragma once
// Link: one directed channel between two stages on one GPU.

#include "ppsim/runtime/program.hpp"
#include "ppsim/runtime/transport.hpp"

#include <deque>
#include <functional>
#include <vector>

#include "clock.hpp"
#include "queue.hpp"

namespace ppsim::runtime::gpu {

/// Enqueues the movement of `bytes` on the queue.
using Mover = std::function<void(void* to, const void* from, std::size_t bytes, const Queue& queue)>;

/// How a link moves its transfers.
struct LinkOptions {
  Mover move;
  bool paced = false;    ///< arrives at the earliest at the scenario's time
  bool overlaps = false; ///< if paced: the time runs from the send, otherwise from when the link is free
  std::size_t bytes = 0; ///< of every transfer
};

/// A channel's buffers at both ends, its stream, and the events between its stream and the stages'. Calls come in an
/// order in which one thread can issue the program: a slot is free, as far as issued work is concerned, before it is
/// used.
class Link {
public:
  Link(const Program& program, ChannelId id, const LinkOptions& options, Queue queue, const Queue& from,
       const Queue& to, Clock& clock);

  void begin_step();
  [[nodiscard]] void* output(std::uint32_t position);
  void send(std::uint32_t position, std::size_t bytes);
  /// Throws std::runtime_error if it was not sent, or with another size.
  [[nodiscard]] const void* input(std::uint32_t position, std::size_t expected);
  void release(std::uint32_t position);
  [[nodiscard]] bool has_arrived(std::uint32_t position) const;
  [[nodiscard]] const Queue& queue() const { return queue_; }
  /// By position, for sent transfers.
  [[nodiscard]] std::vector<Transport::Arrival> arrivals() const;
  [[nodiscard]] std::size_t send_bytes() const { return outgoing_.size() * options_.bytes; }
  [[nodiscard]] std::size_t receive_bytes() const { return incoming_.size() * options_.bytes; }

private:
  struct Outgoing { ///< a buffer of the sender
    Memory memory;
    Event produced; ///< on the sender's stream
    Event copied;   ///< on the link's
  };
  struct Incoming { ///< a slot of the receiver
    Memory memory;
    Event arrived; ///< on the link's stream
    Event freed;   ///< on the receiver's stream
  };
  struct Sent {
    std::size_t slot = 0;
    std::size_t bytes = 0;
    bool done = false;
  };
  [[nodiscard]] std::string name(std::uint32_t position) const;

  ChannelId id_;
  const Channel& channel_;
  LinkOptions options_;
  Queue queue_;
  const Queue& from_;
  const Queue& to_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  std::deque<std::size_t> free_;     ///< slots, in the order in which they become free
  std::vector<Sent> sent_;           ///< by position
  std::vector<std::uint32_t> order_; ///< positions in sending order
  Stamps given_;                     ///< on the sender's stream, if the time runs from the send
  Stamps began_, ended_;
};

} // namespace ppsim::runtime::gpu
