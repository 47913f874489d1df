#pragma once
// Cores: where the threads and processes of stages run.

#include <cstddef>
#include <string>

namespace ppsim::runtime {

/// Cores that this process may use.
[[nodiscard]] std::size_t usable_cores();
/// Keeps the calling thread on core `stage` mod usable_cores() of those that this process may use.
void pin_to_core(std::size_t stage);
/// Lets the calling thread's sleeps end within microseconds of their time; by default Linux adds up to 50 us.
void sleep_precisely();
/// "AMD EPYC 9654, 2 cores, Linux 6.1.0".
[[nodiscard]] std::string describe_machine();

} // namespace ppsim::runtime
