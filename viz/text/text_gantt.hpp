#pragma once
#include "ppsim/viz/text.hpp"

namespace ppsim::viz {

/// A row of characters per stage; empty when it would not be legible. A task is its pass and, where there is room, its
/// microbatch:
///   0 |F0F1F2F3.........B0----F4B1----
[[nodiscard]] std::string text_gantt(const TaskGraph& graph, const Timeline& timeline, SimTime end,
                                     const TextOptions& options);

} // namespace ppsim::viz
