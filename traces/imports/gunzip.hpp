#pragma once
// gzip, unpacked a piece at a time, or where it is packed at all.

#include "ppsim/traces/gzip.hpp"
#include "ppsim/traces/import.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace ppsim::traces {

/// Unpacks gzip of one or several members a piece at a time.
class Gunzip {
public:
  /// Keeps what `bytes` points to. `where` is for errors.
  Gunzip(std::string_view bytes, std::string where, std::uint64_t limit = most_unpacked);
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete; // zlib keeps the place of its stream
  Gunzip& operator=(const Gunzip&) = delete;
  /// Appends the next piece to `text`; false at the end. Throws Error (bad_input) for what is broken, cut off, or
  /// unpacks to more than `limit`.
  bool append_to(std::string& text);
  [[nodiscard]] bool ended() const { return ended_; }
  /// The share of the packed bytes that has been read.
  [[nodiscard]] double share() const;

private:
  std::string_view rest_; ///< that zlib has not been given
  std::size_t size_;      ///< of all
  std::string where_;
  std::uint64_t limit_;
  std::size_t unpacked_ = 0;
  bool ended_ = false;
  int status_ = Z_OK;
  z_stream stream_{};
  std::vector<char> window_ = std::vector<char>(std::size_t{1} << 18U);
};

/// The first bytes that `bytes` unpack to, at most `most` and as far as they are whole.
[[nodiscard]] std::string gunzip_beginning(std::string_view bytes, std::size_t most);

/// The bytes of a file, unpacked where it is packed.
class PlainFile {
public:
  /// Keeps what `file` points to where it is not packed. Throws as gunzip() does.
  PlainFile(const ImportFile& file, std::uint64_t limit)
      : unpacked_{is_gzip(file.bytes) ? gunzip(file.bytes, file.name, limit) : std::string{}},
        plain_{is_gzip(file.bytes) ? std::string_view{} : std::string_view{file.bytes}} {}
  [[nodiscard]] std::string_view bytes() const { return unpacked_.empty() ? plain_ : std::string_view{unpacked_}; }

private:
  std::string unpacked_;
  std::string_view plain_;
};

} // namespace ppsim::traces
