#pragma once
// How long a workload file takes, found in the simplest way.

#include "support/workload_reading.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

namespace ppsim::test {

/// The longest path of what was read, transfers taking no time: what any simulator gives for it on a free network.
inline Duration longest_path(const Workload& workload) {
  const std::size_t count = workload.nodes.size();
  std::vector<std::vector<std::size_t>> waits(count);
  std::vector<std::size_t> open(count);
  const auto depend = [&](std::size_t node, std::size_t before) {
    waits[before].push_back(node);
    ++open[node];
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t before : workload.nodes[i].after) depend(i, before);
    if (workload.nodes[i].kind == WorkloadKind::receive) depend(i, workload.partner[i]);
  }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (open[i] == 0) ready.push_back(i);
  std::vector<Duration> start(count, Duration{0});
  Duration longest{0};
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const std::size_t i = ready.back();
    ready.pop_back();
    const Duration end = start[i] + workload.nodes[i].duration;
    longest = std::max(longest, end);
    for (const std::size_t next : waits[i]) {
      start[next] = std::max(start[next], end);
      if (--open[next] == 0) ready.push_back(next);
    }
  }
  CHECK(done == count); // else it is no order
  return longest;
}

} // namespace ppsim::test
