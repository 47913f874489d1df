#include "ppsim/synthesis/search.hpp"

#include "ppsim/base/error.hpp"

#include <algorithm>
#include <map>

#include "ending.hpp"
#include "guided.hpp"
#include "tabu.hpp"

namespace ppsim::synthesis {
namespace {

/// Each makespan at which orders are made, as a share of the bound.
constexpr std::array<double, 7> first_shares{1.0, 1.003, 1.01, 1.02, 1.04, 1.08, 1.15};
/// More of them where nobody raises a bound that is far below.
constexpr std::array<double, 5> far_shares{1.25, 1.4, 1.6, 1.8, 2.0};
constexpr std::array<double, 4> waits{0.0, 0.3, 0.7, 1.0};
constexpr std::size_t most_guides = 6; // windows that are kept for samples
constexpr std::size_t pool_size = 12;
constexpr std::size_t pool_share = 3;            // of the pool, that a round looks at
constexpr std::size_t samples = 16;              // orders by chance in a round
constexpr std::uint64_t case_steps = 3'000'000;  // of the windows, on cases in a round
constexpr std::uint64_t round_work = 20'000'000; // tasks times moves of one tabu search
constexpr std::uint64_t guide_steps = 400'000;   // of the windows for orders, where a bound is not sought

class Search {
public:
  Search(const Instance& instance, const SearchOptions& options)
      : views_{instance}, options_{options}, root_{views_}, dice_{options.seed} {}

  Found run() {
    if (!root_.tighten(unlimited, false)) {
      found_.impossible = true;
      return std::move(found_);
    }
    count(root_, 0);
    found_.bound = root_.bound();
    if (options_.orders > 0) orders_left_ = options_.orders;
    for (const Order& order : options_.starts)
      if (fits(views_.instance, order)) offer(synthesis::run(views_.instance, order));
    const std::int64_t root = found_.bound;
    if (found_.plan && options_.start_gap_ppm && is_near_enough(found_.plan->makespan, root, *options_.start_gap_ppm))
      return std::move(found_);
    orders_at(root, first_shares, true);
    if (!options_.proves) orders_at(root, far_shares, false);
    if (!found_.plan) any_order();
    if (options_.proves) {
      raise_bound();
      orders_at(found_.bound, first_shares, false);
    }
    while (found_.plan && !done() && found_.effort < options_.effort) {
      round();
      ++found_.effort;
    }
    PPSIM_ASSERT(!found_.plan || found_.bound <= found_.plan->makespan);
    return std::move(found_);
  }

  Found prove(std::uint64_t steps) {
    root_.tighten(unlimited, false);
    count(root_, 0);
    found_.bound = root_.bound();
    offer(synthesis::run(views_.instance, options_.starts.front()));
    steps_left_ = steps;
    raise_bound();
    PPSIM_ASSERT(found_.bound <= found_.plan->makespan);
    return std::move(found_);
  }

private:
  [[nodiscard]] bool done() {
    if (stopped_ || orders_left_ == 0 || steps_left_ == 0) return true;
    return found_.plan && (is_stopped(found_.plan->makespan) || is_good());
  }
  /// Whether whoever waits has had enough of an order that takes `makespan`.
  bool is_stopped(std::int64_t makespan) {
    if (options_.go_on && !stopped_) stopped_ = !options_.go_on({found_.effort, makespan, found_.bound});
    return stopped_;
  }
  [[nodiscard]] bool is_good() const { return is_near_enough(found_.plan->makespan, found_.bound, options_.gap_ppm); }

  /// The steps of windows since they had taken `before`.
  std::uint64_t count(const Windows& windows, std::uint64_t before) {
    const std::uint64_t spent = windows.steps() - before;
    found_.steps += spent;
    return spent;
  }
  /// So many orders that were made, or moves.
  void count_whole(std::uint64_t times) { found_.steps += times * views_.instance.tasks(); }
  /// That the best order takes `makespan` now, and what the bound is.
  void note(std::int64_t makespan) { add_milestone(found_.history, {found_.steps, makespan, found_.bound}); }

  void offer(std::optional<Plan> plan) {
    if (!plan) return;
    if (!found_.plan || plan->makespan < found_.plan->makespan) found_.plan = *plan;
    note(found_.plan->makespan);
    const std::int64_t length = plan->makespan;
    pool_.emplace(length, std::move(*plan));
    if (pool_.size() > pool_size) pool_.erase(std::prev(pool_.end()));
  }

  /// Proven under `cases`.
  void raise(std::int64_t bound, std::vector<Case> cases = {}) {
    if (bound <= found_.bound) return;
    found_.bound = bound;
    found_.cases = std::move(cases);
    if (found_.plan) note(found_.plan->makespan);
  }

  /// False where that was enough.
  bool follow(const Guide& guide) {
    std::optional<Plan> plan = make_order(views_, guide);
    count_whole(1);
    if (plan) offer(improve_in_turns(views_, *plan));
    offer(std::move(plan));
    if (found_.plan && orders_left_ > 0) --orders_left_;
    return !done();
  }

