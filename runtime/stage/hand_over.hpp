#pragma once
// Hand-over: transfers between stages that are threads of one process: the buffer itself changes hands, nothing is
// copied.

#include "ppsim/runtime/monitor.hpp"
#include "ppsim/runtime/transport.hpp"

#include <memory>
#include <vector>

namespace ppsim::runtime {

struct HandOverOptions {
  bool paced = false; ///< content turns visible only when the transfer's time has passed
  Duration spin{0};   ///< see Counter
};

/// All channels of a program, and where its stages meet. One stage's part of it is its Transport.
class HandOver {
public:
  /// Allocates all buffers: for each channel as many as it has slots. Throws Error (failed) where memory does not
  /// suffice.
  HandOver(const Program& program, Bytes boundary, const Monitor& monitor, HandOverOptions options);
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;
  ~HandOver();

  [[nodiscard]] Transport& transport(StageId stage);

private:
  struct Shared;
  class StageTransport;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<StageTransport>> transports_;
};

} // namespace ppsim::runtime
