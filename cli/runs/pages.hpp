#pragma once
// Pages: the output of --html.

#include "ppsim/study/evaluate.hpp"
#include "ppsim/viz/page.hpp"
#include "ppsim/viz/text.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace ppsim::cli {

/// The most runs on a page, so that they stay distinguishable.
inline constexpr std::size_t most_runs_on_page = 16;

/// Options of the report in a page.
inline constexpr viz::TextOptions page_text{};

/// The document of these runs (at least one). A title or source missing in `page` comes from the first run.
[[nodiscard]] std::string page_of(viz::Page page, std::span<const viz::Panel> runs);

/// The page of one simulated run.
[[nodiscard]] std::string simulated_page(const Evaluation& run);

/// The page of a measured run, after its prediction. `prediction`: null if there is none.
[[nodiscard]] std::string measured_page(viz::Page page, const TaskGraph& graph, const Timeline* prediction,
                                        const Timeline& timeline, const RunReport& report);

} // namespace ppsim::cli