  /// Orders by the windows of a makespan of `most`; where none is that short the bound rises.
  void make_orders(std::int64_t most) {
    Windows windows = root_;
    const bool possible = windows.tighten(most, true, guide_steps_left_);
    guide_steps_left_ -= std::min(guide_steps_left_, count(windows, root_.steps()));
    if (!possible) return raise(most + 1);
    for (const std::size_t direction : {0U, 1U}) {
      Guide guide{.direction = direction, .urgency = latest_starts(views_, windows, direction, most)};
      for (const double wait : waits) {
        guide.wait = wait;
        for (const Windows* const known :
             {static_cast<const Windows*>(nullptr), static_cast<const Windows*>(&windows)}) {
          guide.known = known;
          if (!follow(guide)) return;
        }
      }
    }
    guides_.emplace_back(most, std::move(windows));
    if (guides_.size() > most_guides) guides_.erase(guides_.begin());
  }

  /// At shares of `bound` that are not refuted. `all`: those beyond the best order, too, whose windows guide rounds.
  void orders_at(std::int64_t bound, std::span<const double> shares, bool all) {
    for (const double share : shares) {
      const auto most = static_cast<std::int64_t>(share * static_cast<double>(bound));
      if (most < found_.bound) continue;
      if (done() || guide_steps_left_ == 0 || (!all && found_.plan && most >= found_.plan->makespan)) return;
      make_orders(most);
    }
  }

  /// By the windows of ever larger makespans, up to one after which every order has ended.
  void any_order() {
    const std::int64_t longest = whole_length(views_.instance) + 1;
    for (std::int64_t most = found_.bound; !found_.plan && most < longest;) {
      most = std::min(longest, most + most / 4 + 1);
      make_orders(most);
    }
  }

  /// Whether no order is as short as that; the bound follows.
  bool refute(std::int64_t most) {
    Windows windows = root_;
    const bool possible = windows.tighten(most);
    steps_left_ -= std::min(steps_left_, count(windows, root_.steps()));
    if (possible) {
      open_ = std::min(open_, most);
      return false;
    }
    raise(most + 1);
    return true;
  }

  /// First whether the best order is one of the shortest, then in halves.
  void raise_bound() {
    if (done() || !found_.plan || refute(found_.plan->makespan - 1)) return;
    while (!done() && open_ - found_.bound > found_.bound / bisection_share)
      refute(found_.bound + (open_ - found_.bound) / 2);
  }

  /// Orders by windows that were found before, with guides by chance.
  void sample_orders() {
    if (guides_.empty()) return;
    for (std::size_t i = 0; i < samples && !done(); ++i) {
      const auto& [most, windows] = guides_[dice_.below(guides_.size())];
      Guide guide{.direction = dice_.below(2), .urgency = {}, .wait = std::min(1.0, 1.2 * dice_.share())};
      guide.urgency = latest_starts(views_, windows, guide.direction, most);
      const double weight = 4 * dice_.share() - 2; // of how early a task could be
      for (std::size_t task = 0; task < guide.urgency.size(); ++task)
        guide.urgency[task] +=
            static_cast<std::int64_t>(weight * static_cast<double>(windows.head(guide.direction, task)));
      if (dice_.below(2) == 0) guide.known = &windows;
      std::optional<Plan> plan = make_order(views_, guide);
      count_whole(1);
      if (!plan || plan->makespan - found_.plan->makespan > found_.plan->makespan / 50) continue;
      offer(improve_in_turns(views_, *std::move(plan)));
    }
  }

  void round() {
    const std::int64_t before = found_.plan->makespan;
    sample_orders();
    std::vector<Plan> starts;
    for (const auto& [length, plan] : pool_) {
      starts.push_back(plan);
      if (found_.effort > 0 && starts.size() == (quiet_ < 2 ? pool_share : 1)) break;
    }
    for (const Plan& start : starts) {
      if (done()) return;
      improve(start, found_.effort == 0 ? round_work / 4 : round_work);
    }
    if (!done() && found_.plan->makespan - 1 < open_) refute(found_.plan->makespan - 1);
    if (!done()) try_cases();
    quiet_ = found_.plan->makespan < before ? 0 : quiet_ + 1;
  }

  /// Rule 8, at a makespan between the bound and the best order: where cases refute it, the bound rises.
  void try_cases() {
    const std::uint64_t end = spent_ + (case_steps << std::min<std::uint64_t>(quiet_, 3)); // where orders get no better
    while (spent_ < end && !done()) {
      if (!cases_ || cases_->most < found_.bound || cases_->most >= found_.plan->makespan) begin_cases();
      if (!cases_) return;
      const bool possible = go_through_cases(end);
      if (!possible) {
        raise(cases_->most + 1, std::move(cases_->cases));
        case_share_ = std::min(1.0, 2 * case_share_);
        cases_.reset();
      } else if (cases_->stage == views_.on.size() && !cases_->changed) { // nothing left to try here
        case_share_ /= 2;
        cases_.reset();
        if (case_share_ < least_case_share) return;
      }
    }
  }

