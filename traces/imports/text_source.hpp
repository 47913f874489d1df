#pragma once
// A text that is read from front to back; if it is packed, only a part is in memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gunzip.hpp"

namespace ppsim::traces {

/// The text of a file, unpacked if necessary.
class TextSource {
public:
  /// Keeps a reference to `text`.
  explicit TextSource(std::string_view text) : plain_{text} {}
  /// Keeps a reference to `file`. If it is packed, from() throws as Gunzip.
  TextSource(const ImportFile& file, std::uint64_t limit);

  /// The text from `at`: at least `least` characters if there are as many; valid until the next call. Discards the text
  /// before `at`, which later calls must not request.
  [[nodiscard]] std::string_view from(std::size_t at, std::size_t least) {
    if (packed_) return unpacked_from(at, least);
    read_ = std::min(at, plain_.size());
    return plain_.substr(read_);
  }
  /// Whether the result of from() reaches the end of the text.
  [[nodiscard]] bool has_all() const { return !packed_ || packed_->ended(); }
  /// Whether `what` is at `at`.
  [[nodiscard]] bool is_at(std::size_t at, char what) { return from(at, 1).starts_with(what); }
  /// The share of the file that has been read.
  [[nodiscard]] double share() const;

private:
  std::string_view unpacked_from(std::size_t at, std::size_t least);

  std::string_view plain_;
  std::size_t read_ = 0; ///< of plain_
  std::optional<Gunzip> packed_;
  std::string part_;      ///< of the unpacked text
  std::size_t begin_ = 0; ///< position of that part
};

} // namespace ppsim::traces
