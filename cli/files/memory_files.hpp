#pragma once
// MemoryFiles: a call whose files are in memory.

#include "ppsim/base/call.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::cli {

/// A Call of a program that uses the commands as a library. Inputs and outputs can be in memory, and notes are kept.
class MemoryFiles : public Call {
public:
  /// Sets the content of `path` for reading. Not while threads work for this call.
  void put(std::string path, std::string content) { given_[std::move(path)] = std::move(content); }
  [[nodiscard]] const std::string* find(const std::string& path) const;

  /// Prefix of names for outputs in memory, in addition to stdout ("-").
  static constexpr std::string_view kept = "memory:";
  [[nodiscard]] static bool keeps(std::string_view path) { return path == "-" || path.starts_with(kept); }
  /// Appends to the content of `path`.
  void write(const std::string& path, std::string_view content);
  /// Returns and removes what was written to `path`; none if nothing was.
  [[nodiscard]] std::optional<std::string> take(const std::string& path);

  /// Ends searches with their best result so far; other work continues. From any thread.
  void end_searches() noexcept { searches_end_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool has_searches_ended() const noexcept { return searches_end_.load(std::memory_order_relaxed); }

  void note(std::string text);
  [[nodiscard]] std::vector<std::string> notes() const;

  /// The one that this thread works for; null if it uses the system's files.
  [[nodiscard]] static MemoryFiles* current() { return dynamic_cast<MemoryFiles*>(current_call()); }

private:
  std::atomic<bool> searches_end_{false};
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> given_, written_;
  std::vector<std::string> notes_;
};

} // namespace ppsim::cli
