#pragma once
// The rule of both handcrafted orders of the Zero Bubble paper (Qi et al., arXiv 2401.10241, section 2). They differ in
// the number of forwards before a stage's first I, and in the limit of activations.

#include "ppsim/schedule/generators.hpp"

#include <string_view>

namespace ppsim::generator {

/// The last stage warms up with one forward, each stage before it with `warmup_per_stage_below` more. Then I and F
/// alternate without W, until the stage holds `limit` activations; from there on, every F needs a W before it to free
/// memory. W follow the order of microbatches of I.
void add_handcrafted_stage(ScheduleBuilder& builder, const Shape& shape, std::size_t stage,
                           std::size_t warmup_per_stage_below, std::size_t limit);

/// Span bubble / span, with a span bubble of (p-1) times `per_stage`; the form of `stage_span_bubble`.
[[nodiscard]] ClosedForm span_bubble_form(const Shape& shape, const UniformCosts& costs, Duration per_stage,
                                          std::string_view formula);

/// True if no W is longer than the gap that it fills, nor shorter than a round trip between two neighbours: W <= min(F,
/// I) and 2c <= W. Only then does one formula hold.
[[nodiscard]] bool weights_fill_gaps(const UniformCosts& costs);

} // namespace ppsim::generator
