#pragma once
// LogGOPSim's clock, as far as pipelines need it.

#include "support/workload_reading.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

namespace ppsim::test {

/// When LogGOPSim's last host is done, with -L `latency`, -o, -g, -G and -O 0, and -S above every size. A cpu of a host
/// is busy up to a moment, and what is ready begins then: that what it required ended later is forgotten, unless that
/// was on the same cpu. A message moves the cpu of the receiver that has the number of the sender's.
class LogGops {
public:
  LogGops(const Workload& workload, Duration latency)
      : workload_{workload}, latency_{latency}, waits_(workload.nodes.size()), open_(workload.nodes.size()),
        posted_(workload.nodes.size()), arrived_(workload.nodes.size()) {
    for (std::size_t i = 0; i < workload.nodes.size(); ++i) {
      open_[i] = workload.nodes[i].after.size();
      for (const std::size_t before : workload.nodes[i].after) waits_[before].push_back(i);
    }
  }

  Duration run() {
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (open_[i] == 0) begin(i);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      take(event);
    }
    CHECK(done_ == open_.size()); // else something waits for ever
    Duration last{0};
    for (const auto& [cpu, busy] : busy_) last = std::max(last, busy);
    return last;
  }

private:
  struct Event {
    Duration time;
    std::size_t number; ///< of those at the same time the first that was made comes first
    std::size_t node;   ///< of an arrival: its send
    bool arrival;
    bool operator<(const Event& other) const { return std::tie(time, number) > std::tie(other.time, other.number); }
  };

  Duration& busy(std::uint32_t rank, std::uint32_t cpu) { return busy_[{rank, cpu}]; }
  void begin(std::size_t i) {
    const WorkloadNode& node = workload_.nodes[i];
    events_.push({busy(node.rank, node.cpu), made_++, i, false});
  }
  void finish(std::size_t i) {
    ++done_;
    for (const std::size_t next : waits_[i])
      if (--open_[next] == 0) begin(next);
  }

  void take(Event event) {
    const WorkloadNode& node = workload_.nodes[event.node];
    const std::size_t partner = workload_.partner[event.node];
    if (node.kind == WorkloadKind::receive) {
      posted_[event.node] = true;
      if (arrived_[event.node]) finish(event.node);
      return;
    }
    Duration& until = busy(event.arrival ? node.peer : node.rank, node.cpu);
    if (until > event.time) {
      event.time = until;
      return events_.push(event);
    }
    until = event.time + (event.arrival ? Duration{0} : node.duration);
    if (event.arrival) {
      arrived_[partner] = true;
      if (posted_[partner]) finish(partner);
      return;
    }
    if (node.kind == WorkloadKind::send) events_.push({event.time + latency_, made_++, event.node, true});
    finish(event.node);
  }

  const Workload& workload_;
  Duration latency_;
  std::vector<std::vector<std::size_t>> waits_;                      ///< by node: those that require it
  std::vector<std::size_t> open_;                                    ///< by node: how many it still requires
  std::vector<bool> posted_, arrived_;                               ///< by receive
  std::map<std::pair<std::uint32_t, std::uint32_t>, Duration> busy_; ///< by rank and cpu: until when
  std::priority_queue<Event> events_;
  std::size_t made_ = 0;
  std::size_t done_ = 0;
};

} // namespace ppsim::test
