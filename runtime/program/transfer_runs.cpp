#include "transfer_runs.hpp"

#include "ppsim/base/percentile.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/schedule/generators.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace ppsim::runtime {

namespace {

/// Few, because every size needs a new run.
constexpr std::array<std::int64_t, 5> sizes{4096, 65536, 1 << 20, 4 << 20, 16 << 20};
/// Narrow, so that tasks take little time for any activation; wide enough that the largest has no more tokens than a
/// workload may have (65536, with 2 bytes per number).
constexpr std::size_t width = 128;

/// One microbatch forward and backward.
Program there_and_back(std::size_t stages) {
  const Shape shape{.stages = stages, .microbatches = 1, .vpp = 1};
  const TaskGraph graph = lower(make_schedule(find_generator("gpipe"), {.shape = shape}),
                                uniform_scenario(shape, std::chrono::milliseconds{1}, std::chrono::milliseconds{2}));
  return compile(graph, simulate(graph));
}

} // namespace

std::vector<TransferSample> transfers_of_runs(Backend& backend, std::size_t stages, const RunOptions& options,
                                              std::size_t number_bytes) {
  if (stages < 2) return {};
  const Program program = there_and_back(stages);
  std::vector<TransferSample> samples;
  for (const std::int64_t bytes : sizes) {
    RunOptions run;
    run.workload.width = width;
    run.workload.tokens = std::max<std::size_t>(static_cast<std::size_t>(bytes) / (width * number_bytes), 1);
    run.warmup = 3;
    run.steps = 15;
    run.prove = false;
    run.timeout = options.timeout;
    const std::optional<MeasuredRun> measured = backend.run(program, run);
    if (!measured) continue; // not the leader
    std::map<std::pair<StageId, StageId>, std::vector<Duration>> times;
    for (const Timeline& step : measured->steps)
      for (const Channel& channel : program.channels)
        for (const Transfer& transfer : channel.transfers)
          times[{channel.from, channel.to}].push_back(step.transfers[index(transfer.producer)].length());
    for (auto& [ends, some] : times)
      samples.push_back({ends.first, ends.second, Bytes{bytes}, percentile(std::move(some), 50)});
  }
  return samples;
}

} // namespace ppsim::runtime
