// Pages: columns byte by byte, the data of a run that fits on a pencilled page, and names that want to be scripts.

#include "ppsim/viz/page.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "viz/html/columns.hpp"
#include "viz/html/document.hpp"
#include "viz/html/json_text.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::test::page_test {

using namespace std::chrono_literals;
using Json = nlohmann::json;

namespace {

std::string bytes_of(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string packed(std::initializer_list<std::int64_t> values) {
  viz::Column column;
  for (const std::int64_t value : values) column.add(value);
  return column.bytes();
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Json data_of(const Outcome& outcome, std::string name = "1f1b") {
  const std::array<viz::Panel, 1> runs{{{outcome.graph, outcome.timeline, outcome.report, std::move(name)}}};
  return Json::parse(viz::page_data({.command = "simulate"}, runs));
}

/// Forwards of 1 ns, backwards of 2 ns, activations of 5 bytes:
///   0 [0][1]////[ 0  ]//[ 1  ]
///   1 //[0][ 0  ][1][ 1  ]////
Outcome two_by_two() {
  const Shape shape{2, 2, 1};
  Scenario scenario = uniform_scenario(shape, 1ns, 2ns, 0ns);
  scenario.memory.activation = {Bytes{5}, Bytes{5}};
  return run(order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}), scenario);
}

} // namespace

TEST_CASE("A column packs seven bits into a byte, and small numbers of both signs into one") {
  CHECK(packed({0, -1, 1, -2, 2}) == bytes_of({0, 1, 2, 3, 4}));
  CHECK(packed({63, -64, 64}) == bytes_of({126, 127, 0x80, 1}));
  CHECK(packed({300}) == bytes_of({0xD8, 4})); // 600 = 4 * 128 + 88
  const auto least = std::numeric_limits<std::int64_t>::min();
  CHECK(packed({least}) == bytes_of({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}));
}

TEST_CASE("Base64 is that of RFC 4648") {
  const std::string word = "foobar"; // its section 10
  const std::array<std::string_view, 7> of_beginnings{"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t length = 0; length <= word.size(); ++length)
    CHECK(viz::base64(word.substr(0, length)) == of_beginnings[length]);
  CHECK(viz::base64(bytes_of({0xFB, 0xFF, 0xBF})) == "+/+/");
}

TEST_CASE("JSON text is escaped correctly") {
  for (const std::string text :
       {"plain", "\"quotes\" and \\", "\n\t\x01\x7F", "\xC3\xA9 \xE2\x80\xA8", "</script><!--"})
    CHECK(Json::parse(viz::json_string(text)).get<std::string>() == text);
  CHECK(Json::parse(viz::json_string("a\xFF\x62")).get<std::string>() == "a\xEF\xBF\xBD\x62");
  CHECK(viz::JsonText{0.1}.text() == "0.1");
  CHECK(viz::JsonText{std::numeric_limits<double>::infinity()}.text() == "null");
  CHECK(viz::json_tuple(nullptr, 1, true, "a").text() == R"([null,1,true,"a"])");
  CHECK(viz::JsonObject{}.add("a", 1).add("b", viz::JsonObject{}.value()).value().text() == R"({"a":1,"b":{}})");
}

TEST_CASE("JSON loses the space between its values, but not in its strings") {
  CHECK(viz::compact("{\n  \"a b\": [1, 2],\r\n\t\"c\\\" d\": \"\\\\\"\n}\n") == R"({"a b":[1,2],"c\" d":"\\"})");
}

