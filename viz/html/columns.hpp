#pragma once
// Column: encodes many small numbers in few characters.

#include <cstdint>
#include <string>

namespace ppsim::viz {

/// Numbers in sequence, as bytes.
class Column {
public:
  /// One byte.
  void add_byte(std::uint8_t byte) { bytes_.push_back(static_cast<char>(byte)); }
  /// Seven bits a byte, the lowest first, the eighth bit set where more follow (LEB128); before that, 0, -1, 1, -2
  /// become 0, 1, 2, 3, so that what is near zero takes one byte.
  void add(std::int64_t value);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
  std::string bytes_;
};

/// RFC 4648, section 4, with padding.
[[nodiscard]] std::string base64(const std::string& bytes);

} // namespace ppsim::viz
