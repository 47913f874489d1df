#pragma once
// Liveness: which processes of a long work are still there. MPI does not say so: a message to or from one that is gone
// just never ends. So they send each other signs of life.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "processes.hpp"

namespace ppsim::runtime {

/// What the first process knows of all others, and each of them of the first one. From one thread at a time.
class Liveness {
public:
  struct Rules {
    /// Who has something to do and is silent for so long is lost; between shared rounds nobody sends signs. The first
    /// process may write for long, and without it nothing is left: it gets ten times as long.
    std::chrono::milliseconds silence{60'000};
    std::chrono::milliseconds launcher_takes{10'000}; ///< to end all, where it does that when the first one is gone
    std::chrono::milliseconds beat{1000};             ///< a sign of life so often
    /// Whether that rank is seen to be gone, where that can be seen.
    std::function<bool(std::size_t rank)> is_gone = {};
    /// Called once for each that is lost.
    std::function<void(std::size_t rank)> on_loss = {};
  };

  explicit Liveness(MessagePassing& messages) : Liveness{messages, Rules{}} {}
  Liveness(MessagePassing& messages, Rules rules);

  [[nodiscard]] MessagePassing& messages() { return messages_; }
  [[nodiscard]] const Rules& rules() const { return rules_; }
  /// Sends a sign of life to those whom this process knows, if it is time.
  void beat();
  /// On the first process, of one that has something to do: whether it is lost, from now on for good.
  [[nodiscard]] bool is_lost(std::size_t rank);
  [[nodiscard]] bool was_lost(std::size_t rank) const { return lost_.contains(rank); }
  [[nodiscard]] bool any_lost() const { return !lost_.empty() || told_; }
  /// That one has something to do from now on.
  void begin(std::size_t rank) { peers_.at(rank).heard = Clock::now(); }
  /// Of the others, while they wait for the first process: throws Error (failed) where that is lost.
  void check_first();
  /// Of the others: the first process has said that one was lost.
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
