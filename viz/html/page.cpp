// The document of a page. Its policy allows our own scripts, by their hashes, and nothing else: no network, no script
// in a name. What comes from outside stands in the title, escaped, and in the data, in which no `<` stands.

#include "ppsim/viz/page.hpp"

#include <fmt/format.h>

#include <array>

#include "document.hpp"
#include "svg/svg_text.hpp"

namespace ppsim::viz {

namespace {

std::string policy(const Document& document) {
  std::string scripts;
  for (const Asset& script : document.scripts) scripts += fmt::format(" '{}'", script.hash);
  return fmt::format("default-src 'none'; script-src{}{}; style-src '{}'; img-src data: blob:; base-uri 'none'; "
                     "form-action 'none'",
                     scripts, document.compiles ? " 'wasm-unsafe-eval'" : "", page_style.hash);
}

} // namespace

std::string html_document(const Document& document) {
  std::string html = fmt::format(R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
)",
                                 policy(document), escaped(clean_text(document.title)));
  html.append("<style>").append(page_style.text).append("</style>\n</head>\n<body>\n").append(page_body);
  html.append(R"(<script type="application/json" id="data">)").append(document.data).append("</script>\n");
  for (const Asset& script : document.scripts) html.append("<script>").append(script.text).append("</script>\n");
  return html += "</body>\n</html>\n";
}

std::string html_page(const Page& page, std::span<const Panel> runs) {
  const std::array scripts{page_script};
  return html_document({.title = fmt::format("{} | ppsim {}", page.title, page.command),
                        .data = page_data(page, runs),
                        .scripts = scripts});
}

} // namespace ppsim::viz
