#pragma once
// StageResult as bytes, on its way to rank 0. Both ends are the same program on machines alike; what is checked is that
// nothing is cut off or left over.

#include "ppsim/runtime/session.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace ppsim::runtime {

/// Appends values.
class ByteWriter {
public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    put_bytes(&value, sizeof value);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    put_bytes(values.data(), values.size() * sizeof(T));
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    put_bytes(text.data(), text.size());
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

private:
  void put_bytes(const void* data, std::size_t size) {
    const auto* const begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  std::vector<std::byte> bytes_;
};

/// Reads them in the same order. Throws Error (failed) where they end too soon.
class ByteReader {
public:
  explicit ByteReader(const std::vector<std::byte>& bytes) : bytes_{bytes} {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void get(T& value) {
    get_bytes(&value, 1, sizeof value);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void get(std::vector<T>& values) {
    values.resize(get_count(sizeof(T)));
    get_bytes(values.data(), values.size(), sizeof(T));
  }
  void get(std::string& text) {
    text.resize(get_count(1));
    get_bytes(text.data(), text.size(), 1);
  }
  /// A count of things of at least `size` bytes each, as many as there can still be.
  [[nodiscard]] std::size_t get_count(std::size_t size);
  /// Throws Error (failed) if something is left.
  void end() const;

private:
  void get_bytes(void* data, std::size_t count, std::size_t size);
  const std::vector<std::byte>& bytes_;
  std::size_t at_ = 0;
};

[[nodiscard]] std::vector<std::byte> to_bytes(const StageResult& result);
[[nodiscard]] StageResult result_from_bytes(const std::vector<std::byte>& bytes);

} // namespace ppsim::runtime
