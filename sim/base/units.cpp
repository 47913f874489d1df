#include "ppsim/base/units.hpp"

#include "ppsim/base/detail/wide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace ppsim {
namespace {

/// A unit's spelling and its size in base units.
struct Unit {
  std::string_view name;
  std::int64_t scale;
};

constexpr std::int64_t kilo = 1000;
constexpr std::int64_t kibi = 1024;

constexpr std::array duration_units{Unit{"ns", 1}, Unit{"us", kilo}, Unit{"µs", kilo}, Unit{"ms", kilo* kilo},
                                    Unit{"s", kilo* kilo* kilo}};
constexpr std::array byte_units{Unit{"B", 1},
                                Unit{"kB", kilo},
                                Unit{"KB", kilo},
                                Unit{"MB", kilo* kilo},
                                Unit{"GB", kilo* kilo* kilo},
                                Unit{"TB", kilo* kilo* kilo* kilo},
                                Unit{"KiB", kibi},
                                Unit{"MiB", kibi* kibi},
                                Unit{"GiB", kibi* kibi* kibi},
                                Unit{"TiB", kibi* kibi* kibi* kibi}};
constexpr std::array bit_units{Unit{"kbit", kilo}, Unit{"Mbit", kilo* kilo}, Unit{"Gbit", kilo* kilo* kilo},
                               Unit{"Tbit", kilo* kilo* kilo* kilo}};
constexpr std::array flop_units{Unit{"GFLOPS", kilo* kilo* kilo}, Unit{"TFLOPS", kilo* kilo* kilo* kilo},
                                Unit{"PFLOPS", kilo* kilo* kilo* kilo* kilo}};

constexpr std::array operation_units{Unit{"", 1}, Unit{"GFLOP", kilo* kilo* kilo},
                                     Unit{"TFLOP", kilo* kilo* kilo* kilo}, Unit{"PFLOP", kilo* kilo* kilo* kilo* kilo},
                                     Unit{"EFLOP", kilo* kilo* kilo* kilo* kilo* kilo}};

constexpr std::array shown_duration_units{Unit{"s", kilo* kilo* kilo}, Unit{"ms", kilo* kilo}, Unit{"us", kilo},
                                          Unit{"ns", 1}}; // largest first
constexpr std::array shown_byte_units{Unit{"TiB", kibi* kibi* kibi* kibi}, Unit{"GiB", kibi* kibi* kibi},
                                      Unit{"MiB", kibi* kibi}, Unit{"KiB", kibi}, Unit{"B", 1}};

constexpr Int128 largest_amount = 900'000'000'000'000'000;    // far below 2^63, so that sums of a few cannot overflow
constexpr Int128 most_operations = 9'000'000'000'000'000'000; // operation counts are never added

/// mantissa * 10^exponent, and the text after it.
struct NumberAndRest {
  std::int64_t mantissa = 0;
  int exponent = 0;
  std::string_view rest;
};

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/// Parses "e3" or "E-2" at the front of `text`; does not touch a unit that begins with e.
int take_exponent(std::string_view& text) {
  if (text.empty() || (text.front() != 'e' && text.front() != 'E')) return 0;
  const std::size_t sign = text.size() > 1 && (text[1] == '+' || text[1] == '-') ? 1 : 0;
  if (text.size() <= 1 + sign || !is_digit(text[1 + sign])) return 0;
  int exponent = 0;
  text.remove_prefix(1 + sign);
  const bool negative = sign == 1 && *(text.data() - 1) == '-';
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1))
    exponent = std::min(10'000, 10 * exponent + (text.front() - '0'));
  return negative ? -exponent : exponent;
}

/// Parses a plain decimal with integers, so that every machine gets the same value. Ignores digits after the
/// eighteenth.
std::optional<NumberAndRest> split_number(std::string_view text) {
  NumberAndRest split;
  bool any = false;
  bool fraction = false;
  for (; !text.empty() && (is_digit(text.front()) || (text.front() == '.' && !fraction)); text.remove_prefix(1)) {
    if (text.front() == '.') {
      fraction = true;
      continue;
    }
    any = true;
    const bool counts = split.mantissa < 100'000'000'000'000'000;
    if (counts) split.mantissa = 10 * split.mantissa + (text.front() - '0');
    split.exponent += (counts ? 0 : 1) - (fraction ? 1 : 0);
  }
  if (!any) return std::nullopt;
  split.exponent += take_exponent(text);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  split.rest = text;
  return split;
}

/// mantissa * 10^exponent * scale, rounded to the nearest (half up).
std::optional<std::int64_t> scaled(const NumberAndRest& number, std::int64_t scale, Int128 most) {
  Int128 amount = Int128{number.mantissa} * scale;
  for (int power = number.exponent; power > 0 && amount != 0 && amount <= most; --power) amount *= 10;
  Int128 divisor = 1;
  for (int power = number.exponent; power < 0 && divisor <= amount * 10; ++power) divisor *= 10;
  amount = (2 * amount + divisor) / (2 * divisor);
  if (amount > most) return std::nullopt;
  return static_cast<std::int64_t>(amount);
}

