#pragma once
// A lower bound on the makespan of all orders with the same placement and memory.

#include "ppsim/report/report.hpp"

#include <optional>

namespace ppsim {

/// A proven bound, and the orders that it covers. Under TransferModel::link it counts that a link runs one transfer at
/// a time, unless costs differ by microbatch, pairs overlap, or there are too many.
struct ProvenBound {
  Duration makespan{0};  ///< no such order has a shorter one
  bool whole = false;    ///< it covers orders with whole backwards, as in this run; otherwise orders with split ones
  bool by_limit = false; ///< it covers orders within the memory limit; otherwise orders in which no stage holds more
                         ///< activations than in this run
};

/// The bound for a run: over orders with whole backwards if it has them, otherwise over orders with split ones. Effort
/// is limited by steps, not by time, so the result is equal on every machine. None if no bound is known: stages that
/// hold the same chunks, overlapped pairs with costs by microbatch, released outputs, no flush, forwards alone, sliced
/// transfers, or an order that does not fit. Takes about a tenth of a second, or `thorough` a second more if the run is
/// more than 2 % above the bound (twice that with links; not with costs by microbatch; longer for the largest runs).
/// Proofs: docs/synthesis.md.
[[nodiscard]] std::optional<ProvenBound> find_bound(const TaskGraph& graph, const Report& report,
                                                    bool thorough = false);

} // namespace ppsim
