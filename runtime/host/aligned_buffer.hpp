#pragma once
// Memory that begins on a cache line.

#include "ppsim/base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace ppsim::runtime {

inline constexpr std::align_val_t cache_line{64};

struct AlignedDelete {
  void operator()(std::byte* memory) const noexcept { ::operator delete(memory, cache_line); }
};
using AlignedBuffer = std::unique_ptr<std::byte, AlignedDelete>;

/// `bytes` of memory, at least one. Throws std::bad_alloc.
[[nodiscard]] inline AlignedBuffer make_aligned_buffer(Bytes bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes.count(), 1));
  return AlignedBuffer{static_cast<std::byte*>(::operator new(size, cache_line))};
}

} // namespace ppsim::runtime
