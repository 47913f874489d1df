#include "pages.hpp"

#include "ppsim/traces/json.hpp"

#include <array>
#include <optional>
#include <vector>

namespace ppsim::cli {

std::string page_of(viz::Page page, std::span<const viz::Panel> runs) {
  const TaskGraph& first = runs.front().graph;
  const Scenario& scenario = first.scenario();
  if (page.title.empty()) page.title = scenario.title.empty() ? first.headline() : scenario.title;
  if (page.source.empty()) page.source = scenario.source;
  return viz::html_page(page, runs);
}

std::string simulated_page(const Evaluation& run) {
  const std::array<viz::Panel, 1> runs{{{run.graph, run.timeline, run.report, run.graph.schedule().name()}}};
  return page_of({.command = "simulate",
                  .text = viz::text_report(run.graph, run.timeline, run.report, page_text),
                  .json = traces::report_json(run.graph, run.timeline, run.report, false)},
                 runs);
}

std::string measured_page(viz::Page page, const TaskGraph& graph, const Timeline* prediction, const Timeline& timeline,
                          const RunReport& report) {
  std::optional<RunReport> predicted;
  std::vector<viz::Panel> runs;
  if (prediction != nullptr)
    runs.push_back({graph, *prediction, predicted.emplace(run_report(graph, *prediction)), "predicted"});
  runs.push_back({graph, timeline, report, "measured"});
  return page_of(std::move(page), runs);
}

} // namespace ppsim::cli
