#include "memory_files.hpp"

#include <utility>

namespace ppsim::cli {

const std::string* MemoryFiles::find(const std::string& path) const {
  const auto found = given_.find(path);
  return found == given_.end() ? nullptr : &found->second;
}

void MemoryFiles::write(const std::string& path, std::string_view content) {
  const std::scoped_lock lock{mutex_};
  written_[path] += content;
}

std::optional<std::string> MemoryFiles::take(const std::string& path) {
  const std::scoped_lock lock{mutex_};
  auto node = written_.extract(path);
  return node.empty() ? std::nullopt : std::optional{std::move(node.mapped())};
}

void MemoryFiles::note(std::string text) {
  const std::scoped_lock lock{mutex_};
  notes_.push_back(std::move(text));
}

std::vector<std::string> MemoryFiles::notes() const {
  const std::scoped_lock lock{mutex_};
  return notes_;
}

} // namespace ppsim::cli
