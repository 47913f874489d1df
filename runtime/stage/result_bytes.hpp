#pragma once
// StageResult as bytes, for rank 0. Both ends are the same program on equal machines; only truncation and excess are
// checked.

#include "ppsim/runtime/session.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace ppsim::runtime {

/// Appends trivially copyable values, vectors of them, and texts.
class ByteWriter {
public:
  template <class... Values>
  void put(const Values&... values) {
    (add(values), ...);
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

private:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void add(const T& value) {
    add_bytes(&value, sizeof value);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void add(const std::vector<T>& values) {
    add(static_cast<std::uint64_t>(values.size()));
    add_bytes(values.data(), values.size() * sizeof(T));
  }
  void add(const std::string& text) {
    add(static_cast<std::uint64_t>(text.size()));
    add_bytes(text.data(), text.size());
  }
  void add_bytes(const void* data, std::size_t size) {
    const auto* const begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  std::vector<std::byte> bytes_;
};

/// Reads them in the same order. Throws Error (failed) if the bytes end too soon.
class ByteReader {
public:
  explicit ByteReader(const std::vector<std::byte>& bytes) : bytes_{bytes} {}
  template <class... Values>
  void get(Values&... values) {
    (take(values), ...);
  }
  /// A count of items of at least `size` bytes each, limited by the remaining bytes.
  [[nodiscard]] std::size_t get_count(std::size_t size);
  /// Throws Error (failed) if bytes remain.
  void end() const;

private:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void take(T& value) {
    take_bytes(&value, 1, sizeof value);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void take(std::vector<T>& values) {
    values.resize(get_count(sizeof(T)));
    take_bytes(values.data(), values.size(), sizeof(T));
  }
  void take(std::string& text) {
    text.resize(get_count(1));
    take_bytes(text.data(), text.size(), 1);
  }
  void take_bytes(void* data, std::size_t count, std::size_t size);
  const std::vector<std::byte>& bytes_;
  std::size_t at_ = 0;
};

[[nodiscard]] std::vector<std::byte> to_bytes(const StageResult& result);
[[nodiscard]] StageResult result_from_bytes(const std::vector<std::byte>& bytes);

} // namespace ppsim::runtime
