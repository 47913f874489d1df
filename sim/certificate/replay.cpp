// Runs the order of a certificate task by task.

#include "replay.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "arcs.hpp"

namespace ppsim::certificate {
namespace {

class Replay {
public:
  explicit Replay(const Certificate& certificate)
      : certificate_{certificate}, instance_{certificate.instance}, rows_{*certificate.order}, arcs_{instance_},
        ends_(instance_.sequences.size()) {}

  OrderVerdict run() {
    verdict_.complete = is_complete();
    if (!verdict_.complete) return std::move(verdict_);
    verdict_.fits = fits();
    verdict_.runs = runs();
    if (!verdict_.runs) return std::move(verdict_);
    verdict_.makespan = makespan();
    verdict_.as_said = verdict_.makespan == certificate_.makespan;
    if (!verdict_.as_said)
      fault("its makespan is {} ns, not {} ns", verdict_.makespan.count(), certificate_.makespan->count());
    return std::move(verdict_);
  }

private:
  template <class... Arguments>
  void fault(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    verdict_.faults.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  [[nodiscard]] std::string name(std::size_t sequence) const { return in_quotes(instance_.sequences[sequence].name); }

  /// Each row must contain the sequences of its stage, once per microbatch.
  bool is_complete() {
    std::vector<std::size_t> found(instance_.sequences.size(), 0);
    for (std::size_t stage = 0; stage < rows_.size(); ++stage)
      for (const std::size_t sequence : rows_[stage]) {
        if (instance_.sequences[sequence].stage != stage) {
          fault("stage {} runs a task of {}, which belongs to stage {}", stage, name(sequence),
                instance_.sequences[sequence].stage);
          return false;
        }
        ++found[sequence];
      }
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] != instance_.microbatches) {
        fault("stage {} runs {} of {}, for {}", instance_.sequences[i].stage, counted(found[i], "task"), name(i),
              counted(instance_.microbatches, "microbatch", "es"));
        return false;
      }
    return true;
  }

  bool fits() {
    bool all_fit = true;
    for (std::size_t stage = 0; stage < rows_.size(); ++stage) {
      std::int64_t held = 0;
      for (std::size_t i = 0; i < rows_[stage].size(); ++i) {
        const CertificateSequence& sequence = instance_.sequences[rows_[stage][i]];
        held += sequence.take;
        if (instance_.capacity[stage] && held > *instance_.capacity[stage]) {
          fault("stage {} holds {} in its task {}, of {}, but may hold {}", stage, held, i, name(rows_[stage][i]),
                *instance_.capacity[stage]);
          all_fit = false;
          break;
        }
        held -= sequence.give;
      }
    }
    return all_fit;
  }

  /// Whether the inputs of the next task of `sequence` are ready; raises `start` to that time.
  bool is_released(std::size_t sequence, Duration& start) const {
    const std::size_t microbatch = ends_[sequence].size();
    return std::ranges::all_of(arcs_.into[sequence], [&](std::size_t i) {
      const CertificateArc& arc = instance_.arcs[i];
      if (ends_[arc.from].size() <= microbatch) return false;
      start = std::max(start, ends_[arc.from][microbatch] + arc.lag);
      return true;
    });
  }

  /// Runs each stage as far as possible, and again when an input of its next task is ready.
  bool runs() {
    std::vector<std::size_t> next(rows_.size(), 0);
    std::vector<Duration> free(rows_.size());
    std::vector<std::size_t> to_try;
    for (std::size_t stage = 0; stage < rows_.size(); ++stage) to_try.push_back(stage);
    while (!to_try.empty()) {
      const std::size_t stage = to_try.back();
      to_try.pop_back();
      for (; next[stage] < rows_[stage].size(); ++next[stage]) {
        const std::size_t sequence = rows_[stage][next[stage]];
        Duration start = free[stage];
        if (!is_released(sequence, start)) break;
        free[stage] = start + instance_.sequences[sequence].duration;
        ends_[sequence].push_back(free[stage]);
        for (const std::size_t arc : arcs_.out_of[sequence])
          if (const std::size_t other = instance_.sequences[instance_.arcs[arc].to].stage; other != stage)
            to_try.push_back(other);
      }
    }
    for (std::size_t stage = 0; stage < rows_.size(); ++stage)
      if (next[stage] < rows_[stage].size()) {
        fault("stage {} waits forever before its task {}, of {}", stage, next[stage], name(rows_[stage][next[stage]]));
        return false;
      }
    return true;
  }

  [[nodiscard]] Duration makespan() const {
    Duration last{0};
    for (std::size_t i = 0; i < ends_.size(); ++i) last = std::max(last, ends_[i].back() + instance_.sequences[i].tail);
    return last;
  }

  const Certificate& certificate_;
  const CertificateInstance& instance_;
  const std::vector<std::vector<std::size_t>>& rows_;
  ArcsBySequence arcs_;
  std::vector<std::vector<Duration>> ends_; ///< by sequence, for the tasks that have run
  OrderVerdict verdict_;
};

} // namespace

OrderVerdict replay(const Certificate& certificate) {
  return Replay{certificate}.run();
}

} // namespace ppsim::certificate
