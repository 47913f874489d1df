// Processes: how they are known, meet, gather, and compare clocks. Ranks are threads here.

#include "ppsim/runtime/launch.hpp"
#include "ppsim/sim/error.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <string>

#include "processes.hpp"
#include "runtime/thread_messages.hpp"

namespace ppsim::runtime {

namespace {

/// Gives up after some seconds, so that a test that would hang fails.
GiveUp patience(std::chrono::seconds limit = std::chrono::seconds{20}) {
  const auto end = std::chrono::steady_clock::now() + limit;
  return [end] {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("gave up");
  };
}

std::function<const char*(const char*)> environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

Message bytes_of(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

} // namespace

TEST_CASE("A process knows its rank from what launchers set", "[processes]") {
  CHECK_FALSE(launch(environment({})).has_value());
  const auto open_mpi = launch(environment({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}));
  REQUIRE(open_mpi);
  CHECK(open_mpi->rank == 2);
  CHECK(open_mpi->size == 4U);
  CHECK(launch(environment({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}))->rank == 1);
  const auto srun = launch(environment({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "8"}}));
  REQUIRE(srun);
  CHECK(srun->rank == 3);
  CHECK(srun->size == 8U);
  // Open MPI under SLURM: mpirun's ranks, not those of the daemons that srun started.
  CHECK(launch(environment({{"SLURM_PROCID", "0"},
                            {"SLURM_STEP_NUM_TASKS", "2"},
                            {"OMPI_COMM_WORLD_RANK", "5"},
                            {"OMPI_COMM_WORLD_SIZE", "8"}}))
            ->rank == 5);
}

TEST_CASE("A batch script, and variables that hold no number, start no processes", "[processes]") {
  CHECK_FALSE(launch(environment({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})).has_value());
  CHECK_FALSE(launch(environment({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})).has_value());
  CHECK_FALSE(launch(environment({{"OMPI_COMM_WORLD_RANK", "x1"}})).has_value());
  CHECK_FALSE(launch(environment({{"OMPI_COMM_WORLD_RANK", ""}})).has_value());
}

TEST_CASE("Messages are gathered by rank, the empty ones too", "[processes]") {
  run_ranks(4, [](MessagePassing& messages) {
    const Message mine = bytes_of(std::string(messages.rank(), 'a'));
    const std::vector<Message> all = gather(messages, mine, patience());
    if (messages.rank() != 0) {
      if (!all.empty()) throw std::runtime_error("only rank 0 gathers");
      return;
    }
    CHECK(all == std::vector{bytes_of(""), bytes_of("a"), bytes_of("aa"), bytes_of("aaa")});
  });
}

TEST_CASE("What rank 0 broadcasts reaches all", "[processes]") {
  std::atomic<int> right = 0;
  run_ranks(3, [&](MessagePassing& messages) {
    const Message mine = messages.rank() == 0 ? bytes_of("an id") : Message{};
    right += broadcast(messages, mine, patience()) == bytes_of("an id") ? 1 : 0;
  });
  CHECK(right == 3);
}

TEST_CASE("Clocks that are apart are read within half of the shortest round trip", "[processes]") {
  run_ranks(3, [](MessagePassing& messages) {
    const auto ahead = static_cast<std::int64_t>(messages.rank()) * 1'000'000'000;
    const auto now = [&] { return monotonic_now() + ahead; };
    const ClockReading reading = read_clock(messages, now, patience(), 50);
    if (messages.rank() == 0 && (reading.offset != 0 || reading.error != 0))
      throw std::runtime_error("rank 0 is ahead");
    if (std::abs(reading.offset - ahead) > reading.error)
      throw std::runtime_error("off by " + std::to_string(reading.offset - ahead));
    if (messages.rank() != 0 && reading.error <= 0) throw std::runtime_error("no bound");
  });
}

TEST_CASE("A wait for a peer that does not come is given up", "[processes]") {
  const auto alone = [](const std::function<void(MessagePassing&)>& body) {
    return [=](MessagePassing& messages) {
      if (messages.rank() == 0) body(messages);
    };
  };
  const GiveUp soon = patience(std::chrono::seconds{0});
  CHECK_THROWS_WITH(run_ranks(2, alone([&](auto& messages) { barrier(messages, soon); })), "gave up");
  CHECK_THROWS_WITH(run_ranks(2, alone([&](auto& messages) { static_cast<void>(gather(messages, {}, soon)); })),
                    "gave up");
  CHECK_THROWS_WITH(
      run_ranks(2, alone([&](auto& messages) { static_cast<void>(read_clock(messages, monotonic_now, soon)); })),
      "gave up");
}

} // namespace ppsim::runtime
