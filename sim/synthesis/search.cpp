#include "ppsim/synthesis/search.hpp"

#include "ppsim/base/detail/wide.hpp"

#include <algorithm>
#include <map>

#include "guided.hpp"
#include "tabu.hpp"

namespace ppsim::synthesis {
namespace {

/// Each makespan at which orders are made, as a share of the bound.
constexpr std::array<double, 7> first_shares{1.0, 1.003, 1.01, 1.02, 1.04, 1.08, 1.15};
constexpr std::array<double, 4> waits{0.0, 0.3, 0.7, 1.0};
constexpr std::size_t pool_size = 12;
constexpr std::size_t pool_share = 3;             // of the pool, that a round looks at
constexpr std::uint64_t round_work = 20'000'000;  // tasks times moves of one tabu search
constexpr std::int64_t bisection_share = 100'000; // the bound is looked for to this part of it

class Search {
public:
  Search(const Instance& instance, const SearchOptions& options)
      : views_{instance}, options_{options}, root_{views_}, seeds_{options.seed} {}

  Found run() {
    if (!root_.tighten(unlimited, false)) {
      found_.impossible = true;
      return std::move(found_);
    }
    found_.bound = root_.bound();
    for (const Order& order : options_.starts)
      if (fits(views_.instance, order)) offer(synthesis::run(views_.instance, order));
    first_orders();
    if (!found_.plan) any_order();
    raise_bound();
    if (!done()) orders_near_bound();
    while (!done() && found_.effort < options_.effort) {
      round();
      ++found_.effort;
    }
    return std::move(found_);
  }

private:
  [[nodiscard]] bool done() {
    if (stopped_) return true;
    if (options_.go_on && found_.plan) stopped_ = !options_.go_on({found_.effort, makespan(), found_.bound});
    return stopped_ || is_good();
  }
  [[nodiscard]] std::optional<std::int64_t> makespan() const {
    return found_.plan ? std::optional{found_.plan->makespan} : std::nullopt;
  }
  [[nodiscard]] bool is_good() const {
    if (!found_.plan) return false;
    const std::int64_t over = found_.plan->makespan - found_.bound;
    return over <= static_cast<std::int64_t>(static_cast<Int128>(found_.bound) * options_.gap_ppm / 1'000'000);
  }

  void offer(std::optional<Plan> plan) {
    if (!plan) return;
    if (!found_.plan || plan->makespan < found_.plan->makespan) found_.plan = *plan;
    const std::int64_t length = plan->makespan;
    pool_.emplace(length, std::move(*plan));
    if (pool_.size() > pool_size) pool_.erase(std::prev(pool_.end()));
  }

  /// Orders by the windows of a makespan of `most`. False: no order is that short.
  bool make_orders(std::int64_t most) {
    Windows windows = root_;
    if (!windows.tighten(most)) {
      found_.bound = std::max(found_.bound, most + 1);
      return false;
    }
    for (const std::size_t direction : {0U, 1U}) {
      Guide guide{.direction = direction, .urgency = latest_starts(views_, windows, direction, most)};
      for (const double wait : waits)
        for (const Windows* known : {static_cast<const Windows*>(nullptr), static_cast<const Windows*>(&windows)}) {
          guide.wait = wait;
          guide.known = known;
          std::optional<Plan> plan = make_order(views_, guide);
          if (plan) offer(improve_in_turns(views_, *plan));
          offer(std::move(plan));
          if (done()) return true;
        }
    }
    return true;
  }

  void first_orders() {
    const std::int64_t root = found_.bound;
    for (const double share : first_shares) {
      const auto most = static_cast<std::int64_t>(share * static_cast<double>(root));
      if (most < found_.bound) continue;
      make_orders(most);
      if (done()) return;
    }
  }

  /// With the bound as it is now.
  void orders_near_bound() {
    const std::int64_t bound = found_.bound;
    for (const double share : first_shares) {
      const auto most = static_cast<std::int64_t>(share * static_cast<double>(bound));
      if (found_.plan && most >= found_.plan->makespan) return;
      make_orders(most);
      if (done()) return;
    }
  }

  /// By the windows of ever larger makespans, up to one after which every order has ended.
  void any_order() {
    std::int64_t longest = 1;
    for (const Sequence& sequence : views_.instance.sequences)
      longest += static_cast<std::int64_t>(views_.m) * sequence.duration + sequence.tail;
    for (const Arc& arc : views_.instance.arcs) longest += static_cast<std::int64_t>(views_.m) * arc.lag;
    for (std::int64_t most = found_.bound; !found_.plan && most < longest;) {
      most = std::min(longest, most + most / 4 + 1);
      make_orders(most);
    }
  }

  /// Whether no order is as short as that; the bound follows.
  bool refute(std::int64_t most) {
    Windows windows = root_;
    if (windows.tighten(most)) {
      open_ = std::min(open_, most);
      return false;
    }
    found_.bound = std::max(found_.bound, most + 1);
    return true;
  }

  /// First whether the best order is one of the shortest, then in halves.
  void raise_bound() {
    if (done() || !found_.plan || refute(found_.plan->makespan - 1)) return;
    while (!done() && open_ - found_.bound > found_.bound / bisection_share)
      refute(found_.bound + (open_ - found_.bound) / 2);
  }

  void round() {
    std::vector<Plan> starts;
    for (const auto& [length, plan] : pool_) {
      starts.push_back(plan);
      if (found_.effort > 0 && starts.size() == pool_share) break;
    }
    for (const Plan& start : starts) {
      improve(start, found_.effort == 0 ? round_work / 4 : round_work);
      if (done()) return;
    }
    if (found_.plan && found_.plan->makespan - 1 < open_) refute(found_.plan->makespan - 1);
  }

  void improve(const Plan& start, std::uint64_t work) {
    constexpr std::uint64_t at_a_time = 500;
    const std::uint64_t moves = std::max<std::uint64_t>(at_a_time, work / views_.instance.tasks());
    Tabu tabu{views_, start, seeds_.roll()};
    for (std::uint64_t made = 0; made < moves && !stopped_ && tabu.best() > found_.bound; made += at_a_time) {
      tabu.run(at_a_time, found_.bound);
      if (found_.plan && options_.go_on)
        stopped_ = !options_.go_on({found_.effort, std::min(makespan().value(), tabu.best()), found_.bound});
    }
    if (tabu.best() < start.makespan) offer(tabu.best_plan());
  }

  Views views_;
  const SearchOptions& options_;
  Windows root_;
  Dice seeds_;
  Found found_;
  std::multimap<std::int64_t, Plan> pool_;
  std::int64_t open_ = unlimited; ///< the least makespan that could not be refuted
  bool stopped_ = false;
};

} // namespace

Found search(const Instance& instance, const SearchOptions& options) {
  return Search{instance, options}.run();
}

} // namespace ppsim::synthesis
