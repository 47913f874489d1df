#pragma once
// Transport: one stage's ends of its channels, and its barrier with other stages. With a device: RankParts.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/runtime/interface.hpp"
#include "ppsim/runtime/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ppsim::runtime {

class Device;

/// One stage's ends of its channels, except local ones (Channel::is_local), which PipelineStage handles. Calls come
/// from the stage's thread, in the order of its program; on a GPU they enqueue. Waiting calls throw Error (failed) if
/// the Monitor stops the run, and name what they waited for.
class Transport : public Interface {
public:
  /// Resets all transfers; every stage calls it.
  virtual void begin_step() = 0;
  /// Where the producer writes the transfer's content; waits for a free slot.
  [[nodiscard]] virtual void* output(TransferRef transfer) = 0;
  /// Sends the complete content. `bytes` is the size sent; the receiver checks it.
  virtual void isend(TransferRef transfer, Bytes bytes) = 0;
  /// Posts the receive. Called in order, for at most as many transfers ahead as there are slots.
  virtual void irecv(TransferRef transfer) = 0;
  /// The content of a received transfer; waits for it. Throws Error (failed) if its size is not `expected`.
  [[nodiscard]] virtual const void* input(TransferRef transfer, Bytes expected) = 0;
  /// Frees the slot after the consumer has ended.
  virtual void release(TransferRef transfer) = 0;
  /// Within a step: whether a transfer to this stage has arrived. Always true if input() waits.
  [[nodiscard]] virtual bool has_arrived(TransferRef /*transfer*/) { return true; }
  /// Polled while waiting for enqueued tasks: whether to give up. Throws if the transport has failed.
  [[nodiscard]] virtual bool stopped() { return false; }
  /// Waits until all its sends are done.
  virtual void finish_step() = 0;
  /// After finish_step(): when each transfer received here began and ended, in nanoseconds of the host clock, by
  /// channel (as in StageProgram::in) and position. If the sender has another clock, `began` is zero and the end of the
  /// sender's task replaces it.
  struct Arrival {
    TransferRef transfer;
    std::int64_t began = 0;
    std::int64_t ended = 0;
  };
  [[nodiscard]] virtual std::vector<Arrival> arrivals() = 0;

  /// Waits for all stages.
  virtual void barrier() = 0;
  /// Whether barrier() waits for enqueued tasks of this stage. Otherwise it completes in the call or is enqueued
  /// itself.
  [[nodiscard]] virtual bool barrier_waits() const { return false; }
  /// Sends `mine` to `peer`, which also calls it, and receives its bytes into `theirs`. If one thread issues for both
  /// stages, the second call enqueues the copies, and both stages wait for them before their next work.
  virtual void exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) = 0;
  /// Memory of this stage's transfer buffers.
  [[nodiscard]] virtual Bytes buffer_bytes() const = 0;
};

/// A process's parts of a run with one stage per process: its device and its ends of the channels.
class RankParts : public Interface {
public:
  [[nodiscard]] virtual Device& device() = 0;
  [[nodiscard]] virtual Transport& transport() = 0;
  [[nodiscard]] virtual std::string describe() const = 0; ///< the transport, for RunFacts
  /// Bound of the error between its device's stamps and the host's clock, in nanoseconds.
  [[nodiscard]] virtual std::int64_t clock_error() const { return 0; }
};

} // namespace ppsim::runtime
