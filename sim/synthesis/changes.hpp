#pragma once
// Changes: which tasks' windows are new to a rule. Only those, and tasks behind them, need it again.

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace ppsim::synthesis {

/// By view and sequence, the first task that has changed; `m` if none.
class Changes {
public:
  /// At first all is new.
  Changes(std::size_t sequences, std::size_t m) : m_{static_cast<std::uint16_t>(m)} {
    for (FirstChanged* const first : all())
      for (auto& of_view : *first) of_view.resize(sequences);
  }

  void note(std::size_t d, std::size_t sequence, std::uint16_t j) {
    for (FirstChanged* const first : {&now_, &untried_[0], &untried_[1]})
      (*first)[d][sequence] = std::min((*first)[d][sequence], j);
  }
  void renew_all() {
    for (FirstChanged* const first : all())
      for (auto& of_view : *first) std::ranges::fill(of_view, std::uint16_t{0});
  }

  void begin_sweep() {
    std::swap(before_, now_);
    for (auto& of_view : now_) std::ranges::fill(of_view, m_);
  }
  /// In this sweep and the one before it: so since each sequence's turn in that one.
  [[nodiscard]] std::size_t first(std::size_t d, std::size_t sequence) const {
    return std::min(before_[d][sequence], now_[d][sequence]);
  }
  /// In view `of`, since the tasks of view `d` were last tried; they are now.
  [[nodiscard]] std::uint16_t take_untried(std::size_t d, std::size_t of, std::size_t sequence) {
    return std::exchange(untried_[d][of][sequence], m_);
  }

private:
  using FirstChanged = std::array<std::vector<std::uint16_t>, 2>;
  std::array<FirstChanged*, 4> all() { return {&before_, &now_, &untried_[0], &untried_[1]}; }

  std::uint16_t m_;
  FirstChanged before_, now_;           ///< in the sweep before this one, and in this one
  std::array<FirstChanged, 2> untried_; ///< by view: since its tasks were last tried
};

} // namespace ppsim::synthesis
