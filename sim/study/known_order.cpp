#include "known_order.hpp"

#include "ppsim/engine/steady.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/study/build_run.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ppsim {
namespace {

/// Whether the halves of pairs overlap at any cost: halves of zero length would not.
bool has_lengths(const Costs& costs) {
  const auto all = [](const std::vector<Duration>& times) {
    return std::ranges::all_of(times, [](Duration time) { return time > Duration{0}; });
  };
  return !costs.differ_by_microbatch() && all(costs.forward) && all(costs.input_grad);
}

/// Whether an order needs the same memory in both.
bool holds_alike(const Scenario& a, const Scenario& b, bool has_pairs) {
  const auto memory = [](const Scenario& scenario) {
    const Memory& each = scenario.memory;
    return std::tie(each.activation, each.activation_for_weight, each.parameters, each.gradients, each.optimizer,
                    each.release_outputs);
  };
  const auto recompute = [](const Scenario& scenario) {
    const Recompute& each = scenario.recompute;
    return std::tie(each.kind, each.checkpoint, each.restored, each.microbatches_without);
  };
  return memory(a) == memory(b) && recompute(a) == recompute(b) &&
         (!has_pairs || (a.pair.kind == b.pair.kind && has_lengths(a.costs) && has_lengths(b.costs)));
}

} // namespace

std::optional<Sample> sample_of(const Evaluation& run, StepFigure figure) {
  const std::optional<Duration> time = find_figure(run.report, figure);
  if (!time) return std::nullopt;
  return Sample{.step_time = *time,
                .microbatches = run.graph.scenario().shape.microbatches,
                .peak_bytes = run.report.peak_bytes(),
                .fits = !run.report.overflow,
                .asynchronous = run.graph.schedule().asynchronous()};
}

KnownOrder::KnownOrder(Evaluation&& run)
    : graph_{std::move(run.graph)}, timer_{graph_}, peak_{run.report.peak_bytes()} {}

std::shared_ptr<const KnownOrder> KnownOrder::of(Evaluation&& run) {
  const bool timed = run.graph.schedule().origin() != nullptr && !has_steady_state(run.graph) && !run.report.balance &&
                     !run.graph.scenario().memory.release_outputs;
  return timed ? std::make_shared<const KnownOrder>(std::move(run)) : nullptr;
}

std::optional<Sample> KnownOrder::sample(const RunSpec& spec) const {
  BuiltRun run = build_run(spec, &graph_.schedule());
  const bool same_order = run.schedule.origin() == graph_.schedule().origin();
  if (!same_order || !holds_alike(run.scenario, graph_.scenario(), graph_.dag().wiring->has_pairs)) return std::nullopt;
  const TaskGraph graph = graph_.with_costs(std::move(run.scenario));
  if (has_steady_state(graph)) return std::nullopt;
  const std::optional<Bytes> limit = graph.scenario().memory.limit;
  return Sample{.step_time = timer_.makespan(graph),
                .microbatches = graph.scenario().shape.microbatches,
                .peak_bytes = peak_,
                .fits = !limit || peak_ <= *limit,
                .asynchronous = false};
}

KnownOrders::KnownOrders(bool searches, const Axis& axis, std::vector<std::int64_t> points)
    : searches_{searches}, keeps_{!searches || (axis.unit != Axis::Unit::bytes && axis.unit != Axis::Unit::count)},
      points_{std::move(points)} {}

std::optional<Sample> KnownOrders::sample(const RunSpec& spec, std::int64_t value) const {
  std::optional<Sample> best;
  for (const auto& order : near(value)) {
    const auto sample = order->sample(spec);
    if (!sample) return std::nullopt;
    if (!best || std::pair{!sample->fits, sample->step_time} < std::pair{!best->fits, best->step_time}) best = sample;
  }
  return best;
}

void KnownOrders::keep(Evaluation&& run, std::int64_t value) {
  if (!keeps_ || run.graph.size() > most_tasks / (searches_ ? points_.size() : 1)) return;
  if (searches_ && !std::ranges::binary_search(points_, value)) return;
  {
    const std::scoped_lock lock{mutex_};
    if (!searches_ && !known_.empty()) return; // it needs other memory here
  }
  auto order = KnownOrder::of(std::move(run));
  const std::scoped_lock lock{mutex_};
  if (order && (searches_ || known_.empty())) known_.emplace(value, std::move(order));
}

KnownOrders::Orders KnownOrders::near(std::int64_t value) const {
  const std::scoped_lock lock{mutex_};
  if (!searches_) return known_.empty() ? Orders{} : Orders{known_.begin()->second};
  const auto above = std::ranges::upper_bound(points_, value);
  if (above == points_.begin() || above == points_.end() || *(above - 1) == value) return {};
  const auto low = known_.find(*(above - 1));
  const auto high = known_.find(*above);
  if (low == known_.end() || high == known_.end()) return {};
  return {low->second, high->second};
}

} // namespace ppsim
