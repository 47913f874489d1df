#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/plan/plan.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/evaluate.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "bound.hpp"

namespace ppsim {
namespace {

constexpr Bytes no_limit{std::int64_t{1} << 60U}; // more than any device has
constexpr std::size_t round_size = 64;            // fixed: what is simulated does not depend on threads

/// A part of the space: what has these degrees, or one configuration.
struct Node {
  std::int64_t bound = 0;
  std::size_t degrees = 0; ///< its position
  bool is_whole = true;    ///< with all orders and keepings
  PlannedOrder order = {};
  Keeping keeping = {};
  std::size_t number = 0; ///< among those of its degrees
};

struct Later {
  bool operator()(const Node& a, const Node& b) const {
    return std::tie(a.bound, a.degrees, a.number) > std::tie(b.bound, b.degrees, b.number);
  }
};

/// What became of a node.
struct Outcome {
  std::vector<Node> parts = {};
  std::uint64_t too_large = 0;
  std::uint64_t refused = 0; ///< by the model's shape
  bool simulated = false;
  std::optional<PlanRow> row = {};
  std::string refusal = {}; ///< empty: it can run
};

bool ranks_before(const PlanRow& a, const PlanRow& b) {
  return std::pair{a.figure, a.report.peak_bytes()} < std::pair{b.figure, b.report.peak_bytes()};
}

/// Simulates one configuration.
Outcome simulated(const PlanRequest& request, const Configuration& configuration) {
  Outcome outcome{.simulated = true};
  try {
    const RunSpec spec = spec_of(request, configuration);
    Evaluation run = evaluate(spec);
    if (run.report.overflow) return outcome;
    if (spec.rank_by != StepFigure::step_time) sample_steps(spec, run);
    const std::optional<Duration> time = find_figure(run.report, spec.rank_by);
    if (!time) return outcome;
    const std::int64_t figure = request.by_memory ? run.report.peak_bytes().count() : time->count();
    const Demands demands = demands_of(run.graph.schedule(), run.report);
    outcome.row = PlanRow{configuration, std::move(run.report), demands, figure};
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::no) throw;
    outcome.refusal = reason_of(error);
  }
  return outcome;
}

class Search {
public:
  Search(const PlanRequest& request, std::size_t threads, bool prunes)
      : request_{request}, threads_{threads}, prunes_{prunes}, space_{request} {
    plan_.configurations = space_.size();
    plan_.memory_limit = limit_of(request.run);
  }

  /// Simulates these before all else.
  void begin_with(std::span<const Configuration> known) {
    std::vector<Outcome> outcomes(known.size());
    for_each_index(known.size(), threads_, [&](std::size_t i) { outcomes[i] = simulated(request_, known[i]); });
    take(outcomes);
  }

  RankedPlan run(const PlanWatch& watch) {
    std::vector<Outcome> outcomes(space_.degrees().size());
    for_each_index(outcomes.size(), threads_, [&](std::size_t i) { outcomes[i] = whole(i); });
    take(outcomes);
    if (plan_.configurations == 0) // says why
      (void)model_costs(model_of(request_.run), *request_.run.device_sheet,
                        spec_of(request_, {.degrees = space_.degrees().front()}).training);
    go_through(open_, watch);
    go_through(searching_, watch); // what takes long last: most of them are not needed then
    return std::move(plan_);
  }

private:
  using Queue = std::priority_queue<Node, std::vector<Node>, Later>;

  /// In rounds, until what is left can not come before the last row.
  void go_through(Queue& queue, const PlanWatch& watch) {
    while (!queue.empty() && can_rank(queue.top().bound)) {
      std::vector<Node> round;
      while (!queue.empty() && round.size() < round_size && can_rank(queue.top().bound)) {
        round.push_back(queue.top());
        queue.pop();
      }
      std::vector<Outcome> outcomes(round.size());
      for_each_index(round.size(), threads_, [&](std::size_t i) { outcomes[i] = look_at(round[i]); });
      take(outcomes);
      if (watch) watch(plan_.simulated);
    }
  }

  [[nodiscard]] std::int64_t least(const PlanBound& bound) const {
    return request_.by_memory ? bound.memory.count() : bound.time.count();
  }
  [[nodiscard]] bool fits(Bytes memory) const { return !plan_.memory_limit || memory <= *plan_.memory_limit; }
  /// Whether what takes at least that may come before the last row.
  [[nodiscard]] bool can_rank(std::int64_t bound) const {
    return !prunes_ || plan_.rows.size() < request_.top || bound <= plan_.rows.back().figure;
  }

