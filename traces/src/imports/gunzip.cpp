#include "gunzip.hpp"

#include "ppsim/sim/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

#include <zlib.h>

namespace ppsim::traces {
namespace {

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

[[noreturn]] void refuse(std::string_view where, std::string what, std::string hint) {
  throw Error{ExitCode::bad_input, Problem{std::string{where}, std::move(what), std::move(hint)}};
}

} // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1F\x8B");
}

std::string gunzip(std::string_view bytes, std::string_view where, std::size_t padding, std::size_t limit) {
  constexpr std::size_t most_at_once = std::size_t{1} << 30; // zlib counts in 32 bits
  constexpr int gzip_window = 15 + 16;
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window) != Z_OK) throw std::bad_alloc{};
  const std::unique_ptr<z_stream, EndInflate> end_it{&stream};
  std::string text;
  // What a packed file says of its size can be wrong: room is made as it is needed.
  text.resize(std::clamp<std::size_t>(bytes.size() * 4, 4096, most_at_once));
  std::size_t done = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END || !bytes.empty() || stream.avail_in > 0) {
    if (stream.avail_in == 0 && !bytes.empty()) {
      const std::size_t part = std::min(bytes.size(), most_at_once);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); // zlib's interface; it only reads
      stream.avail_in = static_cast<uInt>(part);
      bytes.remove_prefix(part);
    }
    if (status == Z_STREAM_END) { // another member, or padding of zeros behind the last one
      if (*stream.next_in == 0) break;
      if (inflateReset(&stream) != Z_OK) refuse(where, "the gzip data is broken", "pack or copy it again");
    }
    if (done == text.size()) text.resize(text.size() * 2);
    const std::size_t room = std::min(text.size() - done, most_at_once);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + done);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    done += room - stream.avail_out;
    if (done > limit)
      refuse(where, fmt::format("it unpacks to more than {} bytes", limit), "unpack it, and give fewer steps or ranks");
    if (status == Z_STREAM_END) continue;
    if (status == Z_BUF_ERROR && stream.avail_in == 0 && bytes.empty())
      refuse(where, "the gzip data ends too early", "copy it again: a part is missing");
    if (status != Z_OK && status != Z_BUF_ERROR)
      refuse(where,
             fmt::format("the gzip data is broken{}{}", stream.msg != nullptr ? ": " : "",
                         stream.msg != nullptr ? stream.msg : ""),
             "pack or copy it again");
  }
  text.resize(done + padding);
  text.resize(done);
  return text;
}

} // namespace ppsim::traces
