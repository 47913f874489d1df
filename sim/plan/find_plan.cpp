#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/plan/plan.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <mutex>
#include <queue>
#include <tuple>

#include "bound.hpp"

namespace ppsim {
namespace {

constexpr Bytes no_limit{std::int64_t{1} << 60U}; // more than any device has
constexpr std::size_t round_size = 64; // fixed, so that the simulated configurations do not depend on threads

/// A part of the space: all configurations with these degrees, or one configuration.
struct Node {
  std::int64_t bound = 0;
  std::size_t degrees = 0; ///< its position
  bool is_whole = true;    ///< includes all orders and keepings
  PlannedOrder order = {};
  Keeping keeping = {};
  std::size_t number = 0; ///< among those of its degrees
};

struct Later {
  bool operator()(const Node& a, const Node& b) const {
    return std::tie(a.bound, a.degrees, a.number) > std::tie(b.bound, b.degrees, b.number);
  }
};

/// A configuration that fits.
struct Found {
  Configuration configuration;
  std::int64_t figure = 0;
  std::int64_t peak = 0;           ///< bytes
  std::int64_t time = 0;           ///< of a step; nanoseconds
  std::optional<PlanRow> row = {}; ///< if this process simulated it
  std::vector<Degrees> equals = {};
};

/// The result of a node.
struct Outcome {
  std::vector<Node> parts = {};
  std::uint64_t too_large = 0;
  std::uint64_t refused = 0; ///< by the model's shape
  bool simulated = false;
  std::optional<Found> found = {};
  std::string refusal = {}; ///< empty: it can run
};

/// Whether they differ only in how ranks share a sequence and a batch.
bool shares_all_else(const Configuration& a, const Configuration& b) {
  Configuration like_a = b;
  like_a.degrees.context = a.degrees.context;
  like_a.degrees.data = a.degrees.data;
  like_a.degrees.microbatch_size = a.degrees.microbatch_size;
  like_a.degrees.microbatches = a.degrees.microbatches;
  return a == like_a;
}

/// The remaining differences; data parallelism and the number of microbatches follow.
std::pair<std::int64_t, std::int64_t> shares_of(const Degrees& degrees) {
  return {degrees.context, degrees.microbatch_size};
}

/// Merges equal configurations into the one with the least context parallelism.
bool join(Found& one, Found& other) {
  if (std::tie(one.figure, one.peak, one.time) != std::tie(other.figure, other.peak, other.time) ||
      !shares_all_else(one.configuration, other.configuration))
    return false;
  if (shares_of(other.configuration.degrees) < shares_of(one.configuration.degrees)) std::swap(one, other);
  const auto add = [&one](const Degrees& degrees) {
    const auto at = std::ranges::lower_bound(one.equals, shares_of(degrees), {}, shares_of);
    const bool is_known = degrees == one.configuration.degrees || (at != one.equals.end() && *at == degrees);
    if (!is_known) one.equals.insert(at, degrees);
  };
  add(other.configuration.degrees);
  std::ranges::for_each(other.equals, add);
  return true;
}

/// By figure, then memory, then time, then by configuration, so that the order of discovery does not matter.
bool ranks_before(const Found& a, const Found& b) {
  const auto key = [](const Found& found) {
    const auto& [degrees, schedule, chunks, keeping, split, layout] = found.configuration;
    return std::tuple{found.figure,
                      found.peak,
                      found.time,
                      degrees.stages,
                      degrees.tensor,
                      degrees.expert,
                      degrees.context,
                      schedule->name,
                      chunks,
                      split,
                      keeping.kind,
                      keeping.block_layers,
                      degrees.zero_stage,
                      !degrees.sequence_parallel,
                      degrees.microbatch_size};
  };
  return key(a) < key(b);
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
    outcome.found = Found{configuration, figure, run.report.peak_bytes().count(), run.report.step_time.count()};
    outcome.found->row = PlanRow{configuration, std::move(run.report), demands, figure};
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::no) throw;
    outcome.refusal = reason_of(error);
  }
  return outcome;
}

constexpr char refusal_mark = '!';

/// The part of a simulation's result that other processes need: empty if it does not fit.
std::string to_text(const Outcome& outcome) {
  if (!outcome.refusal.empty()) return refusal_mark + outcome.refusal;
  const auto& found = outcome.found;
  return found ? fmt::format("{} {} {}", found->figure, found->peak, found->time) : "";
}