TEST_CASE("The columns of two stages and two microbatches") {
  const Json run = data_of(two_by_two()).at("runs").at(0);
  const Json& columns = run.at("columns");
  const auto holds = [&](const char* name, std::initializer_list<std::int64_t> values) {
    INFO(name);
    CHECK(columns.at(name) == viz::base64(packed(values)));
  };
  CHECK(run.at("offsets") == Json{0, 4, 8});
  CHECK(columns.at("kind") == viz::base64(bytes_of({0, 0, 1, 1, 0, 1, 0, 1})));
  CHECK(columns.at("cause") == viz::base64(bytes_of({0, 1, 4, 4, 3, 1, 1, 1})));
  holds("chunk", {0, 0, 0, 0, 1, 0, 0, 0});
  holds("microbatch", {0, 1, -1, 1, 0, 0, 1, 0});
  holds("start", {0, 0, 2, 1, 1, 0, 0, 0});
  holds("length", {1, 0, 2, 0, 1, 2, 0, 0});
  holds("released", {0, 1, -3, -4, 4, 1, 1, 1});
  holds("receiver", {4, 5, 0, 0, 0, -3, 0, -4});
  holds("transfer_start", {0, 0, 0, 0});
  holds("transfer_length", {0, 0, 0, 0});
  holds("idle_count", {2, 2});
  CHECK(columns.at("idle_label") == viz::base64(bytes_of({9, 9, 7, 13})));
  holds("idle_start", {2, 2, 0, 6});
  holds("idle_length", {2, -1, 1, 1});
  holds("idle_task", {3, 1, 5, -5});
  holds("memory_count", {5, 4});
  holds("memory_at", {0, 0, 1, 5, 3, 0, 1, 3, 3});
  holds("memory_live", {0, 1, 1, -1, -1, 0, 1, 0, -1});
  holds("memory_step", {0, 1, 1, 2, 2, 0, 1, 0, 2});
  CHECK(run.at("memory_steps") == Json{0, 5, -5});
  CHECK(columns.size() == 19); // no others: nothing is recomputed, and transfers start at once
}

TEST_CASE("The other data of a page about a run") {
  const Json data = data_of(two_by_two());
  CHECK(data.at("version") == 1);
  CHECK(data.at("answer").is_null());
  CHECK(data.at("labels").size() == label_count);
  CHECK(data.at("labels").at(9) == "downstream");
  CHECK(data.at("causes").at(4) == "gradient");
  CHECK(data.at("label_words").at("drain") == "after the last task");
  CHECK(data.at("label_words").size() == label_count - first_idle_label);
  const Json& run = data.at("runs").at(0);
  CHECK(run.at("makespan_ns") == 9);
  CHECK(run.at("memory_limit").is_null());
  CHECK(run.at("overflow").is_null());
  CHECK(run.at("metrics").at(0) == Json{{"tag", "makespan_ns"},
                                        {"name", metrics()[0].name},
                                        {"unit", "ns"},
                                        {"formula", metrics()[0].formula},
                                        {"description", metrics()[0].description},
                                        {"value", 9}});
  const Json& stage = run.at("per_stage").at(1);
  CHECK(stage.at("busy_ns") == 6);
  CHECK(stage.at("peak_bytes") == 5);
  CHECK(stage.at("peak_task") == 4);
  CHECK(stage.at("local") == Json{{"1", 0}});
  // 0F0, 1F0, 1B0, 1F1, 1B1, 0B1, and transfers without length between stages
  const Json& path = run.at("path");
  CHECK(path.front() == Json{0, 0, 0, 0});
  CHECK(path.back() == Json{3, 0, 4, 0});
}

TEST_CASE("Recomputation, links, reductions and overflow are in a page if a run has them") {
  const Shape shape{2, 2, 1};
  Scenario scenario = uniform_scenario(shape, 10ns, 20ns, 7ns);
  scenario.network.model = TransferModel::link;
  scenario.recompute.kind = RecomputeKind::full;
  scenario.recompute.time = {10ns, 10ns};
  scenario.recompute.checkpoint = {Bytes{1}, Bytes{1}};
  scenario.memory.activation = {Bytes{5}, Bytes{5}};
  scenario.memory.limit = Bytes{5};
  scenario.update.optimizer = {3ns, 4ns};
  const Json run = data_of(test::run(order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}), scenario)).at("runs").at(0);
  const Json& columns = run.at("columns");
  CHECK(columns.at("recompute") == viz::base64(packed({0, 0, 10, 10, 0, 10, 0, 10})));
  CHECK(columns.contains("transfer_released"));
  // 0B0 starts when 1B0 has: 10 + 7 + 10 + 10 + 20 + 7
  CHECK(run.at("overflow") == Json{{"stage", 0}, {"task", 2}, {"at_ns", 64}, {"needed", 6}});
  CHECK(run.at("optimizer").size() == 2);
  CHECK(run.at("optimizer").at(0).at(1) == 3);
}

