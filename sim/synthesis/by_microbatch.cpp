#include "ppsim/synthesis/by_microbatch.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/base/random.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "ending.hpp"
#include "round.hpp"

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
    std::int64_t work = 0;
    std::int64_t head = unlimited;
    std::int64_t tail = unlimited;
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

constexpr std::uint64_t bound_steps = 3'000'000; // of the windows' rules

/// Rounds of tabu searches: from the first orders, then near the best.
class Rounds {
public:
  Rounds(const Instance& instance, const Durations& durations, const SearchOptions& options, Found& found)
      : views_{instance}, durations_{durations}, options_{options}, found_{found}, dice_{options.seed} {}

  void run(const std::vector<Plan>& first) {
    note();
    for (; !done() && found_.effort < options_.effort; ++found_.effort) round(first);
  }

private:
  [[nodiscard]] bool done() {
    return is_near_enough(found_.plan->makespan, found_.bound, options_.gap_ppm) || is_stopped(found_.plan->makespan);
  }
  bool is_stopped(std::int64_t makespan) { return watch_.ends({found_.effort, makespan, found_.bound}); }
  void note() { add_milestone(found_.history, {found_.steps, found_.plan->makespan, found_.bound}); }

  void round(const std::vector<Plan>& first) {
    const Plan best = *found_.plan;
    std::array<TabuStart, searches> starts;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const bool near_best = found_.effort > 0 || i >= first.size();
      starts.at(i) = {.plan = near_best ? &best : &first[i],
                      .seed = dice_.next(),
                      .walk = near_best ? 1 + dice_.below(longest_walk) : 0};
    }
    std::array<Part, searches> parts;
    for_each_index(parts.size(), options_.threads, [&](std::size_t i) {
      parts.at(i) = improve(
          views_, starts.at(i), options_.tabu_steps, found_.bound,
          [&](std::int64_t makespan) { return is_stopped(makespan); }, durations_);
    });
    for (Part& part : parts) take(std::move(part));
  }

  void take(Part part) {
    add_steps(found_, part);
    for (Plan& plan : part.plans)
      if (plan.makespan < found_.plan->makespan) found_.plan = std::move(plan);
    note();
  }

  Views views_;
  const Durations& durations_;
  const SearchOptions& options_;
  Found& found_;
  SplitMix64 dice_;
  Watch watch_{options_.go_on};
};

} // namespace

std::optional<std::size_t> first_uneven(std::size_t microbatches, const Durations& durations) {
  for (std::size_t i = 0; i < durations.size() / microbatches; ++i) {
    const auto [least, most] = std::ranges::minmax(std::span{durations}.subspan(i * microbatches, microbatches));
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

Found search_by_microbatch(const Instance& instance, const Durations& durations, const SearchOptions& options) {
  SearchOptions for_means = options;
  for_means.effort = 0;
  if (options.go_on) for_means.go_on = [&](const Progress&) { return options.go_on({}); }; // its lengths are of means
  Found found = search(instance, for_means);
  if (!found.plan) return found;
  std::vector<Plan> first{run(instance, found.plan->order, durations).value()};
  for (const Order& start : options.starts) {
    if (!fits(instance, start)) continue;
    if (std::optional<Plan> plan = run(instance, start, durations)) first.push_back(*std::move(plan));
  }
  std::ranges::stable_sort(first, {}, &Plan::makespan);
  found.plan = first.front();
  found.bound = bound_by_microbatch(instance, durations, first.front().order, bound_steps);
  found.cases.clear();
  found.history.clear();
  Rounds{instance, durations, options, found}.run(first);
  return found;
}

} // namespace ppsim::synthesis
