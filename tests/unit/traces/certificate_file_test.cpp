// Certificate files: round trips, and checks of every value in a file.

#include "ppsim/traces/certificate_file.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace ppsim::test::certificate_file_test {

namespace {

Certificate full_certificate() {
  Certificate certificate;
  certificate.title = "one \"stage\"";
  certificate.command = "by hand";
  certificate.instance = {
      .microbatches = 2,
      .capacity = {3, std::nullopt},
      .sequences = {{"F0", 0, Duration{1}, 2, 1, Duration{0}}, {"B0", 0, Duration{2}, 1, 2, Duration{4}}},
      .arcs = {{0, 1, Duration{7}}}};
  certificate.order = {{0, 1, 0, 1}, {}};
  certificate.makespan = Duration{24};
  certificate.lower_bound = Duration{15};
  certificate.cases = {{0, 1, 1, Duration{5}}, {1, 0, 0, Duration{6}, {0, 1}}};
  return certificate;
}

std::string replaced_in_file(std::string_view part, std::string_view by) {
  std::string text = traces::write_certificate(full_certificate());
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

/// "where: what", of the first fault that is found where `part` stands as `by`.
std::string fault_with(std::string_view part, std::string_view by) {
  try {
    static_cast<void>(traces::read_certificate(replaced_in_file(part, by), "c.json"));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK_FALSE(error.problems().front().hint.empty());
    return error.problems().front().where + ": " + error.problems().front().what;
  }
  return "nothing";
}

} // namespace

TEST_CASE("A certificate is read as it was written") {
  const Certificate certificate = full_certificate();
  const std::string text = traces::write_certificate(certificate);
  CHECK(traces::read_certificate(text, "c.json") == certificate);
  Certificate bare = certificate;
  bare.title.clear();
  bare.command.clear();
  bare.order.reset();
  bare.makespan.reset();
  bare.cases.clear();
  bare.instance.arcs.clear();
  CHECK(traces::read_certificate(traces::write_certificate(bare), "c.json") == bare);
}

TEST_CASE("Unknown keys of a certificate are skipped, and a proof may be missing") {
  CHECK(fault_with("\"schema\"", "\"by\": [{\"a\": 1}], \"schema\"") == "nothing");
  CHECK(fault_with("\"cases\": [\n      [0,1,1,5],\n      [1,0,0,6,0,1]\n    ]", "") == "nothing");
}

TEST_CASE("Errors in a certificate are reported with their place") {
  CHECK(fault_with("{\n", "") == "c.json:1:11: this is not JSON");
  CHECK(fault_with("\"kind\": \"ppsim-certificate\"", "\"kind\": \"run\"") ==
        "c.json: /kind: it is '\"run\"', not \"ppsim-certificate\"");
  CHECK(fault_with("\"schema\": 1", "\"schema\": 2") == "c.json: /schema: it is '2', but this ppsim reads schema 1");
  CHECK(fault_with("\"microbatches\": 2", "\"microbatches\": 2.5") ==
        "c.json: /instance/microbatches: '2.5' is not a whole number");
  CHECK(fault_with("\"microbatches\": 2", "\"microbatches\": 40000") ==
        "c.json: /instance/microbatches: 40000 is out of range");
  CHECK(fault_with("\"microbatches\": 2", "\"batches\": 2") == "c.json: /instance: the key 'microbatches' is missing");
  CHECK(fault_with("[3,null]", "{\"0\": 3}") == "c.json: /instance/capacity: it is object, not a list");
  CHECK(fault_with("\"stage\":0", "\"stage\":-1") == "c.json: /instance/sequences/0/stage: -1 is below 0");
  CHECK(fault_with("\"stage\":0", "\"stage\":9") == "c.json: /instance/sequences/0/stage: 9 does not exist");
  CHECK(fault_with("\"F0\"", "\"F\\u001b\"") == "c.json: /instance/sequences/0/name: 'F\\x1b' cannot be shown");
  CHECK(fault_with("[0,1,7]", "[0,1]") == "c.json: /instance/arcs/0: it is not a list of 3 numbers");
  CHECK(fault_with("[0,1,7]", "[0,1,9223372036854775808]") ==
        "c.json: /instance/arcs/0/2: '9223372036854775808' is not a whole number");
  CHECK(fault_with("[0,1,7]", "[0,1,1e999]") == "c.json: a number in it is out of range");
  CHECK(fault_with("[0,1,0,1]", "[0,1,0,2]") == "c.json: /order/0/3: 2 does not exist");
  CHECK(fault_with("[0,1,0,1]", "7") == "c.json: /order/0: it is number, not a list");
  CHECK(fault_with("[0,1,1,5]", "[2,1,1,5]") == "c.json: /proof/cases/0/0: 2 does not exist");
  CHECK(fault_with("[0,1,1,5]", "[0,1,1]") == "c.json: /proof/cases/0: it is not a list of 4 or 6 numbers");
  CHECK(fault_with("[1,0,0,6,0,1]", "[1,0,0,6,0,0]") == "c.json: /proof/cases/1/5: 0 is out of range");
  CHECK(fault_with("[1,0,0,6,0,1]", "[1,0,0,6,0]") == "c.json: /proof/cases/1: it is not a list of 4 or 6 numbers");
  CHECK(fault_with("\"makespan\": 24", "\"makespan\": null") == "c.json: /makespan: it is missing");
}

TEST_CASE("All errors in a certificate are reported together") {
  try {
    static_cast<void>(traces::read_certificate(
        R"({"schema": 1, "kind": "ppsim-certificate", "instance": {"capacity": 1}, "order": null, "makespan": null})",
        "c"));
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.problems().size() == 5); // microbatches, capacity, sequences, arcs, lower_bound
  }
}

TEST_CASE("A verdict as JSON contains the results") {
  const Certificate certificate = full_certificate();
  const std::string text = traces::certificate_verdict_json(certificate, check_certificate(certificate));
  CHECK(text.find("\"makespan_ns\": 24") != std::string::npos);
  CHECK(text.find("\"lower_bound_ns\": 15") != std::string::npos);
}

} // namespace ppsim::test::certificate_file_test
