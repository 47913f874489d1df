// Searches for a better placement of sends and receives.
//
// On a communicator only the order matters: everything after an operation waits for it, and an earlier launch in the
// same order never costs time. So the search is over one order of all transfers, common to all communicators; each
// operation then stands as early as it permits. An order by the transfers' possible times never hangs. From there, an
// operation that a stall names as waiting is moved before the one that delayed it.

#include "ppsim/study/place.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/engine/hang.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/operations/detail/ranked.hpp"
#include "ppsim/operations/detail/stream_plan.hpp"
#include "ppsim/report/stalls.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace ppsim {
namespace {

using lowering::StageTransfer;
using lowering::StageTransfers;

// Bounds of the search, by size and not by time, so that results are equal everywhere.
constexpr std::size_t most_runs = 200;
constexpr std::size_t least_runs = 8;
constexpr std::size_t most_operations_run = 20'000'000; ///< of all runs together
constexpr std::size_t most_rounds = 4;        ///< in which transfers are ordered by the times of the run before
constexpr std::size_t most_stalls_tried = 24; ///< per order

/// An order of operations that runs to its end, with its run.
struct PlacedOrder {
  std::vector<std::uint32_t> ranks; ///< its ranks; empty for one from elsewhere
  CommOrder order;
  Timeline timeline;
  std::vector<Stall> stalls;
  Duration makespan{0};
  Duration stalled{0};
};

bool is_better(const PlacedOrder& a, const PlacedOrder& b) {
  return std::pair{a.makespan, a.stalled} < std::pair{b.makespan, b.stalled};
}

/// Without groups and waits, like the results of a placement.
CommOrder as_single_operations(const CommOrder& order) {
  std::vector<CommOp> ops{order.ops().begin(), order.ops().end()};
  for (CommOp& op : ops) op = {.sender = op.sender, .before = op.before, .is_send = op.is_send};
  return {std::move(ops), order.offsets(), order.actions()};
}

class PlacementSearch {
public:
  PlacementSearch(const TaskGraph& graph, const CommOrder& given, Communicators communicators)
      : graph_{graph}, given_{given}, communicators_{communicators}, transfers_{graph},
        runs_left_{std::clamp(most_operations_run / std::max<std::size_t>(given.size(), 1), least_runs, most_runs)} {}

  Placement run() {
    Placement placement;
    std::optional<PlacedOrder> given; // none if the order misdelivers data
    const bool is_astray = find_mismatch(graph_.schedule(), given_, communicators_).has_value();
    if (!is_astray) given = measure(given_, {});
    if (given) {
      placement.before = given->makespan;
      placement.stalls_before = given->stalled;
    }
    if (CommOrder single = as_single_operations(given_); !is_astray && single != given_)
      given = measure(std::move(single), {});
    PlacedOrder best = search();
    if (const std::optional<PlacedOrder> near = nearer(best)) best = *near;
    if (given && !is_better(best, *given)) best = *given;
    placement.after = best.makespan;
    placement.stalls_after = best.stalled;
    placement.moved = count_moved(best.order);
    placement.order = std::move(best.order);
    return placement;
  }

private:
  [[nodiscard]] std::size_t stages() const { return graph_.schedule().shape().stages; }

  /// None if the order hangs, or if the limit of runs is reached.
  [[nodiscard]] std::optional<PlacedOrder> measure(CommOrder order, std::vector<std::uint32_t> ranks) {
    if (runs_left_ == 0) return std::nullopt;
    --runs_left_;
    std::optional<Timeline> timeline = try_simulate(graph_, order, communicators_);
    if (!timeline) return std::nullopt;
    PlacedOrder placed;
    placed.ranks = std::move(ranks);
    placed.order = std::move(order);
    placed.timeline = *std::move(timeline);
    placed.stalls = find_stalls(graph_, placed.order, communicators_, placed.timeline);
    placed.makespan = end_of(placed.timeline).time_since_epoch();
    for (const Stall& stall : placed.stalls) placed.stalled += stall.length();
    return placed;
  }
  [[nodiscard]] std::optional<PlacedOrder> measure(std::vector<std::uint32_t> ranks) {
    std::optional<CommOrder> order = ranked_order(transfers_, ranks, communicators_, stages());
    if (!order) return std::nullopt;
    return measure(std::move(*order), std::move(ranks));
  }
  /// Orders transfers by the ends of tasks.
  [[nodiscard]] std::optional<PlacedOrder> by_ends(std::span<const SimTime> ends) {
    return measure(by_sender(transfers_, lowering::places_in_time(graph_, ends)));
  }

