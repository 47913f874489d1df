// Rule 7: the least idle time of a stage.

#include "ppsim/base/detail/wide.hpp"

#include <algorithm>
#include <vector>

#include "rules.hpp"

namespace ppsim::certificate {
namespace {

/// The most work of a stage in one view by rising times.
class WorkByThen {
public:
  WorkByThen(const Known& stage, std::size_t view)
      : stage_{stage}, view_{view}, started_(stage.sequences(), 0), ended_(stage.sequences(), 0) {
    for (std::size_t v = 0; v < stage.sequences(); ++v)
      if (stage.room(view) && stage.seen(view, v).net > 0) takers_.push_back(v);
    // The most work per memory first.
    std::ranges::stable_sort(takers_, [&](std::size_t a, std::size_t b) {
      const SeenSequence& one = stage.seen(view, a);
      const SeenSequence& two = stage.seen(view, b);
      return Int128{one.duration} * two.net > Int128{two.duration} * one.net;
    });
  }

  /// U(time) of docs/synthesis.md; times must not fall.
  Time operator()(Time time) {
    advance(time);
    Time work = 0;
    std::int64_t room = stage_.room(view_).value_or(0);
    for (std::size_t v = 0; v < stage_.sequences(); ++v) {
      const SeenSequence& seen = stage_.seen(view_, v);
      if (!stage_.room(view_) || seen.net <= 0) work += seen.duration * static_cast<Time>(started_[v]);
      if (seen.net < 0) room += -seen.net * static_cast<std::int64_t>(ended_[v]);
    }
    for (const std::size_t v : takers_) {
      const SeenSequence& seen = stage_.seen(view_, v);
      const std::int64_t wanted = seen.net * static_cast<std::int64_t>(started_[v]);
      const std::int64_t taken = std::clamp<std::int64_t>(room, 0, wanted);
      work += static_cast<Time>(Int128{seen.duration} * taken / seen.net);
      room -= taken;
    }
    return work;
  }

private:
  /// The number of tasks of each sequence that may have started before `time`, and of those that may have ended.
  void advance(Time time) {
    for (std::size_t v = 0; v < stage_.sequences(); ++v) {
      const auto earliest = [&](std::size_t index) { return stage_.earliest(view_, {v, index}); };
      while (started_[v] < stage_.microbatches() && earliest(started_[v]) < time) ++started_[v];
      while (ended_[v] < stage_.microbatches() && earliest(ended_[v]) + stage_.seen(view_, v).duration < time)
        ++ended_[v];
    }
    stage_.meter().used += stage_.sequences();
  }

  const Known& stage_;
  std::size_t view_;
  std::vector<std::size_t> started_, ended_;
  std::vector<std::size_t> takers_; ///< sequences whose tasks memory may delay
};

/// U changes only after the earliest starts or ends of tasks: between two of them, the idle time grows with time.
std::vector<Time> times_of_change(const Known& stage, std::size_t view) {
  std::vector<Time> times{0, stage.end()};
  for (std::size_t v = 0; v < stage.sequences(); ++v)
    for (std::size_t index = 0; index < stage.microbatches(); ++index) {
      const Time earliest = stage.earliest(view, {v, index});
      times.push_back(earliest);
      times.push_back(earliest + stage.seen(view, v).duration);
    }
  std::erase_if(times, [&](Time time) { return time > stage.end(); });
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  return times;
}

/// For each of the rising `times`, the least idle time of the stage until then.
std::vector<Time> idle_by(const Known& stage, std::size_t view, const std::vector<Time>& times) {
  WorkByThen work{stage, view};
  std::vector<Time> idle;
  Time most = 0;
  for (const Time time : times) {
    most = std::max(most, time - work(time));
    idle.push_back(most);
  }
  return idle;
}

/// The times of change of both views, in `view`. Idle time grows at most as fast as time and starts to stay constant
/// only at these, so the sum of a forward and a backward one is largest at one of them.
std::vector<Time> times_of_both(const Known& stage, std::size_t view) {
  std::vector<Time> times = times_of_change(stage, view);
  for (const Time time : times_of_change(stage, 1 - view)) times.push_back(stage.end() - time);
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  return times;
}

} // namespace

void apply_rule_of_idle_time(Known& stage) {
  if (stage.is_over()) return;
  const std::vector<Time> forwards = idle_by(stage, 0, times_of_both(stage, 0));
  const std::vector<Time> backwards = idle_by(stage, 1, times_of_both(stage, 1));
  // The same times in both views, reversed.
  for (std::size_t i = 0; i < forwards.size(); ++i)
    if (stage.work() + forwards[i] + backwards[backwards.size() - 1 - i] > stage.end())
      return stage.contradict(Contradiction::Kind::idle, 0, {});
}

} // namespace ppsim::certificate
