#include "ppsim/measured/measured.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/graph/detail/dag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ppsim {

std::optional<std::size_t> Proof::diverged() const {
  const auto found = std::ranges::find_if_not(losses, [](double loss) { return std::isfinite(loss); });
  if (found == losses.end()) return std::nullopt;
  return static_cast<std::size_t>(found - losses.begin());
}

std::optional<double> core_share(const MeasuredRun& run) {
  std::optional<double> least;
  for (const MeasuredStage& stage : run.stages) {
    if (!stage.cpu || stage.busy <= Duration{0}) continue;
    const double share = static_cast<double>(stage.cpu->count()) / static_cast<double>(stage.busy.count());
    least = std::min(least.value_or(share), share);
  }
  return least;
}

bool is_contended(const MeasuredRun& run) {
  const std::optional<double> share = core_share(run);
  return !run.facts.timed && share && *share < least_core_share;
}

std::size_t median_step(const MeasuredRun& run) {
  PPSIM_ASSERT(!run.steps.empty());
  std::vector<std::size_t> order(run.steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t step) { return end_of(run.steps[step]); });
  return order[(order.size() - 1) / 2];
}

std::string run_id(const MeasuredRun& run) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U; // FNV-1a over integers instead of bytes
  const auto add = [&hash](auto number) { hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x100'0000'01B3U; };
  for (const std::uint32_t offset : run.schedule.offsets()) add(offset);
  for (const Task& task : run.schedule.tasks()) {
    add(index(task.microbatch));
    add(4U * task.chunk_index + static_cast<unsigned>(task.pass));
  }
  for (const Timeline& step : run.steps)
    for (const Span& span : step.tasks) {
      add(span.start.time_since_epoch().count());
      add(span.end.time_since_epoch().count());
    }
  return fmt::format("{:016x}", hash);
}

std::size_t unrecorded_transfers(const MeasuredRun& run) {
  std::size_t count = 0;
  for (const std::vector<bool>& step : run.unrecorded)
    count += static_cast<std::size_t>(std::ranges::count(step, true));
  return count;
}

std::string describe(const MeasuredRun& run) {
  std::string text;
  const auto say = [&text](std::string_view words) {
    if (!words.empty()) text += (text.empty() ? "" : "; ") + std::string{words};
  };
  say(run.facts.backend);
  say(run.facts.compute);
  say(run.facts.transport);
  say(run.facts.machine);
  if (is_contended(run))
    say(fmt::format("contended: a stage had {:.0f} % of a core, so its times are unreliable", 100 * *core_share(run)));
  if (const std::size_t count = unrecorded_transfers(run); count > 0)
    say(fmt::format("{} transfers were not recorded: tasks that waited for them seem to start late", count));
  return text.empty() ? "no machine is recorded" : text;
}

} // namespace ppsim