Outcome from_text(const Configuration& configuration, std::string_view text) {
  Outcome outcome{.simulated = true};
  if (text.starts_with(refusal_mark))
    outcome.refusal = text.substr(1);
  else if (!text.empty()) {
    Found& found = outcome.found.emplace(Found{.configuration = configuration});
    const char* const end = text.data() + text.size();
    const char* at = text.data();
    for (std::int64_t* const number : {&found.figure, &found.peak, &found.time}) {
      const auto [behind, wrong] = std::from_chars(at, end, *number);
      PPSIM_ASSERT(wrong == std::errc{});
      at = std::min(behind + 1, end);
    }
  }
  return outcome;
}

class Search {
public:
  Search(const PlanRequest& request, const PlanWorkers& workers, bool prunes)
      : request_{request}, workers_{workers}, prunes_{prunes}, space_{request} {
    plan_.configurations = space_.size();
    plan_.memory_limit = limit_of(request.run);
  }

  /// Simulates these first, and not again.
  void begin_with(std::span<const Configuration> known) {
    known_ = known;
    take(simulate(known));
  }
  /// The plan from the simulated configurations.
  RankedPlan finish() {
    add_rows();
    return std::move(plan_);
  }

  RankedPlan run() {
    std::vector<Outcome> outcomes(space_.degrees().size());
    for_each_index(outcomes.size(), workers_.threads, [&](std::size_t i) { outcomes[i] = whole(i); });
    take(std::move(outcomes));
    if (plan_.configurations == 0) // throws with the reason
      (void)model_costs(model_of(request_.run), *request_.run.device_sheet,
                        spec_of(request_, {.degrees = space_.degrees().front()}).training);
    go_through(open_, "configurations");
    // expensive ones last: most of them are then pruned
    go_through(searching_, "configurations, searching for their order");
    return finish();
  }

private:
  struct Queue : std::priority_queue<Node, std::vector<Node>, Later> {
    [[nodiscard]] const std::vector<Node>& nodes() const { return c; }
  };

  /// In rounds, until no remaining node can come before the last row. `what` names the nodes for progress.
  void go_through(Queue& queue, std::string_view what) {
    const std::uint64_t before = plan_.simulated;
    while (!queue.empty() && can_rank(queue.top().bound)) {
      if (workers_.watch) watched_.emplace(what, plan_.simulated - before, count_left(queue));
      std::vector<Node> wholes;
      std::vector<Configuration> single;
      while (!queue.empty() && wholes.size() + single.size() < round_size && can_rank(queue.top().bound)) {
        const Node& node = queue.top();
        if (node.is_whole)
          wholes.push_back(node);
        else if (auto one = PlanSpace::configuration(space_.degrees()[node.degrees], node.order, node.keeping);
                 std::ranges::find(known_, one) == known_.end())
          single.push_back(std::move(one));
        queue.pop();
      }
      std::vector<Outcome> outcomes(wholes.size());
      for_each_index(wholes.size(), workers_.threads, [&](std::size_t i) { outcomes[i] = parts_of(wholes[i]); });
      take(std::move(outcomes));
      take(simulate(single));
    }
  }

  /// The number of configurations that can still rank; whole nodes count fully.
  [[nodiscard]] std::size_t count_left(const Queue& queue) const {
    const auto left = std::ranges::count_if(queue.nodes(), [&](const Node& node) { return can_rank(node.bound); });
    return static_cast<std::size_t>(left);
  }

  /// The progress of a round.
  class RoundProgress {
  public:
    RoundProgress(std::string_view what, std::size_t done, std::size_t left)
        : what_{what}, done_{done}, of_{done + left} {}
    /// One more is done.
    void step(const PlanWatch& watch) {
      const std::lock_guard lock{mutex_};
      watch(what_, ++done_, of_);
    }

  private:
    std::mutex mutex_;
    std::string_view what_;
    std::size_t done_;
    std::size_t of_;
  };

  /// In the same order; on all processes.
  [[nodiscard]] std::vector<Outcome> simulate(std::span<const Configuration> some) {
    std::vector<Outcome> outcomes(some.size());
    const auto make = [&](std::size_t i) {
      outcomes[i] = simulated(request_, some[i]);
      if (watched_) watched_->step(workers_.watch);
    };
    if (!workers_.share || some.empty()) {
      for_each_index(some.size(), workers_.threads, make);
      return outcomes;
    }
    const std::vector<std::string> made = workers_.share(some.size(), [&](std::size_t i) {
      make(i);
      return to_text(outcomes[i]);
    });
    for (std::size_t i = 0; i < some.size(); ++i)
      if (!outcomes[i].simulated) outcomes[i] = from_text(some[i], made[i]);
    return outcomes;
  }

