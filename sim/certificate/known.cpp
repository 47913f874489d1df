// The state of a stage in a proof.

#include "known.hpp"

#include <algorithm>
#include <utility>

namespace ppsim::certificate {

Known::Known(const CertificateInstance& instance, std::size_t stage, std::vector<std::size_t> members,
             const std::vector<std::vector<bool>>& follows, Time end, Meter& meter)
    : stage_{stage}, microbatches_{instance.microbatches}, members_{std::move(members)}, end_{end}, meter_{&meter} {
  std::int64_t left = 0; // in memory at the end of the step
  for (const std::size_t member : members_) {
    const CertificateSequence& sequence = instance.sequences[member];
    left += (sequence.take - sequence.give) * static_cast<std::int64_t>(microbatches_);
    views_[0].sequences.push_back({sequence.duration.count(), sequence.take, sequence.take - sequence.give});
    views_[1].sequences.push_back({sequence.duration.count(), sequence.give, sequence.give - sequence.take});
  }
  for (const std::size_t view : both_views) {
    if (instance.capacity[stage]) views_[view].room = *instance.capacity[stage] - (view == 0 ? 0 : left);
    views_[view].changed_before.assign(sequences(), 0); // everything is new
    views_[view].changed_now.assign(sequences(), 0);
    for (const std::size_t member : members_)
      begin_times(view, view == 0 ? 0 : instance.sequences[member].tail.count());
    begin_counts(view, follows);
  }
  for (std::size_t i = 0; i < sequences(); ++i)
    for (std::size_t j = 0; j < microbatches_; ++j)
      if (earliest(0, {i, j}) > latest(0, {i, j})) contradict(Contradiction::Kind::late, 0, {i, j});
}

/// For the next sequence: its tasks one after another, from `first`.
void Known::begin_times(std::size_t view, Time first) {
  std::vector<Time>& times = views_[view].earliest;
  const Time duration = seen(view, times.size() / microbatches_).duration;
  for (std::size_t j = 0; j < microbatches_; ++j) times.push_back(first + static_cast<Time>(j) * duration);
}

/// The tasks before a task in its own sequence, and in those with arcs to it.
void Known::begin_counts(std::size_t view, const std::vector<std::vector<bool>>& follows) {
  for (std::size_t i = 0; i < sequences(); ++i)
    for (std::size_t j = 0; j < microbatches_; ++j)
      for (std::size_t k = 0; k < sequences(); ++k) {
        const bool is_behind = view == 0 ? follows[i][k] : follows[k][i];
        const std::size_t others = is_behind ? j + 1 : 0;
        views_[view].before.push_back(static_cast<Count>(k == i ? j : others));
      }
}

Time Known::work() const {
  Time work = 0;
  for (const SeenSequence& sequence : views_[0].sequences) work += sequence.duration * static_cast<Time>(microbatches_);
  return work;
}

// Raises also the tasks after it in its sequence: end_of() relies on their order.
void Known::raise_earliest(std::size_t view, Place task, Time time) {
  const Time duration = seen(view, task.sequence).duration;
  for (; task.index < microbatches_ && time > earliest(view, task); ++task.index, time += duration) {
    views_[view].earliest[at(task)] = time;
    views_[view].uses = 0;
    note_change(view, task);
    if (time > latest(view, task)) return contradict(Contradiction::Kind::late, view, task);
    ++meter_->used;
  }
}

void Known::raise_before(std::size_t view, Place task, std::size_t sequence, Count count) {
  Count& known = views_[view].before[at(task) * sequences() + sequence];
  if (count <= known) return;
  const bool is_itself = sequence == task.sequence;
  if (is_itself || count > most(view, task, sequence)) return contradict(Contradiction::Kind::itself, view, task);
  known = count;
  note_change(view, task);
  note_change(1 - view, other(task)); // if that is the most that run before it
}

void Known::raise_before(std::size_t view, Place task, std::span<const Count> counts) {
  meter_->used += counts.size();
  for (std::size_t sequence = 0; sequence < counts.size(); ++sequence)
    raise_before(view, task, sequence, counts[sequence]);
}

void Known::contradict(Contradiction::Kind kind, std::size_t view, Place task) {
  if (!contradiction_) contradiction_ = Contradiction{kind, stage_, view, task};
}

/// Tasks by rising earliest start, in the opposite of the order in which end_of() takes them.
void Known::find_all_ended(View& seen) const {
  seen.all_ended.resize(seen.earliest.size());
  std::vector<std::size_t> next(sequences());
  Time end = 0;
  for (std::size_t count = 0; count < seen.earliest.size(); ++count) {
    std::size_t first = sequences();
    for (std::size_t v = 0; v < sequences(); ++v)
      if (next[v] < microbatches_ && (first == sequences() || seen.earliest[v * microbatches_ + next[v]] <=
                                                                  seen.earliest[first * microbatches_ + next[first]]))
        first = v;
    const std::size_t task = first * microbatches_ + next[first]++;
    end = std::max(end, seen.earliest[task]) + seen.sequences[first].duration;
    seen.all_ended[task] = end;
  }
  meter_->used += seen.earliest.size() * sequences();
}

// Consider the last interval without idle time, and its task z with the earliest start among them. Nothing in the
// interval starts before earliest(z), and all tasks that start no earlier than z may be its work. So the end is the
// largest sum of an earliest start and the work that starts no earlier. Tasks are taken in descending order of start.
// Remaining tasks start no later than the last one taken. So the search ends once neither all work from that start on,
// nor what was taken after all that can start by then, would suffice.
Time Known::end_of(std::size_t view, std::vector<Count> counts, Time floor) {
  constexpr std::size_t uses_before = 8; // there are fewer between changes while rules still change a lot
  View& seen = views_[view];
  if (++seen.uses == uses_before) find_all_ended(seen);
  Time all = 0;
  for (std::size_t v = 0; v < counts.size(); ++v) all += seen.sequences[v].duration * counts[v];
  Time end = floor;
  for (Time work = 0;;) {
    meter_->used += counts.size();
    std::size_t last = counts.size();
    Time start = 0;
    for (std::size_t v = 0; v < counts.size(); ++v) {
      if (counts[v] == 0) continue;
      const Time earliest = seen.earliest[v * microbatches_ + static_cast<std::size_t>(counts[v]) - 1];
      if (last != counts.size() && earliest <= start) continue;
      last = v;
      start = earliest;
    }
    if (last == counts.size() || start + all <= end) return end;
    --counts[last];
    if (seen.uses >= uses_before &&
        seen.all_ended[last * microbatches_ + static_cast<std::size_t>(counts[last])] + work <= end)
      return end;
    work += seen.sequences[last].duration;
    end = std::max(end, start + work);
  }
}

void Known::note_change(std::size_t view, Place task) {
  ++changes_;
  std::size_t& first = views_[view].changed_now[task.sequence];
  first = std::min(first, task.index);
}

std::size_t Known::first_changed(std::size_t view, std::size_t sequence) const {
  return std::min(views_[view].changed_before[sequence], views_[view].changed_now[sequence]);
}

bool Known::has_news() const {
  return std::ranges::any_of(views_, [&](const View& view) {
    return std::ranges::any_of(view.changed_now, [&](std::size_t first) { return first < microbatches_; });
  });
}

/// Rules use the task itself, the ones before it in its sequence, and those known to run before it.
bool Known::has_news(std::size_t view, Place task) const {
  if (first_changed(view, task.sequence) <= task.index) return true;
  const std::span<const Count> counts = before(view, task);
  for (std::size_t v = 0; v < counts.size(); ++v)
    if (first_changed(view, v) < static_cast<std::size_t>(counts[v])) return true;
  return false;
}

void Known::next_sweep() {
  for (View& view : views_) {
    view.changed_before = view.changed_now;
    std::ranges::fill(view.changed_now, microbatches_);
  }
}

} // namespace ppsim::certificate
