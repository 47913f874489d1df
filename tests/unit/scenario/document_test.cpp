// Scenario documents: the order and the form in which keys, comments and tables are written.

#include "ppsim/scenario/document.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace ppsim::test::document_test {

using namespace std::chrono_literals;

TEST_CASE("A scenario document is written in order, comments above their keys, an empty line above tables") {
  ScenarioDocument document;
  document.add_comment("Made by hand");
  document.add("stages", "2");
  document.add_empty_line();
  document.add("forward", toml_list(std::vector<Duration>{1500us, 2ms}, toml_time), "By chunk");
  document.add_table("calibration");
  document.add("busy.forward", "[]", "Nothing was busy");
  document.add_table("[calibration.edges]");
  document.add("from", "0");
  document.add_table("[calibration.edges]");
  document.add("from", "1");
  CHECK(document.text() == "# Made by hand\nstages = 2\n\n# By chunk\nforward = [\"1.5 ms\", \"2 ms\"]\n"
                           "\n[calibration]\n# Nothing was busy\nbusy.forward = []\n"
                           "\n[[calibration.edges]]\nfrom = 0\n\n[[calibration.edges]]\nfrom = 1\n");
  CHECK(ScenarioDocument{}.text().empty());
}

TEST_CASE("A key that is set keeps its position and its comment; a new one follows the others, before the tables") {
  ScenarioDocument document;
  document.add("tokens", "8", "Of one microbatch");
  document.add("width", "4");
  document.add_table("scaled");
  document.add("heads", "2");
  document.set("tokens", "16");
  document.set("heads", "1");
  CHECK(document.text() == "# Of one microbatch\ntokens = 16\nwidth = 4\nheads = 1\n\n[scaled]\nheads = 2\n");
}

TEST_CASE("Keys of a scenario document are found, those of its tables are not") {
  ScenarioDocument document;
  document.add("mb", "4");
  document.add_table("scaled");
  document.add("from", "\"mlp\"");
  REQUIRE(document.find("mb") != nullptr);
  CHECK(document.find("mb")->value == "4");
  CHECK(document.find("from") == nullptr);
}

TEST_CASE("A comment is one line of UTF-8 for any input") {
  ScenarioDocument document;
  document.add("source", "\"log\"", "of \xC3\xBC\nstages = 9\x1B\xFF");
  CHECK(document.text() == "# of \xC3\xBC?stages = 9??\nsource = \"log\"\n");
}

} // namespace ppsim::test::document_test
