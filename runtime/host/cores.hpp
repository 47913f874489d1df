#pragma once
// Cores: where the threads and processes of stages run.

#include "ppsim/base/units.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace ppsim::runtime {

/// Cores that this process may use.
[[nodiscard]] std::size_t usable_cores();
/// Keeps the calling thread on core `stage` mod usable_cores() of those that this process may use.
void pin_to_core(std::size_t stage);
/// Lets the calling thread's sleeps end within microseconds of their time; by default Linux adds up to 50 us.
void sleep_precisely();
/// About as long as a core takes to wake up: 10 to 50 us, of a virtual machine 100 us and more.
inline constexpr Duration wake_time = std::chrono::microseconds{150};
/// Returns at `moment` of the monotonic clock, in ns, or at once if that has been. Sleeps until wake_time before it,
/// and then looks at the clock: what ends at a given time would end late by as long as waking up takes. Is awake for at
/// most a sixteenth of the time, so that stages that share a core keep little of it from each other.
void sleep_exactly_until(std::int64_t moment);
/// A thread that does `work`. Throws NoThread where the system starts none.
[[nodiscard]] std::jthread start_thread(std::string_view whose, std::function<void()> work);
/// "AMD EPYC 9654, 2 cores, Linux 6.1.0".
[[nodiscard]] std::string describe_machine();

} // namespace ppsim::runtime
