#pragma once
// The rule behind both handcrafted orders of the Zero Bubble paper (Qi et al., arXiv 2401.10241, section 2). They
// differ in how many forwards a stage runs before its first I, and in how many activations it may hold.

#include "ppsim/schedule/generators.hpp"

#include <string_view>

namespace ppsim::generator {

/// The last stage warms up with one forward, each stage before it with `warmup_per_stage_below` more. Then I and F take
/// turns, without any W, until the stage holds `limit` activations; from there on every F waits for a W, which makes
/// room for it. W follow I in the order of the microbatches.
void add_handcrafted_stage(ScheduleBuilder& builder, const Shape& shape, std::size_t stage,
                           std::size_t warmup_per_stage_below, std::size_t limit);

/// Span bubble over span, where the span bubble is (p-1) times `per_stage`; the form of `stage_span_bubble`.
[[nodiscard]] ClosedForm span_bubble_form(const Shape& shape, const UniformCosts& costs, Duration per_stage,
                                          std::string_view formula);

/// True where no W is longer than the gap that it is to fill, nor shorter than a round trip between two neighbours:
/// W <= min(F, I) and 2c <= W. Only there does one formula hold.
[[nodiscard]] bool weights_fill_gaps(const UniformCosts& costs);

} // namespace ppsim::generator
