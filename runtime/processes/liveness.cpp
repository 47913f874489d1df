#include "liveness.hpp"

#include "ppsim/base/error.hpp"

#include <utility>

namespace ppsim::runtime {

Liveness::Liveness(MessagePassing& messages, Rules rules) : messages_{messages}, rules_{std::move(rules)} {
  const std::size_t end = messages.rank() == 0 ? messages.size() : 1;
  for (std::size_t rank = messages.rank() == 0 ? 1 : 0; rank < end; ++rank) post(rank, peers_[rank]);
}

void Liveness::post(std::size_t rank, Peer& peer) {
  peer.sign = std::make_shared<char>();
  peer.received = Pending::receive(messages_, peer.sign.get(), sizeof(char), rank, number(Tag::alive), peer.sign);
}

void Liveness::beat() {
  const auto now = Clock::now();
  if (now < next_beat_) return;
  next_beat_ = now + rules_.beat;
  static const auto sign = std::make_shared<const char>('*');
  for (auto& [rank, peer] : peers_)
    if (!was_lost(rank) && (!peer.sent || peer.sent->test()))
      peer.sent = Pending::send(messages_, sign.get(), sizeof(char), rank, number(Tag::alive), sign);
}

bool Liveness::is_silent(std::size_t rank, std::chrono::milliseconds limit) {
  Peer& peer = peers_.at(rank);
  const auto now = Clock::now();
  // There was no check for a while: messages may have arrived that MPI has not processed yet.
  if (now - peer.looked > 2 * rules_.beat) peer.heard = now;
  peer.looked = now;
  while (peer.received->test()) {
    peer.heard = now;
    post(rank, peer);
  }
  return now - peer.heard > limit;
}

bool Liveness::is_lost(std::size_t rank) {
  if (was_lost(rank)) return true;
  if (!is_silent(rank, rules_.silence) && !(rules_.is_gone && rules_.is_gone(rank))) return false;
  lost_.insert(rank);
  if (rules_.on_loss) rules_.on_loss(rank);
  return true;
}

void Liveness::check_first() {
  const bool is_gone = rules_.is_gone && rules_.is_gone(0);
  if (!is_silent(0, is_gone ? rules_.launcher_takes : 10 * rules_.silence)) return;
  throw Error{ExitCode::failed, Problem{"rank 0", is_gone ? "is gone" : "does not answer", ""}};
}

void Liveness::announce_loss() {
  if (!std::exchange(told_, true) && rules_.on_loss) rules_.on_loss(0);
}

} // namespace ppsim::runtime
