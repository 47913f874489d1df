#pragma once
// ThreadChannels: transfers between stages that are threads of one process. The sender passes its buffer to the
// receiver; nothing is copied.

#include "ppsim/runtime/monitor.hpp"
#include "ppsim/runtime/transport.hpp"

#include <memory>
#include <vector>

namespace ppsim::runtime {

struct ThreadChannelOptions {
  bool paced = false; ///< content becomes visible only after the transfer's time
  Duration spin{0};   ///< see Counter
};

/// All channels of a program, and a barrier of its stages. transport() returns one stage's part.
class ThreadChannels {
public:
  /// Allocates the buffers of all slots of all channels. Throws Error (failed) if memory runs out.
  ThreadChannels(const Program& program, Bytes boundary, const Monitor& monitor, ThreadChannelOptions options);
  ThreadChannels(const ThreadChannels&) = delete;
  ThreadChannels& operator=(const ThreadChannels&) = delete;
  ~ThreadChannels();

  [[nodiscard]] Transport& transport(StageId stage);

private:
  struct Shared;
  class StageTransport;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<StageTransport>> transports_;
};

} // namespace ppsim::runtime