  void begin_cases() {
    cases_.reset();
    if (case_share_ < least_case_share) return;
    const auto over = static_cast<double>(found_.plan->makespan - 1 - found_.bound);
    CaseWork work{.most = found_.bound + static_cast<std::int64_t>(case_share_ * over), .windows = root_};
    const bool possible = work.windows.tighten(work.most);
    spent_ += count(work.windows, root_.steps());
    if (possible)
      cases_ = std::move(work);
    else
      raise(work.most + 1);
  }

  /// From where the last call ended. False: a contradiction without any case left.
  bool go_through_cases(std::uint64_t end) {
    CaseWork& work = *cases_;
    while (work.stage < views_.on.size() || work.changed) {
      if (work.stage == views_.on.size()) work.stage = 0, work.changed = false;
      const std::vector<std::uint32_t>& here = views_.on[work.stage];
      for (; work.pair < here.size() * here.size(); ++work.pair, work.index = 0) {
        const std::uint32_t x = here[work.pair / here.size()];
        const std::uint32_t y = here[work.pair % here.size()];
        for (; x != y && work.index < views_.m; ++work.index) {
          if (spent_ >= end || done()) return true;
          if (!try_case(x, y)) return false;
        }
      }
      work.pair = 0;
      ++work.stage;
    }
    return true;
  }

  /// The task in hand of x and the first of y that is not known to run before it: does it lead to a contradiction if x
  /// runs before y? False: it does, and the other way round, too.
  bool try_case(std::uint32_t x, std::uint32_t y) {
    CaseWork& work = *cases_;
    const std::size_t first = x * views_.m + work.index;
    const std::size_t other = work.windows.before(0, first, views_.local[y]);
    if (other >= work.windows.at_most(0, first, views_.local[y])) return true;
    const std::size_t second = y * views_.m + other;
    Windows supposed = work.windows;
    supposed.suppose(first, second);
    const bool possible = supposed.tighten(work.most);
    spent_ += count(supposed, work.windows.steps());
    if (possible) return true;
    work.cases.push_back({x, static_cast<std::uint32_t>(work.index), y, static_cast<std::uint32_t>(other)});
    work.changed = true;
    const std::uint64_t before = work.windows.steps();
    work.windows.suppose(second, first);
    const bool goes_on = work.windows.tighten(work.most);
    spent_ += count(work.windows, before);
    return goes_on;
  }

  void improve(const Plan& start, std::uint64_t work) {
    constexpr std::uint64_t at_a_time = 500;
    const std::uint64_t moves = std::max<std::uint64_t>(at_a_time, work / views_.instance.tasks());
    Tabu tabu{views_, start, dice_.next()};
    for (std::uint64_t made = 0; made < moves && tabu.best() > found_.bound; made += at_a_time) {
      tabu.run(at_a_time, found_.bound);
      count_whole(at_a_time);
      const std::int64_t best = std::min(found_.plan->makespan, tabu.best());
      note(best);
      if (is_stopped(best)) break;
    }
    if (tabu.best() < start.makespan) offer(tabu.best_plan());
  }

  /// Cases at one makespan, and how far they have been tried.
  struct CaseWork {
    std::int64_t most = 0;
    Windows windows;
    std::vector<Case> cases = {};
    std::size_t stage = 0, pair = 0, index = 0;
    bool changed = false; ///< since the first stage was begun
  };
  static constexpr double least_case_share = 1.0 / 512;

  Views views_;
  const SearchOptions& options_;
  Windows root_;
  SplitMix64 dice_;
  Found found_;
  std::multimap<std::int64_t, Plan> pool_;
  std::int64_t open_ = unlimited;                        ///< the least makespan that could not be refuted
  std::vector<std::pair<std::int64_t, Windows>> guides_; ///< makespans with their windows
  std::optional<CaseWork> cases_;
  double case_share_ = 1.0 / 16; ///< of the gap: how far above the bound cases are tried
  std::uint64_t spent_ = 0;      ///< steps on cases
  std::uint64_t quiet_ = 0;      ///< rounds since the last better order
  std::uint64_t orders_left_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t steps_left_ = Windows::no_limit;                                       ///< of refutations
  std::uint64_t guide_steps_left_ = options_.proves ? Windows::no_limit : guide_steps; ///< of windows for orders
  bool stopped_ = false;
};

} // namespace

std::int64_t first_bound(const Instance& instance, std::uint64_t& steps) {
  const Views views{instance};
  Windows windows{views};
  const bool possible = windows.tighten(unlimited, false);
  steps += windows.steps();
  return possible ? windows.bound() : 0;
}

std::int64_t first_bound(const Instance& instance) {
  std::uint64_t steps = 0;
  return first_bound(instance, steps);
}

bool is_refuted(const Instance& instance, std::int64_t makespan, std::uint64_t steps) {
  const Views views{instance};
  return !Windows{views}.tighten(makespan, true, steps);
}

Found prove(const Instance& instance, Order order, std::uint64_t steps) {
  const SearchOptions options{.starts = {std::move(order)}, .go_on = {}};
  return Search{instance, options}.prove(steps);
}

Found search(const Instance& instance, const SearchOptions& options) {
  return Search{instance, options}.run();
}

} // namespace ppsim::synthesis