  [[nodiscard]] Outcome whole(std::size_t position) const {
    Outcome outcome;
    const Degrees& degrees = space_.degrees()[position];
    const std::optional<DegreeBounds> bounds = DegreeBounds::of(request_, degrees);
    if (!bounds) {
      outcome.refused = space_.size_of(degrees);
      return outcome;
    }
    const PlanBound all = bounds->all();
    if (prunes_ && !fits(all.memory)) {
      outcome.too_large = space_.size_of(degrees);
      return outcome;
    }
    outcome.parts.push_back({.bound = least(all), .degrees = position});
    return outcome;
  }

  [[nodiscard]] Outcome look_at(const Node& node) const {
    if (node.is_whole) return parts_of(node);
    return simulated(request_, PlanSpace::configuration(space_.degrees()[node.degrees], node.order, node.keeping));
  }

  [[nodiscard]] Outcome parts_of(const Node& node) const {
    Outcome outcome;
    const Degrees& degrees = space_.degrees()[node.degrees];
    std::optional<DegreeBounds> bounds = DegreeBounds::of(request_, degrees);
    std::size_t number = 0;
    for (const PlannedOrder& order : space_.orders(degrees))
      for (const Keeping& keeping : space_.keepings(space_.layers_of_chunk(degrees, order))) {
        ++number;
        const PlanBound bound = bounds->of(order, keeping);
        if (prunes_ && !fits(bound.memory)) {
          ++outcome.too_large;
          continue;
        }
        const std::int64_t at_least = std::max(node.bound, least(bound));
        if (!can_rank(at_least)) continue;
        outcome.parts.push_back({.bound = at_least,
                                 .degrees = node.degrees,
                                 .is_whole = false,
                                 .order = order,
                                 .keeping = keeping,
                                 .number = number});
      }
    return outcome;
  }

  void take(std::vector<Outcome>& outcomes) {
    for (Outcome& outcome : outcomes) {
      for (const Node& part : outcome.parts)
        (!part.is_whole && part.order.schedule->searches ? searching_ : open_).push(part);
      plan_.too_large += outcome.too_large;
      plan_.configurations -= outcome.refused;
      plan_.simulated += outcome.simulated ? 1 : 0;
      if (!outcome.refusal.empty() && plan_.refused++ == 0) plan_.refusal = outcome.refusal;
      if (!outcome.row) continue;
      const auto at = std::ranges::upper_bound(plan_.rows, *outcome.row, ranks_before);
      if (static_cast<std::size_t>(at - plan_.rows.begin()) < request_.top)
        plan_.rows.insert(at, *std::move(outcome.row));
      if (plan_.rows.size() > request_.top) plan_.rows.pop_back();
    }
  }

  const PlanRequest& request_;
  std::size_t threads_;
  bool prunes_;
  PlanSpace space_;
  RankedPlan plan_;
  Queue open_;
  Queue searching_; ///< whose order is searched for
};

} // namespace

RankedPlan find_plan(const PlanRequest& request, std::size_t threads, const PlanWatch& watch) {
  RankedPlan plan = Search{request, threads, true}.run(watch);
  if (!plan.rows.empty() || !plan.memory_limit) return plan;
  PlanRequest least = request;
  least.by_memory = true;
  least.run.memory_limit = no_limit;
  plan.closest = find_best(least, {}, threads);
  return plan;
}

std::optional<PlanRow> simulate_alone(const PlanRequest& request, const Configuration& configuration) {
  return std::move(simulated(request, configuration).row);
}

std::optional<PlanRow> find_best(const PlanRequest& request, std::span<const Configuration> known,
                                 std::size_t threads) {
  PlanRequest one = request;
  one.top = 1;
  Search search{one, threads, true};
  search.begin_with(known);
  RankedPlan plan = search.run({});
  if (plan.rows.empty()) return std::nullopt;
  return std::move(plan.rows.front());
}

RankedPlan find_plan_exhaustively(const PlanRequest& request, std::size_t threads) {
  return Search{request, threads, false}.run({});
}

} // namespace ppsim
