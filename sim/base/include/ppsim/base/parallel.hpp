#pragma once
// Independent work on several threads.

#include <cstddef>
#include <functional>

namespace ppsim {

/// Calls work(i) for every i below `count`, each once, on up to `threads` threads, or as many as the system starts.
/// Returns when all are done. Each call must write to a place of its own, so that results do not depend on the number
/// of threads. If calls throw, all others still run, and the exception of the lowest i is rethrown. All threads work
/// for the caller's Call.
void for_each_index(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

/// Hardware threads of this machine, at least one.
[[nodiscard]] std::size_t machine_threads();

} // namespace ppsim
