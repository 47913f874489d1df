#include "tabu.hpp"

#include <algorithm>

namespace ppsim::synthesis {
namespace {

constexpr std::size_t tabu_slots = std::size_t{1} << 16U;

} // namespace

Tabu::Tabu(const Views& views, const Plan& start, std::uint64_t seed, std::span<const std::int64_t> durations)
    : views_{views}, dice_{seed}, first_(views.on.size(), none), tabu_(tabu_slots), best_{start.makespan},
      best_order_{start.order} {
  const std::size_t count = views.instance.tasks();
  for (std::uint32_t task = 0; task < count; ++task) {
    sequence_.push_back(static_cast<std::uint32_t>(task / views.m));
    duration_.push_back(durations.empty() ? views.duration(task / views.m) : durations[task]);
  }
  dirty_.resize(count);
  load(start.order);
}

void Tabu::load(const Order& order) {
  const std::size_t count = views_.instance.tasks();
  previous_.assign(count, none);
  next_.assign(count, none);
  held_.assign(count, 0);
  std::vector<Id> index(views_.local.size());
  for (std::size_t stage = 0; stage < order.size(); ++stage) {
    Id before = none;
    std::int64_t held = 0;
    for (const std::uint16_t s : order[stage]) {
      const auto task = static_cast<Id>(s * views_.m + index[s]++);
      previous_[task] = before;
      (before == none ? first_[stage] : next_[before]) = task;
      held_[task] = held;
      held += views_.instance.sequences[s].take - views_.instance.sequences[s].give;
      before = task;
    }
  }
  sort_tasks();
  find_all_times();
}

void Tabu::sort_tasks() {
  const std::size_t count = views_.instance.tasks();
  std::vector<std::uint32_t> waiting(count);
  sorted_.clear();
  for (Id task = 0; task < count; ++task) {
    waiting[task] =
        static_cast<std::uint32_t>(views_.view[0].inputs[sequence_[task]].size()) + (previous_[task] == none ? 0U : 1U);
    if (waiting[task] == 0) sorted_.push_back(task);
  }
  for (std::size_t done = 0; done < sorted_.size(); ++done) {
    const Id task = sorted_[done];
    if (next_[task] != none && --waiting[next_[task]] == 0) sorted_.push_back(next_[task]);
    for (const View::Input& output : views_.view[0].outputs[sequence_[task]]) {
      const auto to = static_cast<Id>(output.sequence * views_.m + task % views_.m);
      if (--waiting[to] == 0) sorted_.push_back(to);
    }
  }
  position_.resize(count);
  for (std::uint32_t at = 0; at < count; ++at) position_[sorted_[at]] = at;
}

std::int64_t Tabu::head_of(Id task) const {
  const std::uint32_t s = sequence_[task];
  const auto j = static_cast<Id>(task - s * views_.m);
  std::int64_t head = previous_[task] == none ? 0 : head_[previous_[task]] + duration_[previous_[task]];
  for (const View::Input& input : views_.view[0].inputs[s]) {
    const std::size_t from = input.sequence * views_.m + j;
    head = std::max(head, head_[from] + duration_[from] + input.lag);
  }
  return head;
}

std::int64_t Tabu::tail_of(Id task) const {
  const std::uint32_t s = sequence_[task];
  const auto j = static_cast<Id>(task - s * views_.m);
  std::int64_t tail = views_.instance.sequences[s].tail;
  if (next_[task] != none) tail = std::max(tail, tail_[next_[task]] + duration_[next_[task]]);
  for (const View::Input& output : views_.view[0].outputs[s]) {
    const std::size_t to = output.sequence * views_.m + j;
    tail = std::max(tail, tail_[to] + duration_[to] + output.lag);
  }
  return tail;
}

void Tabu::find_all_times() {
  const std::size_t count = views_.instance.tasks();
  head_.resize(count);
  tail_.resize(count);
  for (const Id task : sorted_) head_[task] = head_of(task);
  for (std::size_t at = count; at-- > 0;) tail_[sorted_[at]] = tail_of(sorted_[at]);
  makespan_ = makespan_now();
}

std::int64_t Tabu::makespan_now() const {
  std::int64_t most = 0;
  for (std::size_t s = 0; s < views_.local.size(); ++s) {
    const std::size_t last = s * views_.m + views_.m - 1;
    most = std::max(most, head_[last] + duration_[last] + views_.instance.sequences[s].tail);
  }
  return most;
}

/// A longest path, by chance one of them.
void Tabu::find_path() {
  path_.clear();
  std::size_t found = 0;
  Id at = none;
  const auto offer = [&](Id task) {
    if (dice_.below(++found) == 0) at = task;
  };
  for (std::size_t s = 0; s < views_.local.size(); ++s) {
    const auto last = static_cast<Id>(s * views_.m + views_.m - 1);
    if (head_[last] + duration_[last] + views_.instance.sequences[s].tail == makespan_) offer(last);
  }
  while (at != none) {
    path_.push_back(at);
    const Id task = at;
    at = none;
    found = 0;
    if (head_[task] == 0) break;
    const Id before = previous_[task];
    if (before != none && head_[before] + duration_[before] == head_[task]) offer(before);
    for (const View::Input& input : views_.view[0].inputs[sequence_[task]]) {
      const auto from = static_cast<Id>(input.sequence * views_.m + task % views_.m);
      if (from != before && head_[from] + duration_[from] + input.lag == head_[task]) offer(from);
    }
  }
  std::ranges::reverse(path_);
}

/// Whether nothing but their order on the stage says that `first` runs before `second`, as far as sequences tell.
bool Tabu::may_turn(Id first, Id second) const {
  if (sequence_[first] == sequence_[second]) return false;
  return !views_.leads_to[sequence_[first]][views_.local[sequence_[second]]] || first % views_.m > second % views_.m;
}

/// Whether certainly no path over other stages leads from what goes after to what goes before.
bool Tabu::makes_no_circle(const Move& move) const {
  const auto j = static_cast<Id>(move.moved % views_.m);
  if (move.behind)
    return std::ranges::all_of(views_.view[0].outputs[sequence_[move.moved]], [&](const View::Input& output) {
      const std::size_t to = output.sequence * views_.m + j;
      return head_[to] + duration_[to] > head_[move.place];
    });
  return std::ranges::all_of(views_.view[0].inputs[sequence_[move.moved]], [&](const View::Input& input) {
    const std::size_t from = input.sequence * views_.m + j;
    return head_[from] < head_[move.place] + duration_[move.place];
  });
}

/// Fills segment_; false where sequences do not allow the move.
bool Tabu::lay_out(const Move& move) {
  segment_.clear();
  begin_ = move.behind ? move.moved : move.place;
  end_ = move.behind ? move.place : move.moved;
  if (!move.behind) segment_.push_back(move.moved);
  for (Id at = begin_;; at = next_[at]) {
    if (at != move.moved) {
      if (move.behind ? !may_turn(move.moved, at) : !may_turn(at, move.moved)) return false;
      segment_.push_back(at);
    }
    if (at == end_) break;
  }
  if (move.behind) segment_.push_back(move.moved);
  return true;
}

bool Tabu::fits_in_memory() const {
  const std::int64_t capacity = views_.instance.capacity[views_.stage(sequence_[begin_])];
  if (capacity == unlimited) return true;
  std::int64_t held = held_[begin_];
  for (const Id task : segment_) {
    const Sequence& sequence = views_.instance.sequences[sequence_[task]];
    if (held + sequence.take > capacity) return false;
    held += sequence.take - sequence.give;
  }
  return true;
}

/// The longest path through the segment, if all else stayed as it is.
std::int64_t Tabu::estimate() {
  segment_head_.clear();
  const Id before = previous_[begin_];
  std::int64_t free = before == none ? 0 : head_[before] + duration_[before];
  for (const Id task : segment_) {
    std::int64_t head = free;
    for (const View::Input& input : views_.view[0].inputs[sequence_[task]]) {
      const std::size_t from = input.sequence * views_.m + task % views_.m;
      head = std::max(head, head_[from] + duration_[from] + input.lag);
    }
    segment_head_.push_back(head);
    free = head + duration_[task];
  }
  const Id behind = next_[end_];
  std::int64_t left = behind == none ? 0 : tail_[behind] + duration_[behind];
  std::int64_t longest = 0;
  for (std::size_t i = segment_.size(); i-- > 0;) {
    const Id task = segment_[i];
    std::int64_t tail = std::max(left, views_.instance.sequences[sequence_[task]].tail);
    for (const View::Input& output : views_.view[0].outputs[sequence_[task]]) {
      const std::size_t to = output.sequence * views_.m + task % views_.m;
      tail = std::max(tail, tail_[to] + duration_[to] + output.lag);
    }
    longest = std::max(longest, segment_head_[i] + duration_[task] + tail);
    left = tail + duration_[task];
  }
  return longest;
}

/// Where it stands whether `first` may run before `second`. Two pairs may share a slot, and both be forbidden for one.
std::size_t Tabu::slot(Id first, Id second) const {
  const std::uint64_t key = first * views_.instance.tasks() + second;
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> 48U);
}

