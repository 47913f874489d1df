#pragma once
// Reading and writing files as SPEC section 6 says.

#include "ppsim/traces/workload_files.hpp"

#include <span>
#include <string>
#include <string_view>

namespace ppsim::cli {

/// The whole file, or stdin for "-", unpacked where it is gzip. Throws Error (bad_input) naming `where` if it cannot
/// be read, or naming the file if what is packed is broken.
[[nodiscard]] std::string read_file(const std::string& path, std::string_view where);
/// The bytes of a file of any size, as they are, without a copy where it is a regular one; of a pipe or stdin ("-"),
/// read.
class FileBytes {
public:
  /// Throws Error (bad_input) naming `where` if it cannot be read.
  FileBytes(const std::string& path, std::string_view where);
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();
  [[nodiscard]] std::string_view bytes() const { return mapped_ != nullptr ? std::string_view{mapped_, size_} : read_; }

private:
  const char* mapped_ = nullptr;
  std::size_t size_ = 0;
  std::string read_;
};
/// One path for one file, whatever links lead there; `path` itself where that cannot be told (links in a circle,
/// folders that may not be read), which reading it then says.
[[nodiscard]] std::string real_path(const std::string& path);
/// What errors call it: the path, or "stdin".
[[nodiscard]] std::string display_name(const std::string& path);
/// Throws Error (failed) where write_file() cannot succeed: what takes long asks before, not after.
void require_writable(const std::string& path, std::string_view where);
/// Writes all of `content` to stdout ("-"), or to a file, packed with gzip where the path ends in .gz.
///
/// A file appears whole or not at all: it is written under a name of its own in the same folder, which goes where
/// something fails and where SIGINT, SIGTERM or SIGHUP ends the program, and then renamed. Links stay links: what they
/// lead to is replaced. What is replaced leaves its permissions to the new file, and its owner where that is allowed.
/// Devices and pipes are written in place; so is, with a note, a file that can be written where none can be put in its
/// place (its folder cannot be written; it is mounted by itself). Throws Error (failed).
void write_file(const std::string& path, std::string_view content, std::string_view where);
/// The same for several that belong together: none gets its name before all are written. Not to stdout.
void write_files(std::span<const traces::NamedBytes> files, std::string_view where);

} // namespace ppsim::cli
