#include "ppsim/synthesis/search.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/base/random.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "aim.hpp"
#include "cases.hpp"
#include "descents.hpp"
#include "ending.hpp"
#include "guided.hpp"
#include "levels.hpp"
#include "round.hpp"
#include "waves.hpp"

namespace ppsim::synthesis {
namespace {

/// Each makespan at which orders are made, as a share of the bound.
constexpr std::array<double, 7> first_shares{1.0, 1.003, 1.01, 1.02, 1.04, 1.08, 1.15};
/// More of them where nobody raises a bound that is far below.
constexpr std::array<double, 5> far_shares{1.25, 1.4, 1.6, 1.8, 2.0};
constexpr std::int64_t alike = 200; // parts of a bound: others within one of them lead to much the same orders
constexpr std::array<double, 4> waits{0.0, 0.3, 0.7, 1.0};
constexpr std::size_t most_guides = 6;  // windows that are kept for samples
constexpr std::uint64_t most_more = 3;  // doublings of the steps of cases
constexpr std::uint64_t first_more = 2; // doublings for cases from both ends, until there are some
constexpr std::size_t pool_size = 12;
constexpr std::size_t samples = 16;         // orders by chance, side by side
constexpr std::size_t wave_batches = 4;     // of them in the first round
constexpr std::size_t near_batches = 12;    // the most near orders, in a round
constexpr std::size_t most_quiet_near = 6;  // in a row that bring nothing, after which no more are made near orders
constexpr std::uint64_t near_work = 20;     // of each of them: what moves of a tabu search take as long as its tasks
constexpr double longest_part = 0.3;        // of a step, if not all its tasks are moved
constexpr std::size_t most_different = 4;   // orders near which others are made, and descents side by side
constexpr std::size_t most_tasks = 10'000;  // with descents: among more of them a short search hardly brings anything
constexpr std::size_t most_lots = 24;       // in a round
constexpr std::size_t most_quiet_lots = 12; // in a row that bring nothing, after which there are no more
constexpr std::uint64_t most_tries = 16;    // of each, in a lot
constexpr std::uint64_t aim_share = 8;      // times the steps of other cases
constexpr std::int64_t far_ppm = 20'000;    // a gap that is worth cases from both ends

class Search {
public:
  Search(const Instance& instance, const SearchOptions& options)
      : views_{instance}, options_{options}, root_{views_}, dice_{options.seed},
        guide_dice_{SplitMix64::mixed(options.seed)}, cases_{views_, root_, options.threads} {}

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
    orders_at(root, std::span{first_shares}.first(1), true);
    if (options_.proves) soon_orders();
    orders_at(root, std::span{first_shares}.subspan(1), true);
    if (!options_.proves) orders_at(root, far_shares, false);
    if (!found_.plan) any_order();
    if (options_.proves) {
      raise_bound();
      if (options_.effort == 0 || found_.bound - root > root / alike) orders_at(found_.bound, first_shares, false);
    }
    while (found_.plan && !done() && found_.effort < options_.effort) {
      round();
      ++found_.effort;
    }
    PPSIM_ASSERT(!found_.plan || found_.bound <= found_.plan->makespan);
    return std::move(found_);
  }

  Found prove(std::uint64_t steps, std::uint64_t for_ends) {
    root_.tighten(unlimited, false);
    count(root_, 0);
    found_.bound = root_.bound();
    offer(synthesis::run(views_.instance, options_.starts.front()));
    PPSIM_ASSERT(found_.plan);
    steps_left_ = steps;
    raise_bound();
    if (for_ends > 0 && !is_near_enough(found_.plan->makespan, found_.bound, far_ppm)) {
      steps_left_ = steps;
      try_ends(for_ends);
    }
    PPSIM_ASSERT(found_.bound <= found_.plan->makespan);
    return std::move(found_);
  }

private:
  [[nodiscard]] bool done() {
    if (watch_.has_ended() || orders_left_ == 0 || steps_left_ == 0) return true;
    return found_.plan && (is_stopped(found_.plan->makespan) || is_good());
  }
  /// Whether whoever waits has had enough of an order that takes `makespan`.
  bool is_stopped(std::int64_t makespan) { return watch_.ends({found_.effort, makespan, found_.bound}); }
  [[nodiscard]] bool is_good() const { return is_near_enough(found_.plan->makespan, found_.bound, options_.gap_ppm); }

