#pragma once
// Pages: what --html writes, of any command.

#include "ppsim/viz/page.hpp"
#include "ppsim/viz/text.hpp"

#include <span>
#include <string>

namespace ppsim::cli {

/// Runs of a page: more of them nobody tells apart.
inline constexpr std::size_t most_runs_on_page = 16;

/// How the report is made that stands in a page.
inline constexpr viz::TextOptions page_text{};

/// The document of these runs, of which there is one. `text` and `json` are what the command says without --html; the
/// title is that of the first run.
[[nodiscard]] std::string page_of(std::string command, std::span<const viz::Panel> runs, std::string text,
                                  std::string json);

/// What a chart of the run is headed with.
[[nodiscard]] std::string title_of(const TaskGraph& graph);

} // namespace ppsim::cli
