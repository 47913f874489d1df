#include "columns.hpp"

#include <string_view>

namespace ppsim::viz {

void Column::add(std::int64_t value) {
  auto rest = static_cast<std::uint64_t>(value) << 1U;
  if (value < 0) rest = ~rest;
  for (; rest >= 0x80; rest >>= 7U) add_byte(static_cast<std::uint8_t>(rest | 0x80U));
  add_byte(static_cast<std::uint8_t>(rest));
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto byte_at = [&bytes](std::size_t at) -> std::uint32_t {
    return at < bytes.size() ? static_cast<std::uint8_t>(bytes[at]) : 0;
  };
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group = byte_at(i) << 16U | byte_at(i + 1) << 8U | byte_at(i + 2);
    for (const unsigned shift : {18U, 12U, 6U, 0U}) text.push_back(digits[group >> shift & 63U]);
  }
  for (std::size_t i = bytes.size() % 3; i != 0 && i < 3; ++i) text[text.size() - (3 - i)] = '=';
  return text;
}

} // namespace ppsim::viz
