#include "gunzip.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include <zlib.h>

namespace ppsim::traces {
namespace {

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

struct EndDeflate {
  void operator()(z_stream* stream) const { deflateEnd(stream); }
};

[[noreturn]] void refuse(std::string_view where, std::string what, std::string hint) {
  throw Error{ExitCode::bad_input, Problem{std::string{where}, std::move(what), std::move(hint)}};
}

/// The size in a file's trailer, modulo 2^32: correct for one member, otherwise possibly wrong, so limited to the usual
/// ratio of text.
std::size_t size_hint(std::string_view bytes) {
  constexpr std::size_t bytes_of_size = 4;
  constexpr std::size_t densest = 16;
  if (bytes.size() < bytes_of_size) return 0;
  std::size_t size = 0;
  for (std::size_t i = 1; i <= bytes_of_size; ++i)
    size = size << 8U | static_cast<unsigned char>(bytes[bytes.size() - i]);
  return std::min(size, bytes.size() * densest);
}

constexpr std::size_t most_at_once = std::size_t{1} << 30; // zlib counts in 32 bits
constexpr int gzip_window = 15 + 16;

/// Passes the next part of `bytes` to zlib and removes it.
void feed(z_stream& stream, std::string_view& bytes) {
  const std::size_t part = std::min(bytes.size(), most_at_once);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); // zlib's interface; it only reads
  stream.avail_in = static_cast<uInt>(part);
  bytes.remove_prefix(part);
}

[[noreturn]] void refuse_broken(std::string_view where, const z_stream& stream) {
  refuse(where,
         fmt::format("the gzip data is broken{}{}", stream.msg != nullptr ? ": " : "",
                     stream.msg != nullptr ? stream.msg : ""),
         "compress or copy it again");
}

/// Whether another member begins after the end of one, not padding with zeros.
bool begins_member(z_stream& stream, std::string_view where) {
  if (*stream.next_in == 0) return false;
  if (inflateReset(&stream) != Z_OK) refuse_broken(where, stream);
  return true;
}

void check_status(int status, const z_stream& stream, bool was_last, std::string_view where) {
  if (status == Z_BUF_ERROR && stream.avail_in == 0 && was_last)
    refuse(where, "the gzip data ends too early", "copy it again: a part is missing");
  if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) refuse_broken(where, stream);
}

} // namespace

Gunzip::Gunzip(std::string_view bytes, std::string where, std::uint64_t limit)
    : rest_{bytes}, size_{bytes.size()}, where_{std::move(where)}, limit_{limit} {
  if (inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc{};
}

double Gunzip::share() const {
  const std::size_t left = rest_.size() + stream_.avail_in;
  return 1 - static_cast<double>(left) / static_cast<double>(size_);
}

bool Gunzip::append_to(std::string& text) {
  while (!ended_) {
    if (stream_.avail_in == 0) feed(stream_, rest_);
    if (status_ == Z_STREAM_END) {
      ended_ = stream_.avail_in == 0 || !begins_member(stream_, where_);
      if (ended_) break;
    }
    stream_.next_out = reinterpret_cast<Bytef*>(window_.data());
    stream_.avail_out = static_cast<uInt>(window_.size());
    status_ = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t found = window_.size() - stream_.avail_out;
    if (found > limit_ - unpacked_)
      refuse(where_, fmt::format("it decompresses to more than {} bytes", limit_),
             "decompress it, or give fewer steps or ranks");
    text.append(window_.data(), found);
    unpacked_ += found;
    check_status(status_, stream_, rest_.empty(), where_);
    if (found > 0) return true;
  }
  return false;
}

std::string gzip(std::string_view bytes) {
  constexpr int most_memory = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, most_memory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc{};
  const std::unique_ptr<z_stream, EndDeflate> end_it{&stream};
  std::string packed;
  std::vector<char> window(std::size_t{1} << 18U);
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) feed(stream, bytes);
    stream.next_out = reinterpret_cast<Bytef*>(window.data());
    stream.avail_out = static_cast<uInt>(window.size());
    status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    packed.append(window.data(), window.size() - stream.avail_out);
  }
  return packed;
}

std::string gunzip(std::string_view bytes, std::string_view where, std::uint64_t limit) {
  std::string text;
  text.reserve(std::min<std::uint64_t>(size_hint(bytes),
                                       limit)); // avoids a copy when it grows
  Gunzip packed{bytes, std::string{where}, limit};
  while (packed.append_to(text)) {
  }
  return text;
}

std::string gunzip_beginning(std::string_view bytes, std::size_t most) {
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window) != Z_OK) throw std::bad_alloc{};
  const std::unique_ptr<z_stream, EndInflate> end_it{&stream};
  std::string text(std::min(most, most_at_once), '\0');
  feed(stream, bytes);
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  static_cast<void>(inflate(&stream, Z_SYNC_FLUSH)); // the result does not matter
  text.erase(text.size() - stream.avail_out);
  return text;
}

} // namespace ppsim::traces