/// Whether it would turn back a pair that was turned a short while ago.
bool Tabu::is_tabu(const Move& move) const {
  return std::ranges::any_of(segment_, [&](Id task) {
    return task != move.moved && tabu_[move.behind ? slot(task, move.moved) : slot(move.moved, task)] > done_;
  });
}

void Tabu::forbid(const Move& move, std::uint64_t until) {
  for (const Id task : segment_)
    if (task != move.moved) tabu_[move.behind ? slot(move.moved, task) : slot(task, move.moved)] = until;
}

void Tabu::consider(Move move) {
  if (!lay_out(move) || !makes_no_circle(move) || !fits_in_memory()) return;
  move.estimate = estimate();
  move.tabu = is_tabu(move) && move.estimate >= best_;
  moves_.push_back(move);
}

/// Of path_[begin, end), a block: each two neighbours turned; each task to either end, or as far as its sequence
/// allows.
void Tabu::collect_moves_of(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i + 1 < end; ++i) {
    if (may_turn(path_[i], path_[i + 1])) consider({path_[i], path_[i + 1], true});
    std::size_t last = i;
    while (last + 1 < end && may_turn(path_[i], path_[last + 1])) ++last;
    if (last > i + 1) consider({path_[i], path_[last], true});
  }
  for (std::size_t i = begin + 1; i < end; ++i) {
    std::size_t first = i;
    while (first > begin && may_turn(path_[first - 1], path_[i])) --first;
    if (first + 1 < i) consider({path_[i], path_[first], false});
  }
}