  PlacedOrder search() {
    std::optional<PlacedOrder> best = by_ends(unit_ends(graph_, transfers_));
    PPSIM_ASSERT(best.has_value()); // such an order never hangs
    PlacedOrder last = *best;
    for (std::size_t round = 0; round < most_rounds; ++round) {
      std::optional<PlacedOrder> next = by_ends(ends_of(last.timeline));
      if (!next || next->ranks == last.ranks) break;
      last = std::move(*next);
      if (is_better(last, *best)) best = last;
    }
    while (!best->stalls.empty()) {
      std::optional<PlacedOrder> next = improved_at_once(*best);
      if (!next) next = improved(*best);
      if (!next) break;
      best = std::move(next);
    }
    return std::move(*best);
  }

  /// A better order from moving the operations of all of the longest stalls, half of them, and so on: stalls repeat
  /// with every round of microbatches, so they are too many for single moves.
  [[nodiscard]] std::optional<PlacedOrder> improved_at_once(const PlacedOrder& from) {
    constexpr std::size_t fewest = 4;
    for (std::size_t count = from.stalls.size(); count >= fewest; count /= 2)
      for (const bool moves_late : {true, false}) {
        std::optional<PlacedOrder> next = measure(moved(from, std::span{from.stalls}.first(count), moves_late));
        if (next && is_better(*next, from)) return next;
      }
    return std::nullopt;
  }

  /// Moves the operations that `stalls`, of `from`, name as late right before those they waited for; or those right
  /// after them.
  [[nodiscard]] std::vector<std::uint32_t> moved(const PlacedOrder& from, std::span<const Stall> stalls,
                                                 bool moves_late) const {
    const std::vector<std::uint32_t>& ranks = from.ranks;
    std::vector<std::uint32_t> place(ranks.size()); // by transfer
    for (std::uint32_t i = 0; i < ranks.size(); ++i) place[ranks[i]] = i;
    std::vector<std::uint32_t> target(place);
    for (const Stall& stall : stalls) {
      const std::optional<TaskId> ahead = ahead_of(from.order, stall);
      if (!ahead) continue;
      const std::uint32_t late = transfer_of(from.order.ops()[stall.waiting].sender);
      const std::uint32_t first = transfer_of(*ahead);
      if (moves_late)
        target[late] = std::min(target[late], place[first]);
      else
        target[first] = std::max(target[first], place[late]);
    }
    std::vector<std::uint32_t> result(ranks);
    std::ranges::sort(result, {}, [&](std::uint32_t i) {
      return std::tuple{target[i], (target[i] == place[i]) == moves_late, place[i]};
    });
    return result;
  }

  /// By task, the end of it and of the other half of its pair.
  [[nodiscard]] std::vector<SimTime> ends_of(const Timeline& timeline) const {
    std::vector<SimTime> ends(graph_.size());
    for (std::size_t id = 0; id < ends.size(); ++id)
      ends[id] = timeline.tasks[index(pair_end(graph_.schedule(), make_id<TaskId>(id))) - 1].end;
    return ends;
  }

  /// The first better order from moving the operation of one stall.
  [[nodiscard]] std::optional<PlacedOrder> improved(const PlacedOrder& from) {
    std::set<std::pair<TaskId, TaskId>> tried;
    for (const Stall& stall : std::span{from.stalls}.first(std::min(from.stalls.size(), most_stalls_tried))) {
      const TaskId late = from.order.ops()[stall.waiting].sender;
      const std::optional<TaskId> ahead = ahead_of(from.order, stall);
      if (!ahead || *ahead == late || !tried.emplace(late, *ahead).second) continue;
      for (const bool moves_late : {true, false}) {
        std::optional<PlacedOrder> next = measure(moved(from, {&stall, 1}, moves_late));
        if (next && is_better(*next, from)) return next;
      }
    }
    return std::nullopt;
  }

