#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "nccl.hpp"
#include "nccl_communicator.hpp"
#include "nccl_plan.hpp"

namespace ppsim::runtime::gpu {

namespace {

/// The calling thread enqueues everything. Operations of one communicator run one after another on the device, on a
/// separate stream: P2p::edge and P2p::pair launch them in the order of the program's lanes, P2p::batched each batch of
/// the stage as one group.
class NcclTransport final : public Transport {
public:
  NcclTransport(const Program& program, const GpuRankOptions& options, std::size_t boundary, const Queue& compute,
                Clock& clock)
      : program_{program}, stage_{options.stage}, boundary_{boundary}, compute_{compute}, stopped_{options.stopped},
        barrier_{options.barrier}, plans_{plan_communicators(program)} {
    for (const ChannelId id : program.stages[index(stage_)].out)
      if (!program.channels[index(id)].is_local()) outgoing_.emplace(id, make_end(program.channels[index(id)]));
    for (const ChannelId id : program.stages[index(stage_)].in)
      if (!program.channels[index(id)].is_local()) incoming_.emplace(id, make_end(program.channels[index(id)]));
    // Freed after the abort below: cudaFree() waits for the device, and so for a peer that may never come.
    const Memory sent = allocate_memory(boundary_);
    const Memory received = allocate_memory(boundary_);
    try {
      make_communications(options, clock);
      warm_up(sent.get(), received.get());
      std::erase(communications_, nullptr);
    } catch (const std::exception& error) {
      // Kernels that wait for a peer would block the following frees.
      abort_or_exit(communicators_, error.what());
      drain();
      throw;
    }
  }

  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;
  ~NcclTransport() override {
    const bool busy =
        std::ranges::any_of(communications_, [](const auto& communication) { return is_busy(communication->queue); });
    // A peer may be lost, and ncclCommDestroy() would wait for it.
    if (busy || std::uncaught_exceptions() > 0 || (stopped_ && stopped_()))
      abort_or_exit(communicators_, "a step did not end");
    drain();
  }

  void begin_step() override {
    passed_ = LaneOperation::begin;
    next_batch_ = 0;
    for (auto* const ends : {&outgoing_, &incoming_})
      for (auto& [id, end] : *ends) {
        const std::size_t transfers = program_.channels[index(id)].transfers.size();
        end.free.clear();
        for (std::size_t slot = 0; slot < end.buffers.size(); ++slot) end.free.push_back(slot);
        end.slot.assign(transfers, 0);
        end.posted.assign(transfers, false);
        end.launched.assign(transfers, false);
      }
    for (auto& communication : communications_) {
      communication->ended->begin_step();
      communication->received.clear();
      communication->next = 0;
    }
  }

  [[nodiscard]] void* output(TransferRef transfer) override {
    End& end = outgoing(transfer);
    const std::size_t slot = transfer.position % end.buffers.size();
    end.slot[transfer.position] = slot;
    compute_.wait(end.buffers[slot].emptied); // until its last content has been sent
    return end.buffers[slot].memory.get();
  }

  void isend(TransferRef transfer, Bytes bytes) override {
    // NCCL does not transmit sizes: both sides have to use the same one.
    if (static_cast<std::size_t>(bytes.count()) != boundary_)
      throw std::runtime_error{name(transfer) + " has " + std::to_string(bytes.count()) + " bytes, " +
                               std::to_string(boundary_) + " are expected"};
    End& end = outgoing(transfer);
    compute_.record(end.buffers[end.slot[transfer.position]].filled);
    end.posted[transfer.position] = true;
    passed(program_.transfer(transfer).producer);
    launch_batch(true);
  }

  void irecv(TransferRef transfer) override {
    End& end = incoming(transfer);
    if (end.free.empty()) throw std::runtime_error{name(transfer) + " is posted before a slot is free"};
    end.slot[transfer.position] = end.free.front();
    end.free.pop_front();
    end.posted[transfer.position] = true;
    for (auto& communication : communications_) launch_ready(*communication);
    launch_batch(true);
  }

  [[nodiscard]] const void* input(TransferRef transfer, Bytes expected) override {
    if (static_cast<std::size_t>(expected.count()) != boundary_)
      throw std::runtime_error{name(transfer) + " has " + std::to_string(boundary_) + " bytes, " +
                               std::to_string(expected.count()) + " were expected"};
    End& end = incoming(transfer);
    if (!end.launched[transfer.position]) launch_batch(false);
    if (!end.launched[transfer.position])
      throw std::runtime_error{name(transfer) + " is needed before what precedes it on its communicator was issued"};
    Buffer& buffer = end.buffers[end.slot[transfer.position]];
    compute_.wait(buffer.filled);
    return buffer.memory.get();
  }