TEST_CASE("Runs with fewer chunks than others take shades that lie apart") {
  const Outcome one = two_by_two();
  const Shape shape{2, 4, 4};
  const Outcome four = run(generate("interleaved", shape), uniform_scenario(shape, 1ns, 2ns, 0ns));
  const Shape folded{2, 4, 2};
  const Outcome two = run(generate("interleaved", folded), uniform_scenario(folded, 1ns, 2ns, 0ns));
  const std::array<viz::Panel, 3> panels{{{one.graph, one.timeline, one.report, "one"},
                                          {four.graph, four.timeline, four.report, "four", true},
                                          {two.graph, two.timeline, two.report, "two"}}};
  const Json data = Json::parse(viz::page_data({.command = "compare"}, panels));
  CHECK(data.at("palette").at("passes").at("F").size() == 4);
  CHECK(data.at("palette").at("white_text").at("W").size() == 4);
  const auto shades = [&](std::size_t run) { return data.at("runs").at(run).at("per_stage").at(1).at("local"); };
  CHECK(shades(0) == Json{{"1", 0}});
  CHECK(shades(1) == Json{{"1", 0}, {"3", 1}, {"5", 2}, {"7", 3}});
  CHECK(shades(2) == Json{{"1", 0}, {"3", 2}});
  CHECK(data.at("runs").at(1).at("recommended") == true);
}

TEST_CASE("No name becomes a script, ends one, or breaks the JSON") {
  const std::string hostile = "</script><script>alert(1)</script><!-- -- \" ' & \xE2\x80\xA8 \xFF \x01";
  const std::string clean = "</script><script>alert(1)</script><!-- -- \" ' & \xE2\x80\xA8 \xEF\xBF\xBD \x01";
  Outcome outcome = two_by_two();
  Scenario scenario = outcome.graph.scenario();
  scenario.title = hostile;
  outcome.graph = outcome.graph.with_costs(scenario);
  const std::array<viz::Panel, 1> runs{{{outcome.graph, outcome.timeline, outcome.report, hostile}}};
  const viz::Page page{
      .command = "simulate", .title = hostile, .source = hostile, .text = hostile, .json = R"({"a": "</script>"})"};
  const std::string html = viz::html_page(page, runs);

  CHECK(count_of(html, "<script") == 2); // the data, and ours
  CHECK(count_of(html, "</script>") == 2);
  CHECK(count_of(html, "<!--") == 0);
  CHECK(count_of(html, "<title>&lt;/script&gt;&lt;script&gt;alert(1)") == 1);

  constexpr std::string_view begin = R"(<script type="application/json" id="data">)";
  const std::size_t from = html.find(begin) + begin.size();
  const Json data = Json::parse(html.substr(from, html.find("</script>", from) - from));
  CHECK(data.at("title") == clean);
  CHECK(data.at("source") == clean);
  CHECK(data.at("text") == clean);
  CHECK(data.at("runs").at(0).at("name") == clean);
  CHECK(data.at("answer") == Json{{"a", "</script>"}});
}

TEST_CASE("A document allows its scripts by their hashes, and WebAssembly if requested") {
  const std::array<viz::Asset, 2> scripts{{{"one();\n", "sha256-one="}, {"two();\n", "sha256-two="}}};
  const viz::Document document{.title = "a", .data = "{}", .scripts = scripts};
  const std::string html = viz::html_document(document);
  CHECK(count_of(html, "default-src 'none'; script-src 'sha256-one=' 'sha256-two='; style-src 'sha256-") == 1);
  CHECK(count_of(html, "wasm") == 0);
  CHECK(html.find("<script>one();\n</script>\n<script>two();\n</script>") != std::string::npos);
  const std::string compiling = viz::html_document({.title = "a", .data = "{}", .scripts = scripts, .compiles = true});
  CHECK(count_of(compiling, "script-src 'sha256-one=' 'sha256-two=' 'wasm-unsafe-eval';") == 1);
}

} // namespace ppsim::test::page_test
