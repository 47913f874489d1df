#pragma once
// Units: simulated time, bytes, bandwidth, and the ids of stages, chunks, microbatches and tasks. Only this module
// parses and prints text with units.

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ppsim {

/// A span of simulated time in whole nanoseconds.
using Duration = std::chrono::duration<std::int64_t, std::nano>;

/// `part` / `whole`; 0 if `whole` is zero.
[[nodiscard]] constexpr double fraction(Duration part, Duration whole) {
  return whole == Duration{0} ? 0.0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

/// The simulator's clock. It has no now(): wall time cannot slip into a simulation.
struct SimClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = true;
};

/// A moment of simulated (or measured) time; a run starts at zero.
using SimTime = SimClock::time_point;

/// A number of bytes; the only byte unit.
class Bytes {
public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_{count} {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return a += b; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return a -= b; }

private:
  std::int64_t count_ = 0;
};

/// Bytes per second, never zero.
class Bandwidth {
public:
  constexpr explicit Bandwidth(std::int64_t bytes_per_second) : bytes_per_second_{bytes_per_second} {}
  [[nodiscard]] constexpr std::int64_t bytes_per_second() const { return bytes_per_second_; }
  /// Time to move `bytes`, or one of `parts` equal parts of them, rounded up to a whole nanosecond. Bandwidth becomes
  /// time only here.
  [[nodiscard]] Duration time_for(Bytes bytes, std::int64_t parts = 1) const;
  constexpr auto operator<=>(const Bandwidth&) const = default;

private:
  std::int64_t bytes_per_second_;
};

/// A number of floating-point operations. A multiply-add counts as two.
struct FlopCount {
  std::int64_t count = 0;
  auto operator<=>(const FlopCount&) const = default;
};

// Ids of different kinds do not compare or convert.
enum class StageId : std::uint32_t {};      ///< 0..p-1
enum class ChunkId : std::uint32_t {};      ///< 0..p*v-1, in model order
enum class MicrobatchId : std::uint32_t {}; ///< 0..m-1
enum class TaskId : std::uint32_t {};       ///< position in a schedule, stage by stage

/// "No task": the released_by of a task that waited for nothing.
inline constexpr TaskId no_task{0xFFFFFFFFU};

template <class Id>
[[nodiscard]] constexpr std::size_t index(Id id) {
  return static_cast<std::size_t>(id);
}
template <class Id>
[[nodiscard]] constexpr Id make_id(std::size_t position) {
  return static_cast<Id>(position);
}

/// Consecutive ids: for (const StageId stage : shape.stage_ids()).
template <class Id>
class IdRange {
public:
  class Iterator {
  public:
    using value_type = Id;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr explicit Iterator(std::size_t position) : position_{position} {}
    constexpr Id operator*() const { return make_id<Id>(position_); }
    constexpr Iterator& operator++() {
      ++position_;
      return *this;
    }
    constexpr Iterator operator++(int) { return Iterator{position_++}; }
    bool operator==(const Iterator&) const = default;

  private:
    std::size_t position_ = 0;
  };

  constexpr IdRange(std::size_t first, std::size_t behind) : first_{first}, behind_{behind} {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator{first_}; }
  [[nodiscard]] constexpr Iterator end() const { return Iterator{behind_}; }
  [[nodiscard]] constexpr bool empty() const { return first_ == behind_; }
  [[nodiscard]] constexpr Id front() const { return make_id<Id>(first_); }
  [[nodiscard]] constexpr Id back() const { return make_id<Id>(behind_ - 1); }
  [[nodiscard]] constexpr bool contains(Id id) const { return index(id) >= first_ && index(id) < behind_; }

private:
  std::size_t first_;
  std::size_t behind_;
};

/// value * numerator / denominator, rounded to the nearest (half up), exact for any 64-bit product. No argument may be
/// negative.
[[nodiscard]] std::int64_t scale_rounded(std::int64_t value, std::int64_t numerator, std::int64_t denominator);

/// `text` as a duration: a non-negative decimal and a unit (ns, us, ms, s), rounded to the nearest nanosecond. None if
/// it is not one, or if it is longer than max_duration.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);
/// `text` as bytes: a decimal and B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024).
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);
/// `text` as a bandwidth: a positive decimal and a byte unit per second (GB/s, GiB/s) or a bit unit (Gbit/s, Gbps).
[[nodiscard]] std::optional<Bandwidth> parse_bandwidth(std::string_view text);
/// `text` as floating-point operations per second: a positive decimal and GFLOPS, TFLOPS or PFLOPS.
[[nodiscard]] std::optional<std::int64_t> parse_flops(std::string_view text);
/// `text` as floating-point operations: a positive decimal, by itself or with GFLOP, TFLOP, PFLOP or EFLOP; up to 9e18.
[[nodiscard]] std::optional<FlopCount> parse_flop_count(std::string_view text);

/// The longest duration in an input: one day. Sums over a whole run then cannot overflow.
inline constexpr Duration max_duration = std::chrono::hours{24};

/// Three to four digits with a suitable unit: "1.5 ms", "18.52 ms", "0 ns".
[[nodiscard]] std::string format_duration(Duration duration);
/// Three to four digits with a suitable binary unit: "1.5 GiB".
[[nodiscard]] std::string format_bytes(Bytes bytes);
/// All digits with a suitable unit, to show small differences: "1.3752 ms", "20.0039 GiB" (binary units have at most
/// four decimals), "50 GB/s".
[[nodiscard]] std::string format_closely(Duration duration);
[[nodiscard]] std::string format_closely(Bytes bytes);
[[nodiscard]] std::string format_closely(Bandwidth bandwidth);

} // namespace ppsim