  void release(TransferRef transfer) override {
    // The slot's next receive waits for a later point of the stream: see before().
    End& end = incoming(transfer);
    end.free.push_back(end.slot[transfer.position]);
    passed(program_.transfer(transfer).consumer);
  }

  [[nodiscard]] bool has_arrived(TransferRef transfer) override {
    for (const auto& communication : communications_) {
      const auto found = std::ranges::find(communication->received, transfer);
      if (found == communication->received.end()) continue;
      return communication->ended->has_passed(static_cast<Stamp>(found - communication->received.begin()));
    }
    return false; // not even enqueued
  }

  [[nodiscard]] bool stopped() override {
    for (const auto& communicator : communicators_)
      if (communicator) communicator->check_health();
    return stopped_ && stopped_();
  }

  void finish_step() override {
    for (const auto& communication : communications_)
      while (!is_done(communication->queue)) {
        if (stopped()) throw std::runtime_error{"stopped while waiting for " + unfinished()};
        std::this_thread::sleep_for(std::chrono::microseconds{20});
      }
  }

  [[nodiscard]] std::vector<Arrival> arrivals() override {
    std::vector<Arrival> arrivals;
    for (const auto& communication : communications_) {
      const std::vector<std::int64_t> ended = communication->ended->host_times();
      for (std::size_t i = 0; i < ended.size(); ++i)
        arrivals.push_back({.transfer = communication->received[i], .began = 0, .ended = ended[i]});
    }
    return arrivals;
  }

  void barrier() override {
    wait_for(
        compute_, [this] { return stopped(); }, "the tasks of a stage");
    barrier_();
  }
  [[nodiscard]] bool barrier_waits() const override { return true; }

  void exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) override {
    Communication& pair = *exchanges_.at(peer);
    ncclComm_t const communicator = pair.communicator->get();
    const auto other = static_cast<int>(pair.plan->rank_of(peer));
    const auto count = static_cast<std::size_t>(bytes.count());
    compute_.record(pair.begun);
    pair.queue.wait(pair.begun);
    as_group(communicator, [&] {
      PPSIM_NCCL_CHECK(ncclSend(mine, count, ncclInt8, other, communicator, pair.queue.get()), communicator);
      PPSIM_NCCL_CHECK(ncclRecv(theirs, count, ncclInt8, other, communicator, pair.queue.get()), communicator);
    });
    pair.queue.record(pair.done);
    compute_.wait(pair.done);
  }

  [[nodiscard]] Bytes buffer_bytes() const override {
    std::size_t buffers = 0;
    for (const auto* const ends : {&outgoing_, &incoming_})
      for (const auto& [id, end] : *ends) buffers += end.buffers.size();
    return Bytes{static_cast<std::int64_t>(buffers * boundary_)};
  }

private:
  struct Buffer {
    Memory memory;
    Event filled;  ///< outgoing: by its producer; incoming: by NCCL
    Event emptied; ///< outgoing: sent; incoming: see Post
  };
  struct End { ///< of a channel that begins or ends here
    std::vector<Buffer> buffers;
    std::deque<std::size_t> free;       ///< incoming: slots, in the order in which they become free
    std::vector<std::size_t> slot;      ///< by position: its buffer
    std::vector<bool> posted, launched; ///< by position: requested by irecv() or isend(); enqueued
  };
  struct Communication { ///< one communicator with its stream
    const Communicator* communicator = nullptr;
    const CommunicatorPlan* plan = nullptr;
    Queue queue;
    std::unique_ptr<Stamps> ended;         ///< one per receive
    std::vector<TransferRef> received;     ///< in the order of `ended`
    std::vector<LaneOperation> operations; ///< P2p::edge and pair
    std::size_t next = 0;                  ///< the next one to launch
    Event begun, done;                     ///< of exchanges and batches
  };

  [[nodiscard]] End make_end(const Channel& channel) const {
    End end;
    for (std::size_t i = 0; i < channel.slots; ++i)
      end.buffers.push_back({allocate_memory(boundary_), compute_.make_event(false), compute_.make_event(false)});
    return end;
  }

  [[nodiscard]] std::unique_ptr<Communication> make_communication(std::size_t plan, Clock& clock) const {
    auto made = std::make_unique<Communication>();
    made->communicator = communicators_[plan].get();
    made->plan = &plans_[plan];
    made->queue = make_queue(-1); // higher priority than the tasks: whoever waits for a transfer has nothing else to do
    made->ended = std::make_unique<Stamps>(clock, made->queue);
    made->begun = made->queue.make_event(false);
    made->done = made->queue.make_event(false);
    return made;
  }

