#include "ppsim/synthesis/pieces.hpp"

#include "ppsim/base/random.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace ppsim::synthesis {
namespace {

constexpr std::size_t least_memory = 50; // moves: one is taken that is no worse than where the search was so long ago
constexpr std::uint64_t memory_share = 500; // of all moves
constexpr std::size_t furthest = 8;         // positions that a move goes
constexpr std::uint64_t moves_between_asking = 500;
constexpr std::uint64_t steps_of_checks = 2'000'000; // tasks times joints that are tried one by one

struct Place {
  std::uint32_t stage = 0, position = 0;
  bool operator==(const Place&) const = default;
};

/// An order of pieces, its times and its critical path.
class PieceOrder {
public:
  PieceOrder(const Pieces& pieces, Order of)
      : order{std::move(of)}, instance_{pieces.instance}, m_{instance_.microbatches},
        inputs_(instance_.sequences.size()), outputs_(inputs_.size()), start_(instance_.tasks()),
        arrived_(instance_.tasks()), place_(instance_.tasks()), next_(instance_.stages()), tasks_(instance_.stages()),
        free_(instance_.stages()), index_(inputs_.size()) {
    for (const Arc& arc : instance_.arcs) {
      inputs_[arc.to].push_back(arc);
      outputs_[arc.from].push_back(arc);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      add_kind({.sequences = {static_cast<std::uint16_t>(i)}, .duration = instance_.sequences[i].duration});
    for (const Joint& joint : pieces.joints) add_kind(joint);
  }

  Order order;

  /// Whether the order of that stage fits, and all run. Else the times mean nothing.
  bool fits_and_runs(std::size_t stage) { return fits(stage) && run(); }
  bool fits_and_runs() {
    for (std::size_t stage = 0; stage < order.size(); ++stage)
      if (!fits(stage)) return false;
    return run();
  }
  [[nodiscard]] std::int64_t makespan() const { return makespan_; }
  [[nodiscard]] const std::vector<std::uint16_t>& members(std::uint16_t kind) const { return kinds_[kind].sequences; }

  /// The joint of all that is in two pieces.
  [[nodiscard]] std::optional<std::uint16_t> joint_of(std::uint16_t a, std::uint16_t b) const {
    std::vector<std::uint16_t> all = kinds_[a].sequences;
    all.insert(all.end(), kinds_[b].sequences.begin(), kinds_[b].sequences.end());
    std::ranges::sort(all);
    const auto found = by_members_.find(all);
    return found == by_members_.end() ? std::nullopt : std::optional{found->second};
  }
  [[nodiscard]] bool is_shorter(std::uint16_t joint, std::uint16_t a, std::uint16_t b) const {
    return kinds_[joint].duration < kinds_[a].duration + kinds_[b].duration;
  }

  /// The pieces that the end waits for, as stage and position.
  [[nodiscard]] std::vector<Place> critical_path() const {
    std::vector<Place> path;
    for (std::optional<Place> at = place_[last_]; at; at = before(*at)) path.push_back(*at);
    return path;
  }

  [[nodiscard]] PiecePlan plan() const {
    PiecePlan result{order, {.order = Order(order.size()), .start = start_, .makespan = makespan_}};
    for (std::size_t stage = 0; stage < order.size(); ++stage)
      for (const std::uint16_t kind : order[stage])
        result.plan.order[stage].insert(result.plan.order[stage].end(), members(kind).begin(), members(kind).end());
    return result;
  }

private:
  struct Kind : Joint {
    std::int64_t take = 0, give = 0;
  };

  void add_kind(const Joint& joint) {
    Kind& kind = kinds_.emplace_back(Kind{joint});
    for (const std::uint16_t s : kind.sequences) {
      kind.take += instance_.sequences[s].take;
      kind.give += instance_.sequences[s].give;
    }
    std::vector<std::uint16_t> members = kind.sequences;
    std::ranges::sort(members);
    by_members_.emplace(std::move(members), static_cast<std::uint16_t>(kinds_.size() - 1));
  }

  [[nodiscard]] bool fits(std::size_t stage) const {
    std::int64_t held = 0;
    for (const std::uint16_t kind : order[stage]) {
      held += kinds_[kind].take;
      if (held > instance_.capacity[stage]) return false;
      held -= kinds_[kind].give;
    }
    return true;
  }

  bool run() {
    std::ranges::fill(start_, 0);
    std::ranges::fill(arrived_, 0);
    std::ranges::fill(next_, 0);
    std::ranges::fill(free_, 0);
    std::ranges::fill(index_, 0);
    makespan_ = 0;
    std::size_t left = 0; // pieces
    for (std::uint32_t stage = 0; stage < order.size(); ++stage) {
      ready_.push_back(stage);
      tasks_[stage].resize(order[stage].size());
      left += order[stage].size();
    }
    while (!ready_.empty()) {
      const std::uint32_t stage = ready_.back();
      ready_.pop_back();
      for (; next_[stage] < order[stage].size() && begin(stage); ++next_[stage]) --left;
    }
    return left == 0;
  }

  /// Runs the next piece of the stage. False: it lacks an input.
  bool begin(std::uint32_t stage) {
    const Place here{stage, next_[stage]};
    const Kind& kind = kinds_[order[stage][here.position]];
    const std::size_t count = kind.sequences.size();
    std::array<std::size_t, 3>& tasks = tasks_[stage][here.position];
    std::int64_t start = free_[stage];
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t s = kind.sequences[i];
      tasks[i] = s * m_ + index_[s];
      const bool is_tail = kind.whole && i + 1 == count; // it waits for the one before it, in the same piece
      if (is_tail ? index_[s] != index_[kind.sequences[i - 1]] : arrived_[tasks[i]] < inputs_[s].size()) return false;
      start = std::max(start, start_[tasks[i]]);
    }
    const std::int64_t end = free_[stage] = start + kind.duration;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t s = kind.sequences[i];
      place_[tasks[i]] = here;
      if (const std::int64_t last = end + instance_.sequences[s].tail; last > makespan_) {
        makespan_ = last;
        last_ = tasks[i];
      }
      for (const Arc& arc : outputs_[s]) {
        const std::size_t to = arc.to * m_ + index_[s];
        start_[to] = std::max(start_[to], end + arc.lag);
        ++arrived_[to];
        if (instance_.sequences[arc.to].stage != stage) ready_.push_back(instance_.sequences[arc.to].stage);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      start_[tasks[i]] = start;
      ++index_[kind.sequences[i]];
    }
    return true;
  }

