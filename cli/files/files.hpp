#pragma once
// Reads and writes files by the rules of SPEC section 6.

#include "ppsim/traces/workload_files.hpp"

#include <span>
#include <string>
#include <string_view>

namespace ppsim::cli {

/// The whole file, or stdin for "-", unpacked if it is gzip. Throws Error (bad_input): naming `where` if it cannot be
/// read, naming the file if packed data is broken.
[[nodiscard]] std::string read_file(const std::string& path, std::string_view where);
/// The raw bytes of a file of any size: mapped without a copy if regular, otherwise (pipe or stdin, "-") read.
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
/// The canonical path, with all links resolved. Returns `path` if that fails (cyclic links, unreadable folders);
/// reading it then reports the error.
[[nodiscard]] std::string real_path(const std::string& path);
/// Its name in errors: the path, or "stdin".
[[nodiscard]] std::string display_name(const std::string& path);
/// Throws Error (failed) if write_file() cannot succeed: long computations check it before they begin.
void require_writable(const std::string& path, std::string_view where);
/// Writes all of `content` to stdout ("-") or to a file, packed with gzip if the path ends in .gz.
///
/// A file appears completely or not at all. It is written under a temporary name in the same folder and then renamed;
/// the temporary file is removed on errors and on SIGINT, SIGTERM or SIGHUP. Links stay links: their target is
/// replaced. The new file keeps the permissions of the replaced one, and its owner if allowed. Devices and pipes are
/// written in place; so is, with a note, a writable file that cannot be replaced (its folder is read-only, or it is a
/// mount point). Throws Error (failed).
void write_file(const std::string& path, std::string_view content, std::string_view where);
/// The same for a set of files: none is renamed before all are written. Not for stdout.
void write_files(std::span<const traces::NamedBytes> files, std::string_view where);

} // namespace ppsim::cli
