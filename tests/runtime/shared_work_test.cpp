// Shared work: results arrive in order, independent of the process that computes them. Ranks are threads here.

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/processes/shared_work.hpp"
#include "runtime/thread_messages.hpp"

namespace ppsim::runtime::shared_work_test {

namespace {

/// Gives up after some seconds, so that a test that would hang fails.
GiveUp patience() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  return [end] {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("gave up");
  };
}

/// The numbers of a range, a line each.
std::string lines_of(WorkRange range) {
  std::string lines;
  for (std::uint64_t number = range.begin; number < range.end; ++number) lines += std::to_string(number) + "\n";
  return lines;
}

} // namespace

TEST_CASE("Results of several processes arrive in order, each number once") {
  for (const std::size_t ranks : {1U, 2U, 5U}) {
    std::string taken;
    std::atomic<std::uint64_t> made_elsewhere = 0;
    run_ranks(ranks, [&](MessagePassing& messages) {
      Liveness liveness{messages};
      const auto make = [&](WorkRange range) {
        if (messages.rank() != 0) made_elsewhere += range.end - range.begin;
        if (range.begin % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1}); // out of order
        return lines_of(range);
      };
      const auto take = [&](WorkRange, const std::string& made) {
        taken += made;
        return true;
      };
      // only the first process knows what there is to do
      share_work(liveness, messages.rank() == 0 ? WorkRange{3, 5000} : WorkRange{}, make, take, patience());
    });
    CHECK(taken == lines_of({3, 5000}));
    CHECK((made_elsewhere > 0) == (ranks > 1));
  }
}

TEST_CASE("Work ends if no more results are wanted, and without any work") {
  for (const std::uint64_t end : {std::uint64_t{1'000'000}, std::uint64_t{0}}) {
    std::uint64_t taken = 0;
    run_ranks(3, [&](MessagePassing& messages) {
      Liveness liveness{messages};
      const auto take = [&](WorkRange range, const std::string&) {
        taken = range.end;
        return taken < 100;
      };
      share_work(liveness, {0, end}, lines_of, take, patience());
    });
    CHECK(taken < 5000);
    CHECK((taken >= 100) == (end > 0));
  }
}

TEST_CASE("One slow range blocks the others before too many results are stored") {
  std::atomic<std::uint64_t> furthest = 0;
  std::uint64_t taken = 0;
  run_ranks(2, [&](MessagePassing& messages) {
    Liveness liveness{messages};
    const auto make = [&](WorkRange range) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{500};
      while (range.begin == 0 && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      if (range.begin > furthest) furthest = range.begin;
      return std::string{};
    };
    const auto take = [&](WorkRange range, const std::string&) {
      if (range.begin == 0) CHECK(furthest < 70'000);
      taken = range.end;
      return true;
    };
    share_work(liveness, {0, 200'000}, make, take, patience());
  });
  CHECK(taken == 200'000);
}

TEST_CASE("All processes get the results of every round, even if some start the next one late") {
  for (const std::size_t ranks : {1U, 2U, 5U}) {
    std::atomic<std::size_t> made_elsewhere = 0;
    std::atomic<bool> all_right = true; // only one thread may check
    run_ranks(ranks, [&](MessagePassing& messages) {
      Liveness liveness{messages};
      std::string before;
      for (std::size_t round = 0; round < 20; ++round) {
        if (round % ranks == messages.rank()) std::this_thread::sleep_for(std::chrono::milliseconds{2});
        const std::size_t count = 13 * round; // the first has nothing
        const auto make = [&](std::size_t i) {
          if (messages.rank() != 0) ++made_elsewhere;
          if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds{300}); // out of order
          return std::string(i % 3, '+') + before + std::to_string(i);
        };
        const std::vector<std::string> all = share_round(liveness, count, 1 + round % 2, make, patience());
        std::vector<std::string> expected;
        for (std::size_t i = 0; i < count; ++i)
          expected.push_back(std::string(i % 3, '+') + before + std::to_string(i));
        if (all != expected) all_right = false;
        before = all.empty() ? "" : std::to_string(all.size());
      }
    });
    CHECK(all_right);
    CHECK((made_elsewhere > 0) == (ranks > 1));
  }
}

namespace {

struct Dies {};

/// Signs of life come often, so that a test need not wait for long. Rank 2 of three dies in its `third` range.
template <class Body>
void lose_one(const Body& body) {
  run_ranks(3, [&](MessagePassing& messages) {
    Liveness liveness{messages, {.silence = std::chrono::milliseconds{400}, .beat = std::chrono::milliseconds{20}}};
    int made = 0;
    const auto work = [&] {
      if (messages.rank() == 2 && ++made == 3) throw Dies{};
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    };
    try {
      body(liveness, work);
    } catch (const Dies&) {
    }
  });
}

} // namespace

TEST_CASE("Another process repeats the work of a lost process") {
  std::string taken;
  bool any_lost = false;
  lose_one([&](Liveness& liveness, const auto& work) {
    const auto make = [&](WorkRange range) {
      work();
      return lines_of(range);
    };
    const auto take = [&](WorkRange, const std::string& made) {
      taken += made;
      return true;
    };
    share_work(liveness, {0, 10'000}, make, take, patience());
    if (liveness.messages().rank() == 0) any_lost = liveness.was_lost(2) && !liveness.was_lost(1);
  });
  CHECK(taken == lines_of({0, 10'000}));
  CHECK(any_lost);
}

TEST_CASE("Rounds continue without a lost process, and the remaining ones are informed") {
  std::atomic<int> right = 0, told = 0;
  lose_one([&](Liveness& liveness, const auto& work) {
    for (std::size_t round = 0; round < 5; ++round) {
      const auto make = [&](std::size_t i) {
        work();
        return std::to_string(round + i);
      };
      const std::vector<std::string> all = share_round(liveness, 20, 1, make, patience());
      if (all.size() == 20 && all[19] == std::to_string(round + 19)) ++right;
    }
    if (liveness.any_lost()) ++told;
  });
  CHECK(right >= 10);
  CHECK(told == 2);
}

TEST_CASE("A process that works for a long time does not count as lost") {
  std::atomic<bool> any_lost = false;
  run_ranks(2, [&](MessagePassing& messages) {
    Liveness liveness{messages, {.silence = std::chrono::milliseconds{200}, .beat = std::chrono::milliseconds{20}}};
    const auto make = [](std::size_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds{600});
      return std::string{"made"};
    };
    const std::vector<std::string> all = share_round(liveness, 2, 1, make, patience());
    if (all != std::vector<std::string>{"made", "made"} || liveness.any_lost()) any_lost = true;
  });
  CHECK(!any_lost);
}

} // namespace ppsim::runtime::shared_work_test
