// The playground's page: the engine, the scripts and the controls in one document that works from a disk.
//   document SCRIPT HASH SCRIPT HASH ENGINE: two scripts with their sha256 in base64, and the module, which it
//   compiles.

#include "html/document.hpp"

#include "ppsim/schedule/generators.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "html/columns.hpp"
#include "html/json_text.hpp"

namespace {

/// Empty if it cannot be read; the build has just written it.
std::string content_of(const char* path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// The initial settings of the page.
std::string settings(const std::string& engine) {
  std::vector<std::string_view> names;
  for (const ppsim::Generator* generator : ppsim::generators()) names.push_back(generator->name);
  return ppsim::viz::JsonObject{}
      .add("schedules", ppsim::viz::json_list(names, std::identity{}))
      .add("engine", ppsim::viz::base64(engine))
      .value()
      .text();
}

} // namespace

int main(int count, char** words) {
  constexpr int wanted = 6;
  if (count != wanted) return 2;
  const std::string glue = content_of(words[1]);
  const std::string knobs = content_of(words[3]);
  const std::string engine = content_of(words[5]);
  if (glue.empty() || knobs.empty() || engine.empty()) return 1;
  const std::string glue_hash = std::string{"sha256-"} + words[2];
  const std::string knobs_hash = std::string{"sha256-"} + words[4];
  const std::vector<ppsim::viz::Asset> scripts{ppsim::viz::page_script, {glue, glue_hash}, {knobs, knobs_hash}};
  const std::string html = ppsim::viz::html_document(
      {.title = "ppsim playground", .data = settings(engine), .scripts = scripts, .compiles = true});
  return std::fwrite(html.data(), 1, html.size(), stdout) == html.size() ? 0 : 1;
}
