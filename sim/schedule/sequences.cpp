#include "ppsim/schedule/detail/sequences.hpp"

#include <algorithm>
#include <array>

namespace ppsim {
namespace {

constexpr std::array split_passes{Pass::forward, Pass::input_grad, Pass::weight_grad};
constexpr std::array whole_passes{Pass::forward, Pass::backward};

} // namespace

std::span<const Pass> sequence_passes(bool splits) {
  return splits ? std::span<const Pass>{split_passes} : std::span<const Pass>{whole_passes};
}

std::vector<synthesis::Arc> pipeline_arcs(std::size_t passes, std::span<const std::int64_t> lags) {
  std::vector<synthesis::Arc> arcs;
  const auto join = [&arcs](std::size_t from, std::size_t to, std::int64_t lag) {
    arcs.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), lag});
  };
  for (std::size_t chunk = 0; chunk <= lags.size(); ++chunk) {
    const std::size_t own = passes * chunk;
    for (std::size_t pass = 1; pass < passes; ++pass) join(own + pass - 1, own + pass, 0);
    if (chunk == lags.size()) break;
    join(own, own + passes, lags[chunk]);
    join(own + passes + 1, own + 1, lags[chunk]);
  }
  return arcs;
}

std::optional<synthesis::Order> as_order(const Schedule& schedule, std::span<const StageId> placement,
                                         std::span<const Pass> passes) {
  synthesis::Order order(schedule.shape().stages);
  for (const StageId stage : schedule.stage_ids())
    for (const Task& task : schedule.stage(stage)) {
      if (placement[task.chunk_index] != stage) return std::nullopt;
      const auto add = [&](std::size_t pass) {
        order[index(stage)].push_back(static_cast<std::uint16_t>(passes.size() * task.chunk_index + pass));
      };
      const auto found = std::ranges::find(passes, task.pass);
      if (found != passes.end()) {
        add(static_cast<std::size_t>(found - passes.begin()));
      } else if (task.pass == Pass::backward) {
        add(1);
        add(2);
      } else {
        return std::nullopt;
      }
    }
  return order;
}

Schedule as_schedule(std::string_view name, const Shape& shape, const synthesis::Order& order,
                     std::span<const Pass> passes) {
  ScheduleBuilder builder{std::string{name}, shape};
  std::vector<std::size_t> next(passes.size() * shape.chunks());
  for (const std::vector<std::uint16_t>& stage : order) {
    for (const std::uint16_t sequence : stage)
      builder.add(passes[sequence % passes.size()], sequence / passes.size(), next[sequence]++);
    builder.end_stage();
  }
  return builder.build();
}

} // namespace ppsim
