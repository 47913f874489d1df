#pragma once
// Parts of the report of one run.

#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// A line per stage: how busy it is, why it is idle, what it holds; then the accounts of all of them, which add up.
[[nodiscard]] std::string stage_table(const RunReport& report, std::size_t width);
/// What was tried, the largest gains first; most stages and links of a large run together.
[[nodiscard]] std::string sensitivity_table(const RunReport& report, std::size_t width);
/// A row of characters per stage; empty when it would not be legible. A task is its pass and, where there is room, its
/// microbatch:
///   0 |F0F1F2F3.........B0----F4B1----
[[nodiscard]] std::string text_gantt(const TaskGraph& graph, const Timeline& timeline, SimTime end,
                                     const TextOptions& options);

} // namespace ppsim::viz
