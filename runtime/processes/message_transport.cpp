#include "message_transport.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "host/aligned_buffer.hpp"

namespace ppsim::runtime {

namespace {

std::size_t size_of(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count());
}

/// MPI guarantees tags up to 32767. After that many transfers, the tag is free again.
int tag_of(TransferRef transfer) {
  return number(Tag::transfer) + static_cast<int>(transfer.position % 32'000);
}

/// The sending or receiving end of a channel.
struct ChannelEnd {
  struct Slot {
    AlignedBuffer buffer;
    bool taken =
        false; ///< sending: from output() until the message is complete; receiving: from irecv() until release()
    std::uint32_t position = 0;     ///< of its transfer
    std::optional<Pending> message; ///< from isend() or irecv() until it is complete
    std::size_t bytes = 0;          ///< of a received message
  };

  ChannelEnd(ChannelId channel, StageId other, std::size_t count, Bytes content)
      : id{channel}, peer{index(other)}, slots(count) {
    for (Slot& slot : slots) slot.buffer = make_aligned_buffer(content);
  }

  /// Transfers may be used in another order than they arrive.
  [[nodiscard]] Slot& slot_of(std::uint32_t position) {
    const auto found = std::ranges::find_if(slots, [&](const Slot& it) { return it.taken && it.position == position; });
    PPSIM_ASSERT(found != slots.end());
    return *found;
  }
  [[nodiscard]] Slot* free_slot() {
    const auto found = std::ranges::find(slots, false, &Slot::taken);
    return found == slots.end() ? nullptr : &*found;
  }

  ChannelId id;
  std::size_t peer; ///< its rank
  std::vector<Slot> slots;
};

class MessageTransport final : public Transport {
public:
  MessageTransport(const Program& program, StageId stage, MessagePassing& messages, Bytes content, GiveUp give_up)
      : messages_{messages}, content_{content}, give_up_{std::move(give_up)} {
    for (std::size_t number = 0; number < program.channels.size(); ++number) {
      const Channel& channel = program.channels[number];
      const auto id = make_id<ChannelId>(number);
      if (channel.is_local()) continue;
      if (channel.from == stage) outgoing_.emplace_back(id, channel.to, channel.slots, content);
      if (channel.to == stage) incoming_.emplace_back(id, channel.from, channel.slots, content);
    }
  }

  void begin_step() override { arrivals_.clear(); }

  [[nodiscard]] void* output(TransferRef transfer) override {
    ChannelEnd& channel = end_of(outgoing_, transfer);
    ChannelEnd::Slot* slot = nullptr;
    wait_until(
        [&] {
          look();
          for (ChannelEnd::Slot& sent : channel.slots)
            if (sent.message && sent.message->test()) clear(sent);
          return (slot = channel.free_slot()) != nullptr;
        },
        give_up_);
    slot->taken = true;
    slot->position = transfer.position;
    return slot->buffer.get();
  }

  void isend(TransferRef transfer, Bytes bytes) override {
    ChannelEnd& channel = end_of(outgoing_, transfer);
    ChannelEnd::Slot& slot = channel.slot_of(transfer.position);
    slot.message = Pending::send(messages_, slot.buffer.get(), size_of(bytes), channel.peer, tag_of(transfer));
    look();
  }

  void irecv(TransferRef transfer) override {
    ChannelEnd& channel = end_of(incoming_, transfer);
    ChannelEnd::Slot* const slot = channel.free_slot();
    PPSIM_ASSERT(slot != nullptr);
    slot->taken = true;
    slot->position = transfer.position;
    slot->message = Pending::receive(messages_, slot->buffer.get(), size_of(content_), channel.peer, tag_of(transfer));
  }

  [[nodiscard]] const void* input(TransferRef transfer, Bytes expected) override {
    const ChannelEnd::Slot& slot = end_of(incoming_, transfer).slot_of(transfer.position);
    wait_until(
        [&] {
          look();
          return !slot.message;
        },
        give_up_);
    if (slot.bytes != size_of(expected)) {
      const bool is_known = slot.bytes != std::numeric_limits<std::size_t>::max();
      throw Error(ExitCode::failed,
                  {"",
                   fmt::format("received {} bytes, expected {}",
                               is_known ? fmt::format("{}", slot.bytes) : std::string{"more"}, expected.count()),
                   "both ends must run the same program with the same workload"});
    }
    return slot.buffer.get();
  }

  void release(TransferRef transfer) override { end_of(incoming_, transfer).slot_of(transfer.position).taken = false; }

  void finish_step() override {
    for (ChannelEnd& channel : outgoing_)
      for (ChannelEnd::Slot& slot : channel.slots) {
        if (slot.message) slot.message->wait(give_up_);
        clear(slot);
      }
  }

  [[nodiscard]] std::vector<Arrival> arrivals() override { return arrivals_; }

  void barrier() override { runtime::barrier(messages_, give_up_); }

  void exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) override {
    Pending coming = Pending::receive(messages_, theirs, size_of(bytes), index(peer), number(Tag::exchange));
    Pending sent = Pending::send(messages_, mine, size_of(bytes), index(peer), number(Tag::exchange));
    coming.wait(give_up_);
    sent.wait(give_up_);
    if (coming.bytes() != size_of(bytes))
      throw Error(ExitCode::failed,
                  {"", fmt::format("received {} bytes, expected {}", coming.bytes(), bytes.count()), ""});
  }

  [[nodiscard]] Bytes buffer_bytes() const override {
    std::size_t slots = 0;
    for (const auto* const ends : {&outgoing_, &incoming_})
      for (const ChannelEnd& channel : *ends) slots += channel.slots.size();
    return Bytes{static_cast<std::int64_t>(slots) * content_.count()};
  }

private:
  [[nodiscard]] static ChannelEnd& end_of(std::vector<ChannelEnd>& ends, TransferRef transfer) {
    const auto found = std::ranges::find(ends, transfer.channel, &ChannelEnd::id);
    PPSIM_ASSERT(found != ends.end());
    return *found;
  }
  static void clear(ChannelEnd::Slot& slot) {
    slot.message.reset();
    slot.taken = false;
  }

  /// Checks which receives are complete.
  void look() {
    for (ChannelEnd& channel : incoming_)
      for (ChannelEnd::Slot& slot : channel.slots) {
        if (!slot.message || !slot.message->test()) continue;
        slot.bytes = slot.message->bytes();
        slot.message.reset();
        arrivals_.push_back({{channel.id, slot.position}, 0, monotonic_now()});
      }
  }

  MessagePassing& messages_;
  Bytes content_;
  GiveUp give_up_;
  std::vector<ChannelEnd> outgoing_, incoming_; ///< channels that begin and that end on this stage
  std::vector<Arrival> arrivals_;
};

} // namespace

std::unique_ptr<Transport> make_message_transport(const Program& program, StageId stage, MessagePassing& messages,
                                                  Bytes content, GiveUp give_up) {
  return std::make_unique<MessageTransport>(program, stage, messages, content, std::move(give_up));
}

} // namespace ppsim::runtime