std::optional<std::int64_t> parse_amount(std::string_view text, std::span<const Unit> units,
                                         Int128 most = largest_amount) {
  const auto split = split_number(text);
  if (!split) return std::nullopt;
  for (const Unit& unit : units)
    if (split->rest == unit.name) return scaled(*split, unit.scale, most);
  return std::nullopt;
}

/// Three to four significant digits without trailing zeros: 1.5, 18.52, 123.4, 1234.
std::string short_number(double value) {
  const int decimals = value >= 100 ? 1 : value >= 10 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string with_unit(std::int64_t amount, std::span<const Unit> largest_first) {
  for (const Unit& unit : largest_first)
    if (amount >= unit.scale)
      return fmt::format("{} {}", short_number(static_cast<double>(amount) / static_cast<double>(unit.scale)),
                         unit.name);
  return fmt::format("{} {}", amount, largest_first.back().name);
}

/// With all its decimals; in a binary unit four, rounded.
std::string with_all_digits(std::int64_t amount, std::span<const Unit> largest_first) {
  const auto fitting = std::ranges::find_if(largest_first, [&](const Unit& unit) { return amount >= unit.scale; });
  const Unit unit = fitting == largest_first.end() ? largest_first.back() : *fitting;
  std::int64_t decimals = 1; // 1, 10, 100, ...
  while (decimals < unit.scale && (unit.scale % kibi != 0 || decimals < 10'000)) decimals *= 10;
  const auto digits =
      static_cast<std::int64_t>((2 * Int128{amount} * decimals + unit.scale) / (2 * Int128{unit.scale}));
  std::string fraction = fmt::format("{}", decimals + digits % decimals).substr(1);
  while (fraction.ends_with('0')) fraction.pop_back();
  return fmt::format("{}{}{} {}", digits / decimals, fraction.empty() ? "" : ".", fraction, unit.name);
}

} // namespace

std::int64_t scale_rounded(std::int64_t value, std::int64_t numerator, std::int64_t denominator) {
  return static_cast<std::int64_t>((2 * Int128{value} * numerator + denominator) / (2 * Int128{denominator}));
}

Duration Bandwidth::time_for(Bytes bytes, std::int64_t parts) const {
  constexpr Int128 second = 1'000'000'000;
  constexpr Int128 longest =
      Int128{1} << 61; // sums then refuse a scenario with such a transfer, instead of wrapping around
  const Int128 rate = Int128{bytes_per_second_} * parts;
  const Int128 time = (bytes.count() * second + rate - 1) / rate;
  return Duration{static_cast<std::int64_t>(std::min(time, longest))};
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto amount = parse_amount(text, duration_units);
  if (!amount || Duration{*amount} > max_duration) return std::nullopt;
  return Duration{*amount};
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto amount = parse_amount(text, byte_units);
  if (!amount) return std::nullopt;
  return Bytes{*amount};
}

std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  std::optional<std::int64_t> per_second;
  if (text.ends_with("/s")) {
    const std::string_view amount = text.substr(0, text.size() - 2);
    per_second = parse_amount(amount, byte_units);
    if (!per_second) {
      per_second = parse_amount(amount, bit_units);
      if (per_second) *per_second /= 8;
    }
  } else if (text.ends_with("bps")) { // Gbps = Gbit/s
    per_second = parse_amount(std::string{text.substr(0, text.size() - 2)} + "it", bit_units);
    if (per_second) *per_second /= 8;
  }
  if (!per_second || *per_second <= 0) return std::nullopt;
  return Bandwidth{*per_second};
}

std::optional<std::int64_t> parse_flops(std::string_view text) {
  const auto amount = parse_amount(text, flop_units);
  if (!amount || *amount <= 0) return std::nullopt;
  return amount;
}

std::optional<FlopCount> parse_flop_count(std::string_view text) {
  const auto amount = parse_amount(text, operation_units, most_operations);
  if (!amount || *amount <= 0) return std::nullopt;
  return FlopCount{*amount};
}

std::string format_duration(Duration duration) {
  return with_unit(duration.count(), shown_duration_units);
}

std::string format_bytes(Bytes bytes) {
  return with_unit(bytes.count(), shown_byte_units);
}

std::string format_closely(Duration duration) {
  return with_all_digits(duration.count(), shown_duration_units);
}

std::string format_closely(Bytes bytes) {
  return with_all_digits(bytes.count(), shown_byte_units);
}

std::string format_closely(Bandwidth bandwidth) {
  static constexpr std::array units{Unit{"TB", kilo * kilo * kilo * kilo}, Unit{"GB", kilo * kilo * kilo},
                                    Unit{"MB", kilo * kilo}, Unit{"kB", kilo}, Unit{"B", 1}};
  return with_all_digits(bandwidth.bytes_per_second(), units) + "/s";
}

} // namespace ppsim
