#include "ppsim/base/error.hpp"
#include "ppsim/traces/gzip.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include "files.hpp"
#include "memory_files.hpp"
#include "terminal/console.hpp"
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ppsim::cli {
namespace {

[[noreturn]] void can_not_write(const std::string& path, int error, std::string_view where) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw Error{ExitCode::failed, Problem{std::string{where},
                                        fmt::format("cannot write {}: {}", in_quotes(path, 200), std::strerror(error)),
                                        is_full            ? "is the disk full?"
                                        : path == "stdout" ? "where does stdout go?"
                                                           : "check the folder and its permissions"}};
}

/// An open file. Invalid if opening failed; errno has the reason.
class OpenFile {
public:
  OpenFile(const std::string& name, int flags, mode_t mode)
      : number_{::open(name.c_str(), flags | O_WRONLY | O_CLOEXEC, mode)} {} // NOLINT(*-vararg)
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  /// False, with the reason in errno, if data was lost.
  [[nodiscard]] bool close() { return ::close(std::exchange(number_, -1)) == 0; }

private:
  int number_;
};

/// False, with the reason in errno, if it was not written completely.
bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(file, content.data(), content.size());
    if (count < 0 && errno == EAGAIN) { // a non-blocking pipe; waiting is the only choice here
      pollfd pipe{file, POLLOUT, 0};
      ::poll(&pipe, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return false;
    }
    if (count > 0) content.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void write_stdout(std::string_view content, std::string_view where) {
  if (write_all(STDOUT_FILENO, content)) return;
  if (errno == EPIPE) { // the reader has closed it: end as programs do then
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  can_not_write("stdout", errno, where);
}

/// A file that is removed unless it gets its final name. Never freed and never taken out of the list, so that a signal
/// handler may walk it at any time.
struct Unfinished {
  std::string name;
  std::atomic<bool> there{true};
  Unfinished* next = nullptr;
};
std::atomic<Unfinished*> newest_unfinished{nullptr};

/// Calls only functions that POSIX allows in signal handlers. Raises the signal again, because shells end loops only if
/// SIGINT ended the program.
extern "C" void remove_unfinished(int signal) {
  for (const Unfinished* file = newest_unfinished; file != nullptr; file = file->next)
    if (file->there) ::unlink(file->name.c_str());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP};

/// An ignored signal stays ignored, as nohup expects.
void handle_ending_signals() {
  for (const int signal : ending_signals) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_unfinished;
    ::sigaction(signal, &action, nullptr);
  }
}

/// Blocks signals in this thread while it exists.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : ending_signals) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_{};
};

Unfinished* begin_unfinished(std::string name) {
  static const bool handled = (handle_ending_signals(), true);
  static_cast<void>(handled);
  auto* const file = new Unfinished{.name = std::move(name), .next = newest_unfinished}; // NOLINT(*-owning-memory)
  newest_unfinished = file;
  return file;
}

/// The target of a chain of symbolic links, existing or not, so that the links stay links.
std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int most_links = 40;
  std::error_code error;
  for (int link = 0; link < most_links && std::filesystem::is_symlink(path, error); ++link)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path;
}

/// The status of the link's target; none if it does not exist.
std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_writable(const std::string& path) {
  return ::access(path.c_str(), W_OK) == 0;
}

/// Why an existing file cannot be replaced although it may be writable.
bool keeps_others_out(int error) {
  return error == EACCES || error == EPERM || error == EROFS || error == EBUSY;
}

/// As far as the system allows. If the group cannot be kept, the new one gets no more rights than others had.
void keep_owner_and_permissions(int file, const struct stat& was) {
  mode_t mode = was.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  struct stat is {};
  const bool same = ::fstat(file, &is) == 0 && is.st_uid == was.st_uid && is.st_gid == was.st_gid;
  const auto same_owner = static_cast<uid_t>(-1);
  if (!same && ::fchown(file, was.st_uid, was.st_gid) != 0 && ::fchown(file, same_owner, was.st_gid) != 0)
    mode &= ~static_cast<mode_t>(S_IRWXG) | (mode & S_IRWXO) << 3;
  static_cast<void>(::fchmod(file, mode)); // failure is acceptable: the content matters more
}

