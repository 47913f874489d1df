#pragma once
// How long a step of any order takes at least, of those with the same placement within the same memory.

#include "ppsim/report/report.hpp"

#include <optional>

namespace ppsim {

/// What is proven of the orders with which a run can be compared.
struct ProvenBound {
  Duration makespan{0};  ///< no such order has a shorter one
  bool whole = false;    ///< backwards are in one piece in all of them, as in this run; else in two parts
  bool by_limit = false; ///< they fit into the memory limit; else each stage holds no more activations than in this run
};

/// The bound for a run whose backwards are in two parts; of those in one piece, over orders of such. What it takes is
/// counted in steps, so that the result is the same on every machine. Nothing where no bound is known: stages that hold
/// the same chunks, costs by microbatch, overlapped pairs, outputs that are released, no flush, forwards alone,
/// transfers in slices, or an order that does not fit. Proofs: docs/synthesis.md.
[[nodiscard]] std::optional<ProvenBound> find_bound(const TaskGraph& graph, const Report& report);

} // namespace ppsim
