#pragma once
// Pages: what --html writes.

#include "ppsim/study/evaluate.hpp"
#include "ppsim/viz/page.hpp"
#include "ppsim/viz/text.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace ppsim::cli {

/// Runs of a page, at most: nobody tells more of them apart.
inline constexpr std::size_t most_runs_on_page = 16;

/// How the report is made that stands in a page.
inline constexpr viz::TextOptions page_text{};

/// The document of these runs, one at least. A title or source that `page` does not say is that of the first run.
[[nodiscard]] std::string page_of(viz::Page page, std::span<const viz::Panel> runs);

/// That of one simulated run.
[[nodiscard]] std::string simulated_page(const Evaluation& run);

/// That of a run that took place, behind the prediction for it. `prediction`: null where there is none.
[[nodiscard]] std::string measured_page(viz::Page page, const TaskGraph& graph, const Timeline* prediction,
                                        const Timeline& timeline, const RunReport& report);

} // namespace ppsim::cli
