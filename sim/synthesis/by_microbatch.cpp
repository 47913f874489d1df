#include "ppsim/synthesis/by_microbatch.hpp"

#include "ppsim/synthesis/search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "views.hpp"

namespace ppsim::synthesis {
namespace {

std::span<const std::int64_t> of_sequence(const Instance& instance, const Durations& durations, std::size_t sequence) {
  return std::span{durations}.subspan(sequence * instance.microbatches, instance.microbatches);
}

Instance with_least(Instance instance, const Durations& durations) {
  for (std::size_t i = 0; i < instance.sequences.size(); ++i)
    instance.sequences[i].duration = std::ranges::min(of_sequence(instance, durations, i));
  return instance;
}

/// By task: the longest way there from the first input of its microbatch in that view. Backwards it begins with a tail.
std::vector<std::int64_t> heads(const Views& views, const Durations& durations, bool backwards) {
  const View& view = views.view[backwards ? 1 : 0];
  std::vector<std::int64_t> head(durations.size());
  for (const std::uint32_t sequence : view.path)
    for (std::size_t j = 0; j < views.m; ++j) {
      std::int64_t& own = head[sequence * views.m + j];
      own = std::max(own, view.release[sequence]);
      for (const View::Input& output : view.outputs[sequence]) {
        std::int64_t& next = head[output.sequence * views.m + j];
        next = std::max(next, own + durations[sequence * views.m + j] + output.lag);
      }
    }
  return head;
}

/// The longest way of a microbatch; and of each stage its work, with the least that comes before and after it.
std::int64_t bound_by_work(const Instance& instance, const Durations& durations) {
  const Views views{instance};
  const std::vector<std::int64_t> before = heads(views, durations, false);
  const std::vector<std::int64_t> after = heads(views, durations, true);
  std::int64_t bound = 0;
  for (const std::vector<std::uint32_t>& sequences : views.on) {
    std::int64_t work = 0, head = unlimited, tail = unlimited;
    for (const std::uint32_t sequence : sequences)
      for (std::size_t task = sequence * views.m; task < (sequence + 1) * views.m; ++task) {
        work += durations[task];
        head = std::min(head, before[task]);
        tail = std::min(tail, after[task]);
        bound = std::max(bound, before[task] + durations[task] + after[task]);
      }
    if (!sequences.empty()) bound = std::max(bound, head + work + tail);
  }
  return bound;
}

} // namespace

std::optional<std::size_t> first_uneven(const Instance& instance, const Durations& durations) {
  for (std::size_t i = 0; i < instance.sequences.size(); ++i) {
    const auto [least, most] = std::ranges::minmax(of_sequence(instance, durations, i));
    if (least < most) return i;
  }
  return std::nullopt;
}

Instance with_means(Instance instance, const Durations& durations) {
  const std::int64_t m = instance.microbatches;
  for (std::size_t i = 0; i < instance.sequences.size(); ++i) {
    const std::span<const std::int64_t> own = of_sequence(instance, durations, i);
    instance.sequences[i].duration = (std::accumulate(own.begin(), own.end(), std::int64_t{0}) + m / 2) / m;
  }
  return instance;
}

std::int64_t bound_by_microbatch(const Instance& instance, const Durations& durations, Order order,
                                 std::uint64_t steps) {
  return std::max(bound_by_work(instance, durations),
                  prove(with_least(instance, durations), std::move(order), steps).bound);
}

} // namespace ppsim::synthesis