void Tabu::collect_moves() {
  moves_.clear();
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= path_.size(); ++i) {
    if (i < path_.size() && previous_[path_[i]] == path_[i - 1]) continue;
    if (i - begin > 1) collect_moves_of(begin, i);
    begin = i;
  }
}

/// Gives the stage the order of segment_. False, and all as it was, where tasks would wait for each other in a circle.
bool Tabu::apply(const Move& move) {
  if (!lay_out(move)) return false;
  const Id before = previous_[begin_];
  const Id behind = next_[end_];
  std::int64_t held = held_[begin_];
  if (!sort_again(move)) return false;
  Id last = before;
  for (const Id task : segment_) {
    previous_[task] = last;
    (last == none ? first_[views_.stage(sequence_[task])] : next_[last]) = task;
    held_[task] = held;
    held += views_.instance.sequences[sequence_[task]].take - views_.instance.sequences[sequence_[task]].give;
    dirty_[task] = 1;
    last = task;
  }
  next_[last] = behind;
  if (behind != none) {
    previous_[behind] = last;
    dirty_[behind] = 1;
  }
  std::uint32_t from = behind == none ? 0xFFFFFFFFU : position_[behind];
  for (const Id task : segment_) from = std::min(from, position_[task]);
  update_heads(from, segment_.size() + (behind == none ? 0 : 1));
  if (before != none) dirty_[before] = 1;
  for (const Id task : segment_) dirty_[task] = 1;
  std::uint32_t to = before == none ? 0 : position_[before];
  for (const Id task : segment_) to = std::max(to, position_[task]);
  update_tails(to, segment_.size() + (before == none ? 0 : 1));
  makespan_ = makespan_now();
  return true;
}

/// Whether a task of the stretch waits for a marked one; the moved task's place among its neighbours does not count.
bool Tabu::is_led(Id task, Id moved) const {
  const Id before = previous_[task];
  if (before != none && before != moved && dirty_[before] != 0) return true;
  return std::ranges::any_of(views_.view[0].inputs[sequence_[task]], [&](const View::Input& input) {
    return dirty_[input.sequence * views_.m + task % views_.m] != 0;
  });
}

/// Whether a marked one waits for it, in the same way.
bool Tabu::leads(Id task, Id moved) const {
  const Id behind = next_[task];
  if (behind != none && behind != moved && dirty_[behind] != 0) return true;
  return std::ranges::any_of(views_.view[0].outputs[sequence_[task]], [&](const View::Input& output) {
    return dirty_[output.sequence * views_.m + task % views_.m] != 0;
  });
}

