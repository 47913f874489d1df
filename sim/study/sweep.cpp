#include "ppsim/study/sweep.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/evaluate.hpp"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

namespace ppsim {
namespace {

/// The most rows finished or in progress after the first unfinished one.
constexpr std::size_t least_window = 1024, window_per_thread = 4;

/// Assigns points in order, and emits their rows in the same order.
class RowsInOrder {
public:
  RowsInOrder(std::size_t first, std::size_t end, std::size_t threads, const TakeRows& take)
      : take_{take}, end_{end}, next_{first}, due_{first},
        ready_(std::min(end - first, std::max(least_window, window_per_thread * threads))) {}

  /// None if there are no more. A thread that is far ahead waits for the others, because the rows between are stored.
  std::optional<std::size_t> next() {
    std::unique_lock lock{mutex_};
    moved_.wait(lock, [&] { return stopped_ || next_ >= end_ || next_ < due_ + ready_.size(); });
    if (stopped_ || next_ >= end_) return std::nullopt;
    return next_++;
  }

  void put(std::size_t point, SweepRow row) {
    const std::scoped_lock lock{mutex_};
    if (stopped_) return;
    ready_[point % ready_.size()] = std::move(row);
    if (point != due_) return;
    std::vector<SweepRow> rows;
    const auto due_row = [&]() -> std::optional<SweepRow>& { return ready_[(due_ + rows.size()) % ready_.size()]; };
    while (rows.size() < ready_.size() && due_row()) rows.push_back(*std::exchange(due_row(), std::nullopt));
    if (!take_(due_, rows)) stopped_ = true;
    due_ += rows.size();
    moved_.notify_all();
  }

  void stop() {
    const std::scoped_lock lock{mutex_};
    stopped_ = true;
    moved_.notify_all();
  }

private:
  const TakeRows& take_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::size_t end_, next_, due_; ///< points; `due_` is the first whose row was not taken
  std::vector<std::optional<SweepRow>> ready_;
  bool stopped_ = false;
};

SweepRow::Figures figures_of(const Evaluation& run) {
  const Bytes peak = run.report.peak_bytes();
  return {.schedule = run.graph.schedule().name(),
          .step_time = run.report.step_time,
          .bubble_ratio = run.report.bubble_ratio,
          .peak = peak > Bytes{0} ? std::optional{peak} : std::nullopt,
          .fits = run.graph.scenario().memory.limit ? std::optional{!run.report.overflow} : std::nullopt};
}

} // namespace

std::size_t SweepGrid::points() const {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) {
    if (axis.values.empty()) return 0;
    if (count > std::numeric_limits<std::size_t>::max() / axis.values.size())
      count = std::numeric_limits<std::size_t>::max();
    else
      count *= axis.values.size();
  }
  return count;
}

std::vector<const SweepValue*> SweepGrid::at(std::size_t point) const {
  std::vector<const SweepValue*> values(axes.size());
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    const std::vector<SweepValue>& own = axes[axis].values;
    values[axis] = &own[point % own.size()];
    point /= own.size();
  }
  return values;
}

SweepRow sweep_row(const std::function<RunSpec()>& make) {
  try {
    return {.figures = figures_of(evaluate(make())), .error = {}};
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::no) throw;
    return {.figures = std::nullopt, .error = reason_of(error)};
  }
}

void sweep(std::size_t first, std::size_t end, std::size_t threads, const SpecAt& spec_at, const TakeRows& take) {
  if (first >= end) return;
  RowsInOrder rows{first, end, threads, take};
  for_each_index(std::min(std::max<std::size_t>(threads, 1), end - first), threads, [&](std::size_t) {
    try {
      while (const auto point = rows.next()) rows.put(*point, sweep_row([&] { return spec_at(*point); }));
    } catch (...) {
      rows.stop();
      throw;
    }
  });
}

} // namespace ppsim