/// A file under a temporary name until keep() renames it to `path`.
class PendingFile {
public:
  PendingFile(const std::string& path, std::string_view content, std::string_view where)
      : path_{path}, where_{where}, target_{behind_links(path).string()}, content_{content} {
    if (path.ends_with(".gz")) content_ = packed_ = traces::gzip(content);
    const auto was = status_of(path);
    if (!was && errno == ELOOP) can_not_write(path_, ELOOP, where_);
    if (was && S_ISDIR(was->st_mode)) can_not_write(path_, EISDIR, where_);
    if (was && !S_ISREG(was->st_mode)) return; // a device or a pipe
    if (write(was)) return;
    const int error = errno;
    drop();
    if (!was || !keeps_others_out(error) || !is_writable(path)) can_not_write(path_, error, where_);
  }
  PendingFile(PendingFile&& other) noexcept = delete;
  PendingFile& operator=(PendingFile&&) = delete;
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile() { drop(); }

  [[nodiscard]] bool is_in_place() const { return unfinished_ == nullptr; }

  void keep() {
    if (is_in_place()) return write_in_place();
    if (::rename(unfinished_->name.c_str(), target_.c_str()) == 0) {
      std::exchange(unfinished_, nullptr)->there = false;
      return;
    }
    const int error = errno;
    drop();
    if (!keeps_others_out(error) || !is_writable(path_)) can_not_write(path_, error, where_);
    write_in_place();
  }

private:
  /// False, with the reason in errno, if data was lost. Some network folders have no fsync().
  static bool is_kept(OpenFile& file) {
    return (::fsync(file.number()) == 0 || errno == EINVAL || errno == ENOSYS) && file.close();
  }

  /// False, with the reason in errno, if the file cannot be created or written completely.
  bool write(const std::optional<struct stat>& was) {
    const std::filesystem::path folder = std::filesystem::path{target_}.parent_path();
    std::random_device random;
    do {
      const std::uint64_t number = std::uint64_t{random()} << 32 | random();
      unfinished_ = begin_unfinished((folder / fmt::format(".ppsim-{:016x}", number)).string());
      // The new file must not be readable by those who could not read the old one.
      OpenFile file{unfinished_->name, O_CREAT | O_EXCL | O_NOFOLLOW, was ? mode_t{0600} : mode_t{0666}};
      if (!file) {
        std::exchange(unfinished_, nullptr)->there = false;
        continue;
      }
      if (was) keep_owner_and_permissions(file.number(), *was);
      return write_all(file.number(), content_) && is_kept(file);
    } while (errno == EEXIST);
    return false;
  }

  void write_in_place() const {
    const auto status = status_of(path_);
    OpenFile file{path_, O_TRUNC, 0}; // it exists; O_CREAT is refused for other users' files in folders such as /tmp
    if (!file || !write_all(file.number(), content_) || !file.close()) can_not_write(path_, errno, where_);
    if (status && S_ISREG(status->st_mode))
      note(
          "{}: {} is overwritten in place, as it cannot be replaced by a new file: an interrupt would leave half of it",
          where_, in_quotes(path_, 200));
  }

  /// Keeps errno.
  void drop() {
    if (unfinished_ == nullptr) return;
    const int error = errno;
    ::unlink(unfinished_->name.c_str());
    std::exchange(unfinished_, nullptr)->there = false;
    errno = error;
  }

  std::string path_;
  std::string where_;
  std::string target_; ///< after links
  std::string packed_;
  std::string_view content_;
  Unfinished* unfinished_ = nullptr; ///< null if it is written in place, or done
};

} // namespace

void require_writable(const std::string& path, std::string_view where) {
  if (MemoryFiles::current() != nullptr && MemoryFiles::keeps(path)) return;
  if (path == "-") return;
  const auto status = status_of(path);
  if (status && S_ISDIR(status->st_mode)) can_not_write(path, EISDIR, where);
  const std::filesystem::path folder = behind_links(path).parent_path();
  const bool in_place = status && !S_ISREG(status->st_mode);
  if (in_place ? is_writable(path) : is_writable(folder.empty() ? "." : folder.string())) return;
  const int error = errno;
  if (!status || !keeps_others_out(error) || !is_writable(path)) can_not_write(path, error, where);
}

void write_file(const std::string& path, std::string_view content, std::string_view where) {
  if (MemoryFiles* const files = MemoryFiles::current(); files != nullptr && MemoryFiles::keeps(path))
    return files->write(path, content);
  if (path == "-") return write_stdout(content, where);
  PendingFile{path, content, where}.keep();
}

void write_files(std::span<const traces::NamedBytes> files, std::string_view where) {
  std::deque<PendingFile> pending;
  for (const traces::NamedBytes& file : files) pending.emplace_back(file.name, file.bytes, where);
  const auto keep = [&](bool in_place) {
    for (PendingFile& file : pending)
      if (file.is_in_place() == in_place) file.keep();
  };
  keep(true); // may wait for the reader of a pipe
  const BlockedSignals held;
  keep(false);
}

} // namespace ppsim::cli
