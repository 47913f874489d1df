#pragma once
// TimesAlone: measured times of passes of chunks outside overlapped pairs.

#include "ppsim/base/units.hpp"
#include "ppsim/schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace ppsim {

class TimesAlone {
public:
  /// Skips tasks in pairs.
  void add(const Task& task, Duration length) {
    if (task.pairing != Pairing::alone) return;
    Sum& sum = sums_[{task.chunk_index, task.pass}];
    sum.ns += static_cast<double>(length.count());
    ++sum.runs;
  }
  /// Mean in ns over tasks of the same pass and chunk. For a whole backward that never ran alone: the sum of its
  /// halves' means. None if none of these ran alone.
  [[nodiscard]] std::optional<double> time_of(const Task& task) const {
    if (const auto own = mean(task, task.pass); own || task.pass != Pass::backward) return own;
    const auto input = mean(task, Pass::input_grad);
    const auto weight = mean(task, Pass::weight_grad);
    return input && weight ? std::optional{*input + *weight} : std::nullopt;
  }

private:
  struct Sum {
    double ns = 0;
    std::size_t runs = 0;
  };
  [[nodiscard]] std::optional<double> mean(const Task& task, Pass pass) const {
    const auto found = sums_.find({task.chunk_index, pass});
    if (found == sums_.end()) return std::nullopt;
    return found->second.ns / static_cast<double>(found->second.runs);
  }

  std::map<std::pair<std::uint16_t, Pass>, Sum> sums_;
};

} // namespace ppsim
