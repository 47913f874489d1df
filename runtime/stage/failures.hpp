#pragma once
// Failures: how the processes of a run learn that one of them failed, and rank 0 says so for all.

#include "ppsim/base/error.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "processes/processes.hpp"

namespace ppsim::runtime {

/// What one process has to say of a failure.
struct FailureReport {
  bool is_cause = false; ///< it failed by itself; else it was stopped, or gave up, while it waited
  std::vector<Problem> problems;
};

/// How long to wait for others in a failed run.
struct FailureLimits {
  std::chrono::milliseconds answers{1000}; ///< rank 0, for the others' reports
  std::chrono::milliseconds end{3000};     ///< the others, for their end by rank 0; rank 2 and above 2 s more, so that
                                           ///< rank 1 speaks for them where rank 0 does not
};

/// The failures of one run. Rank 0 hears of them from all; tells all to stop; collects what each has to say.
class Failures {
public:
  explicit Failures(MessagePassing& messages, FailureLimits limits = {});

  /// Whether another process has failed. To be asked in every wait; looks once in a millisecond.
  [[nodiscard]] bool look();
  /// Whether one was heard of so far; elsewhere than on rank 0: that rank 0 knows of it, and speaks. From any thread.
  [[nodiscard]] bool heard() const { return heard_; }

  /// Of a process that failed, or that look() told to stop: what is to be printed. On rank 0 when all others have
  /// answered, or had the time to; what did not fail by itself is left out where something did. Elsewhere when rank 0
  /// has not ended this process in time, as it does when it has printed.
  [[nodiscard]] Error conclude(const FailureReport& mine);

private:
  [[nodiscard]] bool look_now();
  [[nodiscard]] Error conclude_for_all(const FailureReport& mine);

  static constexpr std::size_t most_bytes = 4096;
  struct Incoming {
    std::size_t from = 0;
    std::vector<std::byte> text;
    std::optional<Pending> pending;
    std::optional<FailureReport> report;
  };

  MessagePassing& messages_;
  FailureLimits limits_;
  std::vector<Incoming> incoming_; ///< on rank 0 one from each other rank, elsewhere the one that says stop
  std::chrono::steady_clock::time_point last_look_;
  std::atomic<bool> heard_ = false;
  Message report_;
  std::vector<Pending> sends_;
};

} // namespace ppsim::runtime
