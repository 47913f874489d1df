// Memory for large runs. A graph of 10^8 tasks takes gigabytes, walked by hundreds of stages concurrently: with 4 KiB
// pages, half of the time is spent on page faults and TLB misses. Runs of 10^5 tasks, thousands of them in a
// comparison, spend as long on freeing and allocating memory.

#include <cstdlib>
#include <limits>
#include <new>

// Sanitizers replace these functions themselves.
#if defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#    define PPSIM_SANITIZED
#  endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define PPSIM_SANITIZED
#endif
#if defined(__linux__) && !defined(PPSIM_SANITIZED)
#  include <malloc.h>
#  include <sys/mman.h>

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20U;
constexpr std::size_t large_block = 4 * huge_page; // smaller ones would waste most of it

/// Smaller blocks stay with the process after they are freed.
[[maybe_unused]] const bool keeps_memory =
    mallopt(M_MMAP_THRESHOLD, large_block) != 0 && mallopt(M_TRIM_THRESHOLD, 16 * large_block) != 0;

/// Null if memory runs out.
void* allocate(std::size_t size) noexcept {
  if (size < large_block || size > std::numeric_limits<std::size_t>::max() - huge_page)
    return std::malloc(size > 0 ? size : 1); // NOLINT: this is what `new` is made of
  void* const block = std::aligned_alloc(huge_page, (size + huge_page - 1) / huge_page * huge_page);
  if (block != nullptr) madvise(block, size, MADV_HUGEPAGE); // a hint: without huge pages, small ones suffice
  return block;
}

} // namespace

void* operator new(std::size_t size) {
  while (true) {
    if (void* const block = allocate(size)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc{};
    handler();
  }
}

void operator delete(void* block) noexcept {
  std::free(block); // NOLINT: as above
}
void operator delete(void* block, std::size_t /*size*/) noexcept {
  std::free(block); // NOLINT: as above
}
#endif
