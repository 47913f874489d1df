#include "thread_channels.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/monotonic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "counter.hpp"
#include "host/aligned_buffer.hpp"
#include "host/cores.hpp"

namespace ppsim::runtime {

namespace {

/// A buffer that is being sent.
struct BufferMessage {
  void* content = nullptr; ///< null: not sent yet
  std::uint32_t position = 0;
  Bytes bytes;
  std::int64_t began = 0;
  std::int64_t ended = 0; ///< the time from which it is visible
};

/// TransferModel::link: runs one transfer at a time, in sending order; used by several threads if stages of one node
/// share it.
class EmulatedLink {
public:
  struct Times {
    std::int64_t began = 0;
    std::int64_t ended = 0;
  };
  [[nodiscard]] Times take(Duration time) {
    const std::lock_guard lock{mutex_};
    const std::int64_t began = std::max(monotonic_now(), free_);
    free_ = began + time.count();
    return {began, free_};
  }

private:
  std::mutex mutex_;
  std::int64_t free_ = 0; ///< the end of the last transfer
};

/// One channel: two rings between two threads, each with one entry per buffer, so that neither can overflow. Message
/// numbers continue from step to step.
struct ThreadChannel { // NOLINT(clang-analyzer-optin.performance.Padding): what each thread writes has lines of its own
  ThreadChannel(const Channel& channel, Bytes boundary)
      : slots{channel.slots}, full(channel.slots), empty(channel.slots), arrived(channel.transfers.size()) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      buffers.push_back(make_aligned_buffer(boundary));
      empty[slot] = buffers.back().get();
    }
  }

  std::size_t slots;
  std::vector<AlignedBuffer> buffers;
  std::vector<BufferMessage> full; ///< ring, written by the producer
  Counter published;
  std::vector<void*> empty; ///< ring, written by the consumer
  Counter released;

  // Used by the producer.
  alignas(64) std::uint64_t taken = 0;
  void* writing = nullptr;
  EmulatedLink* link = nullptr; ///< its link, possibly shared

  // Used by the consumer.
  alignas(64) std::uint64_t received = 0;
  std::vector<BufferMessage> arrived; ///< by position in the step
};

/// The gradient exchange of two stages; the lower one has side 0.
struct GradientExchange {
  std::array<const void*, 2> offered{};
  std::array<Counter, 2> offers;
  std::array<Counter, 2> copies;
};

} // namespace

struct ThreadChannels::Shared {
  Shared(const Program& of, Bytes size, const Monitor& watching, ThreadChannelOptions how)
      : program{of}, boundary{size}, monitor{watching}, options{how} {}

  const Program& program;
  Bytes boundary;
  const Monitor& monitor;
  ThreadChannelOptions options;
  std::deque<EmulatedLink> links;                       ///< one for each node, and for each other channel
  std::map<std::size_t, EmulatedLink*> uplinks;         ///< by node
  std::vector<std::unique_ptr<ThreadChannel>> passages; ///< by channel; none for local ones
  std::map<std::pair<StageId, StageId>, GradientExchange> encounters;
  Counter meetings;

  [[nodiscard]] EmulatedLink* link_of(const Channel& channel) {
    if (!channel.uplink) return &links.emplace_back();
    EmulatedLink*& uplink = uplinks[*channel.uplink];
    if (uplink == nullptr) uplink = &links.emplace_back();
    return uplink;
  }
};

class ThreadChannels::StageTransport final : public Transport {
public:
  StageTransport(Shared& shared, StageId stage) : shared_{shared}, stage_{stage} {}

  void begin_step() override {
    arrivals_.clear();
    for (const ChannelId channel : shared_.program.stages[index(stage_)].in)
      if (ThreadChannel* passage = shared_.passages[index(channel)].get())
        std::fill(passage->arrived.begin(), passage->arrived.end(), BufferMessage{});
  }

  void* output(TransferRef transfer) override {
    ThreadChannel& passage = this->passage(transfer);
    if (passage.taken >= passage.slots)
      wait(passage.released, passage.taken - passage.slots + 1,
           [&] { return fmt::format("a free slot at rank {}", index(shared_.program.channel(transfer).to)); });
    passage.writing = passage.empty[passage.taken++ % passage.slots];
    return passage.writing;
  }

  void isend(TransferRef transfer, Bytes bytes) override {
    ThreadChannel& passage = this->passage(transfer);
    const Duration time = shared_.options.paced ? shared_.program.transfer(transfer).time : Duration{0};
    BufferMessage message{passage.writing, transfer.position, bytes, monotonic_now(), 0};
    message.ended = message.began + time.count();
    if (shared_.options.paced && shared_.program.transfer_model == TransferModel::link) {
      const EmulatedLink::Times times = passage.link->take(time);
      message.began = times.began;
      message.ended = times.ended;
    }
    passage.full[passage.published.value() % passage.slots] = message;
    passage.published.raise();
  }

  // The receiver needs no memory: it gets the sender's buffer.
  void irecv(TransferRef /*transfer*/) override {}

