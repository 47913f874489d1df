#pragma once
// Failures: processes of a run learn that one of them failed, and rank 0 reports it for all.

#include "ppsim/base/error.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "processes/processes.hpp"

namespace ppsim::runtime {

/// One process's report about a failure.
struct FailureReport {
  bool is_cause = false; ///< it failed by itself; otherwise it was stopped, or gave up waiting
  std::vector<Problem> problems;
};

/// The time to wait for others in a failed run.
struct FailureLimits {
  std::chrono::milliseconds answers{1000}; ///< rank 0 waits for the others' reports
  std::chrono::milliseconds end{3000}; ///< the others wait until rank 0 ends them; rank 2 and above 2 s longer, so that
                                       ///< rank 1 reports if rank 0 does not
};

/// The failures of one run. All processes report to rank 0, which tells all to stop and collects the reports.
class Failures {
public:
  explicit Failures(MessagePassing& messages, FailureLimits limits = {});

  /// Whether another process has failed. Polled in every wait; checks at most once per millisecond.
  [[nodiscard]] bool look();
  /// Whether a failure is known; on other ranks than 0: that rank 0 knows and reports it. From any thread.
  [[nodiscard]] bool heard() const { return heard_; }

  /// For a process that failed, or that look() told to stop: the error to print. On rank 0 it returns when all others
  /// have answered or the time is over; reports without a cause are left out if there is one with a cause. On other
  /// ranks it returns if rank 0 has not ended this process in time, as it does after printing.
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
  std::vector<Incoming> incoming_; ///< on rank 0 one from each other rank, elsewhere the stop message
  std::chrono::steady_clock::time_point last_look_;
  std::atomic<bool> heard_ = false;
  Message report_;
  std::vector<Pending> sends_;
};

} // namespace ppsim::runtime
