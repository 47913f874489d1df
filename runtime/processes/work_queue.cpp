#include "work_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ppsim::runtime {

std::optional<WorkRange> WorkQueue::next(Moment now) {
  if (!stopped_ && !given_back_.empty()) {
    const WorkRange again = given_back_.back();
    given_back_.pop_back();
    begun_[again.begin] = now;
    return again;
  }
  if (stopped_ || all_.begin == all_.end || all_.begin - due_ >= most_ahead) return std::nullopt;
  const std::uint64_t end = std::min(all_.end, all_.begin + length_);
  begun_[all_.begin] = now;
  return WorkRange{std::exchange(all_.begin, end), end};
}

void WorkQueue::put(WorkRange range, std::string made, Moment now, const TakeResult& take) {
  adapt_length(range, now - begun_.extract(range.begin).mapped());
  made_.emplace(range.begin, std::pair{range, std::move(made)});
  while (!stopped_ && !made_.empty() && made_.begin()->first == due_) {
    const auto node = made_.extract(made_.begin());
    const auto& [due, text] = node.mapped();
    stopped_ = !take(due, text);
    due_ = due.end;
  }
}

void WorkQueue::adapt_length(WorkRange range, Moment took) {
  const bool is_full = range.end - range.begin >= length_;
  if (took < short_range && is_full) length_ = std::min(2 * length_, longest_);
  if (took > long_range) length_ = std::max(length_ / 2, shortest_);
}

} // namespace ppsim::runtime