  const void* input(TransferRef transfer, Bytes expected) override {
    ThreadChannel& passage = this->passage(transfer);
    while (passage.arrived[transfer.position].content == nullptr) {
      wait(passage.published, passage.received + 1, [&] {
        const TaskId producer = shared_.program.transfer(transfer).producer;
        return fmt::format("the output of {}", to_string(shared_.program.schedule.task(producer)));
      });
      const BufferMessage& next = passage.full[passage.received++ % passage.slots];
      passage.arrived[next.position] = next;
    }
    const BufferMessage& message = passage.arrived[transfer.position];
    wait_until_there(message.ended);
    if (message.bytes != expected)
      throw Error(ExitCode::failed,
                  Problem{"", fmt::format("{} bytes arrived, expected {}", message.bytes.count(), expected.count()),
                          "check that both ranks run the same workload"});
    arrivals_.push_back({transfer, message.began, message.ended});
    return message.content;
  }

  void release(TransferRef transfer) override {
    ThreadChannel& passage = this->passage(transfer);
    passage.empty[passage.released.value() % passage.slots] = passage.arrived[transfer.position].content;
    passage.released.raise();
  }

  void finish_step() override {} // all sends are complete

  std::vector<Arrival> arrivals() override { return std::move(arrivals_); }

  void barrier() override {
    const std::uint64_t stages = shared_.program.stages.size();
    shared_.meetings.raise();
    wait(shared_.meetings, ++met_ * stages, [] { return "the other ranks"; });
  }

  void exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) override {
    GradientExchange& encounter = shared_.encounters.at(std::minmax(stage_, peer));
    const std::size_t side = stage_ < peer ? 0 : 1;
    const std::uint64_t number = encounter.offers[side].value() + 1;
    const auto what = [] { return "gradients"; };
    encounter.offered[side] = mine;
    encounter.offers[side].raise();
    wait(encounter.offers[1 - side], number, what);
    std::memcpy(theirs, encounter.offered[1 - side], static_cast<std::size_t>(bytes.count()));
    encounter.copies[side].raise();
    wait(encounter.copies[1 - side], number, what); // until then the peer still reads `mine`
  }

  [[nodiscard]] Bytes buffer_bytes() const override {
    Bytes bytes;
    for (const ChannelId channel : shared_.program.stages[index(stage_)].in)
      if (const ThreadChannel* passage = shared_.passages[index(channel)].get())
        bytes += Bytes{static_cast<std::int64_t>(passage->slots) * shared_.boundary.count()};
    return bytes;
  }

private:
  [[nodiscard]] ThreadChannel& passage(TransferRef transfer) const {
    return *shared_.passages[index(transfer.channel)];
  }

  template <class What>
  void wait(Counter& counter, std::uint64_t target, const What& what) const {
    if (counter.wait_for(target, shared_.options.spin, [this] { return shared_.monitor.stopped(); })) return;
    throw Error(ExitCode::failed, Problem{"", fmt::format("the run was stopped while it waited for {}", what()), ""});
  }

  void wait_until_there(std::int64_t moment) const {
    for (std::int64_t now = monotonic_now(); now < moment; now = monotonic_now()) {
      if (shared_.monitor.stopped())
        throw Error(ExitCode::failed, Problem{"", "the run was stopped while a transfer was under way", ""});
      if (Duration{moment - now} > stop_check)
        std::this_thread::sleep_for(stop_check);
      else
        sleep_exactly_until(moment);
    }
  }

  Shared& shared_;
  StageId stage_;
  std::vector<Arrival> arrivals_;
  std::uint64_t met_ = 0;
};

ThreadChannels::ThreadChannels(const Program& program, Bytes boundary, const Monitor& monitor,
                               ThreadChannelOptions options)
    : shared_{std::make_unique<Shared>(program, boundary, monitor, options)} {
  Bytes bytes;
  try {
    for (const Channel& channel : program.channels) {
      bytes += Bytes{static_cast<std::int64_t>(channel.slots) * boundary.count()};
      shared_->passages.push_back(channel.is_local() ? nullptr : std::make_unique<ThreadChannel>(channel, boundary));
      if (!channel.is_local()) shared_->passages.back()->link = shared_->link_of(channel);
    }
  } catch (const std::bad_alloc&) {
    throw Error(ExitCode::failed,
                Problem{"transfers", fmt::format("no memory for their buffers ({} bytes)", bytes.count()),
                        "use a smaller workload"});
  }
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
    transports_.push_back(std::make_unique<StageTransport>(*shared_, make_id<StageId>(stage)));
    for (const std::uint16_t chunk : program.stages[stage].chunks)
      if (const std::vector<StageId> holders = program.holders(make_id<ChunkId>(chunk)); holders.size() == 2)
        shared_->encounters.try_emplace({holders[0], holders[1]});
  }
}

ThreadChannels::~ThreadChannels() = default;

Transport& ThreadChannels::transport(StageId stage) {
  return *transports_[index(stage)];
}

} // namespace ppsim::runtime