  /// The transfer before the one that a stall names: if its operation was launched late, that of the operation before
  /// it on its communicator.
  [[nodiscard]] std::optional<TaskId> ahead_of(const CommOrder& order, const Stall& stall) const {
    if (stall.waiting != stall.behind) return order.ops()[stall.behind].sender;
    const std::size_t stage = stage_of(order, stall.waiting);
    const std::size_t communicator = communicator_of(order.ops()[stall.waiting]);
    for (std::size_t i = stall.waiting; i-- > order.first(make_id<StageId>(stage));)
      if (communicator_of(order.ops()[i]) == communicator) return order.ops()[i].sender;
    return std::nullopt;
  }
  [[nodiscard]] std::size_t communicator_of(const CommOp& op) const {
    return lowering::communicator_of(transfers_.all()[transfer_of(op.sender)], op.is_send, communicators_);
  }
  [[nodiscard]] std::uint32_t transfer_of(TaskId sender) const {
    const auto found = std::ranges::lower_bound(transfers_.all(), sender, {}, &StageTransfer::sender);
    return static_cast<std::uint32_t>(found - transfers_.all().begin());
  }

  /// The same order on every communicator, with receives as near to their original places as possible; none if that
  /// would cost time.
  [[nodiscard]] std::optional<PlacedOrder> nearer(const PlacedOrder& best) {
    std::map<std::pair<TaskId, bool>, std::uint32_t> given;
    for (const CommOp& op : given_.ops()) given[{op.sender, op.is_send}] = op.before;
    std::vector<std::vector<lowering::PlacedOp>> rows(stages());
    for (std::size_t stage = 0; stage < stages(); ++stage) {
      const auto ops = best.order.stage(make_id<StageId>(stage));
      std::vector<lowering::PlacedOp>& row = rows[stage];
      std::map<std::size_t, std::uint32_t> limit;
      for (std::size_t i = ops.size(); i-- > 0;) {
        CommOp op = ops[i];
        const auto at = limit.try_emplace(communicator_of(op), 0xFFFFFFFFU).first;
        if (!op.is_send) {
          const std::uint32_t most = std::min(at->second, transfers_.all()[transfer_of(op.sender)].needed);
          op.before = std::clamp(given[{op.sender, false}], op.before, most);
        }
        at->second = op.before;
        row.push_back({op, i});
      }
    }
    runs_left_ = std::max<std::size_t>(runs_left_, 1);
    std::optional<PlacedOrder> placed = measure(lowering::sorted_order(std::move(rows)), best.ranks);
    if (!placed || is_better(best, *placed)) return std::nullopt;
    return placed;
  }

  /// The number of operations after another task than before, or in another order: all except the longest rising run of
  /// old positions.
  [[nodiscard]] std::size_t count_moved(const CommOrder& order) const {
    std::size_t kept = 0;
    for (const StageId stage : order.stage_ids()) {
      std::map<std::tuple<TaskId, bool, std::uint32_t>, std::size_t> old;
      for (const CommOp& op : given_.stage(stage)) {
        const std::size_t position = old.size();
        old[{op.sender, op.is_send, op.before}] = position;
      }
      std::vector<std::size_t> last; // of rising runs by length, the lowest last position
      for (const CommOp& op : order.stage(stage)) {
        const auto found = old.find({op.sender, op.is_send, op.before});
        if (found == old.end()) continue;
        const auto at = std::ranges::lower_bound(last, found->second);
        if (at == last.end())
          last.push_back(found->second);
        else
          *at = found->second;
      }
      kept += last.size();
    }
    return order.size() - kept;
  }

  const TaskGraph& graph_;
  const CommOrder& given_;
  Communicators communicators_;
  StageTransfers transfers_;
  std::size_t runs_left_;
};

} // namespace

Placement place_operations(const TaskGraph& graph, const CommOrder& order, Communicators communicators) {
  return PlacementSearch{graph, order, communicators}.run();
}

} // namespace ppsim
