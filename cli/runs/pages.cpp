#include "pages.hpp"

namespace ppsim::cli {

std::string title_of(const TaskGraph& graph) {
  return graph.scenario().title.empty() ? graph.headline() : graph.scenario().title;
}

std::string page_of(std::string command, std::span<const viz::Panel> runs, std::string text, std::string json) {
  const TaskGraph& first = runs.front().graph;
  const viz::Page page{.command = std::move(command),
                       .title = title_of(first),
                       .source = first.scenario().source,
                       .text = std::move(text),
                       .json = std::move(json)};
  return viz::html_page(page, runs);
}

} // namespace ppsim::cli
