#pragma once
// NcclTransport: one stage's ends of its channels, by ncclSend and ncclRecv.

#include "ppsim/runtime/gpu.hpp"

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "clock.hpp"
#include "nccl_communicator.hpp"
#include "nccl_plan.hpp"
#include "queue.hpp"

namespace ppsim::runtime::gpu {

/// Everything is enqueued by the thread that calls. Operations of one communicator run one after another on the device,
/// on a stream of its own: P2p::edge and P2p::pair launch them in the order of the program's lanes, P2p::batched the
/// batches of the stage as one group each.
class NcclTransport final : public Transport {
public:
  /// Makes the communicators that the stage is in and sends something over each, because NCCL connects at the first
  /// use. All stages have to do so at the same time.
  NcclTransport(const Program& program, const GpuRankOptions& options, std::size_t boundary, const Queue& compute,
                Clock& clock);
  ~NcclTransport() override;

  void begin_step() override;
  [[nodiscard]] void* output(TransferRef transfer) override;
  void isend(TransferRef transfer, Bytes bytes) override;
  void irecv(TransferRef transfer) override;
  [[nodiscard]] const void* input(TransferRef transfer, Bytes expected) override;
  void release(TransferRef transfer) override;
  [[nodiscard]] bool has_arrived(TransferRef transfer) override;
  [[nodiscard]] bool stopped() override;
  void finish_step() override;
  [[nodiscard]] std::vector<Arrival> arrivals() override;
  void barrier() override;
  [[nodiscard]] bool barrier_waits() const override { return true; }
  void exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) override;
  [[nodiscard]] Bytes buffer_bytes() const override;

private:
  struct Buffer {
    Memory memory;
    Event filled;  ///< outgoing: by the task that makes it; incoming: by NCCL
    Event emptied; ///< outgoing: sent; incoming: see Post
  };
  struct End { ///< of a channel that begins or ends here
    std::vector<Buffer> buffers;
    std::deque<std::size_t> free;       ///< incoming: slots, in the order in which they get free
    std::vector<std::size_t> slot;      ///< by position: its buffer
    std::vector<bool> posted, launched; ///< by position: asked for by irecv() or isend(); enqueued
  };
  struct Communication { ///< one communicator with its stream
    const Communicator* communicator = nullptr;
    const CommunicatorPlan* plan = nullptr;
    Queue queue;
    std::unique_ptr<Stamps> ended;         ///< one per receive
    std::vector<TransferRef> received;     ///< in the order of `ended`
    std::vector<LaneOperation> operations; ///< P2p::edge and pair
    std::size_t next = 0;                  ///< of them, to be launched
    Event begun, done;                     ///< of exchanges and batches
  };

  [[nodiscard]] End make_end(const Channel& channel) const;
  void make_communications(const GpuRankOptions& options, Clock& clock);
  void warm_up(const void* sent, void* received); ///< each of a boundary's size
  void drain() const noexcept;
  [[nodiscard]] End& outgoing(TransferRef transfer) { return outgoing_.at(transfer.channel); }
  [[nodiscard]] End& incoming(TransferRef transfer) { return incoming_.at(transfer.channel); }
  [[nodiscard]] const Channel& channel(TransferRef transfer) const {
    return program_.channels[index(transfer.channel)];
  }

  [[nodiscard]] std::unique_ptr<Communication> make_communication(std::size_t plan, Clock& clock) const;
  /// What a transfer waits for, the calls into NCCL, and what waits for it.
  void before(const Communication& communication, TransferRef transfer, bool sends);
  void call(const Communication& communication, TransferRef transfer, bool sends);
  void after(Communication& communication, TransferRef transfer, bool sends);
  void passed(TaskId task);
  void launch_ready(Communication& communication);
  [[nodiscard]] bool is_ready(const LaneOperation& operation);
  void launch_batch(bool with_sends);
  [[nodiscard]] std::string name(TransferRef transfer) const;
  [[nodiscard]] std::string unfinished() const;

  const Program& program_;
  StageId stage_;
  std::size_t boundary_;
  const Queue& compute_;
  std::function<bool()> stopped_;
  std::function<void()> barrier_;
  std::vector<CommunicatorPlan> plans_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::map<ChannelId, End> outgoing_, incoming_;
  std::vector<std::unique_ptr<Communication>> communications_; ///< by plan; null: the stage is not in it
  std::map<StageId, Communication*> exchanges_;                ///< by peer
  std::ptrdiff_t passed_ = LaneOperation::begin; ///< last task with a transfer that has ended, as far as was issued
  std::size_t next_batch_ = 0;
};

} // namespace ppsim::runtime::gpu