/// Brings sorted_ in line with segment_ before the links change: of the stretch between the ends of the block what the
/// moved task leads to goes after all else; or, of one that moves forward, what leads to it before all else. False
/// where the other end is among that: tasks would wait for each other in a circle.
bool Tabu::sort_again(const Move& move) {
  const std::uint32_t from = position_[begin_];
  const std::uint32_t to = position_[end_];
  marked_.clear();
  unmarked_.clear();
  for (std::uint32_t i = 0; i <= to - from; ++i) {
    const Id task = sorted_[move.behind ? from + i : to - i];
    const bool marked = task == move.moved || (move.behind ? is_led(task, move.moved) : leads(task, move.moved));
    dirty_[task] = marked ? 1 : 0;
    (marked ? marked_ : unmarked_).push_back(task);
  }
  const bool circle = dirty_[move.place] != 0;
  for (const Id task : marked_) dirty_[task] = 0;
  if (circle) return false;
  std::uint32_t i = 0;
  for (const std::vector<Id>* const part : {&unmarked_, &marked_})
    for (const Id task : *part) {
      const std::uint32_t at = move.behind ? from + i : to - i;
      sorted_[at] = task;
      position_[task] = at;
      ++i;
    }
  return true;
}

/// Tasks whose head may have changed are marked; `marked` counts them.
void Tabu::update_heads(std::size_t from, std::size_t marked) {
  const auto mark = [&](std::size_t task) {
    if (dirty_[task] != 0) return;
    dirty_[task] = 1;
    ++marked;
  };
  for (std::size_t at = from; marked > 0; ++at) {
    const Id task = sorted_[at];
    if (dirty_[task] == 0) continue;
    dirty_[task] = 0;
    --marked;
    const std::int64_t head = head_of(task);
    if (head == head_[task]) continue;
    head_[task] = head;
    if (next_[task] != none) mark(next_[task]);
    for (const View::Input& output : views_.view[0].outputs[sequence_[task]])
      mark(output.sequence * views_.m + task % views_.m);
  }
}

void Tabu::update_tails(std::size_t to, std::size_t marked) {
  const auto mark = [&](std::size_t task) {
    if (dirty_[task] != 0) return;
    dirty_[task] = 1;
    ++marked;
  };
  for (std::size_t at = to + 1; marked > 0;) {
    const Id task = sorted_[--at];
    if (dirty_[task] == 0) continue;
    dirty_[task] = 0;
    --marked;
    const std::int64_t tail = tail_of(task);
    if (tail == tail_[task]) continue;
    tail_[task] = tail;
    if (previous_[task] != none) mark(previous_[task]);
    for (const View::Input& input : views_.view[0].inputs[sequence_[task]])
      mark(input.sequence * views_.m + task % views_.m);
  }
}

Order Tabu::order_now() const {
  Order order(first_.size());
  for (std::size_t stage = 0; stage < first_.size(); ++stage)
    for (Id task = first_[stage]; task != none; task = next_[task])
      order[stage].push_back(static_cast<std::uint16_t>(sequence_[task]));
  return order;
}

/// Applies it, and forbids the way back for a while. The best order may be a new one.
bool Tabu::make(const Move& move) {
  if (!apply(move)) return false;
  ++done_;
  forbid(move, done_ + 10 + dice_.below(13) + moves_.size() / 8);
  if (makespan_ < best_) {
    best_ = makespan_;
    best_order_ = order_now();
  }
  return true;
}

bool Tabu::step() {
  find_path();
  collect_moves();
  while (!moves_.empty()) {
    const bool all_tabu = std::ranges::all_of(moves_, &Move::tabu);
    std::size_t pick = moves_.size();
    std::size_t found = 0;
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      if (moves_[i].tabu && !all_tabu) continue;
      if (all_tabu) { // any, by chance
        if (dice_.below(++found) == 0) pick = i;
      } else if (pick == moves_.size() || moves_[i].estimate < moves_[pick].estimate) {
        pick = i;
        found = 1;
      } else if (moves_[i].estimate == moves_[pick].estimate && dice_.below(++found) == 0) {
        pick = i;
      }
    }
    if (make(moves_[pick])) return true;
    moves_.erase(moves_.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  return false;
}

bool Tabu::run(std::uint64_t moves, std::int64_t target) {
  const std::int64_t before = best_;
  for (std::uint64_t i = 0; i < moves && best_ > target; ++i)
    if (!step()) break;
  return best_ < before;
}

void Tabu::walk(std::uint64_t moves) {
  for (std::uint64_t i = 0; i < moves; ++i) {
    find_path();
    collect_moves();
    while (!moves_.empty()) {
      const std::size_t pick = dice_.below(moves_.size());
      if (make(moves_[pick])) break;
      moves_.erase(moves_.begin() + static_cast<std::ptrdiff_t>(pick));
    }
  }
}

Plan Tabu::best_plan() const {
  return ppsim::synthesis::run(views_.instance, best_order_, duration_).value();
}

} // namespace ppsim::synthesis
