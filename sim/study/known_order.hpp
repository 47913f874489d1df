#pragma once
// KnownOrder: an order that was made and simulated once, to time its steps with other costs.

#include "ppsim/engine/step_timer.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/variation.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace ppsim {

/// The sample with this figure of the run as its time; none if it is unknown.
[[nodiscard]] std::optional<Sample> sample_of(const Evaluation& run, StepFigure figure);

/// Does not time steps that need more than the costs of one step: without a flush, with an optimizer step per stage, or
/// with memory that depends on task times.
class KnownOrder {
public:
  /// None if steps of that run cannot be timed.
  [[nodiscard]] static std::shared_ptr<const KnownOrder> of(Evaluation&& run);
  explicit KnownOrder(Evaluation&& run);

  /// The step of this order with the costs of `spec`, equal to evaluate(); none if the spec needs another order or
  /// other memory. Throws Error as build_run() and simulate().
  [[nodiscard]] std::optional<Sample> sample(const RunSpec& spec) const;

private:
  TaskGraph graph_;
  StepTimer timer_;
  Bytes peak_;
};

/// The known orders of one candidate. A rule-based order is the same at each value. A searched one is searched at each
/// of the points; between two of them, the better of theirs is used, so that crossings can be located without a search
/// at each step. Thread-safe.
class KnownOrders {
public:
  KnownOrders(bool searches, const Axis& axis, std::vector<std::int64_t> points);

  /// None if it has to be evaluated. Throws Error as KnownOrder::sample().
  [[nodiscard]] std::optional<Sample> sample(const RunSpec& spec, std::int64_t value) const;
  void keep(Evaluation&& run, std::int64_t value);

private:
  using Orders = std::vector<std::shared_ptr<const KnownOrder>>;
  static constexpr std::size_t most_tasks = std::size_t{1} << 24; ///< in the orders of all points

  [[nodiscard]] Orders near(std::int64_t value) const;

  bool searches_;
  bool keeps_;
  std::vector<std::int64_t> points_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const KnownOrder>> known_;
};

} // namespace ppsim
