#include "files.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/traces/gzip.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "memory_files.hpp"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ppsim::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); } // NOLINT(cppcoreguidelines-owning-memory)
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// A larger input is a mistake (a device, a wrong file).
constexpr std::uint64_t largest_input = std::uint64_t{4} << 30U;

[[noreturn]] void fail(std::string_view where, std::string what, std::string hint) {
  throw Error{ExitCode::bad_input, Problem{std::string{where}, std::move(what), std::move(hint)}};
}

std::string read_all(std::FILE* file, const std::string& path, std::string_view where) {
  struct stat status {};
  const int number = ::fileno(file);
  if (::fstat(number, &status) == 0 && S_ISCHR(status.st_mode) && ::isatty(number) == 0)
    fail(where, fmt::format("{} is a device, which may never end", in_quotes(path, 200)), "name a file, or a pipe");
  std::string content;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file)) {
    if (count > largest_input - content.size()) // checked before it is copied to a larger buffer
      fail(where, fmt::format("{} is larger than 4 GiB", in_quotes(path, 200)), "is it the right file?");
    content.append(buffer.data(), count);
  }
  if (std::ferror(file) != 0)
    fail(where, fmt::format("cannot read {}: {}", in_quotes(path, 200), std::strerror(errno)), "check the file");
  return content;
}

/// stdin can be read only once, and a command with several runs needs it in each.
const std::string& read_stdin(std::string_view where) {
  static const std::string content = read_all(stdin, "-", where);
  return content;
}

std::string read_as_it_is(const std::string& path, std::string_view where) {
  if (const MemoryFiles* const files = MemoryFiles::current())
    if (const std::string* const given = files->find(path)) return *given;
  if (path == "-") return read_stdin(where);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    fail(where, fmt::format("{} is a directory", in_quotes(path, 200)), "name a file");
  const File file{std::fopen(path.c_str(), "rb")};
  if (!file)
    fail(where, fmt::format("cannot read {}: {}", in_quotes(path, 200), std::strerror(errno)),
         errno == EACCES ? "check its permissions, and those of its folder" : "check the path");
  return read_all(file.get(), path, where);
}

} // namespace

FileBytes::FileBytes(const std::string& path, std::string_view where) {
  // Opening and closing a pipe loses its writer, so only regular files (by stat()) are opened here.
  struct stat status {};
  if (path != "-" && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC); // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (file >= 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      void* const pages = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (pages != MAP_FAILED) mapped_ = static_cast<const char*>(pages);
      ::close(file);
    }
  }
  if (mapped_ == nullptr) read_ = read_as_it_is(path, where);
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : mapped_{std::exchange(other.mapped_, nullptr)}, size_{other.size_}, read_{std::move(other.read_)} {}

FileBytes::~FileBytes() {
  if (mapped_ != nullptr) ::munmap(const_cast<char*>(mapped_), size_); // const_cast: mmap() returned it non-const
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::weakly_canonical(path, error);
  return error ? path : found.string();
}

std::string display_name(const std::string& path) {
  return path == "-" ? "stdin" : path;
}

std::string read_file(const std::string& path, std::string_view where) {
  std::string content = read_as_it_is(path, where);
  if (traces::is_gzip(content)) content = traces::gunzip(content, display_name(path));
  return content;
}

} // namespace ppsim::cli
