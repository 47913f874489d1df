#pragma once
// Liveness: which processes of shared work still run. MPI does not report it: a message to or from a lost process never
// completes. So processes send each other heartbeats.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "processes.hpp"

namespace ppsim::runtime {

/// The first process tracks all others, and each of them tracks the first one. For one thread at a time.
class Liveness {
public:
  struct Rules {
    /// A process with work that is silent for this long is lost; between shared rounds there are no heartbeats. The
    /// first process may write files for a long time and is needed by all: its limit is ten times as long.
    std::chrono::milliseconds silence{60'000};
    std::chrono::milliseconds launcher_takes{
        10'000}; ///< time for the launcher to end all processes, if it does so after the first one is lost
    std::chrono::milliseconds beat{1000}; ///< interval of heartbeats
    /// Whether that rank is known to have ended, if that can be observed.
    std::function<bool(std::size_t rank)> is_gone = {};
    /// Called once for each lost process.
    std::function<void(std::size_t rank)> on_loss = {};
  };

  explicit Liveness(MessagePassing& messages) : Liveness{messages, Rules{}} {}
  Liveness(MessagePassing& messages, Rules rules);

  [[nodiscard]] MessagePassing& messages() { return messages_; }
  [[nodiscard]] const Rules& rules() const { return rules_; }
  /// Sends a heartbeat to the tracked processes, if it is time.
  void beat();
  /// On the first process, for a rank with work: whether it is lost, permanently.
  [[nodiscard]] bool is_lost(std::size_t rank);
  [[nodiscard]] bool was_lost(std::size_t rank) const { return lost_.contains(rank); }
  [[nodiscard]] bool any_lost() const { return !lost_.empty() || told_; }
  /// Starts tracking: the rank has work from now on.
  void begin(std::size_t rank) { peers_.at(rank).heard = Clock::now(); }
  /// On the other processes, while they wait for the first one: throws Error (failed) if that is lost.
  void check_first();
  /// On the other processes: the first process has reported a lost one.
  void announce_loss();

private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    std::shared_ptr<char> sign;
    std::optional<Pending> received, sent;
    Clock::time_point heard = Clock::now(), looked = Clock::now();
  };
  [[nodiscard]] bool is_silent(std::size_t rank, std::chrono::milliseconds limit);
  void post(std::size_t rank, Peer& peer);

  MessagePassing& messages_;
  Rules rules_;
  std::map<std::size_t, Peer> peers_; ///< by rank
  std::set<std::size_t> lost_;
  bool told_ = false;
  Clock::time_point next_beat_ = Clock::now();
};

} // namespace ppsim::runtime