  /// Simulates rows again that another process has simulated: they are few, and reports are too large for messages.
  void add_rows() {
    for_each_index(best_.size(), workers_.threads, [&](std::size_t i) {
      if (!best_[i].row) best_[i].row = *std::move(simulated(request_, best_[i].configuration).found->row);
    });
    for (Found& found : best_) {
      found.row->equals = std::move(found.equals);
      plan_.rows.push_back(*std::move(found.row));
    }
  }

  [[nodiscard]] std::int64_t least(const PlanBound& bound) const {
    return request_.by_memory ? bound.memory.count() : bound.time.count();
  }
  [[nodiscard]] bool fits(Bytes memory) const { return !plan_.memory_limit || memory <= *plan_.memory_limit; }
  /// Whether a configuration with this lower bound may come before the last row.
  [[nodiscard]] bool can_rank(std::int64_t bound) const {
    return !prunes_ || best_.size() < request_.top || bound <= best_.back().figure;
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

  void take(std::vector<Outcome> outcomes) {
    for (Outcome& outcome : outcomes) {
      for (const Node& part : outcome.parts)
        (!part.is_whole && part.order.schedule->searches() ? searching_ : open_).push(part);
      plan_.too_large += outcome.too_large;
      plan_.configurations -= outcome.refused;
      plan_.simulated += outcome.simulated ? 1 : 0;
      if (!outcome.refusal.empty() && plan_.refused++ == 0) plan_.refusal = outcome.refusal;
      if (!outcome.found) continue;
      if (std::ranges::any_of(best_, [&](Found& known) { return join(known, *outcome.found); })) continue;
      const auto at = std::ranges::upper_bound(best_, *outcome.found, ranks_before);
      if (static_cast<std::size_t>(at - best_.begin()) < request_.top) best_.insert(at, *std::move(outcome.found));
      if (best_.size() > request_.top) best_.pop_back();
    }
  }

  const PlanRequest& request_;
  const PlanWorkers& workers_;
  bool prunes_;
  PlanSpace space_;
  std::span<const Configuration> known_;
  RankedPlan plan_;
  std::vector<Found> best_; ///< as many as are ranked
  Queue open_;
  Queue searching_; ///< configurations with searched orders
  std::optional<RoundProgress> watched_;
};

} // namespace

RankedPlan find_plan(const PlanRequest& request, const PlanWorkers& workers) {
  RankedPlan plan = Search{request, workers, true}.run();
  if (!plan.rows.empty() || !plan.memory_limit) return plan;
  PlanRequest least = request;
  least.by_memory = true;
  least.run.memory_limit = no_limit;
  plan.closest = find_best(least, {}, workers);
  return plan;
}

std::optional<PlanRow> simulate_alone(const PlanRequest& request, const Configuration& configuration) {
  std::optional<Found> found = simulated(request, configuration).found;
  if (!found) return std::nullopt;
  return std::move(found->row);
}

namespace {

std::optional<PlanRow> best_of(const PlanRequest& request, std::span<const Configuration> known,
                               const PlanWorkers& workers, bool and_others) {
  PlanRequest one = request;
  one.top = 1;
  const PlanWorkers unwatched{.threads = workers.threads, .share = workers.share};
  Search search{one, unwatched, true};
  search.begin_with(known);
  RankedPlan plan = and_others ? search.run() : search.finish();
  if (plan.rows.empty()) return std::nullopt;
  return std::move(plan.rows.front());
}

} // namespace

std::optional<PlanRow> find_best(const PlanRequest& request, std::span<const Configuration> known,
                                 const PlanWorkers& workers) {
  return best_of(request, known, workers, true);
}

std::optional<PlanRow> find_best_of(const PlanRequest& request, std::span<const Configuration> some,
                                    const PlanWorkers& workers) {
  return best_of(request, some, workers, false);
}

RankedPlan find_plan_exhaustively(const PlanRequest& request, const PlanWorkers& workers) {
  return Search{request, workers, false}.run();
}

} // namespace ppsim
