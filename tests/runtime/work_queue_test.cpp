// How shared work is handed out, to up to ten thousand processes: the rules are the program's, time and messages are
// modelled. The table of work_queue.md comes from here.

#include "support/golden.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <queue>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/processes/work_queue.hpp"

namespace ppsim::runtime::work_queue_test {

namespace {

using Time = WorkQueue::Moment;
using namespace std::chrono_literals;

/// The first process handles one message at a time. A message is under way for 10 us, and waits 50 us for who naps
/// between looks.
struct Messages {
  Time handling = 5us, latency = 60us;
};

struct Rows {
  std::uint64_t count = 0;
  std::function<Time(std::uint64_t)> time;
};

Rows equal_rows(std::uint64_t count, Time time) {
  return {count, [time](std::uint64_t) { return time; }};
}

/// Half as long to half as long again, and one of twenty ten times as long as that: 1.45 times `time` on average.
Rows spread_rows(std::uint64_t count, Time time) {
  return {count, [time](std::uint64_t row) {
            std::uint64_t drawn = (row + 1) * 0x9e3779b97f4a7c15U; // splitmix64
            drawn = (drawn ^ (drawn >> 30U)) * 0xbf58476d1ce4e5b9U;
            drawn = (drawn ^ (drawn >> 27U)) * 0x94d049bb133111ebU;
            drawn ^= drawn >> 31U;
            const auto permille = static_cast<std::int64_t>(500 + drawn % 1001);
            return time * permille / 1000 * ((drawn >> 32U) % 20 == 0 ? 10 : 1);
          }};
}

struct Outcome {
  Time end{}, work{}; ///< when the last row was taken; what all rows take
  std::uint64_t ranges = 0, furthest_ahead = 0;
  bool in_order = true;
  std::uint64_t taken = 0;

  [[nodiscard]] double efficiency(std::size_t ranks) const {
    return static_cast<double>(work.count()) / static_cast<double>(end.count()) / static_cast<double>(ranks);
  }
  [[nodiscard]] double rate() const { return static_cast<double>(taken) / std::chrono::duration<double>(end).count(); }
  [[nodiscard]] double length() const { return static_cast<double>(taken) / static_cast<double>(ranges); }
};

/// Share_work() with modelled time: the first process takes what has come, then hands out, again and again; its own
/// range runs beside its messages. It is last, as it is looked at last.
class Model {
public:
  Model(std::size_t ranks, Rows rows, Messages messages = {})
      : rows_{std::move(rows)}, messages_{messages}, own_{ranks - 1}, queue_{{0, rows_.count}}, works_on_(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) idle_.insert(idle_.end(), rank);
  }

  Outcome run() {
    hand_out();
    while (!back_.empty()) {
      now_ = std::max(now_, back_.top().first);
      take_in();
      hand_out();
    }
    return outcome_;
  }

private:
  void take_in() {
    std::vector<std::size_t> here;
    for (; !back_.empty() && back_.top().first <= now_; back_.pop()) here.push_back(back_.top().second);
    std::ranges::sort(here);
    for (const std::size_t rank : here) {
      if (rank != own_) now_ += messages_.handling;
      queue_.put(works_on_[rank], {}, now_, [this](WorkRange range, const std::string&) { return take(range); });
      idle_.insert(rank);
    }
  }
  bool take(WorkRange range) {
    outcome_.in_order = outcome_.in_order && range.begin == outcome_.taken && range.end > range.begin;
    outcome_.taken = range.end;
    outcome_.end = now_;
    return true;
  }
  void hand_out() {
    while (!idle_.empty()) {
      const auto range = queue_.next(now_);
      if (!range) return;
      const std::size_t rank = *idle_.begin();
      idle_.erase(idle_.begin());
      begin(rank, *range);
    }
  }
  void begin(std::size_t rank, WorkRange range) {
    Time work{};
    for (std::uint64_t row = range.begin; row < range.end; ++row) work += rows_.time(row);
    if (rank != own_) now_ += messages_.handling;
    back_.emplace(now_ + work + (rank == own_ ? Time{} : 2 * messages_.latency), rank);
    works_on_[rank] = range;
    outcome_.work += work;
    ++outcome_.ranges;
    outcome_.furthest_ahead = std::max(outcome_.furthest_ahead, range.end - outcome_.taken);
  }

