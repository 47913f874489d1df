#pragma once
// MemoryFiles: a call whose files are not the system's.

#include "ppsim/base/call.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::cli {

/// A Call of a program that holds the commands as a library: what is to be read and written can be in memory, and what
/// people are shown is kept.
class MemoryFiles : public Call {
public:
  /// What reading `path` gives, in the place of a file. Not while threads work for this call.
  void put(std::string path, std::string content) { given_[std::move(path)] = std::move(content); }
  [[nodiscard]] const std::string* find(const std::string& path) const;

  /// Whether what is written there is kept: stdout ("-"), and names that begin so.
  static constexpr std::string_view kept = "memory:";
  [[nodiscard]] static bool keeps(std::string_view path) { return path == "-" || path.starts_with(kept); }
  /// After what was written to `path` before.
  void write(const std::string& path, std::string_view content);
  /// All that was written to `path`; nothing where nothing was.
  [[nodiscard]] std::optional<std::string> take(const std::string& path);

  /// From any thread: searches end with the best so far, and all else goes on.
  void end_searches() noexcept { searches_end_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool has_searches_ended() const noexcept { return searches_end_.load(std::memory_order_relaxed); }

  void note(std::string text);
  [[nodiscard]] std::vector<std::string> notes() const;

  /// The one that this thread works for; null where it works with the files of the system.
  [[nodiscard]] static MemoryFiles* current() { return dynamic_cast<MemoryFiles*>(current_call()); }

private:
  std::atomic<bool> searches_end_{false};
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> given_, written_;
  std::vector<std::string> notes_;
};

} // namespace ppsim::cli
