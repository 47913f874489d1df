// The pages of docs/schedules: one per schedule, each with a picture made by the command on the page.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/viz/svg.hpp"
#include "support/golden.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/commands.hpp"

namespace ppsim::test::schedule_pages_test {

namespace {

const std::filesystem::path pages_folder = ppsim::test::source_path("docs/schedules");
const std::filesystem::path pictures_folder = ppsim::test::source_path("docs/images/schedules");

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

/// The words between "`ppsim " and " --svg docs/images/schedules/NAME.svg`" on the page; empty without such a command.
std::vector<std::string> drawing_command(std::string_view page, std::string_view name) {
  const std::size_t end = page.find(fmt::format(" --svg docs/images/schedules/{}.svg`", name));
  if (end == std::string_view::npos) return {};
  constexpr std::string_view opening = "`ppsim ";
  const std::size_t begin = page.rfind(opening, end);
  if (begin == std::string_view::npos) return {};
  std::istringstream words{std::string{page.substr(begin + opening.size(), end - begin - opening.size())}};
  return {std::istream_iterator<std::string>{words}, {}};
}

/// The playground address for those words, with spaces as %20.
std::string link_to_playground(const std::vector<std::string>& words) {
  std::string address;
  for (const std::string& word : words) address += (address.empty() ? "" : "%20") + word;
  return fmt::format("[Try it](../pages/playground.html#args={})", address);
}

std::string drawn(const cli::Inputs& inputs) {
  BuiltRun run = build_run(inputs);
  const TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
  const Timeline timeline = simulate(graph);
  RunReport report = run_report(graph, timeline);
  if (graph.schedule().asynchronous()) static_cast<StepTime&>(report) = find_step_time(graph, report.makespan);
  return viz::svg_gantt(graph, timeline, report);
}

/// Names of the files in a folder that end in `extension`, without it.
std::set<std::string> names_in(const std::filesystem::path& folder, std::string_view extension) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{folder})
    if (entry.path().extension() == extension) names.insert(entry.path().stem().string());
  return names;
}

} // namespace

TEST_CASE("Every schedule has a page with an up-to-date picture") {
  for (const Generator* generator : generators()) {
    CAPTURE(generator->name);
    const std::string page = text_of(pages_folder / fmt::format("{}.md", generator->name));
    CHECK(page.starts_with(fmt::format("# {}\n", generator->name)));
    CHECK(page.find(fmt::format("](../images/schedules/{}.svg)", generator->name)) != std::string::npos);
    const std::vector<std::string> words = drawing_command(page, generator->name);
    CHECK_FALSE(words.empty());
    if (words.empty()) continue;
    const cli::Inputs inputs = cli::parse_arguments(cli::find_command("simulate"), words);
    CHECK(inputs.schedule == std::string{generator->name});
    CHECK(page.find(link_to_playground(words)) != std::string::npos);
    check_golden(fmt::format("../../docs/images/schedules/{}.svg", generator->name), drawn(inputs));
  }
}

TEST_CASE("The list of schedule pages names every schedule, and there are no extra pages or pictures") {
  const std::string list = text_of(pages_folder / "README.md");
  std::set<std::string> names;
  for (const Generator* generator : generators()) {
    names.emplace(generator->name);
    CAPTURE(generator->name);
    CHECK(list.find(fmt::format("[`{0}`]({0}.md)", generator->name)) != std::string::npos);
  }
  CHECK(names_in(pictures_folder, ".svg") == names);
  names.emplace("README");
  CHECK(names_in(pages_folder, ".md") == names);
}

} // namespace ppsim::test::schedule_pages_test