  using Back = std::pair<Time, std::size_t>;
  Rows rows_;
  Messages messages_;
  std::size_t own_;
  WorkQueue queue_;
  std::vector<WorkRange> works_on_;
  std::set<std::size_t> idle_;
  std::priority_queue<Back, std::vector<Back>, std::greater<>> back_;
  Time now_{};
  Outcome outcome_;
};

void check_taken(const Outcome& outcome, std::uint64_t rows) {
  CHECK(outcome.in_order);
  CHECK(outcome.taken == rows);
  CHECK(outcome.furthest_ahead <= WorkQueue::most_ahead + WorkQueue::longest_range);
}

/// As work_queue.md has it.
std::string table() {
  constexpr std::uint64_t most_rows = 500'000;
  std::string lines = "| ranks | rows of 0.1 ms | of 1 ms | of 10 ms | of 100 ms |\n| --- | --- | --- | --- | --- |\n";
  for (const std::size_t ranks : {1U, 2U, 4U, 16U, 64U, 256U, 1000U, 2000U, 4000U, 10'000U}) {
    lines += fmt::format("| {} |", ranks);
    for (const auto& [time, each] : {std::pair{Time{100us}, 10'000U}, {1ms, 1000U}, {10ms, 200U}, {100ms, 100U}}) {
      const std::uint64_t rows = std::min(ranks * each, most_rows);
      const Outcome outcome = Model{ranks, spread_rows(rows, time)}.run();
      check_taken(outcome, rows);
      lines += fmt::format(" {:.0f}/s, {:.0f} %, {:.0f} |", outcome.rate(), 100 * outcome.efficiency(ranks),
                           outcome.length());
    }
    lines += "\n";
  }
  return lines;
}

} // namespace

TEST_CASE("One process takes as long as its rows, whatever messages cost") {
  for (const Rows& rows : {equal_rows(1000, 1ms), spread_rows(1000, 1ms), spread_rows(50, 100ms)}) {
    const Outcome outcome = Model{1, rows, {1s, 1s}}.run();
    check_taken(outcome, rows.count);
    CHECK(outcome.end == outcome.work);
  }
  CHECK(Model{1, equal_rows(1000, 1ms)}.run().end == 1s);
}

TEST_CASE("Each row is taken once and in order, however long other rows take") {
  for (const std::size_t ranks : {1U, 2U, 3U, 7U, 100U, 3000U})
    for (const std::uint64_t rows : {0U, 1U, 2U, 99U, 20'000U})
      check_taken(Model{ranks, spread_rows(rows, 3ms)}.run(), rows);
}

TEST_CASE("A few processes share the time") {
  for (const std::size_t ranks : {2U, 4U, 16U}) {
    CHECK(Model{ranks, equal_rows(ranks * 2000, 1ms)}.run().efficiency(ranks) > 0.97);
    CHECK(Model{ranks, equal_rows(ranks * 2000, 10ms)}.run().efficiency(ranks) > 0.97);
    CHECK(Model{ranks, equal_rows(ranks * 2000, 100ms)}.run().efficiency(ranks) > 0.97);
    CHECK(Model{ranks, spread_rows(ranks * 2000, 1ms)}.run().efficiency(ranks) > 0.9);
  }
  // Nothing to share: one row each, whoever is ready first
  CHECK(Model{4, equal_rows(4, 100ms), {0ms, 0ms}}.run().end == 100ms);
}

TEST_CASE("Ranges grow to 20 ms, up to their longest") {
  // 1 and 2 and 4 and 8 and 16 rows of 1 ms are shorter than 20 ms, 32 are not
  const double of_1ms = Model{16, equal_rows(100'000, 1ms)}.run().length();
  CHECK(of_1ms > 30);
  CHECK(of_1ms <= 32);
  const double of_1us = Model{16, equal_rows(10'000'000, 1us)}.run().length();
  CHECK(of_1us > 0.95 * WorkQueue::longest_range);
  CHECK(of_1us <= WorkQueue::longest_range);
  CHECK(Model{16, equal_rows(1000, 30ms)}.run().length() == 1);
}

TEST_CASE("Ranges shrink if rows become longer") {
  // 4000 rows of 60 ms go one by one, but for those that were begun as 32
  const Rows rows{6000, [](std::uint64_t row) { return row < 2000 ? Time{1ms} : Time{60ms}; }};
  const Outcome outcome = Model{4, rows}.run();
  CHECK(outcome.ranges > 3500);
  CHECK(outcome.efficiency(4) > 0.95);
}

TEST_CASE("The first process's messages limit the rate: two per range") {
  // Rows of 100 ms go one by one; with 1 ms a message 500 a second, which 50 processes make, and the ten of its own.
  const Messages slow{1ms, 0ms};
  CHECK(Model{20, equal_rows(4000, 100ms), slow}.run().efficiency(20) > 0.9);
  for (const std::size_t ranks : {100U, 400U}) {
    const Outcome outcome = Model{ranks, equal_rows(10'000, 100ms), slow}.run();
    CHECK(outcome.length() == 1);
    CHECK(outcome.rate() > 0.95 * 500);
    CHECK(outcome.rate() < 510);
  }
}

TEST_CASE("The limit of results ahead also limits the number of active processes") {
  // 65 536 rows are 2048 ranges of 32 rows of 1 ms, also where messages take no time.
  const Messages free{0ms, 0ms};
  CHECK(Model{1000, equal_rows(2'000'000, 1ms), free}.run().efficiency(1000) > 0.9);
  for (const std::size_t ranks : {4096U, 10'000U}) {
    const Outcome outcome = Model{ranks, equal_rows(4'000'000, 1ms), free}.run();
    CHECK(outcome.rate() > 0.8 * 2048 * 1000);
    CHECK(outcome.rate() < 1.05 * 2048 * 1000);
  }
}

TEST_CASE("One slow row blocks the others once most_ahead is reached, not before and not after") {
  const Rows rows{500'000, [](std::uint64_t row) { return row == 0 ? Time{100s} : Time{1ms}; }};
  const Outcome outcome = Model{100, rows}.run();
  check_taken(outcome, rows.count);
  CHECK(outcome.furthest_ahead >= WorkQueue::most_ahead);
  CHECK(outcome.end >= 100s);
}

TEST_CASE("work_queue.md contains the table of this model") {
  std::ostringstream page;
  page << std::ifstream{test::source_path("tests/runtime/work_queue.md")}.rdbuf();
  const std::string expected = table();
  INFO(expected);
  CHECK(page.str().find(expected) != std::string::npos);
}

} // namespace ppsim::runtime::work_queue_test