  void make_communications(const GpuRankOptions& options, Clock& clock) {
    if (options.ids.size() != plans_.size())
      throw std::runtime_error{std::to_string(options.ids.size()) + " NCCL ids for " + std::to_string(plans_.size()) +
                               " communicators"};
    communicators_.resize(plans_.size());
    communications_.resize(plans_.size());
    for (const std::size_t plan : creation_order(plans_)) {
      const CommunicatorPlan& it = plans_[plan];
      if (!it.has(stage_)) continue;
      ncclUniqueId id{};
      static_assert(sizeof id == sizeof(NcclId));
      std::memcpy(&id, options.ids[plan].data(), sizeof id);
      communicators_[plan] = std::make_unique<Communicator>(id, it.members.size(), it.rank_of(stage_));
      communications_[plan] = make_communication(plan, clock);
      std::size_t transfers = 0;          // at most
      if (plan < program_.lanes.size()) { // P2p::batched has none
        communications_[plan]->operations = lane_operations(program_, stage_, program_.lanes[plan]);
        transfers = communications_[plan]->operations.size();
      } else if (program_.p2p == P2p::batched && plan == 0) {
        for (const auto& [channel, end] : incoming_) transfers += program_.channels[index(channel)].transfers.size();
      }
      communications_[plan]->ended->reserve(transfers);
    }
    const std::size_t exchanges = sharing_stages(program_).size();
    for (std::size_t plan = plans_.size() - exchanges; plan < plans_.size(); ++plan)
      if (communications_[plan])
        exchanges_[plans_[plan].members[1 - plans_[plan].rank_of(stage_)]] = communications_[plan].get();
  }

  /// The first use of a connection involves both ends, so all stages use the communicators in the same order.
  void warm_up(const void* sent, void* received) {
    for (const std::size_t plan : creation_order(plans_)) {
      if (!communications_[plan]) continue;
      const Communication& it = *communications_[plan];
      ncclComm_t const communicator = it.communicator->get();
      const auto is_used = [&](std::size_t from, std::size_t to) {
        if (plan >= plans_.size() - sharing_stages(program_).size()) return true; // exchanges use both directions
        return std::ranges::any_of(program_.channels, [&](const Channel& channel) {
          return channel.from == it.plan->members[from] && channel.to == it.plan->members[to];
        });
      };
      const std::size_t mine = it.plan->rank_of(stage_);
      as_group(communicator, [&] {
        for (std::size_t other = 0; other < it.plan->members.size(); ++other) {
          if (other == mine) continue;
          const auto peer = static_cast<int>(other);
          // With P2p::edge the other direction has another communicator.
          const bool one_way = program_.p2p == P2p::edge && plan < program_.lanes.size();
          if (is_used(mine, other) && (!one_way || mine == 0))
            PPSIM_NCCL_CHECK(ncclSend(sent, boundary_, ncclInt8, peer, communicator, it.queue.get()), communicator);
          if (is_used(other, mine) && (!one_way || mine == 1))
            PPSIM_NCCL_CHECK(ncclRecv(received, boundary_, ncclInt8, peer, communicator, it.queue.get()), communicator);
        }
      });
      wait_for(
          it.queue, [this] { return stopped(); }, "the first transfer of a communicator");
    }
  }

  void drain() const noexcept {
    for (const auto& communication : communications_)
      if (communication) communication->queue.drain();
    compute_.drain();
  }

  [[nodiscard]] End& outgoing(TransferRef transfer) { return outgoing_.at(transfer.channel); }
  [[nodiscard]] End& incoming(TransferRef transfer) { return incoming_.at(transfer.channel); }

  // Synchronisation before and after the calls into NCCL.
  void before(const Communication& communication, TransferRef transfer, bool sends) {
    End& end = sends ? outgoing(transfer) : incoming(transfer);
    Buffer& buffer = end.buffers[end.slot[transfer.position]];
    if (sends) {
      communication.queue.wait(buffer.filled);
      return;
    }
    // Not before the tasks issued so far have ended: the last user of the slot is among them, and a long waiting
    // receive keeps multiprocessors from them.
    compute_.record(buffer.emptied);
    communication.queue.wait(buffer.emptied);
  }

  void call(const Communication& communication, TransferRef transfer, bool sends) {
    End& end = sends ? outgoing(transfer) : incoming(transfer);
    const StageId other = sends ? program_.channel(transfer).to : program_.channel(transfer).from;
    const auto peer = static_cast<int>(communication.plan->rank_of(other));
    void* const memory = end.buffers[end.slot[transfer.position]].memory.get();
    ncclComm_t const communicator = communication.communicator->get();
    cudaStream_t const stream = communication.queue.get();
    if (sends)
      PPSIM_NCCL_CHECK(ncclSend(memory, boundary_, ncclInt8, peer, communicator, stream), communicator);
    else
      PPSIM_NCCL_CHECK(ncclRecv(memory, boundary_, ncclInt8, peer, communicator, stream), communicator);
  }

