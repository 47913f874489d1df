#pragma once
// `sensitivity`: what small changes of one run would give.

#include "ppsim/study/evaluate.hpp"

namespace ppsim {

/// The figures of every stage and link from the same order, and those of more microbatches and more chunks per stage
/// from runs of their own. Nothing where that would simulate too much, or the step time is not known: `run` then has a
/// note that says so.
[[nodiscard]] std::optional<Sensitivity> find_sensitivity(const RunSpec& spec, Evaluation& run);

} // namespace ppsim
