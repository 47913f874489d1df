#pragma once
// A page to look into: one HTML document with the runs, the report, and the scripts that show them. It needs no
// network.

#include "ppsim/viz/panel.hpp"

#include <span>
#include <string>

namespace ppsim::viz {

/// What a page shows beside its runs.
struct Page {
  std::string command;     ///< "simulate"
  std::string title = {};  ///< of the work
  std::string source = {}; ///< of the costs; empty: not said
  std::string text = {};   ///< the report for people, without colour
  std::string json = {};   ///< what --json gives; empty: nothing
};

/// The data of a page as JSON (docs/formats.md), in which no `<` stands, so that it can end no element of HTML. Pure.
[[nodiscard]] std::string page_data(const Page& page, std::span<const Panel> runs);

/// The document. Pure: the same inputs give the same bytes.
[[nodiscard]] std::string html_page(const Page& page, std::span<const Panel> runs);

} // namespace ppsim::viz
