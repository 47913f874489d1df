#pragma once
// MessageTransport: one stage's channels as messages between processes, in the host's memory.

#include "ppsim/runtime/transport.hpp"

#include <memory>
#include <span>

#include "processes.hpp"

namespace ppsim::runtime {

/// The stage's rank is its number. A transfer's tag is its position (two stages share but one channel in a direction),
/// so that one that is lost is missed itself, and not taken for the next. At either end a channel has as many buffers
/// as slots. Receives are posted as far ahead as slots allow. Waits ask MPI again and again, which is also what moves
/// the messages on: MPI does so only while it is called.
class MessageTransport final : public Transport {
public:
  /// `content` is the size of every transfer. `give_up` throws when the run is stopped.
  MessageTransport(const Program& program, StageId stage, MessagePassing& messages, Bytes content, GiveUp give_up);
  ~MessageTransport() override;

  void begin_step() override;
  [[nodiscard]] void* output(TransferRef transfer) override;
  void isend(TransferRef transfer, Bytes bytes) override;
  void irecv(TransferRef transfer) override;
  [[nodiscard]] const void* input(TransferRef transfer, Bytes expected) override;
  void release(TransferRef transfer) override;
  void finish_step() override;
  /// A transfer ended when MPI first said so: at the latest when it was waited for, and, because nothing looks during a
  /// task, up to a task later than it came. When it began only its sender could say.
  [[nodiscard]] std::vector<Arrival> arrivals() override { return arrivals_; }
  void barrier() override;
  void exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) override;
  [[nodiscard]] Bytes buffer_bytes() const override;

private:
  struct Sending;
  struct Receiving;
  [[nodiscard]] Sending& sending(ChannelId channel);
  [[nodiscard]] Receiving& receiving(ChannelId channel);
  void look();

  const Program& program_;
  MessagePassing& messages_;
  Bytes content_;
  GiveUp give_up_;
  std::vector<Sending> sending_;     ///< channels that begin here
  std::vector<Receiving> receiving_; ///< channels that end here
  std::vector<Arrival> arrivals_;
};

} // namespace ppsim::runtime
