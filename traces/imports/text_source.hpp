#pragma once
// A text that is read from front to back, of which only a part is in memory where it is packed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gunzip.hpp"

namespace ppsim::traces {

/// The text of a file, or what it unpacks to.
class TextSource {
public:
  /// Keeps what `text` points to.
  explicit TextSource(std::string_view text) : plain_{text} {}
  /// Keeps what `file` points to. from() throws as Gunzip does, where it is packed.
  TextSource(const ImportFile& file, std::uint64_t limit);

  /// The text from `at` on: at least `least` characters of it, where there are as many; until the next call. Forgets
  /// what is before: no later call may ask for that.
  [[nodiscard]] std::string_view from(std::size_t at, std::size_t least) {
    if (packed_) return unpacked_from(at, least);
    read_ = std::min(at, plain_.size());
    return plain_.substr(read_);
  }
  /// Whether what from() returned goes to the end of the text.
  [[nodiscard]] bool has_all() const { return !packed_ || packed_->ended(); }
  /// Whether `what` stands at `at`.
  [[nodiscard]] bool is_at(std::size_t at, char what) { return from(at, 1).starts_with(what); }
  /// The share of the file that has been read.
  [[nodiscard]] double share() const;

private:
  std::string_view unpacked_from(std::size_t at, std::size_t least);

  std::string_view plain_;
  std::size_t read_ = 0; ///< of plain_
  std::optional<Gunzip> packed_;
  std::string part_;      ///< of the unpacked text
  std::size_t begin_ = 0; ///< of that part
};

} // namespace ppsim::traces
