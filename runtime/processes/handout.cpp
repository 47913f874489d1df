#include "handout.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ppsim::runtime {

std::optional<Stretch> Handout::next(Moment now) {
  if (!stopped_ && !given_back_.empty()) {
    const Stretch again = given_back_.back();
    given_back_.pop_back();
    begun_[again.begin] = now;
    return again;
  }
  if (stopped_ || all_.begin == all_.end || all_.begin - due_ >= most_ahead) return std::nullopt;
  const std::uint64_t end = std::min(all_.end, all_.begin + length_);
  begun_[all_.begin] = now;
  return Stretch{std::exchange(all_.begin, end), end};
}

void Handout::put(Stretch stretch, std::string made, Moment now, const TakeMade& take) {
  adapt_length(stretch, now - begun_.extract(stretch.begin).mapped());
  made_.emplace(stretch.begin, std::pair{stretch, std::move(made)});
  while (!stopped_ && !made_.empty() && made_.begin()->first == due_) {
    const auto node = made_.extract(made_.begin());
    const auto& [due, text] = node.mapped();
    stopped_ = !take(due, text);
    due_ = due.end;
  }
}

void Handout::adapt_length(Stretch stretch, Moment took) {
  const bool is_full = stretch.end - stretch.begin >= length_;
  if (took < short_stretch && is_full) length_ = std::min(2 * length_, longest_);
  if (took > long_stretch) length_ = std::max(length_ / 2, shortest_);
}

} // namespace ppsim::runtime
