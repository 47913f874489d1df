#pragma once
// An interactive page: one HTML document with the runs, the report, and the scripts that show them. It needs no
// network.

#include "ppsim/viz/panel.hpp"

#include <span>
#include <string>

namespace ppsim::viz {

/// A page's content in addition to its runs.
struct Page {
  std::string command;     ///< "simulate"
  std::string title = {};  ///< of the work
  std::string source = {}; ///< of the costs; empty: unknown
  std::string text = {};   ///< the text report, without colour
  std::string json = {};   ///< the output of --json; empty: none
};

/// The data of a page as JSON (viz/html/README.md), without `<`, so that it cannot end an HTML element. Pure.
[[nodiscard]] std::string page_data(const Page& page, std::span<const Panel> runs);

/// The document. Pure: equal inputs give equal bytes.
[[nodiscard]] std::string html_page(const Page& page, std::span<const Panel> runs);

} // namespace ppsim::viz
