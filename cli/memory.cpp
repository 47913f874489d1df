// Where the memory of large runs comes from. A graph of 10^8 tasks takes gigabytes that are walked by hundreds of
// stages at a time: with pages of 4 KiB half of the time goes into looking them up and handing them out, one by one.
// And runs of 10^5 tasks, of which a comparison makes thousands, spend as long on giving their memory back and getting
// it anew.

#include <cstdlib>
#include <limits>
#include <new>

// Sanitizers put their own in this place.
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
constexpr std::size_t large_block = 4 * huge_page; // of less most would be left over

/// What is smaller stays with the process when it is given back.
[[maybe_unused]] const bool keeps_memory =
    mallopt(M_MMAP_THRESHOLD, large_block) != 0 && mallopt(M_TRIM_THRESHOLD, 16 * large_block) != 0;

/// Null where there is not so much.
void* allocate(std::size_t size) noexcept {
  if (size < large_block || size > std::numeric_limits<std::size_t>::max() - huge_page)
    return std::malloc(size > 0 ? size : 1); // NOLINT: this is what `new` is made of
  void* const block = std::aligned_alloc(huge_page, (size + huge_page - 1) / huge_page * huge_page);
  if (block != nullptr) madvise(block, size, MADV_HUGEPAGE); // a wish: where there are none, small ones will do
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
