#pragma once
// Transport: one stage's ends of its channels, and how it meets the other stages. With a device: RankParts.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/runtime/interface.hpp"
#include "ppsim/runtime/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ppsim::runtime {

class Device;

/// One stage's ends of its channels. It is never asked for local ones (Channel::is_local): PipelineStage keeps what
/// stays on its stage. Calls come from the stage's thread, in the order of its program; on a GPU they enqueue. Where
/// they wait, they throw Error (failed) when the run is stopped (Monitor), naming what they waited for.
class Transport : public Interface {
public:
  /// All stages: forget the transfers of the step before.
  virtual void begin_step() = 0;
  /// Where the producer writes the transfer's content; waits until there is room.
  [[nodiscard]] virtual void* output(TransferRef transfer) = 0;
  /// The content is complete: sends it. `bytes` is what goes out; the receiver checks it.
  virtual void isend(TransferRef transfer, Bytes bytes) = 0;
  /// Posts the receive. Called in order, for as many transfers ahead as there are slots.
  virtual void irecv(TransferRef transfer) = 0;
  /// The content of a received transfer; waits until it is there. Throws Error (failed) if its size is not `expected`.
  [[nodiscard]] virtual const void* input(TransferRef transfer, Bytes expected) = 0;
  /// Its consumer is done with it: the slot is free.
  virtual void release(TransferRef transfer) = 0;
  /// Within a step: whether the content of a transfer to this stage is there. Where input() waits, it is.
  [[nodiscard]] virtual bool has_arrived(TransferRef /*transfer*/) { return true; }
  /// Asked while enqueued tasks are waited for: whether to give up. Throws where what moves the transfers has failed.
  [[nodiscard]] virtual bool stopped() { return false; }
  /// Waits until all its sends are done.
  virtual void finish_step() = 0;
  /// After finish_step(): when each transfer that was received here began and ended, in nanoseconds of the host clock;
  /// by channel (as in StageProgram::in) and position. What began is known to the sender only where they share no
  /// clock; it is then zero and the sender's task end stands in.
  struct Arrival {
    TransferRef transfer;
    std::int64_t began = 0;
    std::int64_t ended = 0;
  };
  [[nodiscard]] virtual std::vector<Arrival> arrivals() = 0;

  /// All stages meet.
  virtual void barrier() = 0;
  /// Whether barrier() waits for enqueued tasks of this stage; else it is done in the call, or enqueued itself.
  [[nodiscard]] virtual bool barrier_waits() const { return false; }
  /// Sends `mine` to `peer`, which also calls it, and receives its bytes into `theirs`. Where one thread issues for
  /// both, the second call enqueues the copies, and both stages wait for them before what comes next.
  virtual void exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) = 0;
  /// Memory that this stage's ends take.
  [[nodiscard]] virtual Bytes buffer_bytes() const = 0;
};

/// What a process has of a run in which each stage has one: its device, and its ends of the channels.
class RankParts : public Interface {
public:
  [[nodiscard]] virtual Device& device() = 0;
  [[nodiscard]] virtual Transport& transport() = 0;
  [[nodiscard]] virtual std::string describe() const = 0; ///< the transport, for RunFacts
  /// How far its device's stamps may be from the host's clock, in nanoseconds.
  [[nodiscard]] virtual std::int64_t clock_error() const { return 0; }
};

} // namespace ppsim::runtime
