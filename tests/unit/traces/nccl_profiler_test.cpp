// Dumps of NCCL's example profiler plugin: what a transfer took, without the time that it waited. Lines have the form
// of its print_event.cc, of several releases.

#include "ppsim/base/error.hpp"
#include "ppsim/base/units.hpp"
#include "support/golden.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "traces/imports/lists/nccl_profiler.hpp"

namespace ppsim::test::nccl_profiler_test {

using namespace ppsim::traces;

namespace {

constexpr std::uint64_t communicator = 12715772615376301750U;

std::string p2p(bool is_send, int rank, int peer, std::int64_t count, const std::string& inside) {
  const char* const name = is_send ? "Send" : "Recv";
  return fmt::format(
      "{{\"name\": \"{0}\", \"cat\": \"P2P_API\", \"ph\": \"b\", \"id\": 0, \"pid\": 3937375, \"tid\": 1, \"ts\": "
      "0.000000, "
      "\"args\": {{\"count\": {3}, \"datatype\": ncclFloat32, \"GraphCaptured\":0, \"Stream\": 0x4142e90}}}},\n"
      "{{\"name\": \"{0}\", \"cat\": \"P2P\", \"ph\": \"b\", \"id\": 0, \"pid\": 3937375, \"tid\": 1, \"ts\": "
      "1818542.097656, \"args\": {{\"CommHash\": {5}, \"Rank\": {1}, \"Peer\": {2}, \"Count\": {3}, \"Datatype\": "
      "\"ncclFloat32\", \"nChannels\": 16}}}},\n{4}"
      "{{\"name\": \"{0}\", \"cat\": \"P2P\", \"ph\": \"e\", \"id\": 0, \"pid\": 3937375, \"tid\": 1, \"ts\": "
      "1818670.567871}},\n",
      name, rank, peer, count, inside, communicator);
}

std::string kernel(int channel, std::uint64_t start, std::uint64_t stop) {
  return fmt::format(
      "{{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"b\", \"id\": 0, \"pid\": 1, \"tid\": 1, \"ts\": "
      "119711.888000, \"args\": {{\"Channel\": {}, \"StartGpuClk\": {}, \"StopGpuClk\": {}}}}},\n"
      "{{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"e\", \"id\": 0, \"pid\": 1, \"tid\": 1, \"ts\": "
      "0.000000}},\n",
      channel, start, stop);
}

std::string stretch(const char* name, const char* category, int id, double from, double to) {
  return fmt::format(
      "{{\"name\": \"{0}\", \"cat\": \"{1}\", \"ph\": \"b\", \"id\": {2}, \"pid\": 1, \"tid\": 1, \"ts\": "
      "{3:f}, \"args\": {{\"Step\": 0}}}},\n"
      "{{\"name\": \"{0}\", \"cat\": \"{1}\", \"ph\": \"e\", \"id\": {2}, \"pid\": 1, \"tid\": 1, \"ts\": "
      "{4:f}}},\n",
      name, category, id, from, to);
}

NcclDump read(const std::string& text) {
  const std::vector<ImportFile> files{{"dump.json", text}};
  return read_nccl_dump(files, {});
}

Imported import(const std::string& text) {
  const std::vector<ImportFile> files{{"dump.json", text}};
  return import_nccl_profiler(files, {});
}

std::string refusal(const std::string& text) {
  try {
    (void)import(text);
  } catch (const Error& error) {
    return error.problems().front().where + ": " + error.problems().front().what;
  }
  return "";
}

const NcclTransfers& link(const NcclDump& dump, int sender, int receiver, std::int64_t bytes) {
  return dump.links.at({communicator, sender, receiver, bytes});
}

} // namespace

TEST_CASE("A transfer's time is that of its kernel, from the first channel's start to the last one's end") {
  const NcclDump dump = read(
      "[\n" +
      p2p(true, 0, 1, 256,
          kernel(0, 1756135989724672000, 1756135989732831232) + kernel(1, 1756135989724672032, 1756135989732831300)) +
      p2p(false, 1, 0, 256, kernel(0, 500, 900)) + "{}]\n");
  CHECK(link(dump, 0, 1, 1024).sends == std::vector<std::int64_t>{8159300});
  CHECK(link(dump, 0, 1, 1024).receives == std::vector<std::int64_t>{400});
}

TEST_CASE("The processor's launch time does not count as transfer time") {
  // As in dumps of one node: the end of the kernel is not there, and a gigabyte would take 128 us.
  const std::string text = "[\n" + p2p(true, 0, 1, 268435456, kernel(16, 1765223116927674080, 0)) + "{}]\n";
  CHECK(read(text).links.empty());
  CHECK_THAT(refusal(text), Catch::Contains("dump.json: it has no send or receive whose time on the device is known"));
}

TEST_CASE("For a send through a network, only the time with data in flight counts") {
  // 100 us of proxy; waiting for the peer 0-40 (alone), for the GPU 40-50 and 60-70, sending 50-65 and 70-100.
  const std::string inside =
      stretch("ScheduleSend", "PROXY", 1, 900, 1000) +
      "{\"name\": \"ProgressSend\", \"cat\": \"PROXY\", \"ph\": \"b\", \"id\": 1, \"ts\": 1000.0},\n" +
      stretch("SendPeerWait", "NET", 4, 1000, 1040) + stretch("SendGpuWait", "NET", 4, 1040, 1050) +
      stretch("SendWait", "NET", 4, 1050, 1065) + stretch("SendGpuWait", "NET", 5, 1060, 1070) +
      stretch("SendWait", "NET", 5, 1070, 1100) +
      "{\"name\": \"ProgressSend\", \"cat\": \"PROXY\", \"ph\": \"e\", \"id\": 1, \"ts\": 1100.0},\n";
  const NcclDump dump = read("[\n" + p2p(true, 0, 1, 256, inside + kernel(0, 100, 900'000)) + "{}]\n");
  CHECK(link(dump, 0, 1, 1024).sends == std::vector<std::int64_t>{45'000});
}

TEST_CASE("Of both sides of a transfer the shorter counts, matched from the last one backwards") {
  // The receiver's dump has lost its first event; its waits are long.
  using Times = std::vector<std::int64_t>;
  CHECK(transfer_times({{10, 20, 900}, {500, 30}}).times == Times{10, 20, 30});
  CHECK(transfer_times({{10, 20, 900}, {500, 30}}).one_sided == 1);
  CHECK(transfer_times({{7}, {}}).times == Times{7});
  CHECK(transfer_times({{500, 30}, {10, 20, 900}}).times == Times{10, 20, 30});
  // The second send's time was not recorded: its receive is alone, and the others have their own peers.
  CHECK(transfer_times({{10, 0, 20}, {900, 50, 800}}).times == Times{10, 20, 50});
  CHECK(transfer_times({{10, 0, 20}, {900, 50, 800}}).one_sided == 1);
  CHECK(transfer_times({{0, 5}, {0, 6}}).times == Times{5});
}

TEST_CASE("A transfer without a time keeps its position among the others") {
  const NcclDump dump = read("[\n" + p2p(true, 0, 1, 256, kernel(0, 100, 110)) + p2p(true, 0, 1, 256, "") +
                             p2p(true, 0, 1, 256, kernel(0, 100, 120)) + "{}]\n");
  CHECK(link(dump, 0, 1, 1024).sends == std::vector<std::int64_t>{10, 0, 20});
  const std::string unknown = p2p(true, 0, 1, 256, "");
  const std::string cut = unknown.substr(0, unknown.find("{\"name\": \"Send\", \"cat\": \"P2P\", \"ph\": \"e\""));
  const NcclDump without_end = read("[\n" + p2p(true, 0, 1, 256, kernel(0, 100, 110)) + cut +
                                    p2p(true, 0, 1, 256, kernel(0, 100, 120)) + "{}]\n");
  CHECK(link(without_end, 0, 1, 1024).sends == std::vector<std::int64_t>{10, 0, 20});
}

TEST_CASE("Latency and bandwidth follow from transfers of several sizes") {
  std::map<std::int64_t, double> times;
  for (const std::int64_t bytes : {1'000, 1'000'000, 100'000'000})
    times[bytes] = 5000 + static_cast<double>(bytes) / 25;
  const std::optional<LinkFit> fit = fit_transfers(times);
  REQUIRE(fit);
  CHECK(fit->latency == Duration{5000});
  CHECK(static_cast<double>(fit->bandwidth.value().bytes_per_second()) == Approx(25e9));
  CHECK_FALSE(fit_transfers({{1000, 10.0}, {1100, 11.0}}));
  CHECK_FALSE(fit_transfers({{1000, 10.0}, {100000, 10.0}}));
  const std::optional<LinkFit> through_zero = fit_transfers({{1000, 10.0}, {10000, 200.0}}); // more than in proportion
  REQUIRE(through_zero);
  CHECK(through_zero->latency == Duration{0});
  CHECK(through_zero->bandwidth);
  CHECK_FALSE(fit_transfers({}));
}

TEST_CASE("A dump gives latency, bandwidth and the most frequent transfer size") {
  std::string text = "[\n";
  for (int i = 0; i < 3; ++i) text += p2p(true, 0, 1, 25'000'000, kernel(0, 1000, 1000 + 1'002'000)); // 100 MB in 1 ms
  text += p2p(true, 0, 1, 250, kernel(0, 1000, 1000 + 2'010));                                        // 1 kB in 2 us
  const Imported imported = import(text + "{}]\n");
  REQUIRE(imported.costs.entries.size() == 3);
  CHECK(imported.costs.entries[0].key == "latency");
  CHECK(imported.costs.entries[0].value == "\"2000ns\"");
  CHECK(imported.costs.entries[1].key == "bandwidth");
  CHECK(imported.costs.entries[1].value == "\"100.000GB/s\"");
  CHECK(imported.costs.entries[2].key == "boundary-bytes");
  CHECK(imported.costs.entries[2].value == "\"100000000B\"");
  CHECK(imported.runs.empty());
  CHECK(imported.notes.back() ==
        "only one side of 4 transfers is in the files: their times may include waiting for the other side");
  for (const ScenarioDocument::Entry& entry : imported.costs.entries) {
    const std::string_view value = std::string_view{entry.value}.substr(1, entry.value.size() - 2);
    CHECK((parse_duration(value) || parse_bandwidth(value) || parse_bytes(value)));
  }
}

TEST_CASE("One size gives the time of its transfers") {
  const Imported imported = import("[" + p2p(true, 0, 1, 256, kernel(0, 10, 5010)) + "{}]");
  CHECK(imported.costs.entries[0].key == "comm");
  CHECK(imported.costs.entries[0].value == "\"5000ns\"");
}

TEST_CASE("Dumps may have comments, blank lines and a missing end") {
  const std::string text = "// rank 0 of 2\n[\n\n/* first\n step */\n" +
                           p2p(true, 0, 1, 256, "\n" + kernel(0, 10, 5010)) +
                           "{\"name\": \"Recv\", \"cat\": \"P2P\", \"ph\": \"b\", \"id\"";
  const NcclDump dump = read(text);
  CHECK(link(dump, 0, 1, 1024).sends.size() == 1);
  CHECK(dump.dropped.at("events that are cut off") == 1);
}

TEST_CASE("Files that are not dumps are refused with the line") {
  CHECK(refusal("") == "dump.json:1: this is not a dump of the profiler plugin: it has no events");
  CHECK(refusal("[\n{}\nhello") == "dump.json:3: expected an event, got 'hello'");
  CHECK(refusal("[\n/* ") == "dump.json:2: this comment has no end");
  CHECK(refusal("[\n{}]") == "dump.json: it has no send or receive");
  CHECK(refusal("[\n{\"name\": \"Send\", \"cat\": \"P2P\", \"ph\": \"b\", \"args\": {\"Rank\": 0, \"Peer\": -1, "
                "\"Count\": 3}},\n]") == "dump.json:2: a send or receive without valid Rank, Peer and Count");
}

TEST_CASE("The sample's latency and bandwidth follow despite its waits") {
  std::ifstream file{ppsim::test::source_path("traces/samples/nccl-profiler-sendrecv.json")};
  const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  const Imported imported = import(text);
  CHECK(imported.dropped.empty());
  CHECK(imported.costs.entries.at(0).value == "\"9199ns\""); // 9.2 us of times in whole nanoseconds
  CHECK(imported.costs.entries.at(1).value == "\"24.500GB/s\"");
  CHECK(imported.costs.entries.at(2).value == "\"8388608B\"");
  CHECK(imported.notes.size() == 3);
}

} // namespace ppsim::test::nccl_profiler_test
