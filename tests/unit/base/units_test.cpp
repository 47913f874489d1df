// Units: text with a unit in, text with a unit out, and the one place where bandwidth becomes time.

#include "ppsim/base/units.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <type_traits>

namespace ppsim::test::units_test {

using namespace std::chrono_literals;

template <class Clock>
concept HasNow = requires { Clock::now(); };

// Wall time cannot slip into a simulation, and ids of two kinds do not mix.
static_assert(!HasNow<SimClock>);
static_assert(!std::is_convertible_v<StageId, ChunkId> && !std::is_convertible_v<StageId, std::size_t>);
static_assert(!std::is_convertible_v<std::int64_t, Bytes>);

TEST_CASE("A duration is a decimal and ns, us, ms or s") {
  CHECK(parse_duration("0ns") == 0ns);
  CHECK(parse_duration("7ns") == 7ns);
  CHECK(parse_duration("20us") == 20'000ns);
  CHECK(parse_duration("20µs") == 20'000ns);
  CHECK(parse_duration("1.5ms") == 1'500'000ns);
  CHECK(parse_duration("18.522 ms") == 18'522'000ns);
  CHECK(parse_duration(".5s") == 500'000'000ns);
  CHECK(parse_duration("1e3us") == 1'000'000ns);
}

TEST_CASE("A fraction of a nanosecond is rounded to the nearest, half up") {
  CHECK(parse_duration("0.4ns") == 0ns);
  CHECK(parse_duration("0.5ns") == 1ns);
  CHECK(parse_duration("1.0004us") == 1'000ns);
  CHECK(parse_duration("1.0006us") == 1'001ns);
}

TEST_CASE("A duration may last a day and no longer") {
  CHECK(parse_duration("86400s") == max_duration);
  CHECK(parse_duration("86400.001s") == std::nullopt);
  CHECK(parse_duration("1e300s") == std::nullopt);
  CHECK(parse_duration("1e999s") == std::nullopt);
}

TEST_CASE("Text that is not a duration is refused") {
  const auto* text = GENERATE("", "ms", "5", "1.5", "-1ms", "+1ms", " 1ms", "1ms ", "1 m", "1h", "1MS", "nanms",
                              "infms", "0x10ms", "1,5ms", "1..5ms", "1ms2");
  CAPTURE(text);
  CHECK(parse_duration(text) == std::nullopt);
}

TEST_CASE("A size counts in powers of 1000 for kB, MB, GB, TB and of 1024 for KiB, MiB, GiB, TiB") {
  CHECK(parse_bytes("0B") == Bytes{0});
  CHECK(parse_bytes("16B") == Bytes{16});
  CHECK(parse_bytes("2kB") == Bytes{2'000});
  CHECK(parse_bytes("2KB") == Bytes{2'000});
  CHECK(parse_bytes("3MB") == Bytes{3'000'000});
  CHECK(parse_bytes("1TB") == Bytes{1'000'000'000'000});
  CHECK(parse_bytes("1KiB") == Bytes{1024});
  CHECK(parse_bytes("16MiB") == Bytes{16 * 1024 * 1024});
  CHECK(parse_bytes("1.5 GiB") == Bytes{1'610'612'736});
  CHECK(parse_bytes("1TiB") == Bytes{1'099'511'627'776});
}

TEST_CASE("Text that is not a size is refused") {
  const auto* text = GENERATE("", "B", "16", "16mb", "16M", "16Mb", "-1B", "nanB", "1e30B", "9e18B");
  CAPTURE(text);
  CHECK(parse_bytes(text) == std::nullopt);
}

TEST_CASE("A bandwidth is bytes or bits per second") {
  CHECK(parse_bandwidth("50GB/s") == Bandwidth{50'000'000'000});
  CHECK(parse_bandwidth("1GiB/s") == Bandwidth{1'073'741'824});
  CHECK(parse_bandwidth("400Gbit/s") == Bandwidth{50'000'000'000});
  CHECK(parse_bandwidth("400Gbps") == Bandwidth{50'000'000'000});
  CHECK(parse_bandwidth("1B/s") == Bandwidth{1});
}

TEST_CASE("Text that is not a bandwidth above zero is refused") {
  const auto* text =
      GENERATE("", "50", "50GB", "50G/s", "0GB/s", "0.1B/s", "-1GB/s", "400Gb/s", "nanGB/s", "/s", "bps");
  CAPTURE(text);
  CHECK(parse_bandwidth(text) == std::nullopt);
}

TEST_CASE("The time to move bytes is rounded up to a whole nanosecond") {
  // bytes / bandwidth: 3 B / 2 B/ns = 1.5 ns; 1 B / 1000 B/ns = 0.001 ns
  CHECK(Bandwidth{1'000'000'000}.time_for(Bytes{7}) == 7ns);
  CHECK(Bandwidth{2'000'000'000}.time_for(Bytes{3}) == 2ns);
  CHECK(Bandwidth{2'000'000'000}.time_for(Bytes{4}) == 2ns);
  CHECK(Bandwidth{1'000'000'000'000}.time_for(Bytes{1}) == 1ns);
  CHECK(Bandwidth{1'000'000'000'000}.time_for(Bytes{0}) == 0ns);
  CHECK(Bandwidth{3}.time_for(Bytes{1}) == 333'333'334ns);
}

TEST_CASE("The time to move very many bytes does not overflow") {
  CHECK(Bandwidth{1'000'000'000}.time_for(Bytes{900'000'000'000'000'000}) == Duration{900'000'000'000'000'000});
}

TEST_CASE("Durations are shown with three to four digits and a suitable unit") {
  CHECK(format_duration(0ns) == "0 ns");
  CHECK(format_duration(999ns) == "999 ns");
  CHECK(format_duration(1'000ns) == "1 us");
  CHECK(format_duration(1'500'000ns) == "1.5 ms");
  CHECK(format_duration(18'522'000ns) == "18.52 ms");
  CHECK(format_duration(123'456'000ns) == "123.5 ms");
  CHECK(format_duration(1'234'567'000ns) == "1.235 s");
  CHECK(format_duration(100s) == "100 s");
}

TEST_CASE("Sizes are shown in binary units") {
  CHECK(format_bytes(Bytes{0}) == "0 B");
  CHECK(format_bytes(Bytes{1023}) == "1023 B");
  CHECK(format_bytes(Bytes{1024}) == "1 KiB");
  CHECK(format_bytes(Bytes{1'610'612'736}) == "1.5 GiB");
  CHECK(format_bytes(Bytes{3'708'813'312}) == "3.454 GiB");
}

TEST_CASE("Operations are a positive decimal by itself or with GFLOP, TFLOP, PFLOP or EFLOP, up to 9e18") {
  CHECK(parse_flop_count("1.25PFLOP") == FlopCount{1'250'000'000'000'000});
  CHECK(parse_flop_count("9 EFLOP") == FlopCount{9'000'000'000'000'000'000});
  CHECK(parse_flop_count("1.2e15") == FlopCount{1'200'000'000'000'000});
  for (const char* text : {"", "0", "-1", "1TFLOPS", "1 FLOPs", "9.1e18", "TFLOP"}) CHECK_FALSE(parse_flop_count(text));
}

TEST_CASE("A rate of operations is a positive decimal and GFLOPS, TFLOPS or PFLOPS") {
  CHECK(parse_flops("989.5 TFLOPS") == 989'500'000'000'000);
  CHECK(parse_flops("2.25PFLOPS") == 2'250'000'000'000'000);
  CHECK(parse_flops("7GFLOPS") == 7'000'000'000);
  for (const char* const text : {"989", "0TFLOPS", "-1TFLOPS", "1TFLOP", "TFLOPS", "1e9PFLOPS"}) {
    INFO(text);
    CHECK_FALSE(parse_flops(text));
  }
}

} // namespace ppsim::test::units_test
