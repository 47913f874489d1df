// MemoryFiles: files and messages of commands for a caller; messages without a command line.

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "cli/files/files.hpp"
#include "cli/files/memory_files.hpp"
#include "cli/options/commands.hpp"
#include "cli/terminal/console.hpp"

namespace ppsim::test::memory_files_test {

using namespace ppsim::cli;

namespace {

std::vector<Assignment> flags_of(const std::vector<std::pair<std::string_view, std::string>>& said) {
  std::vector<Assignment> flags;
  for (const auto& [name, value] : said) flags.push_back({find_option(name), value, "`" + std::string{name} + "`"});
  return flags;
}

} // namespace

TEST_CASE("Arguments without a command line are equal to the command line") {
  const Command& command = find_command("simulate");
  const Inputs inputs = take_assignments(
      command, flags_of({{"stages", "4"}, {"mb", "8"}, {"title", "it is"}, {"forward-only", "true"}}), {});
  const Inputs parsed = parse_arguments(command, {"--stages", "4", "--mb", "8", "--title", "it is", "--forward-only"});
  CHECK(inputs.command == parsed.command);
  CHECK(inputs.stages == parsed.stages);
  CHECK(inputs.forward_only);
  CHECK(inputs.where == parsed.where);
  const Inputs check = take_assignments(find_command("check"), {}, {"order.csv"});
  CHECK(check.file == "order.csv");
  CHECK_THROWS_AS(take_assignments(command, flags_of({{"stages", "0"}}), {}), Error);
}

TEST_CASE("A command on files in memory reads, writes and notes there") {
  MemoryFiles files;
  files.put("order", "0F0,0B0\n");
  const CallScope scope{&files};
  const Command& command = find_command("simulate");
  const Inputs inputs =
      take_assignments(command, flags_of({{"schedule-file", "order"}, {"json", "memory:json"}, {"p2p", "group"}}), {});
  CHECK(command.run(inputs) == ExitCode::done);
  const std::optional<std::string> json = files.take("memory:json");
  REQUIRE(json);
  CHECK(json->find("\"makespan_ns\": 3000000") != std::string::npos);
  CHECK(files.take("-").value_or("").find("step time") != std::string::npos);
  CHECK_FALSE(files.take("-"));
  CHECK(files.notes() == std::vector<std::string>{"`p2p`: changes nothing without `transfer` streams"});
}

TEST_CASE("Names in memory are files outside a call") {
  CHECK(MemoryFiles::current() == nullptr);
  CHECK_THROWS_AS(require_writable("/no/such/memory:json", "--json"), Error);
}

} // namespace ppsim::test::memory_files_test
