#pragma once
// Unpacks gzip piece by piece, or passes plain files through.

#include "ppsim/traces/gzip.hpp"
#include "ppsim/traces/import.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace ppsim::traces {

/// Unpacks gzip of one or several members piece by piece.
class Gunzip {
public:
  /// Keeps a reference to `bytes`. `where` is for errors.
  Gunzip(std::string_view bytes, std::string where, std::uint64_t limit = most_unpacked);
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete; // zlib keeps the address of its stream
  Gunzip& operator=(const Gunzip&) = delete;
  /// Appends the next piece to `text`; false at the end. Throws Error (bad_input) if the data is corrupt, truncated, or
  /// unpacks to more than `limit`.
  bool append_to(std::string& text);
  [[nodiscard]] bool ended() const { return ended_; }
  /// The share of the packed bytes that has been read.
  [[nodiscard]] double share() const;

private:
  std::string_view rest_; ///< not yet passed to zlib
  std::size_t size_;      ///< total
  std::string where_;
  std::uint64_t limit_;
  std::size_t unpacked_ = 0;
  bool ended_ = false;
  int status_ = Z_OK;
  z_stream stream_{};
  std::vector<char> window_ = std::vector<char>(std::size_t{1} << 18U);
};

/// The first bytes that `bytes` unpack to, at most `most` and as far as they are intact.
[[nodiscard]] std::string gunzip_beginning(std::string_view bytes, std::size_t most);

/// The bytes of a file, unpacked if necessary.
class PlainFile {
public:
  /// Keeps a reference to the bytes of a plain file. Throws as gunzip().
  PlainFile(const ImportFile& file, std::uint64_t limit)
      : unpacked_{is_gzip(file.bytes) ? gunzip(file.bytes, file.name, limit) : std::string{}},
        plain_{is_gzip(file.bytes) ? std::string_view{} : std::string_view{file.bytes}} {}
  [[nodiscard]] std::string_view bytes() const { return unpacked_.empty() ? plain_ : std::string_view{unpacked_}; }

private:
  std::string unpacked_;
  std::string_view plain_;
};

} // namespace ppsim::traces
