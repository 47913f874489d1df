#pragma once
// Arena: a stage's memory on its device, counted like in the simulator (SPEC section 3).

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/device.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace ppsim::runtime {

/// The use of memory. `fixed`: parameters, gradients and optimizer state. `buffer`: memory that the simulator does not
/// predict: transfers, inputs, scratch.
enum class Use : std::uint8_t { fixed, stash, buffer };

/// Allocates on a device and counts. The destructor releases all remaining allocations.
class Arena {
public:
  explicit Arena(Device& device) : device_{device} {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (const auto& [memory, block] : blocks_) device_.release(memory, block.bytes);
  }

  /// Null for zero bytes. Throws std::bad_alloc.
  [[nodiscard]] void* allocate(Use use, Bytes bytes) {
    if (bytes == Bytes{}) return nullptr;
    void* const memory = device_.allocate(bytes);
    blocks_.emplace(memory, Block{use, bytes});
    bytes_[static_cast<std::size_t>(use)] += bytes;
    peak_ = std::max(peak_, now());
    return memory;
  }

  void release(void* memory) {
    if (memory == nullptr) return;
    const auto found = blocks_.find(memory);
    PPSIM_ASSERT(found != blocks_.end());
    device_.release(memory, found->second.bytes);
    bytes_[static_cast<std::size_t>(found->second.use)] -= found->second.bytes;
    blocks_.erase(found);
  }

  [[nodiscard]] Bytes bytes(Use use) const { return bytes_[static_cast<std::size_t>(use)]; }
  /// The peak of fixed memory and stashes together.
  [[nodiscard]] Bytes peak() const { return peak_; }

private:
  struct Block {
    Use use{};
    Bytes bytes;
  };
  [[nodiscard]] Bytes now() const { return bytes(Use::fixed) + bytes(Use::stash); }

  Device& device_;
  std::map<void*, Block> blocks_;
  std::array<Bytes, 3> bytes_{};
  Bytes peak_;
};

} // namespace ppsim::runtime
