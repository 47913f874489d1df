#include "svg_text.hpp"

#include "ppsim/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ppsim::viz {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";
constexpr std::string_view ellipsis = "\xE2\x80\xA6";

/// What XML allows of UTF-8: all but two characters.
std::size_t sequence_length(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF") ? 0 : character_length(text);
}

/// Widths of the printable ASCII characters in DejaVu Sans, the widest of our fonts, in hundredths of an em, rounded
/// up.
constexpr std::array<std::uint8_t, 95> ascii_widths{
    32,  41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, // space to slash
    64,  64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, // 0 to ?
    100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, // @ to O
    61,  79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, // P to _
    50,  62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, // ` to o
    64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84};    // p to ~

/// Width of the character that starts with this byte; later bytes of a sequence have none.
std::int64_t em_hundredths(unsigned char byte) {
  if (byte < 0x20 || byte == 0x7F) return 64;
  if (byte < 0x80) return ascii_widths[byte - 0x20U];
  if (byte < 0xC0) return 0;
  return byte < 0xF0 ? 100 : 130; // ideographs are as wide as high, emoji wider
}

} // namespace

std::string clean_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0)
      clean += replacement;
    else if (begins_with_control(text))
      clean += ' ';
    else
      clean += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char letter : text) {
    switch (letter) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += letter;
    }
  }
  return result;
}

Px text_width(std::string_view text, Px font_size) {
  std::int64_t hundredths = 0;
  for (const char letter : text) hundredths += em_hundredths(static_cast<unsigned char>(letter));
  return {(hundredths * font_size.hundredths + 99) / 100};
}

std::string fit_text(std::string_view text, Px font_size, Px width) {
  if (text_width(text, font_size) <= width) return std::string{text};
  const Px room = width - text_width(ellipsis, font_size);
  std::size_t kept = 0;
  while (kept < text.size()) {
    const std::size_t next = kept + std::max<std::size_t>(sequence_length(text.substr(kept)), 1);
    if (text_width(text.substr(0, next), font_size) > room) break;
    kept = next;
  }
  while (kept > 0 && text[kept - 1] == ' ') --kept;
  return std::string{text.substr(0, kept)} + std::string{ellipsis};
}

std::vector<std::string> wrap_text(std::string_view text, Px font_size, Px width, std::size_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    if (lines.size() + 1 == most || text_width(text, font_size) <= width) {
      lines.push_back(fit_text(text, font_size, width));
      break;
    }
    std::size_t end = 0; // where the longest run of whole words ends that still fits
    for (std::size_t space = text.find(' '); space != std::string_view::npos; space = text.find(' ', space + 1)) {
      if (text_width(text.substr(0, space), font_size) > width) break;
      end = space;
    }
    if (end == 0) { // a single word is wider than the line
      lines.push_back(fit_text(text, font_size, width));
      break;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

} // namespace ppsim::viz