  void after(Communication& communication, TransferRef transfer, bool sends) {
    End& end = sends ? outgoing(transfer) : incoming(transfer);
    Buffer& buffer = end.buffers[end.slot[transfer.position]];
    end.launched[transfer.position] = true;
    communication.queue.record(sends ? buffer.emptied : buffer.filled);
    if (sends) return;
    static_cast<void>(communication.ended->add());
    communication.received.push_back(transfer);
  }

  void passed(TaskId task) {
    const auto position = static_cast<std::ptrdiff_t>(index(task)) -
                          static_cast<std::ptrdiff_t>(index(program_.schedule.first_task(stage_)));
    passed_ = std::max(passed_, position);
    for (auto& communication : communications_) launch_ready(*communication);
  }

  [[nodiscard]] bool is_ready(const LaneOperation& operation) {
    if (operation.sends) return outgoing(operation.transfer).posted[operation.transfer.position];
    return incoming(operation.transfer).posted[operation.transfer.position] && operation.gate <= passed_;
  }

  void launch_ready(Communication& communication) {
    while (communication.next < communication.operations.size() &&
           is_ready(communication.operations[communication.next])) {
      const auto& [transfer, sends, gate] = communication.operations[communication.next++];
      before(communication, transfer, sends);
      call(communication, transfer, sends);
      after(communication, transfer, sends);
    }
  }

  /// P2p::batched: launches the next batch if all its operations are requested. `with_sends`: only if it has sends,
  /// which leave right after their producer; a batch of receives is launched when the next task needs its input.
  void launch_batch(bool with_sends) {
    const std::vector<Batch>& batches = program_.stages[index(stage_)].batches;
    if (next_batch_ == batches.size()) return;
    const Batch& batch = batches[next_batch_];
    if (with_sends && batch.sends.empty()) return;
    const bool complete =
        std::ranges::all_of(batch.sends, [&](TransferRef it) { return outgoing(it).posted[it.position]; }) &&
        std::ranges::all_of(batch.receives, [&](TransferRef it) { return incoming(it).posted[it.position]; });
    if (!complete) return;
    ++next_batch_;
    Communication& all = *communications_.front();
    const auto for_each = [&](auto function) {
      for (const TransferRef transfer : batch.sends) function(transfer, true);
      for (const TransferRef transfer : batch.receives) function(transfer, false);
    };
    for_each([&](TransferRef transfer, bool sends) { before(all, transfer, sends); });
    as_group(all.communicator->get(),
             [&] { for_each([&](TransferRef transfer, bool sends) { call(all, transfer, sends); }); });
    for_each([&](TransferRef transfer, bool sends) { after(all, transfer, sends); });
    all.queue.record(all.done);
    compute_.wait(all.done);
  }

  [[nodiscard]] std::string name(TransferRef transfer) const {
    return "transfer " + std::to_string(transfer.position) + " from stage " +
           std::to_string(index(program_.channel(transfer).from)) + " to stage " +
           std::to_string(index(program_.channel(transfer).to));
  }

  /// Work that continues after all tasks have ended: an exchange, or a transfer without a receiver. A sending task
  /// waits for its buffer, so only the last transfer of each buffer can be active.
  [[nodiscard]] std::string unfinished() const {
    for (const auto& [peer, exchange] : exchanges_)
      if (!is_done(exchange->queue)) return "the exchange of gradients with stage " + std::to_string(index(peer));
    for (const auto& [id, end] : outgoing_) {
      const std::size_t count = end.slot.size();
      for (std::size_t position = count - std::min(count, end.buffers.size()); position < count; ++position)
        if (!end.launched[position] || !is_done(end.buffers[end.slot[position]].emptied))
          return name({id, static_cast<std::uint32_t>(position)});
    }
    return "the transfers of a stage";
  }

  const Program& program_;
  StageId stage_;
  std::size_t boundary_;
  const Queue& compute_;
  std::function<bool()> stopped_;
  std::function<void()> barrier_;
  std::vector<CommunicatorPlan> plans_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::map<ChannelId, End> outgoing_, incoming_;
  std::vector<std::unique_ptr<Communication>>
      communications_;                           ///< by plan; null if the stage is not a member (or not yet created)
  std::map<StageId, Communication*> exchanges_;  ///< by peer
  std::ptrdiff_t passed_ = LaneOperation::begin; ///< last task with a transfer that has ended, as far as issued
  std::size_t next_batch_ = 0;
};

} // namespace

std::unique_ptr<Transport> make_nccl_transport(const Program& program, const GpuRankOptions& options,
                                               std::size_t boundary, const Queue& compute, Clock& clock) {
  return std::make_unique<NcclTransport>(program, options, boundary, compute, clock);
}

} // namespace ppsim::runtime::gpu
