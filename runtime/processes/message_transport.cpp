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

/// MPI promises tags up to 32767. By then the same tag is long free again.
int tag_of(TransferRef transfer) {
  return number(Tag::transfer) + static_cast<int>(transfer.position % 32'000);
}

} // namespace

/// The beginning of a channel.
struct MessageTransport::Sending {
  struct Slot {
    AlignedBuffer buffer;
    bool taken = false;          ///< from output() on, until the message is on its way and complete
    std::uint32_t position = 0;  ///< of its transfer
    std::optional<Pending> sent; ///< from isend() on
  };
  ChannelId id{};
  StageId to{};
  std::vector<Slot> slots;

  [[nodiscard]] Slot* free_slot() {
    for (Slot& slot : slots) {
      if (slot.sent && slot.sent->test()) {
        slot.sent.reset();
        slot.taken = false;
      }
      if (!slot.taken) return &slot;
    }
    return nullptr;
  }
};

/// The end of a channel. Its transfers come in order, but may be used in another.
struct MessageTransport::Receiving {
  struct Slot {
    AlignedBuffer buffer;
    bool taken = false; ///< from irecv() until release()
    std::uint32_t position = 0;
    std::optional<Pending> coming; ///< until it is complete
    std::size_t bytes = 0;         ///< of the message
  };
  ChannelId id{};
  StageId from{};
  std::vector<Slot> slots;

  [[nodiscard]] Slot& slot_of(std::uint32_t position) {
    const auto found =
        std::find_if(slots.begin(), slots.end(), [&](const Slot& it) { return it.taken && it.position == position; });
    PPSIM_ASSERT(found != slots.end());
    return *found;
  }
};

MessageTransport::MessageTransport(const Program& program, StageId stage, MessagePassing& messages, Bytes content,
                                   GiveUp give_up)
    : program_{program}, messages_{messages}, content_{content}, give_up_{std::move(give_up)} {
  for (std::size_t number = 0; number < program.channels.size(); ++number) {
    const Channel& channel = program.channels[number];
    if (channel.is_local()) continue;
    if (channel.from == stage) {
      Sending& sending = sending_.emplace_back();
      sending.id = make_id<ChannelId>(number);
      sending.to = channel.to;
      sending.slots.resize(channel.slots);
      for (Sending::Slot& slot : sending.slots) slot.buffer = make_aligned_buffer(content);
    }
    if (channel.to == stage) {
      Receiving& receiving = receiving_.emplace_back();
      receiving.id = make_id<ChannelId>(number);
      receiving.from = channel.from;
      receiving.slots.resize(channel.slots);
      for (Receiving::Slot& slot : receiving.slots) slot.buffer = make_aligned_buffer(content);
    }
  }
}

MessageTransport::~MessageTransport() = default;

MessageTransport::Sending& MessageTransport::sending(ChannelId channel) {
  const auto found =
      std::find_if(sending_.begin(), sending_.end(), [&](const Sending& it) { return it.id == channel; });
  PPSIM_ASSERT(found != sending_.end());
  return *found;
}

MessageTransport::Receiving& MessageTransport::receiving(ChannelId channel) {
  const auto found =
      std::find_if(receiving_.begin(), receiving_.end(), [&](const Receiving& it) { return it.id == channel; });
  PPSIM_ASSERT(found != receiving_.end());
  return *found;
}

void MessageTransport::begin_step() {
  arrivals_.clear();
}

/// Sees which receives are complete.
void MessageTransport::look() {
  for (Receiving& channel : receiving_)
    for (Receiving::Slot& slot : channel.slots) {
      if (!slot.coming || !slot.coming->test()) continue;
      slot.bytes = slot.coming->bytes();
      slot.coming.reset();
      arrivals_.push_back({{channel.id, slot.position}, 0, monotonic_now()});
    }
}

void* MessageTransport::output(TransferRef transfer) {
  Sending& channel = sending(transfer.channel);
  Sending::Slot* slot = nullptr;
  wait_until(
      [&] {
        look();
        return (slot = channel.free_slot()) != nullptr;
      },
      give_up_);
  slot->taken = true;
  slot->position = transfer.position;
  return slot->buffer.get();
}

void MessageTransport::isend(TransferRef transfer, Bytes bytes) {
  Sending& channel = sending(transfer.channel);
  const auto slot = std::find_if(channel.slots.begin(), channel.slots.end(), [&](const Sending::Slot& it) {
    return it.taken && !it.sent && it.position == transfer.position;
  });
  PPSIM_ASSERT(slot != channel.slots.end());
  slot->sent = Pending::send(messages_, slot->buffer.get(), size_of(bytes), index(channel.to), tag_of(transfer));
  look();
}

void MessageTransport::irecv(TransferRef transfer) {
  Receiving& channel = receiving(transfer.channel);
  const auto slot =
      std::find_if(channel.slots.begin(), channel.slots.end(), [](const Receiving::Slot& it) { return !it.taken; });
  PPSIM_ASSERT(slot != channel.slots.end());
  slot->taken = true;
  slot->position = transfer.position;
  slot->coming =
      Pending::receive(messages_, slot->buffer.get(), size_of(content_), index(channel.from), tag_of(transfer));
}

const void* MessageTransport::input(TransferRef transfer, Bytes expected) {
  const Receiving::Slot& slot = receiving(transfer.channel).slot_of(transfer.position);
  wait_until(
      [&] {
        look();
        return !slot.coming;
      },
      give_up_);
  if (slot.bytes != size_of(expected)) {
    const bool is_known = slot.bytes != std::numeric_limits<std::size_t>::max();
    throw Error(ExitCode::failed,
                {"",
                 fmt::format("received {} bytes where {} are expected",
                             is_known ? fmt::format("{}", slot.bytes) : std::string{"more"}, expected.count()),
                 "both ends must run the same program with the same workload"});
  }
  return slot.buffer.get();
}

void MessageTransport::release(TransferRef transfer) {
  receiving(transfer.channel).slot_of(transfer.position).taken = false;
}

void MessageTransport::finish_step() {
  for (Sending& channel : sending_)
    for (Sending::Slot& slot : channel.slots) {
      if (slot.sent) wait_until([&] { return slot.sent->test(); }, give_up_);
      slot.sent.reset();
      slot.taken = false;
    }
}

void MessageTransport::barrier() {
  runtime::barrier(messages_, give_up_);
}

void MessageTransport::exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) {
  Pending coming = Pending::receive(messages_, theirs, size_of(bytes), index(peer), number(Tag::exchange));
  Pending sent = Pending::send(messages_, mine, size_of(bytes), index(peer), number(Tag::exchange));
  wait_until([&] { return coming.test(); }, give_up_);
  wait_until([&] { return sent.test(); }, give_up_);
  if (coming.bytes() != size_of(bytes))
    throw Error(ExitCode::failed,
                {"", fmt::format("received {} bytes where {} are expected", coming.bytes(), bytes.count()), ""});
}

Bytes MessageTransport::buffer_bytes() const {
  std::size_t slots = 0;
  for (const Sending& channel : sending_) slots += channel.slots.size();
  for (const Receiving& channel : receiving_) slots += channel.slots.size();
  return Bytes{static_cast<std::int64_t>(slots) * content_.count()};
}

} // namespace ppsim::runtime
