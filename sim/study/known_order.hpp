#pragma once
// KnownOrder: an order that was made and simulated once, and what its steps take with other costs.

#include "ppsim/engine/step_timer.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/variation.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace ppsim {

/// With that figure of the run as its time; nothing where it is not known.
[[nodiscard]] std::optional<Sample> sample_of(const Evaluation& run, StepFigure figure);

/// Steps that need more than the costs of one step are not timed: those without a flush or with an optimizer step per
/// stage, and those whose memory depends on when tasks run.
class KnownOrder {
public:
  /// Nothing where steps of that run cannot be timed.
  [[nodiscard]] static std::shared_ptr<const KnownOrder> of(Evaluation&& run);
  explicit KnownOrder(Evaluation&& run);

  /// The step of this order with the costs of `spec`, as evaluate() finds it; nothing where the spec asks for another
  /// order, or it does not hold as much. Throws Error as build_run() and simulate() do.
  [[nodiscard]] std::optional<Sample> sample(const RunSpec& spec) const;

private:
  TaskGraph graph_;
  StepTimer timer_;
  Bytes peak_;
};

/// The orders of one candidate that are known. An order by rule is the same at each value. One that is sought is sought
/// at each of the points; between two of them it is the better of theirs, so that lines that cross can be followed to
/// where they do without a search at each step. May be used by several threads at a time.
class KnownOrders {
public:
  KnownOrders(bool searches, const Axis& axis, std::vector<std::int64_t> points);

  /// Nothing where it has to be evaluated. Throws Error as KnownOrder::sample().
  [[nodiscard]] std::optional<Sample> sample(const RunSpec& spec, std::int64_t value) const;
  void keep(Evaluation&& run, std::int64_t value);

private:
  using Orders = std::vector<std::shared_ptr<const KnownOrder>>;
  static constexpr std::size_t most_tasks = std::size_t{1} << 24; ///< of the orders of all points

  [[nodiscard]] Orders near(std::int64_t value) const;

  bool searches_;
  bool keeps_;
  std::vector<std::int64_t> points_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const KnownOrder>> known_;
};

} // namespace ppsim
