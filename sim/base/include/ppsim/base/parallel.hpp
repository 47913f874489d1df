#pragma once
// Independent work on several threads.

#include <cstddef>
#include <functional>

namespace ppsim {

/// Calls work(i) for every i below `count`, each once, on up to `threads` threads, or as many as the system starts, and
/// returns when all are done; what a call writes goes to a place of its own, so that results do not depend on the
/// number of threads. If calls throw, all others are still made, and what the lowest i threw is thrown. All work for
/// the call that the caller works for.
void for_each_index(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

/// As many as the machine runs at once, at least one.
[[nodiscard]] std::size_t machine_threads();

} // namespace ppsim
