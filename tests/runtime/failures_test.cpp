// Messages when processes of a run fail. Ranks are threads here.

#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "runtime/stage/failures.hpp"
#include "runtime/thread_messages.hpp"

namespace ppsim::runtime::failures_test {

namespace {

constexpr FailureLimits quick{std::chrono::milliseconds{300}, std::chrono::milliseconds{300}};

FailureReport own_fault(const std::string& where) {
  return {true, {{where, "broke", "mend it"}}};
}
FailureReport waited(const std::string& where) {
  return {false, {{where, "waited", ""}}};
}

std::string in_one_line(const Error& error) {
  std::string line;
  for (const Problem& problem : error.problems()) line += problem.where + ": " + problem.what + "; ";
  return line;
}

/// Runs as many ranks as `first` has; each fails with its report, those that have none are silent, and those that wait
/// look until they are told. What rank 0 says, or, where it is silent, rank 1.
std::string said(const std::vector<std::optional<FailureReport>>& reports) {
  std::string said;
  run_ranks(reports.size(), [&](MessagePassing& messages) {
    Failures failures{messages, quick};
    const std::optional<FailureReport>& mine = reports[messages.rank()];
    if (!mine) return;
    if (!mine->is_cause && messages.rank() != 1)
      for (int i = 0; i < 1000 && !failures.look(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    const Error error = failures.conclude(*mine);
    if (messages.rank() == (reports[0] ? 0U : 1U)) said = in_one_line(error);
  });
  return said;
}

} // namespace

TEST_CASE("The report names the rank that failed, not those that waited for it", "[failures]") {
  CHECK(said({waited("rank 0"), waited("rank 1"), own_fault("rank 2")}) == "rank 2: broke; ");
  CHECK(said({own_fault("rank 0"), waited("rank 1"), waited("rank 2")}) == "rank 0: broke; ");
}

TEST_CASE("A rank that does not answer is named first, then what the others waited for", "[failures]") {
  CHECK(
      said({waited("rank 0"), waited("rank 1"), std::nullopt}) ==
      "rank 2: does not answer: it is stopped, gone, or in a task that does not end; rank 0: waited; rank 1: waited; ");
}

TEST_CASE("If rank 0 does not answer, rank 1 reports", "[failures]") {
  CHECK(said({std::nullopt, waited("rank 1")}) ==
        "rank 1: waited; rank 0: does not answer: it is stopped, gone, or in a task that does not end; ");
}

TEST_CASE("A report that is too long for its message is truncated", "[failures]") {
  FailureReport long_one{true, {}};
  for (int i = 0; i < 20; ++i) long_one.problems.push_back({"rank 1", std::string(600, 'x'), ""});
  const std::string line = said({waited("rank 0"), long_one});
  CHECK(line.starts_with("rank 1: " + std::string(500, 'x') + "; rank 1: x"));
  CHECK(line.size() < 4096);
}

} // namespace ppsim::runtime::failures_test
