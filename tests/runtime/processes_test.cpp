// Processes: how they are known, meet, gather, and compare clocks. Ranks are threads here.

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/launch.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <string>

#include "runtime/processes/processes.hpp"
#include "runtime/thread_messages.hpp"

namespace ppsim::runtime::processes_test {

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

TEST_CASE("A process reads its rank from the launchers' variables", "[processes]") {
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

TEST_CASE("A batch script, and variables without a number, start no processes", "[processes]") {
  CHECK_FALSE(launch(environment({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})).has_value());
  CHECK_FALSE(launch(environment({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})).has_value());
  CHECK_FALSE(launch(environment({{"OMPI_COMM_WORLD_RANK", "x1"}})).has_value());
  CHECK_FALSE(launch(environment({{"OMPI_COMM_WORLD_RANK", ""}})).has_value());
}

TEST_CASE("Messages are gathered by rank, including empty ones", "[processes]") {
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

TEST_CASE("A broadcast from rank 0 reaches all ranks", "[processes]") {
  std::atomic<int> right = 0;
  run_ranks(3, [&](MessagePassing& messages) {
    const Message mine = messages.rank() == 0 ? bytes_of("an id") : Message{};
    right += broadcast(messages, mine, patience()) == bytes_of("an id") ? 1 : 0;
  });
  CHECK(right == 3);
}

TEST_CASE("Offsets between clocks are measured within half of the shortest round trip", "[processes]") {
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

TEST_CASE("A wait for a missing peer ends", "[processes]") {
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

namespace {

/// Remembers the memory that messages use.
class RecordingMessages final : public ThreadMessages {
public:
  using ThreadMessages::ThreadMessages;
  Request isend(const void* data, std::size_t bytes, std::size_t to, int tag) override {
    used.push_back({reinterpret_cast<std::uintptr_t>(data), bytes});
    return ThreadMessages::isend(data, bytes, to, tag);
  }
  Request irecv(void* data, std::size_t capacity, std::size_t from, int tag) override {
    used.push_back({reinterpret_cast<std::uintptr_t>(data), capacity});
    return ThreadMessages::irecv(data, capacity, from, tag);
  }
  struct Memory {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
  };
  std::vector<Memory> used;
};

/// Whether memory of that size is still allocated.
bool is_taken(const RecordingMessages::Memory& memory) {
  std::vector<Message> others;
  for (std::size_t i = 0; i < 8; ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(others.emplace_back(memory.bytes).data());
    if (begin < memory.begin + memory.bytes && memory.begin < begin + memory.bytes) return false;
  }
  return true;
}

} // namespace

TEST_CASE("Memory of an abandoned message is never freed, because MPI may still write it", "[processes]") {
  constexpr std::uint64_t size = 1000;
  const GiveUp soon = patience(std::chrono::seconds{0});
  const auto hub = std::make_shared<ThreadHub>();
  hub->size = 2;
  hub->barriers.resize(2);
  SECTION("the leader receives the size, but not what follows") {
    ThreadMessages sender{hub, 1};
    static_cast<void>(sender.isend(&size, sizeof size, 0, number(Tag::gather)));
    RecordingMessages leader{hub, 0};
    CHECK_THROWS_WITH(gather(leader, {}, soon), "gave up");
    REQUIRE(leader.used.size() == 2);
    REQUIRE(leader.used[1].bytes == size);
    CHECK(is_taken(leader.used[1]));
  }
  SECTION("another rank's message is not taken") {
    ThreadMessages leader{hub, 0};
    std::uint64_t received = 0;
    const auto request = leader.irecv(&received, sizeof received, 1, number(Tag::gather)); // of the size only
    RecordingMessages sender{hub, 1};
    const GiveUp later = [&, n = 0]() mutable {
      if (n++ == 0)
        static_cast<void>(leader.test(request, nullptr));
      else if (sender.used.size() == 2)
        throw std::runtime_error("gave up");
    };
    CHECK_THROWS_WITH(gather(sender, Message(size), later), "gave up");
    REQUIRE(sender.used.size() == 2);
    REQUIRE(sender.used[1].bytes == size);
    CHECK(is_taken(sender.used[1]));
  }
}

} // namespace ppsim::runtime::processes_test