  /// The steps of windows since they had taken `before`.
  std::uint64_t count(const Windows& windows, std::uint64_t before) {
    const std::uint64_t spent = windows.steps() - before;
    found_.steps += spent;
    return spent;
  }
  /// That the best order takes `makespan` now, and what the bound is.
  void note(std::int64_t makespan) { add_milestone(found_.history, {found_.steps, makespan, found_.bound}); }

  void offer(std::optional<Plan> plan) {
    if (!plan) return;
    if (options_.as_run) plan = options_.as_run(*std::move(plan));
    if (!found_.plan || plan->makespan < found_.plan->makespan) found_.plan = *plan;
    note(found_.plan->makespan);
    const std::int64_t length = plan->makespan;
    pool_.emplace(length, std::move(*plan));
    if (pool_.size() > pool_size) pool_.erase(std::prev(pool_.end()));
  }

  /// Proven under `cases`, and those that hold whatever the makespan.
  void raise(std::int64_t bound, std::span<const Case> cases = {}) {
    if (bound <= found_.bound) return;
    found_.bound = bound;
    found_.cases = ends_ ? ends_->cases() : std::vector<Case>{};
    found_.cases.insert(found_.cases.end(), cases.begin(), cases.end());
    if (found_.plan) note(found_.plan->makespan);
  }

  /// Whether that was enough.
  bool take(Part part) {
    if (options_.as_run) part.noted.clear(); // it may not run like that
    add_steps(found_, part);
    for (Plan& plan : part.plans)
      if (!part.once || !pool_.contains(plan.makespan)) offer(std::move(plan));
    if (found_.plan && orders_left_ > 0) --orders_left_;
    return done();
  }

  /// `job(i)` for each i below `count`, side by side. Their parts are taken by rising i until one is enough, so that
  /// the result does not depend on the number of threads. False if one was.
  template <class Job>
  bool side_by_side(std::size_t count, Job job) {
    std::vector<std::optional<Part>> parts(count);
    std::mutex taking;
    std::size_t next = 0;
    bool enough = false;
    for_each_index(count, options_.threads, [&](std::size_t i) {
      if (const std::scoped_lock lock{taking}; enough) return;
      Part part = job(i);
      const std::scoped_lock lock{taking};
      parts[i] = std::move(part);
      for (; !enough && next < count && parts[next]; ++next) enough = take(*std::exchange(parts[next], std::nullopt));
    });
    if (watch_.has_ended()) // then the result depends on the time anyway, and no order is to be lost
      for (std::optional<Part>& part : parts)
        if (part) take(*std::exchange(part, std::nullopt));
    return !enough;
  }

  /// The order by that guide, and a better one if it leads there. Nothing that is longer than `most`.
  [[nodiscard]] Part follow(const Guide& guide, std::int64_t most = unlimited) const {
    Part part{.steps = views_.instance.tasks()};
    std::optional<Plan> plan = make_order(views_, guide);
    if (!plan || plan->makespan > most) return part;
    part.plans.push_back(improve_in_turns(views_, *plan));
    part.plans.push_back(*std::move(plan));
    return part;
  }
  /// The longest order, ns, that may lead to one shorter than the best.
  [[nodiscard]] std::int64_t most_promising() const { return found_.plan->makespan + found_.plan->makespan / 50; }