  [[nodiscard]] const Kind& kind_at(Place at) const { return kinds_[order[at.stage][at.position]]; }
  [[nodiscard]] std::int64_t end_at(Place at) const {
    return start_[tasks_[at.stage][at.position].front()] + kind_at(at).duration;
  }
  /// What that piece waited for, its stage first.
  [[nodiscard]] std::optional<Place> before(Place at) const {
    const std::array<std::size_t, 3>& tasks = tasks_[at.stage][at.position];
    const std::int64_t start = start_[tasks.front()];
    if (at.position > 0)
      if (const Place last{at.stage, at.position - 1}; end_at(last) == start) return last;
    for (std::size_t i = 0; i < kind_at(at).sequences.size(); ++i)
      for (const Arc& arc : inputs_[kind_at(at).sequences[i]]) {
        const Place from = place_[arc.from * m_ + tasks[i] % m_];
        if (from != at && end_at(from) + arc.lag == start) return from;
      }
    return std::nullopt;
  }

  const Instance& instance_;
  std::size_t m_;
  std::vector<Kind> kinds_;
  std::map<std::vector<std::uint16_t>, std::uint16_t> by_members_;
  std::vector<std::vector<Arc>> inputs_, outputs_;             // by sequence
  std::vector<std::int64_t> start_;                            // by task; before it runs, when its inputs are there
  std::vector<std::size_t> arrived_;                           // inputs of each task that are there
  std::vector<Place> place_;                                   // by task
  std::vector<std::uint32_t> next_;                            // position on each stage
  std::vector<std::vector<std::array<std::size_t, 3>>> tasks_; // by place
  std::vector<std::int64_t> free_;
  std::vector<std::uint32_t> index_;
  std::vector<std::uint32_t> ready_;
  std::int64_t makespan_ = 0;
  std::size_t last_ = 0; // the task that ends last
};

/// Makes joints of neighbours on a stage that are shorter so. `checks`: only those that fit and run, one by one, and no
/// more than so many tries, which count down; none: all at once.
void join_neighbours(PieceOrder& pieced, std::size_t at, std::uint64_t* checks) {
  std::vector<std::uint16_t>& stage = pieced.order[at];
  for (std::size_t i = 0; i + 1 < stage.size() && (checks == nullptr || *checks > 0);) {
    const std::uint16_t first = stage[i];
    const std::uint16_t second = stage[i + 1];
    const std::optional<std::uint16_t> joint = pieced.joint_of(first, second);
    if (!joint || !pieced.is_shorter(*joint, first, second)) {
      ++i;
      continue;
    }
    stage[i] = *joint; // a third task may join
    stage.erase(stage.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    if (checks == nullptr) continue;
    --*checks;
    if (pieced.fits_and_runs(at)) continue;
    stage[i] = first;
    stage.insert(stage.begin() + static_cast<std::ptrdiff_t>(++i), second);
  }
}

/// A move by chance of the piece at that position, or of its neighbours. False: there is none of that sort.
class Mover {
public:
  Mover(PieceOrder& pieced, std::uint64_t seed) : pieced_{pieced}, dice_{seed} {}

  Place pick(std::span<const Place> path) { return path[dice_.below(path.size())]; }

  bool move(Place at) {
    std::vector<std::uint16_t>& stage = pieced_.order[at.stage];
    switch (dice_.below(4)) {
    case 0:
      return shift(stage, at.position, 1);
    case 1:
      return shift(stage, at.position, 2 + dice_.below(furthest - 1));
    case 2:
      return take_apart(stage, at.position);
    default:
      return join(stage, at.position);
    }
  }

private:
  /// To another place, earlier or later.
  bool shift(std::vector<std::uint16_t>& stage, std::size_t at, std::size_t by) {
    const auto first = stage.begin() + static_cast<std::ptrdiff_t>(at);
    const auto distance = static_cast<std::ptrdiff_t>(by);
    if (dice_.below(2) == 0) {
      if (at < by) return false;
      std::rotate(first - distance, first, first + 1);
    } else {
      if (at + by >= stage.size()) return false;
      std::rotate(first, first + 1, first + distance + 1);
    }
    return true;
  }

  /// The first of its tasks before the others, or after them.
  bool take_apart(std::vector<std::uint16_t>& stage, std::size_t at) {
    std::vector<std::uint16_t> tasks = pieced_.members(stage[at]);
    if (tasks.size() < 2) return false;
    if (tasks.size() > 2 && dice_.below(2) == 0) { // the backward stays whole, if it can
      if (const auto rest = pieced_.joint_of(tasks[1], tasks[2])) tasks = {tasks[0], *rest};
    }
    if (dice_.below(2) == 0) std::rotate(tasks.begin(), tasks.begin() + 1, tasks.end());
    stage[at] = tasks.front();
    stage.insert(stage.begin() + static_cast<std::ptrdiff_t>(at) + 1, tasks.begin() + 1, tasks.end());
    return true;
  }

  /// With another piece that is near, at the place of one of them.
  bool join(std::vector<std::uint16_t>& stage, std::size_t at) {
    const std::size_t by = 1 + dice_.below(furthest);
    const bool is_before = dice_.below(2) == 0;
    if (is_before ? at < by : at + by >= stage.size()) return false;
    const std::size_t other = is_before ? at - by : at + by;
    const auto joint = pieced_.joint_of(stage[at], stage[other]);
    if (!joint) return false;
    const bool is_here = dice_.below(2) == 0;
    stage[is_here ? at : other] = *joint;
    stage.erase(stage.begin() + static_cast<std::ptrdiff_t>(is_here ? other : at));
    return true;
  }

  PieceOrder& pieced_;
  SplitMix64 dice_;
};

} // namespace

Instance relaxed(const Pieces& pieces) {
  Instance instance = pieces.instance;
  std::vector<std::int64_t> least(instance.sequences.size()); // from the start of a task to its result
  for (std::size_t s = 0; s < least.size(); ++s) least[s] = instance.sequences[s].duration;
  for (const Joint& joint : pieces.joints) {
    std::int64_t over = -joint.duration;
    for (const std::uint16_t s : joint.sequences) {
      over += instance.sequences[s].duration;
      least[s] = std::min(least[s], joint.duration);
    }
    for (const std::uint16_t s : joint.sequences) {
      std::int64_t& duration = instance.sequences[s].duration;
      const std::int64_t less = std::clamp<std::int64_t>(over, 0, duration);
      duration -= less;
      over -= less;
    }
  }
  std::vector<bool> is_first(least.size(), true); // of each joint that it is in
  for (const Joint& joint : pieces.joints)
    for (std::size_t i = 1; i < joint.sequences.size(); ++i) is_first[joint.sequences[i]] = false;
  for (Arc& arc : instance.arcs)
    if (is_first[arc.from]) arc.lag += least[arc.from] - instance.sequences[arc.from].duration;
  return instance;
}

std::optional<PiecePlan> run(const Pieces& pieces, Order order) {
  PieceOrder pieced{pieces, std::move(order)};
  if (!pieced.fits_and_runs()) return std::nullopt;
  return pieced.plan();
}

std::optional<PiecePlan> join(const Pieces& pieces, Order order) {
  PieceOrder pieced{pieces, std::move(order)};
  if (!pieced.fits_and_runs()) return std::nullopt;
  std::uint64_t checks = steps_of_checks / pieces.instance.tasks();
  for (std::size_t stage = 0; stage < pieced.order.size(); ++stage) {
    const std::vector<std::uint16_t> alone = pieced.order[stage];
    join_neighbours(pieced, stage, nullptr);
    if (pieced.fits_and_runs(stage)) continue;
    pieced.order[stage] = alone;
    join_neighbours(pieced, stage, &checks);
  }
  pieced.fits_and_runs();
  return pieced.plan();
}

PiecePlan improve(const Pieces& pieces, PiecePlan start, std::uint64_t seed, std::uint64_t& moves, std::int64_t slack,
                  std::int64_t target, const std::function<bool()>& ends) {
  PieceOrder pieced{pieces, start.order};
  pieced.fits_and_runs();
  Mover mover{pieced, seed};
  std::vector<Place> path = pieced.critical_path();
  std::int64_t now = pieced.makespan();
  std::vector<std::int64_t> earlier(std::max<std::size_t>(least_memory, moves / memory_share), now + slack);
  for (std::uint64_t i = 0; moves > 0 && start.plan.makespan > target; ++i, --moves) {
    if (i % moves_between_asking == 0 && ends()) break;
    const Place at = mover.pick(path);
    const std::vector<std::uint16_t> before = pieced.order[at.stage];
    if (mover.move(at)) {
      if (pieced.fits_and_runs(at.stage) && pieced.makespan() <= std::max(now, earlier[i % earlier.size()])) {
        now = pieced.makespan();
        path = pieced.critical_path();
        if (now < start.plan.makespan) start = pieced.plan();
      } else {
        pieced.order[at.stage] = before;
      }
    }
    earlier[i % earlier.size()] = now;
  }
  return start;
}

} // namespace ppsim::synthesis