  /// Orders by windows for a makespan of `most`. False if they are enough.
  bool make_orders(const Windows& windows, std::int64_t most) {
    std::vector<Guide> guides;
    for (const std::size_t direction : {0U, 1U}) {
      const std::vector<std::int64_t> urgency = latest_starts(views_, windows, direction, most);
      for (const double wait : waits)
        for (const Windows* const known : {static_cast<const Windows*>(nullptr), &windows})
          guides.push_back({.direction = direction, .urgency = urgency, .wait = wait, .known = known});
    }
    return side_by_side(guides.size(), [&](std::size_t i) { return follow(guides[i]); });
  }

  /// Orders by the windows of a makespan of `most`, which are kept; where none is that short the bound rises.
  void make_orders(std::int64_t most) {
    Windows windows = root_;
    const bool possible = windows.tighten(most, true, guide_steps_left_);
    guide_steps_left_ -= std::min(guide_steps_left_, count(windows, root_.steps()));
    if (!possible) return raise(most + 1);
    if (!make_orders(windows, most)) return;
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

  /// While orders are far from the bound: by windows that take few steps, as no task is tried in both orders.
  void soon_orders() {
    for (const double share : far_shares) {
      const auto most = static_cast<std::int64_t>(share * static_cast<double>(found_.bound));
      if (done() || (found_.plan && found_.plan->makespan / 2 <= found_.bound)) return;
      Windows windows = root_;
      const bool possible = windows.tighten(most, false);
      count(windows, root_.steps());
      if (possible) make_orders(windows, most);
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
    struct Sample {
      const Windows* windows = nullptr;
      std::int64_t most = 0;
      double weight = 0; ///< of how early a task could be
      Guide guide;
    };
    std::vector<Sample> chosen;
    for (std::size_t i = 0; i < samples; ++i) {
      const auto& [most, windows] = guides_[dice_.below(guides_.size())];
      Sample& sample = chosen.emplace_back(Sample{.windows = &windows, .most = most, .guide = {}});
      sample.guide.direction = dice_.below(2);
      sample.guide.wait = std::min(1.0, 1.2 * dice_.share());
      sample.weight = 4 * dice_.share() - 2;
      if (dice_.below(2) == 0) sample.guide.known = &windows;
    }
    const std::int64_t longest = most_promising();
    side_by_side(samples, [&](std::size_t i) {
      auto& [windows, most, weight, guide] = chosen[i];
      guide.urgency = latest_starts(views_, *windows, guide.direction, most);
      for (std::size_t task = 0; task < guide.urgency.size(); ++task)
        guide.urgency[task] +=
            static_cast<std::int64_t>(weight * static_cast<double>(windows->head(guide.direction, task)));
      return follow(guide, longest);
    });
  }

  /// By `guide(i)` for each i below `count`: the shortest order that it leads to, ns, or `unlimited`: to none, or first
  /// to one longer than `most`. Each length below the shortest is kept once, so that searches do not begin with the
  /// same order over and over.
  template <class Make>
  std::vector<std::int64_t> follow_all(std::size_t count, Make guide, std::int64_t most = unlimited) {
    const std::int64_t shortest = found_.plan->makespan;
    std::vector<std::int64_t> lengths(count, unlimited);
    side_by_side(count, [&](std::size_t i) {
      Part part = follow(guide(i), most);
      part.once = true;
      for (const Plan& plan : part.plans) lengths[i] = std::min(lengths[i], plan.makespan);
      std::erase_if(part.plans, [&](const Plan& plan) { return plan.makespan >= shortest; });
      return part;
    });
    return lengths;
  }

  /// Orders in waves, by chance; about half of them much like the best wave so far.
  void sample_waves() {
    std::vector<Wave> chosen;
    for (std::size_t i = 0; i < samples; ++i) {
      const bool is_near = best_wave_ && guide_dice_.below(2) == 0;
      chosen.push_back(is_near ? draw_near(best_wave_->second, guide_dice_) : draw_wave(guide_dice_));
    }
    const std::vector<std::int64_t> lengths = follow_all(
        samples, [&](std::size_t i) { return waves_->guide(chosen[i]); }, most_promising());
    const auto best = static_cast<std::size_t>(std::ranges::min_element(lengths) - lengths.begin());
    if (lengths[best] < (best_wave_ ? best_wave_->first : unlimited)) best_wave_.emplace(lengths[best], chosen[best]);
  }

  /// Several times in the first round; later once, if the first round's brought anything.
  void try_waves() {
    if (waves_) {
      if (waves_help_) sample_waves();
      return;
    }
    waves_.emplace(views_, root_);
    const std::int64_t before = found_.plan->makespan;
    for (std::size_t i = 0; i < wave_batches && waves_->exist() && !done(); ++i) sample_waves();
    waves_help_ = found_.plan->makespan < before;
  }

  /// The best orders of different lengths: copies, as the pool changes.
  [[nodiscard]] std::vector<Plan> different_plans() const {
    std::vector<Plan> plans;
    for (const auto& [length, plan] : pool_)
      if (plans.size() < most_different && (plans.empty() || plans.back().makespan < length)) plans.push_back(plan);
    return plans;
  }

  /// Batches of orders, `most` at most, until so many in a row bring nothing.
  template <class Batch>
  void make_batches(std::size_t most, std::uint64_t most_quiet, Batch batch) {
    std::uint64_t quiet = 0;
    for (std::size_t i = 0; i < most && quiet < most_quiet && !done(); ++i) {
      const std::int64_t before = found_.plan->makespan;
      batch();
      quiet = found_.plan->makespan < before ? 0 : quiet + 1;
    }
  }

  /// By the starts of one of the best orders of different lengths, each moved a little: half of the time all, else
  /// those in a part of the step.
  void sample_near() {
    struct Near {
      const Plan* plan = nullptr;
      std::size_t direction = 0;
      double wait = 0;
      Moved moved = {};
      std::uint64_t seed = 0;
    };
    const std::vector<Plan> plans = different_plans();
    std::vector<Near> chosen;
    for (std::size_t i = 0; i < samples; ++i) {
      Near& near = chosen.emplace_back(Near{.plan = &plans[guide_dice_.below(plans.size())]});
      near.direction = guide_dice_.below(2);
      near.wait = guide_dice_.share();
      near.moved.most = guide_dice_.share() * static_cast<double>(views_.most_microbatch_work());
      near.seed = guide_dice_.next();
      if (guide_dice_.below(2) == 0) continue;
      const double share = longest_part * guide_dice_.share();
      limit_to_part(near.moved, near.plan->makespan, share, guide_dice_);
    }
    follow_all(samples, [&](std::size_t i) {
      const Near& near = chosen[i];
      Guide guide = guide_of(views_, *near.plan, near.direction, near.wait);
      SplitMix64 dice{near.seed};
      move_starts(guide, near.moved, dice);
      return guide;
    });
  }

  /// Until it brings nothing, some times in a row: but once if it takes as long as a tabu search.
  void try_near() {
    const std::uint64_t work = samples * near_work * views_.instance.tasks();
    const std::uint64_t most_quiet = std::clamp<std::uint64_t>(options_.tabu_steps / work, 1, most_quiet_near);
    make_batches(near_batches, most_quiet, [this] { sample_near(); });
  }

  /// A lot of each descent, side by side. Then the longest, if it is not the best order, begins again with that.
  void descend_all(std::uint64_t tries) {
    side_by_side(descents_.size(), [&](std::size_t i) {
      return descend(views_, descents_[i], tries, found_.bound, [&](std::int64_t best) { return is_stopped(best); });
    });
    const auto length = [](const Descent& each) { return each.plan.makespan; };
    Descent& longest = *std::ranges::max_element(descents_, {}, length);
    if (length(longest) > found_.plan->makespan) longest.plan = *found_.plan;
  }

  /// Descents in lots, until those bring nothing, some times in a row. They begin with the best orders of different
  /// lengths, and if those are few with the best one.
  void try_descents() {
    if (descents_.empty()) {
      std::vector<Plan> plans = different_plans();
      plans.resize(most_different, *found_.plan);
      for (Plan& plan : plans) descents_.push_back({std::move(plan), SplitMix64{guide_dice_.next()}});
    }
    const std::uint64_t affordable = options_.tabu_steps / (moves_of_try * views_.instance.tasks());
    const std::uint64_t tries = std::clamp<std::uint64_t>(affordable / descents_.size(), 1, most_tries);
    make_batches(most_lots, most_quiet_lots, [&] { descend_all(tries); });
  }

  void try_moved_starts() {
    if (views_.instance.tasks() > most_tasks)
      try_near();
    else
      try_descents();
  }

  /// Tabu searches: of the first orders from all that were kept; then from the best ones, or near the best one, if the
  /// last round brought nothing better. Fewer where even the shortest ones take long.
  void improve_orders() {
    const std::uint64_t steps = found_.effort == 0 ? options_.tabu_steps / 4 : options_.tabu_steps;
    const std::size_t wanted = found_.effort == 0 ? pool_.size() : searches;
    const std::size_t count = std::max<std::size_t>(1, wanted * steps / std::max(steps, least_work(views_)));
    std::vector<Plan> plans; // copies: the pool changes
    for (const auto& [length, plan] : pool_)
      if (plans.size() < (quiet_ == 0 ? count : 1)) plans.push_back(plan);
    std::vector<TabuStart> starts;
    for (std::size_t i = 0; i < count; ++i) {
      TabuStart& start = starts.emplace_back(TabuStart{.plan = &plans[i % plans.size()], .seed = dice_.next()});
      if (quiet_ > 0) start.walk = 1 + dice_.below(longest_walk);
    }
    side_by_side(count, [&](std::size_t i) {
      const std::int64_t own = starts[i].plan->makespan; // what it finds may not run like that: as_run
      return improve(views_, starts[i], steps, found_.bound,
                     [&](std::int64_t best) { return is_stopped(options_.as_run ? own : best); });
    });
  }

  void round() {
    const std::int64_t before = found_.plan->makespan;
    sample_orders();
    const bool by_starts = !options_.as_run; // else how it runs does not follow from when its tasks are to start
    if (!done() && by_starts) try_waves();
    if (!done()) improve_orders();
    if (!done() && by_starts) try_moved_starts();
    if (!done() && found_.plan->makespan - 1 < open_) refute(found_.plan->makespan - 1);
    if (!done()) prove_more();
    quiet_ = found_.plan->makespan < before ? 0 : quiet_ + 1;
  }

  /// Rule 8. What raised the bound more in the last round gets more of the steps.
  void prove_more() {
    if (options_.case_steps == 0) return;
    const std::uint64_t more = std::min(quiet_, most_more); // where orders get no better
    std::uint64_t left = options_.case_steps << (cases_.bring_something() ? more : 0);
    const std::int64_t at_first = found_.bound;
    const std::int64_t gap = found_.plan->makespan - at_first;
    bool come_first = both_ends().may_reach_repeats(options_.case_steps << most_more);
    if (come_first) { // not if others soon bring something
      try_cases(left / 4);
      if (done()) return;
      come_first = found_.bound - at_first <= gap / 100;
    }
    const std::uint64_t help = come_first ? first_more : ends_help_;
    const std::uint64_t for_ends = options_.case_steps << (help > 0 ? std::clamp(help, more, most_more) : 0);
    const std::uint64_t eighths = both_ends().is_one_done() ? 1 : come_first ? 6 : ends_eighths_;
    const std::int64_t before = found_.bound;
    left -= std::min(try_ends(for_ends / 8 * eighths), left / 8 * eighths);
    const std::int64_t by_ends = found_.bound - before;
    ends_help_ = by_ends > 0 ? ends_help_ + 1 : 0;
    try_cases(left);
    try_aim(aim_share * left);
    if (aim_ && aim_->finds_many()) try_aim(aim_share * (options_.case_steps - std::min(left, options_.case_steps)));
    const std::int64_t by_cases = found_.bound - at_first - by_ends;
    if (by_ends != by_cases) ends_eighths_ = by_ends > by_cases ? 6 : by_ends > 0 ? 2 : 1;
  }

  Levels& both_ends() {
    if (!ends_) {
      ends_.emplace(views_, root_, options_.threads);
      found_.steps += ends_->steps();
    }
    return *ends_;
  }

  /// From both ends of the step, for about so many steps. How many it took.
  std::uint64_t try_ends(std::uint64_t steps) {
    const std::uint64_t first = both_ends().steps();
    const bool found = ends_->extend(root_, steps, [&] { return !is_stopped(found_.plan->makespan); });
    const std::uint64_t taken = ends_->steps() - first;
    found_.steps += taken;
    if (!found) return taken;
    const std::int64_t before = found_.bound;
    if (aim_) aim_->renew();
    open_ = unlimited;
    raise(root_.bound());
    raise_bound();
    if (found_.bound > before) cases_.renew();
    return taken;
  }

  /// At makespans between the bound and the best order.
  void try_cases(std::uint64_t left) {
    while (left > 0 && !done()) {
      const std::uint64_t before = cases_.steps();
      const std::optional<Cases::Proof> proof =
          cases_.raise(found_.bound, found_.plan->makespan, left, [&] { return !is_stopped(found_.plan->makespan); });
      found_.steps += cases_.steps() - before;
      if (proof) raise(proof->bound, proof->cases);
    }
  }

  /// At the makespan whose refutation is enough for the gap that was asked for, if that is not farther from the bound
  /// than from the best order.
  void try_aim(std::uint64_t steps) {
    if (options_.gap_ppm == 0) return;
    const std::int64_t makespan = found_.plan->makespan;
    const std::int64_t most = enough_for(makespan, options_.gap_ppm) - 1;
    if (done() || most - found_.bound > (makespan - found_.bound) / 2) return;
    const std::uint64_t before = aim_ ? aim_->steps() : 0;
    if (!aim_) aim_.emplace(views_, root_, options_.threads);
    const bool refuted = aim_->refute(most, steps, [&] { return !is_stopped(makespan); });
    found_.steps += aim_->steps() - before;
    if (refuted) raise(most + 1, aim_->cases());
  }

  Views views_;
  const SearchOptions& options_;
  Windows root_;
  SplitMix64 dice_;
  SplitMix64 guide_dice_; ///< of guides that are not by windows
  Found found_;
  std::multimap<std::int64_t, Plan> pool_;
  std::int64_t open_ = unlimited;                        ///< the least makespan that could not be refuted
  std::vector<std::pair<std::int64_t, Windows>> guides_; ///< makespans with their windows
  Cases cases_;
  std::optional<Aim> aim_;
  std::optional<Waves> waves_;                             ///< from the first round on
  std::optional<std::pair<std::int64_t, Wave>> best_wave_; ///< with the makespan, ns
  bool waves_help_ = false;                                ///< in the first round
  std::vector<Descent> descents_;                          ///< from the first round on
  std::optional<Levels> ends_;                             ///< when cases are tried
  std::uint64_t ends_eighths_ = 2;                         ///< of their steps, which it gets
  std::uint64_t ends_help_ = 0;                            ///< so many rounds until now
  std::uint64_t quiet_ = 0;                                ///< rounds since the last better order
  std::uint64_t orders_left_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t steps_left_ = Windows::no_limit; ///< of refutations
  std::uint64_t guide_steps_left_ =
      options_.proves ? Windows::no_limit : options_.guide_steps; ///< of windows for orders
  Watch watch_{options_.go_on};
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

Found prove(const Instance& instance, Order order, std::uint64_t steps, std::uint64_t for_ends) {
  const SearchOptions options{.starts = {std::move(order)}, .go_on = {}};
  return Search{instance, options}.prove(steps, for_ends);
}

Found search(const Instance& instance, const SearchOptions& options) {
  return Search{instance, options}.run();
}

} // namespace ppsim::synthesis
